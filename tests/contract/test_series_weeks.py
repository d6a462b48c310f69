"""A series in its folder: weeks, interruptions, old copies, erasure and closing."""

from __future__ import annotations

import errno
import json
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from tests.in_process import tacit as run
from tests.release_log import CANARY_QUERY, CANARY_USER, write_log

import tacit
from tacit import InputError, IntegrityError, Ledger
from tacit.files import atomic_file
from tacit.privacy.ledger.journal import Journal
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.analysis import guarantee_of
from tacit.release.document.tables import read_table
from tacit.release.mechanisms import series_planner
from tacit.release.rounds_analysis import cost_of
from tacit.release.schedule import ONE
from tacit.release.series import folder as series_folder
from tacit.release.series.course import Course, packed
from tacit.release.series.folder import OpenSeries
from tacit.release.series.state import KeptCourse, SeriesKey
from tacit.release.series_analysis import series_cost

ASKED = tacit.Series(weeks=4, epsilon=8, delta=1e-4, count_every=2)


@pytest.fixture
def weeks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Logs of some weeks: the same people, other records."""
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "owner"))
    return [write_log(tmp_path / f"log-{number}.parquet", 60 + number) for number in range(4)]


@pytest.fixture
def opened(tmp_path: Path, weeks: list[Path]) -> OpenSeries:
    return ASKED.open(tmp_path / "year")


def state_of(series: OpenSeries) -> KeptCourse:
    key = SeriesKey.read(Path(series.about["key"]))
    return KeptCourse.read(series.folder / "state", key, series.plan.rounds)


def copy_state(series: OpenSeries, copy: Path, *, back: bool = False) -> None:
    """Copy the state with its parts out of the folder, or put the copy back."""
    for name in ("state", "state-parts"):
        one, other = series.folder / name, copy.with_name(f"{copy.name}-{name}")
        one, other = (other, one) if back else (one, other)
        if one.is_dir():
            shutil.rmtree(other, ignore_errors=True)
            shutil.copytree(one, other)
        else:
            shutil.copy(one, other)


def test_the_guarantee_is_a_function_of_the_schedule() -> None:
    for asked in (ASKED, tacit.Series(weeks=3, epsilon=1, keys_only=True, neighbours="replace")):
        plan = asked.plan()
        assert guarantee_of(plan.schedule) == plan.guarantee == plan.event.guarantee
        assert plan.given.plan().schedule == plan.schedule
        assert plan.guarantee.epsilon <= (asked.epsilon or 0)
        assert plan.guarantee.delta <= asked.delta


def test_weeks_are_releases_that_cite_one_charge(opened: OpenSeries, weeks: list[Path]) -> None:
    for log in weeks:
        made = opened.next(log)
        assert tacit.verify(made.folder, opened.ledger), tacit.verify(made.folder, opened.ledger)
    assert len(opened.ledger.state().entries) == 1
    found = set(made.queries.column("query").to_pylist())
    assert {"weather", "news"} <= found
    assert CANARY_QUERY not in found
    assert made.counts.num_rows == made.queries.num_rows
    assert set(made.counts.column("week").to_pylist()) == {4}
    counts = dict(
        zip(made.counts.column("query").to_pylist(), made.counts.column("count").to_pylist(), strict=True)
    )
    assert abs(counts["weather"] - 63) < 40
    shown = opened.to_dict()
    assert shown["keys"] == len(found)
    assert shown["published"] == 4
    with pytest.raises(tacit.InfeasibleError, match="all 4 weeks"):
        opened.next(write_log(weeks[0].parent / "fifth.parquet", 50))
    parts = list((opened.folder / "state-parts").iterdir())
    assert len(parts) > 4
    for path in [opened.folder / "state", *parts, opened.folder / "series.json", opened.ledger.path]:
        held = path.read_bytes()
        assert CANARY_USER.encode() not in held
        assert CANARY_QUERY.encode() not in held
        assert path.stat().st_mode & 0o077 == 0


def test_other_rounds_than_were_charged_are_refused(opened: OpenSeries, weeks: list[Path]) -> None:
    """A changed file asks for less noise; a later version would lay rounds out in another way."""
    about = opened.folder / "series.json"
    kept = about.read_text()
    changed = json.loads(kept)
    changed["parameters"]["at_epsilon"] = 20.0
    about.write_text(json.dumps(changed))
    with pytest.raises(IntegrityError, match="not those that were charged"):
        tacit.Series.at(opened.folder).next(weeks[0])
    about.write_text(kept)
    later = replace(series_planner.DEFAULT, parts=(0.7, 0.2, 0.1))
    with (
        mock.patch.object(series_planner, "plan_series", partial(series_planner.plan_series, shape=later)),
        pytest.raises(IntegrityError, match="not those that were charged"),
    ):
        tacit.Series.at(opened.folder).next(weeks[0])
    assert opened.entry.step == 0


def test_weeks_are_in_the_order_of_their_numbers(opened: OpenSeries) -> None:
    for number in (100, 9, 10, 99):
        (opened.folder / f"week-{number:02d}").mkdir()
        (opened.folder / f"week-{number:02d}" / "manifest.json").touch()
    assert [path.name for path in opened.weeks] == ["week-09", "week-10", "week-99", "week-100"]


def test_the_same_log_again_draws_nothing(opened: OpenSeries, weeks: list[Path]) -> None:
    first = opened.next(weeks[0])
    step = opened.entry.step
    assert opened.next(weeks[0]).folder == first.folder
    assert opened.entry.step == step == 2
    second = opened.next(weeks[1], since="2006-01-01")
    assert opened.next(weeks[0]).folder == first.folder  # nor does an earlier one
    assert opened.next(weeks[1], since="2006-01-01").folder == second.folder
    assert opened.next(weeks[1]).folder.name == "week-03"  # all of it, where only a part was taken
    assert opened.next(weeks[1], since="2150-01-01").folder.name == "week-04"  # nothing of it
    assert opened.entry.step == state_of(opened).course.step == 12


class Killed(BaseException):
    """What ends the work here."""


def kill() -> None:
    raise Killed


@contextmanager
def killed_at(call: int, drawn: list[tuple[int, int]]) -> Iterator[None]:
    """End the work at the n-th of the moments that matter: before and after notes, draws, syncs, renames."""
    left = call

    def moment() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed

    def around(real: Any) -> Any:
        def wrapped(*given: Any, **named: Any) -> Any:
            moment()
            found = real(*given, **named)
            moment()
            return found

        return wrapped

    def drawing(real: Any) -> Any:
        def wrapped(course: Course, source: Any) -> Any:
            drawn.append((course.step + 1, course.noted))
            return real(course, source)

        return around(wrapped)

    with (
        mock.patch.object(Journal, "append", around(Journal.append)),
        mock.patch.object(Course, "draw_round", drawing(Course.draw_round)),
        mock.patch.object(Course, "draw_count", drawing(Course.draw_count)),
        mock.patch.object(KeptCourse, "write", around(KeptCourse.write)),
        mock.patch.object(series_folder, "write_release", around(series_folder.write_release)),
        mock.patch.object(Path, "rename", around(Path.rename)),
    ):
        yield


def test_interrupted_anywhere_no_step_is_drawn_twice(opened: OpenSeries, weeks: list[Path]) -> None:
    """At random moments; the run with all of them is `benchmarks/series_kills.py`, with real processes."""
    lots, drawn = random.Random(7), list[tuple[int, int]]()
    for number, log in enumerate(weeks, start=1):
        for _ in range(3):
            with suppress(Killed), killed_at(lots.randrange(12), drawn):
                opened.next(log)
        assert opened.next(log).folder.name == f"week-{number:02d}"
        assert tacit.verify(opened.folder / f"week-{number:02d}", opened.ledger)
        assert state_of(opened).course.noted == opened.entry.step
    steps = [step for step, _ in drawn]
    assert all(step <= noted for step, noted in drawn)  # noted before it is drawn
    assert len(steps) == len(set(steps)), "a step was drawn twice"
    assert [path.name for path in opened.weeks] == [f"week-{n:02d}" for n in range(1, 5)]
    assert not list(opened.folder.glob(".week*"))


def test_a_step_left_out_leaves_nothing_saved(opened: OpenSeries, weeks: list[Path]) -> None:
    with pytest.raises(Killed), mock.patch.object(Course, "draw_round", side_effect=Killed):
        opened.next(weeks[0])
    opened.next(weeks[0])
    course = state_of(opened).course
    assert (course.carried, course.since) == (0, 2), "both rounds of the week were noted before"
    opened.next(weeks[1])
    course = state_of(opened).course
    assert (course.carried, course.since) == (2, 2)
    course.make_room(course.allowances.size + 1, course.words)
    assert course.allowances[-1] == 2 * ONE**2, "somebody new has the allowance of the rounds carried out"


def test_an_old_state_is_refused_and_going_on_without_is_possible(
    opened: OpenSeries, weeks: list[Path]
) -> None:
    opened.next(weeks[0])
    copy_state(opened, opened.folder.parent / "copy")
    found = opened.next(weeks[1]).queries.to_pylist()
    copy_state(opened, opened.folder.parent / "copy", back=True)
    with pytest.raises(InputError, match="not the newest state"):
        opened.next(weeks[2])
    made = opened.next(weeks[2], restart=True)
    assert made.folder.name == "week-03"
    assert made.queries.to_pylist()[: len(found)] or not found
    assert {row["query"]: row["found"] for row in found}.items() <= {
        row["query"]: row["found"] for row in made.queries.to_pylist()
    }.items()
    course = state_of(opened).course
    assert (course.carried, course.since) == (2, 4)
    assert tacit.verify(made.folder, opened.ledger)


def test_an_old_state_without_its_parts_is_refused(opened: OpenSeries, weeks: list[Path]) -> None:
    opened.next(weeks[0])
    old = (opened.folder / "state").read_bytes()
    opened.next(weeks[1])
    (opened.folder / "state").write_bytes(old)
    with pytest.raises(InputError, match="a part of its state is gone: this is not the newest state"):
        opened.next(weeks[2])


def test_a_disk_that_is_full_at_the_note_leaves_the_state_before(
    opened: OpenSeries, weeks: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """New parts are on the disk by then, and the old ones must be still."""
    opened.next(weeks[0])
    before = state_of(opened)

    def full(path: Path, **options: Any) -> Any:
        if path.name == "state":
            raise OSError(errno.ENOSPC, "No space left on device")
        return atomic_file(path, **options)

    with monkeypatch.context() as patched:
        patched.setattr("tacit.release.series.state.atomic_file", full)
        with pytest.raises(OSError, match="No space left"):
            opened.next(weeks[1])
    after = state_of(opened)
    assert after.texts.equals(before.texts) and np.array_equal(after.users, before.users)
    assert opened.next(weeks[1]).folder.name == "week-02"


def test_a_week_writes_what_is_new(opened: OpenSeries, weeks: list[Path]) -> None:
    """What was written of names and holdings stays in its files, until something of it goes."""
    opened.next(weeks[0])
    first = state_of(opened)._files
    opened.next(write_log(weeks[0].parent / "others.parquet", 90))
    second, names = state_of(opened)._files, ("texts", "users", "owners", "items", "joined")
    for name in names:
        (before, parts), (after, more) = first[name], second[name]
        assert len(after) > len(before), name
        assert more[:-1] == parts, name
    opened.erase([CANARY_USER])
    third = state_of(opened)._files
    assert [third[name][1] == second[name][1] for name in names] == [True, True, False, False, False]
    assert {len(third[name][1]) for name in names[2:]} == {1}


def test_what_is_in_no_state_any_more_is_in_no_file(opened: OpenSeries, weeks: list[Path]) -> None:
    for log in weeks[:2]:
        opened.next(log)
    before = state_of(opened)._files
    opened.erase([CANARY_USER])
    after = state_of(opened)._files
    kept = {path.name for path in (opened.folder / "state-parts").iterdir()}
    assert kept == {salt for _, parts in after.values() for _, salt in parts}
    changed = {name for name, (_, parts) in after.items() if parts != before[name][1]}
    assert changed == {"owners", "items", "joined", "standings"}  # nothing waits for a count by now
    for name in changed:
        assert not {salt for _, salt in before[name][1]} & kept, name
    opened.close()
    assert not list((opened.folder / "state-parts").iterdir())


def test_a_state_of_another_version_is_told_from_a_damaged_one(opened: OpenSeries, weeks: list[Path]) -> None:
    state = (opened.folder / "state").read_bytes()
    (opened.folder / "state").write_bytes(state.replace(b"tacit series 5", b"tacit series 4", 1))
    with pytest.raises(IntegrityError, match="begins with b'tacit series 4"):
        opened.next(weeks[0])


def test_each_user_has_a_hash_under_the_key_alone() -> None:
    """Whatever stands beside a name in an array; names that differ in what fills a block up are different."""
    names = ["", "\1", "\0", "a", "a\1", "a\0", "a\1\0", "é" * 7, "x" * 15, "x" * 16, "x" * 17, "é" * 30]
    key = SeriesKey(bytes(range(32)))
    together = key.users(pa.array(names, pa.string())).tolist()
    assert len({tuple(each) for each in together}) == len(names)
    assert {len(each) for each in together} == {2}
    assert together[3:9] == key.users(pa.array(names, pa.string())[3:9]).tolist()
    assert together == [key.users(pa.array([name])).tolist()[0] for name in names]
    others = SeriesKey(bytes(32)).users(pa.array(names)).tolist()
    assert not {tuple(each) for each in together} & {tuple(each) for each in others}
    assert len(key.users(pa.array([], pa.string()))) == 0


def test_the_key_turns_no_hash_back_into_a_name() -> None:
    key = SeriesKey(bytes(range(32)))
    hashed = key.users(pa.array(["somebody"]))
    block = Cipher(algorithms.AES(key._for("users")), modes.ECB()).decryptor().update(hashed.tobytes())
    assert b"somebody" not in block


def test_a_count_knows_the_one_before() -> None:
    """Also where items that nobody holds are forgotten in between, and the others numbered anew."""
    rounds = tacit.Series(weeks=4, epsilon=8, delta=1e-4, count_every=1).plan().rounds
    course, source = Course(rounds), OperatingSystemRandomness()

    def week(*pairs: tuple[int, int]) -> None:
        course.begin_week(packed(*np.array(pairs).T), source)
        for _ in range(rounds.per_week):
            course.draw_round(source)
        course.draw_count(source)

    course.make_room(3, np.ones(6, np.uint8))
    course.found[4:], course.held[4:] = 0, True
    week((0, 4), (1, 4), (2, 5))
    assert course.tallied.tolist() == [4, 5]
    assert not course.before.any()
    course.compact()
    assert course.tallied.tolist() == [0, 1]
    first = np.stack([course.last, course.weights], axis=1)
    course.make_room(3, np.append(course.words, np.uint8(1)))
    course.found[2], course.held[2] = 1, True
    week((0, 0), (1, 0), (2, 1), (0, 2))
    assert course.tallied.tolist() == [0, 1, 2]
    assert course.before.tolist() == [*first.tolist(), [0, 0]]
    assert rounds.tally is not None
    assert course.weights[2] == rounds.tally.first


def test_a_state_from_before_a_published_week_is_refused(opened: OpenSeries, weeks: list[Path]) -> None:
    """The rounds of that week were noted after this very state, as if they had been interrupted."""
    copy_state(opened, opened.folder.parent / "copy")
    opened.next(weeks[0])
    copy_state(opened, opened.folder.parent / "copy", back=True)
    for log in weeks[:2]:
        with pytest.raises(InputError, match="not the newest state"):
            opened.next(log)
    assert opened.next(weeks[1], restart=True).folder.name == "week-02"


def test_a_state_from_before_the_last_count_is_refused(opened: OpenSeries, weeks: list[Path]) -> None:
    """The count was noted after another state, that with the rounds of its week."""
    opened.next(weeks[0])
    copy_state(opened, opened.folder.parent / "copy")
    with pytest.raises(Killed), mock.patch.object(Course, "draw_count", side_effect=Killed):
        opened.next(weeks[1])
    copy_state(opened, opened.folder.parent / "copy", back=True)
    with pytest.raises(InputError, match="not the newest state"):
        opened.next(weeks[1])


@pytest.mark.parametrize("noted", [1, 2])
def test_a_week_whose_rounds_are_left_out_takes_in_its_log(
    opened: OpenSeries, weeks: list[Path], noted: int
) -> None:
    """What was taken in before the kill is not known: the log is read again; no noted round is drawn."""
    opened.next(weeks[0])
    before = state_of(opened)
    real, left = Ledger.note_step, iter([True] * noted)

    def note(*given: Any) -> None:
        if not next(left, False):
            raise Killed
        real(*given)

    with (
        pytest.raises(Killed),
        mock.patch.object(Ledger, "note_step", note),
        mock.patch.object(Course, "draw_round", side_effect=Killed),
    ):
        opened.next(weeks[1])
    assert opened.entry.step == 3 + noted
    assert np.array_equal(state_of(opened).course.standings, before.course.standings)
    with pytest.raises(Killed), mock.patch.object(Course, "draw_count", side_effect=Killed):
        opened.next(weeks[1])
    course = state_of(opened).course
    assert (course.week, course.step, course.carried) == (2, 5, 4 - noted)
    assert course.since == 3 + (noted == 2)
    assert (course.joined == 2).any()
    assert opened.next(weeks[1]).folder.name == "week-02"
    course = state_of(opened).course
    assert (course.step, course.noted, course.counted_since, course.window.size) == (6, 6, 1, 0)
    assert opened.next(weeks[2]).folder.name == "week-03"


def test_an_old_copy_of_the_whole_folder_is_refused(opened: OpenSeries, weeks: list[Path]) -> None:
    """Killed between its rounds, copied, finished and put back: the count would be drawn once more."""
    rounds, real = iter(range(2)), Course.draw_round
    with (
        pytest.raises(Killed),
        mock.patch.object(Course, "draw_round", lambda *given: real(*given) if not next(rounds) else kill()),
    ):
        opened.next(weeks[0])
    shutil.copytree(opened.folder, opened.folder.parent / "copy")
    opened.next(weeks[0])
    shutil.rmtree(opened.folder)
    (opened.folder.parent / "copy").rename(opened.folder)
    for restart in (False, True):
        with pytest.raises(IntegrityError, match="not as it was left"):
            tacit.Series.at(opened.folder).next(weeks[0], restart=restart)
    assert not opened.weeks


def test_a_log_of_the_past_opens_it(tmp_path: Path, weeks: list[Path]) -> None:
    year = str(tmp_path / "y")
    options = ["--weeks", "4", "--epsilon", "30", "--delta", "1e-3", "--history", str(weeks[0])]
    made = json.loads(run("series", "open", year, *options, "--json").stdout)
    series = tacit.Series.at(year)
    assert (
        0
        < made["keys"]
        == made["opening"]
        == read_table(series.folder / "opening" / "queries.parquet").num_rows
    )
    week = series.next(weeks[1])
    for part in (series.folder / "opening", week.folder):
        assert tacit.verify(part, series.ledger), tacit.verify(part, series.ledger)
    assert week.queries.column("found").to_pylist().count(0) == made["keys"]
    assert len(series.ledger.state().entries) == 1
    assert series.plan.guarantee.delta <= 1e-3
    anew = series.next(weeks[2], restart=True)
    assert anew.queries.column("found").to_pylist().count(0) == made["keys"]
    with pytest.raises(InputError, match="has its ledger already"):
        ASKED.open(tmp_path / "other", history=weeks[0])
    with pytest.raises(tacit.ParameterError, match="Name it"):
        tacit.Series(weeks=4, epsilon=8, with_history=True).open(tmp_path / "other")


def test_a_tenth_is_for_the_past() -> None:
    for asked in (ASKED, tacit.Series(weeks=3, epsilon=1, neighbours="replace")):
        rounds = replace(asked, with_history=True).plan().rounds
        assert rounds.history is not None
        whole, past = series_cost(rounds), cost_of(rounds.history)
        assert past.mu**2 == pytest.approx(0.1 * whole.mu**2, rel=1e-4)
        assert past.disclosure == pytest.approx(0.1 * whole.disclosure, rel=1e-4)
        alone = series_cost(replace(rounds, history=None))
        assert whole.mu**2 >= alone.mu**2 + past.mu**2 * (1 - 1e-12)
        assert whole.disclosure >= alone.disclosure + past.disclosure * (1 - 1e-12)


def test_an_old_ledger_is_refused(opened: OpenSeries, weeks: list[Path]) -> None:
    copy = opened.ledger.path.read_bytes()
    opened.next(weeks[0])
    opened.ledger.path.write_bytes(copy)
    with pytest.raises((InputError, IntegrityError)):
        opened.next(weeks[1])


def test_a_number_is_never_taken_twice(opened: OpenSeries) -> None:
    ledger, entry = opened.ledger, opened.entry
    ledger.note_step(entry, 3, "0" * 64)
    for step in (1, 3):
        with pytest.raises(InputError, match="taken already"):
            ledger.note_step(entry, step, "0" * 64)
    assert Ledger(ledger.path).state().entries[0].step == 3


def test_erasure_keeps_balances_standings_and_presence(opened: OpenSeries, weeks: list[Path]) -> None:
    opened.next(weeks[0])
    before = state_of(opened)
    assert opened.erase([CANARY_USER, "nobody"]) == 1
    after = state_of(opened)
    for name in ("allowances", "balances", "standings", "held", "found"):
        assert np.array_equal(getattr(before.course, name), getattr(after.course, name)), name
    assert after.texts.equals(before.texts)
    hashed = SeriesKey.read(Path(opened.about["key"])).users(pa.array([CANARY_USER]))
    [place] = after.numbers_of(hashed).tolist()
    assert place < len(after.users)
    assert not (after.course.owners == place).any()
    assert after.course.owners.size < before.course.owners.size
    opened.next(weeks[1])


def test_year_two_knows_what_was_published_and_nothing_else(opened: OpenSeries, weeks: list[Path]) -> None:
    known = opened.next(weeks[0]).queries.column("query").to_pylist()
    second = ASKED.open(
        opened.folder.parent / "second",
        after=opened.folder,
        ledger=opened.folder.parent / "l",
        budget_epsilon=9,
        budget_delta=1e-3,
    )
    kept = state_of(second)
    assert kept.texts.to_pylist() == known
    assert (kept.course.found == 0).all()
    assert not kept.course.standings.any()
    assert kept.course.allowances.size == 0


def test_the_command_says_keys_as_json(tmp_path: Path, weeks: list[Path]) -> None:
    year = str(tmp_path / "y")
    options = ["--weeks", "4", "--epsilon", "8", "--delta", "1e-4", "--json"]
    assert json.loads(run("series", "open", year, *options).stdout)["keys"] == 0
    made = json.loads(run("series", "next", year, str(weeks[0]), "--json").stdout)
    shown = json.loads(run("series", "show", year, "--json").stdout)
    assert made["keys"] == shown["keys"] == made["new"]
    page = (Path(year) / "series.html").read_text("utf-8")
    first = page[page.index("<strong>") :]
    first = first[: first.index("</strong>")]
    assert "Everything published in all 4 weeks together" in first
    assert "practically sure (over 99.9%) of it" in first
    assert "this release" not in page
    listed = page[page.index("All queries, by the week") :]
    assert listed.index("Week 1") < listed.index("<li>weather")
    gone = tmp_path / "gone.txt"
    gone.write_bytes(CANARY_USER.encode() + b"\xff\n")
    refused = run("series", "erase", year, str(gone))
    assert refused.returncode == 1
    assert CANARY_USER not in refused.stdout + refused.stderr
    gone.write_text(f"{CANARY_USER}\nnobody\n")
    assert json.loads(run("series", "erase", year, str(gone), "--json").stdout)["erased"] == 1
    assert json.loads(run("series", "close", year, "--json").stdout)["closed"]
    assert not (Path(year) / "state").exists()
    assert run("series", "next", year, str(weeks[1])).returncode == 1


def test_every_state_that_is_written_is_what_is_in_memory(opened: OpenSeries, weeks: list[Path]) -> None:
    """Also what was encrypted for an earlier step and has not changed since."""
    real = KeptCourse.write

    def written(kept: KeptCourse, path: Path, key: SeriesKey) -> None:
        real(kept, path, key)
        back = KeptCourse.read(path, key, kept.course.rounds)
        assert (back.mark, back.logs) == (kept.mark, kept.logs)
        assert back.texts.equals(kept.texts) and np.array_equal(back.users, kept.users)
        for name, each in vars(kept.course).items():
            assert np.array_equal(vars(back.course)[name], each), name

    with mock.patch.object(KeptCourse, "write", written):
        for log in weeks:
            opened.next(log)
        opened.erase(["u1"])


def test_parts_of_two_states_make_none(opened: OpenSeries, weeks: list[Path], tmp_path: Path) -> None:
    opened.next(weeks[0])
    kept, key = state_of(opened), SeriesKey.read(Path(opened.about["key"]))
    written = []
    for users in (kept.users, kept.users[::-1].copy()):
        kept.users = users
        kept.write(opened.folder / "state", key)
        *_, (_, salt) = kept._files["users"][1]
        part = opened.folder / "state-parts" / salt
        written.append(part.read_bytes())
    part.write_bytes(written[0])
    with pytest.raises(IntegrityError, match="not the state"):
        state_of(opened)


def test_a_damaged_state_or_another_key_is_refused(opened: OpenSeries, weeks: list[Path]) -> None:
    opened.next(weeks[0])
    state = bytearray((opened.folder / "state").read_bytes())
    state[-1] ^= 1
    with atomic_file(opened.folder / "state") as temporary:
        temporary.write_bytes(state)
    with pytest.raises(IntegrityError, match="damaged"):
        opened.next(weeks[1])
