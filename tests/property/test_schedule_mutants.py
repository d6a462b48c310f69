"""Mutants: every scale, threshold, bound, comparison and charge weakened, one by one, and what catches each.

``MUTANTS`` is the list. An entry has the case, what was weakened, and the named check that must fail; the
checks themselves pass for the real mechanisms (``test_schedule_checks.py``). Mutants are made in-process:

- **execution**: something weaker is drawn or compared than in the schedule that is analysed;
- **noise**: noise is shared or used again;
- **claim**: the guarantee is computed from less than what is executed;
- **counting**: a user adds more than the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from tests.schedule_cases import CASES, Case
from tests.schedule_checks import (
    Count,
    bounds_as_analysed,
    compares_as_analysed,
    counted,
    diverges_as_claimed,
    draws_as_analysed,
    remembering,
    shows_as_analysed,
)

from tacit import Topics
from tacit.engines import Engine, open_engine
from tacit.privacy import Neighbours
from tacit.privacy.accounting.events import Composed, LaplaceCounts
from tacit.release import analysis as accounting
from tacit.release import contribution, execution
from tacit.release.execution import execute
from tacit.release.mechanisms import topics_counting as topics
from tacit.release.mechanisms.session import SessionPlan
from tacit.release.schedule import Contribution, Keys, Noise, Part, Schedule

Mutation = Callable[[], AbstractContextManager[Any]]
BY_NAME = {case.name: case for case in CASES}


@dataclass(frozen=True)
class Mutant:
    """Something weakened, and what must notice it."""

    case: str
    what: str
    caught_by: str
    apply: Mutation

    def __str__(self) -> str:
        return f"{self.case}: {self.what}"


def changed(schedule: Schedule, table: str, **fields: Any) -> Schedule:
    """The schedule with one part altered."""
    return schedule.having(table, **fields)


def executing(table: str, **fields: Any) -> Mutation:
    """Execution carries out something else than the schedule."""

    def weaker(schedule: Schedule, *rest: Any) -> Any:
        return execute(changed(schedule, table, **fields), *rest)

    return lambda: mock.patch.object(execution, "execute", weaker)


def claiming(alter: Callable[[Schedule], Schedule]) -> Mutation:
    """The guarantee and the charge are computed from another schedule than the one that is executed."""

    @contextmanager
    def apply() -> Iterator[None]:
        guarantee, event = accounting.guarantee_of, accounting.event_of
        with mock.patch.multiple(
            accounting,
            guarantee_of=lambda schedule: guarantee(alter(schedule)),
            event_of=lambda schedule: event(alter(schedule)),
        ):
            yield

    return apply


def stating(case: Case, table: str, contribution: Contribution) -> Mutation:
    """The schedule itself states another bound than the one that counting keeps."""
    kind = type(case.make())
    real = kind.__post_init__

    def settled(self: Any) -> None:
        object.__setattr__(self, "schedule", self.schedule.having(table, contribution=contribution))
        real(self)

    return lambda: mock.patch.object(kind, "__post_init__", settled)


def half(noise: Noise) -> Noise:
    return replace(noise, scale=noise.scale / 2)


def times(noise: Noise, factor: float) -> Noise:
    return replace(noise, scale=noise.scale * factor)


def execution_mutants(case: Case, part: Part) -> Iterator[Mutant]:
    """Less noise, lower thresholds."""
    name = part.table
    draws, compares = "draws_as_analysed", "compares_as_analysed"
    for field, noise in (("noise", part.noise), ("fresh", part.fresh)):
        if noise is not None:
            for said, factor in (("half", 0.5), ("30% less", 0.7), ("30% more", 1.3)):
                what = f"{said} of the {field if field == 'fresh' else 'compared'} noise of {name}"
                changed_noise = {field: times(noise, factor)}
                yield Mutant(case.name, what, draws, executing(name, **changed_noise))
    if part.least is not None:
        what = f"the threshold of {name} minus one"
        yield Mutant(case.name, what, compares, executing(name, least=part.least - 1))
    if part.minimum > 1:
        what = f"the least true count of {name} minus one"
        yield Mutant(case.name, what, compares, executing(name, minimum=part.minimum - 1))
    if part.within:
        what = f"{name} of queries that are not published"
        yield Mutant(case.name, what, "shows_as_analysed", executing(name, within=()))
    if part.chance < 1:
        what = f"idle keys of {name} always take part"
        yield Mutant(case.name, what, draws, executing(name, chance=1.0))


def claim_mutants(case: Case, part: Part) -> Iterator[Mutant]:
    """Something is not charged, or a smaller bound is claimed than holds."""
    name, check = part.table, "diverges_as_claimed"

    def without(schedule: Schedule) -> Schedule:
        return replace(schedule, parts=tuple(each for each in schedule if each.table != name))

    if len(case.make().schedule.parts) > 1:  # without any part there is nothing to charge, and it is refused
        yield Mutant(case.name, f"{name} not charged", check, claiming(without))
    if part.fresh is not None:
        what = f"fresh counts of {name} not charged"
        yield Mutant(case.name, what, check, claiming(lambda s: changed(s, name, fresh=None)))
    if part.keys is not Keys.PUBLIC and part.minimum == 1 and name not in case.spared:
        what = f"keys of {name} that occur taken for public ones"
        yield Mutant(case.name, what, check, claiming(lambda s: changed(s, name, keys=Keys.PUBLIC)))
    bound = part.contribution
    fewer = replace(bound, groups=(bound.groups[0] - 1, *bound.groups[1:]))
    what = f"the bound of {name} minus one in the schedule"
    yield Mutant(case.name, what, "bounds_as_analysed", stating(case, name, fewer))
    # Of three queries without equal neighbours no two choices are the same: there the claim would be right.
    if not bound.once and bound.largest > 1 and (case.name, name) != ("session", "sessions"):
        once = replace(bound, once=True)
        what = f"a user said to count once for a key of {name}"
        yield Mutant(case.name, what, "bounds_as_analysed", stating(case, name, once))


def one_more(module: Any, function: str, place: int) -> Mutation:
    """A bounding function lets one more pass."""
    real = getattr(module, function)

    def generous(*arguments: Any) -> Any:
        listed = list(arguments)
        listed[place] += 1
        return real(*listed)

    return lambda: mock.patch.object(module, function, generous)


def counting_with(**changes: Any) -> Mutation:
    """A_Session counts by other parameters than those that are analysed."""
    real = SessionPlan.count

    def count(self: Any, engine: Any, log: Any) -> Any:
        return real(replace(self.mechanism, **changes).plan(), engine, log)

    return lambda: mock.patch.object(SessionPlan, "count", count)


@contextmanager
def one_noise_for_all() -> Iterator[None]:
    real = execution.draw

    def draw(noise: Any, size: int, source: Any) -> np.ndarray:
        return np.repeat(real(noise, 1, source), size)

    with mock.patch.object(execution, "draw", draw):
        yield


@contextmanager
def noise_used_again() -> Iterator[None]:
    """The noise of the draw before: for a fresh count that of the comparison, for a table that of another."""
    real = execution.draw
    before: list[np.ndarray] = []

    def draw(noise: Any, size: int, source: Any) -> np.ndarray:
        again = before and len(before[-1]) >= size
        drawn = before[-1][:size] if again else real(noise, size, source)
        before.append(drawn)
        return drawn

    with mock.patch.object(execution, "draw", draw):
        yield


@contextmanager
def dropped(kind: type) -> Iterator[None]:
    """One part of the event that the ledger is charged with is forgotten."""
    real = accounting.event_of

    def event_of(schedule: Schedule) -> Any:
        parts = list(real(schedule).parts)  # type: ignore[attr-defined]
        forgotten = next(part for part in parts if isinstance(part, kind))
        parts.remove(forgotten)
        return Composed(tuple(parts))

    with mock.patch.object(accounting, "event_of", event_of):
        yield


@contextmanager
def one_level_charged() -> Iterator[None]:
    """Noise on every level, planned and charged as if there were one."""
    real = Topics.counts_per_user
    with mock.patch.object(Topics, "counts_per_user", property(lambda p: real.fget(p) // p.levels)):
        yield


@contextmanager
def every_search_counted() -> Iterator[None]:
    """Users count for all topics below the chosen ones, not for one in each."""
    real = topics.bounded_within

    def generous(items: Any, group: Any, keys: Any, limit: int, choice: Any) -> Any:
        return real(items, group, keys, limit if len(group) == 1 else 1000, choice)

    with mock.patch.object(topics, "bounded_within", generous):
        yield


def patched(name: str, value: Any) -> Mutation:
    return lambda: mock.patch.object(accounting, name, value)


def listed() -> list[Mutant]:
    """All mutants."""
    from tacit.privacy.accounting.events import RareDisclosure

    found: list[Mutant] = []
    for case in CASES:
        for part in case.make().schedule:
            found += execution_mutants(case, part)
            if part.noise is not None:
                found += claim_mutants(case, part)
    draws, bounds, diverges = "draws_as_analysed", "bounds_as_analysed", "diverges_as_claimed"
    for case in CASES:
        if case.name != "k-query":
            found.append(Mutant(case.name, "one noise for all keys", draws, one_noise_for_all))
            if len(list(case.make().schedule.noises())) > 1:
                found.append(Mutant(case.name, "noise used again", draws, noise_used_again))
    for name, what, place in (
        ("zealous", ("bounded_items", contribution), 2),
        ("click, pure", ("bounded_searches", contribution), 1),
        ("click, pure", ("bounded_clicks", contribution), 1),
        ("click, sampled", ("bounded_searches", contribution), 1),
        ("click, minimum", ("bounded_searches", contribution), 1),
        ("click, approximate", ("bounded_searches", contribution), 1),
        ("click, approximate", ("bounded_clicks", contribution), 1),
        ("click, own queries", ("bounded_searches", contribution), 1),
        ("click, once per user", ("bounded_items", contribution), 2),
        ("session", ("bounded_sessions", contribution), 1),
        ("session", ("bounded_clicks", contribution), 1),
        ("session, once per user", ("bounded_sessions", contribution), 1),
        ("session, once per user", ("bounded_clicks", contribution), 1),
        ("topics", ("bounded_within", topics), 3),
    ):
        function, module = what
        found.append(Mutant(name, f"{function} plus one", bounds, one_more(module, function, place)))
    found.append(
        Mutant(
            "session, once per user", "each occurrence counted", bounds, counting_with(once_per_user=False)
        )
    )
    found.append(
        Mutant("session", "queries of a session plus one", bounds, counting_with(queries_per_session=4))
    )
    for name in (
        "zealous",
        "click, approximate",
        "click, own queries",
        "click, once per user",
        "session",
        "session, once per user",
    ):
        what = "no delta for keys that occur"
        found.append(Mutant(name, what, diverges, patched("whole_loss", lambda schedule: 0.0)))
        for kind in (RareDisclosure, LaplaceCounts):
            said = f"{kind.__name__} missing in the ledger's event"
            found.append(Mutant(name, said, diverges, lambda kind=kind: dropped(kind)))
    found.append(Mutant("topics", "levels counted and not charged", diverges, one_level_charged))
    found.append(Mutant("topics", "a path for every search", bounds, every_search_counted))
    what = "a public key below the minimum charged as one step"
    found.append(Mutant("click, minimum", what, diverges, patched("_step", lambda part: 1)))
    one_history = mock.patch.object(Neighbours, "users_changed", property(lambda self: 1))
    found.append(Mutant("zealous", "replacing charged as one history", diverges, lambda: one_history))
    return found


MUTANTS = listed()


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with open_engine(threads=1) as opened:
        yield opened


@pytest.fixture(scope="module")
def count(engine: Engine) -> Count:
    return remembering(engine)


def check(mutant: Mutant, engine: Engine, count: Count) -> None:
    """Make the check that is to catch the mutant."""
    case = BY_NAME[mutant.case]
    if mutant.what.endswith("plus one") or mutant.what in (
        "each occurrence counted",
        "a path for every search",
    ):
        bounds_as_analysed(case, lambda _, mechanism, log: counted(engine, mechanism, log))
    elif mutant.caught_by == "bounds_as_analysed":
        bounds_as_analysed(case, count)
    elif mutant.caught_by == "diverges_as_claimed":
        diverges_as_claimed(case, count)
    elif mutant.caught_by == "shows_as_analysed":
        shows_as_analysed(case.make())
    elif mutant.caught_by == "compares_as_analysed":
        compares_as_analysed(case.make())
    else:
        draws_as_analysed(case.make())


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_the_mutant_is_caught(mutant: Mutant, engine: Engine, count: Count) -> None:
    for history in (BY_NAME[mutant.case].greedy[0],):  # counted before anything is altered
        count(
            BY_NAME[mutant.case],
            BY_NAME[mutant.case].make(),
            BY_NAME[mutant.case].others | {"somebody": history},
        )
    with mutant.apply(), pytest.raises(AssertionError):
        check(mutant, engine, count)


def test_every_number_of_every_schedule_has_its_mutant() -> None:
    """No noise, threshold, minimum, chance or bound without one."""
    said = {str(mutant) for mutant in MUTANTS}
    assert len(said) == len(MUTANTS)
    for case in CASES:
        for part in case.make().schedule:
            name = part.table
            needed = [f"half of the compared noise of {name}"] * (part.noise is not None)
            needed += [f"half of the fresh noise of {name}"] * (part.fresh is not None)
            needed += [f"the threshold of {name} minus one"] * (part.least is not None)
            needed += [f"the least true count of {name} minus one"] * (part.minimum > 1)
            needed += [f"{name} of queries that are not published"] * bool(part.within)
            several = len(case.make().schedule.parts) > 1
            needed += [f"{name} not charged"] * (part.noise is not None and several)
            needed += [f"the bound of {name} minus one in the schedule"] * (part.noise is not None)
            for what in needed:
                assert f"{case.name}: {what}" in said
    for case in CASES:
        for table in case.spared:  # another case of the mechanism has it among the worst
            what = f"keys of {table} that occur taken for public ones"
            others = [each.name for each in CASES if each.make().name == case.make().name]
            assert any(f"{name}: {what}" in said for name in others)
