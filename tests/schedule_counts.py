"""What a mechanism counts of a log, as its release computes it, and what one user adds to that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.schedule_cases import Case, Log, log_table

from tacit.release.engines import Engine
from tacit.release.mechanism import Plan

__all__ = ["Count", "Counts", "bounds_as_analysed", "counted", "remembering"]

Counts = dict[str, Counter[tuple[Any, ...]]]
Count = Callable[[Case, Plan[Any], Log], Counts]


def counted(engine: Engine, mechanism: Plan[Any], log: Log) -> Counts:
    """The secret counts of a log, as the release computes them."""
    counting = mechanism.count(engine, engine.load(log_table(log)))
    found: Counts = {}
    for part in mechanism.schedule:
        rows = engine.table(counting[part.table]).to_pylist()
        found[part.table] = Counter(
            {tuple(v for k, v in row.items() if k != "count"): row["count"] for row in rows}
        )
    return found


def remembering(engine: Engine) -> Count:
    """Counts each log once: what is counted does not depend on the neighbour relation."""
    known: dict[str, Counts] = {}

    def count(case: Case, mechanism: Plan[Any], log: Log) -> Counts:
        name = f"{case.name} {log.get('somebody')}"
        if name not in known:
            known[name] = counted(engine, mechanism, log)
        return known[name]

    return count


def bounds_as_analysed(case: Case, count: Count) -> None:
    """What a user adds, in sum, by groups of keys and on one key, is what the schedule says, or less."""
    mechanism = case.make()
    without = count(case, mechanism, case.others)
    for history in (*case.greedy, *case.alone):
        having = count(case, mechanism, case.others | {"somebody": history})
        for part in mechanism.schedule:
            moved = having[part.table].copy()
            moved.subtract(without[part.table])
            assert min(moved.values(), default=0) >= 0, "a user takes something away"
            stated = part.contribution
            found = (sum(moved.values()), max(moved.values(), default=0))
            assert found[0] <= stated.total, f"{part.table}: a user adds {found[0]}, not {stated.total}"
            assert found[1] <= stated.largest, f"{part.table}: a user adds {found[1]} to one key"
