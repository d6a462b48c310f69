"""Does what is executed diverge, on logs that go to the limits, by no more than is claimed? Exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from tests.joint_outputs import Atom, compared_outputs, fresh_outputs, shown_together
from tests.schedule_cases import Case, History, Log
from tests.schedule_counts import Count, Counts
from tests.schedule_executed import noise_off, publish, shown_within

from tacit.audit import exact
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.release.mechanism import Plan
from tacit.release.schedule import Keys, Part

__all__ = ["diverges_as_claimed"]


def diverges_as_claimed(case: Case, count: Count) -> None:
    """The exact divergence of the outputs on neighbouring logs at the claimed ε is at most the claimed δ."""
    for relation in Neighbours:
        mechanism = case.make(neighbours=relation)
        promise = mechanism.guarantee
        charged = mechanism.event.guarantee
        assert promise.kind is not GuaranteeKind.K_QUERY
        assert charged.epsilon >= promise.epsilon * (1 - 1e-12), "the ledger is charged less than is stated"
        assert charged.delta >= promise.delta * (1 - 1e-12), "the ledger is charged less than is stated"
        executed = _executed(mechanism)
        for left, right in _neighbouring(case, relation):
            pair = _outputs(mechanism, executed, count(case, mechanism, left), count(case, mechanism, right))
            found = float(exact.divergence(pair, math.exp(promise.epsilon)))
            assert found <= promise.delta * (1 + 1e-9) + 1e-12, (
                f"{relation}: {found:.3g} > {promise.delta:.3g}"
            )
            loss, chance = promise.but_for()
            for atoms in (pair.atoms, pair.flipped().atoms):
                more = float(sum(p for p, q in atoms if p > math.exp(loss) * q * (1 + 1e-9)))
                assert more <= chance * (1 + 1e-9) + 1e-12, f"{relation}: {more:.3g} exceed the stated loss"


def _neighbouring(case: Case, relation: Neighbours) -> Iterator[tuple[Log, Log]]:
    def having(history: History) -> Log:
        return case.others | {"somebody": history}

    if relation is Neighbours.ADD_REMOVE:
        for history in (*case.greedy, *case.alone):
            yield case.others, having(history)
    else:
        histories = (*case.greedy, case.alone[0])
        for number, one in enumerate(histories):
            for two in histories[:number]:
                yield having(one), having(two)


def _executed(mechanism: Plan[Any]) -> dict[str, tuple[int, int | None, float, float | None]]:
    """What is really drawn and compared, found out from outside: minimum, least, scale, fresh scale.

    Where even counts far below 0 are shown there is no threshold.
    """
    schedule = mechanism.schedule
    top = max(max(part.least or 0, part.minimum) for part in schedule) + 3
    found = {}
    for part in schedule:
        counts = {each.table: np.empty(0, np.int64) for each in schedule}
        counts[part.table] = np.repeat(np.arange(top + 1), 2)
        with noise_off() as asked:
            shown = publish(mechanism, counts)[part.table]
        scales = [scale for scale, each in zip(asked, _draws(mechanism), strict=True) if each == part.table]
        passed = sorted({counts[part.table].tolist()[number] for number in shown})
        least: int | None = passed[0] if passed else top
        with noise_off(-10 * top):
            if len(publish(mechanism, counts)[part.table]) == len(counts[part.table]):
                least = None
        found[part.table] = (part.minimum, least, scales[0], scales[1] if len(scales) > 1 else None)
    return found


def _draws(mechanism: Plan[Any]) -> list[str]:
    """For which part each draw is made, in order."""
    return [part.table for part in mechanism.schedule for _ in part.noises()]


def _outputs(mechanism: Plan[Any], executed: Mapping[str, Any], left: Counts, right: Counts) -> exact.Pair:
    """The joint output of all keys whose counts differ.

    A key of a table that is shown within another is there only if its queries are, where that is what is
    executed. Queries whose counts do not differ are taken to be shown: that only tells more.
    """
    tied = any(part.within for part in mechanism.schedule) and all(shown_within(mechanism).values())
    free: list[exact.Pair] = []
    queries: dict[str, tuple[Atom, exact.Pair]] = {}
    within: list[tuple[set[str], exact.Pair]] = []
    for part in mechanism.schedule:
        for key in sorted(left[part.table].keys() | right[part.table].keys(), key=repr):
            counts = (left[part.table][key], right[part.table][key])
            public = _is_public(mechanism, part, key)
            if counts[0] == counts[1] or (part.keys is Keys.PUBLIC and not public):
                continue  # the same on both logs, or counted and never shown
            missing, shown = _key_outputs(part, public, counts, *executed[part.table])
            pair = exact.Pair.of([missing, *shown.atoms])
            if tied and part.within:
                within.append((set(key[: len(part.within)]), pair))
            elif tied:
                queries[key[0]] = (missing, shown)
            else:
                free.append(pair)
    return exact.product([*free, shown_together(queries, within)])


def _is_public(mechanism: Plan[Any], part: Part, key: tuple[Any, ...]) -> bool:
    if part.keys is Keys.OCCURRING:
        return False
    if not hasattr(mechanism, "domain"):
        return True  # all keys are listed, those with a count of 0 too
    queries = set(mechanism.domain.queries.to_pylist())
    if part.table == "clicks":
        return key[0] in queries and key[1] in mechanism.surfaced.urls(key[0])
    return all(query in queries for query in key)


def _key_outputs(
    part: Part,
    public: bool,
    counts: tuple[int, int],
    minimum: int,
    least: int | None,
    scale: float,
    fresh: float | None,
) -> tuple[Atom, exact.Pair]:
    """The chances that a key is missing on the two logs, and the outputs that show it."""
    a = math.exp(-1 / scale)
    if least is None:
        return (0.0, 0.0), exact.noisy(a, *counts)
    compared = [n if n >= max(1, minimum) else (0 if public else None) for n in counts]
    if fresh is None and part.chance == 1:
        return compared_outputs(a, compared[0], compared[1], least)
    appears = [
        0.0 if n is None else (part.chance if n == 0 else 1.0) * float(exact.survival(a, least - n))
        for n in compared
    ]
    then = None if fresh is None else exact.noisy(math.exp(-1 / fresh), counts[0], counts[1])
    return fresh_outputs(appears[0], appears[1], then)
