"""A mechanism is two modules and one line: everything else finds it through the registry.

The fifth one publishes how many users were active on each day of the week, a public set of seven keys, with
noise and without a threshold.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.release_log import write_log
from typer.testing import CliRunner

from tacit.commands import application
from tacit.release.registry import MECHANISMS

MECHANISM = '''
"""The fifth mechanism: users by day of the week."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from tacit.privacy import Neighbours
from tacit.release.contribution import bounded_items
from tacit.release.mechanism import Mechanism, Plan
from tacit.release.parameters import Choice, declared, declared_epsilon, declared_neighbours, declared_noise
from tacit.release.planning import noise_for
from tacit.release.schedule import Contribution, Keys, Noise, Part, Schedule, text_columns

DAYS = pa.table({"day": list("0123456")})


@dataclass(frozen=True, kw_only=True, repr=False)
class Weekdays(Mechanism):
    """Weekdays: how many users were active on each day of the week."""

    name: ClassVar[str] = "weekdays"
    title: ClassVar[str] = "Weekdays"
    summary: ClassVar[str] = "Weekdays: how many users were active on each day of the week."
    example: ClassVar[str] = "--epsilon 1 --days-per-user 2"

    epsilon: float | None = declared_epsilon()
    neighbours: Neighbours = declared_neighbours()
    days_per_user: int = declared(2, "On how many days a user counts.", least=1, most=7)
    noise: float | None = declared_noise("The scale of the noise.")

    @property
    def given(self):
        return self.noise is not None

    def plan(self):
        noise = self.noise
        if noise is None:
            noise = noise_for(self.days_per_user * self.neighbours.users_changed, self.budget()[0])
        days = Contribution((self.days_per_user,), once=True)
        part = Part("days", text_columns("day"), days, Noise(noise), None, keys=Keys.PUBLIC)
        return WeekdaysPlan(mechanism=self, schedule=Schedule((part,), self.neighbours))


@dataclass(frozen=True, kw_only=True, repr=False)
class WeekdaysPlan(Plan[Weekdays]):
    @property
    def given(self):
        return self.mechanism.settled(noise=next(self.schedule.noises()).scale)

    def count(self, engine, log):
        dated = log.mutate(day=log.time.day_of_week.index().cast("string"))
        kept = bounded_items(dated, ("day",), self.mechanism.days_per_user, Choice.FIRST)
        return {"days": engine.keep(kept.group_by("day").aggregate(count=kept.count()))}

    def rows(self, engine, counting, part, published):
        listed = engine.load(DAYS).left_join(counting["days"], "day")
        return engine.batches(listed.select("day", count=listed["count"].fill_null(0)))


MECHANISM = Weekdays
'''

WORDS = '''
"""What the fifth mechanism does and means."""

from tacit.release.prose import DescribedStep


def words(plan):
    return (f"A user counts on {plan.mechanism.days_per_user} days.",)


def steps(plan):
    return (DescribedStep("Count", "users by day", noisy=True),)
'''


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The whole command with the fifth mechanism in it."""
    for name, text in (("weekdays", MECHANISM), ("weekdays_words", WORDS)):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(MECHANISMS, "weekdays", "weekdays")
    app = application()

    def tacit(*words: object, code: int = 0) -> str:
        done = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "100"})
        assert done.exit_code == code, (done.output, done.exception)
        return done.stdout

    return tacit


def test_it_is_planned_guaranteed_released_verified_and_shown(command: Any, tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.parquet")
    for verb in ("plan", "guarantee", "release"):
        shown = command(verb, "weekdays", "--help")
        assert "--days-per-user" in shown and "On how many days a user counts." in shown
        assert f"Example: tacit {verb} weekdays" in shown
        assert "how many users were active" in command(verb, "--help")
    asked = ("--epsilon", 1, "--days-per-user", 2)
    plan = json.loads(command("plan", "weekdays", *asked, "--json"))
    promise = json.loads(command("guarantee", "weekdays", *asked, "--json"))
    assert (plan["noise"], plan["epsilon"], plan["kind"]) == (2.0, 1.0, "pure")
    assert promise["epsilon"] == 1.0
    out = tmp_path / "out"
    words = ("release", "weekdays", log, *asked, "--budget-epsilon", 3, "-o", out, "--threads", 1, "--json")
    released = json.loads(command(*words))
    assert released["schedule"] == plan["schedule"] and released["published"]["days"]["rows"] == 7
    assert released["remaining"]["epsilon"] == 2.0
    verified = json.loads(command("verify", out, "--ledger", f"{log}.ledger", "--json"))
    assert verified["holds"] and verified["mechanism"] == "weekdays"
    page = (out / "release.html").read_text()
    assert "Weekdays" in page and "users by day" in page


def test_its_ranges_are_checked_and_spoken_as_options(command: Any) -> None:
    done = CliRunner().invoke(application(), ["plan", "weekdays", "--epsilon", "1", "--days-per-user", "8"])
    assert "--days-per-user must be at least 1 and at most 7; found 8." in str(done.exception)
