"""The audit's exact checks on the cases of :mod:`tests.schedule_cases`, under every neighbour relation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tests.schedule_cases import Case, History, Log, log_table

from tacit import Plan
from tacit.audit import checks
from tacit.audit.checks import compares_as_analysed, draws_as_analysed, shows_as_analysed
from tacit.audit.neighbours import CountedPair
from tacit.engines import Engine
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.schedule import Keys, Part

__all__ = [
    "Count",
    "bounds_as_analysed",
    "compares_as_analysed",
    "counted",
    "diverges_as_claimed",
    "draws_as_analysed",
    "hides_rare_queries",
    "remembering",
    "shows_as_analysed",
]

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


def pair_of(mechanism: Plan[Any], left: Counts, right: Counts) -> CountedPair:
    """Two logs' counts as the audit takes them."""
    keys = {
        part.table: {
            key: (left[part.table][key], right[part.table][key], is_public(mechanism, part, key))
            for key in left[part.table].keys() | right[part.table].keys()
        }
        for part in mechanism.schedule
    }
    return CountedPair("pair", keys)


def bounds_as_analysed(case: Case, count: Count) -> None:
    """What a user adds, in sum and on one key, is what the schedule says, or less."""
    mechanism = case.make()
    without = count(case, mechanism, case.others)
    for history in (*case.greedy, *case.alone):
        having = count(case, mechanism, case.others | {"somebody": history})
        checks.adds_as_analysed(mechanism, pair_of(mechanism, without, having))


def diverges_as_claimed(case: Case, count: Count) -> None:
    """The exact divergence of the outputs on neighbouring logs at the claimed ε is at most the claimed δ."""
    for relation in Neighbours:
        mechanism = case.make(neighbours=relation)
        promise, charged = mechanism.guarantee, mechanism.event.guarantee
        assert promise.kind is not GuaranteeKind.K_QUERY
        assert charged.epsilon >= promise.epsilon * (1 - 1e-12), "the ledger is charged less than is stated"
        assert charged.delta >= promise.delta * (1 - 1e-12), "the ledger is charged less than is stated"
        by = checks.executed(mechanism)
        for left, right in _neighbouring(case, relation):
            counts = (count(case, mechanism, left), count(case, mechanism, right))
            checks.diverges_as_claimed(mechanism, pair_of(mechanism, *counts), by)


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


def is_public(mechanism: Plan[Any], part: Part, key: tuple[Any, ...]) -> bool:
    """Whether a key is one of a public set."""
    if part.keys is Keys.OCCURRING:
        return False
    if not hasattr(mechanism, "sets"):
        return True  # all keys are listed, those with a count of 0 too
    queries = set(mechanism.sets["domain"].queries.to_pylist())
    if part.table == "clicks":
        return key[0] in queries and key[1] in mechanism.sets["surfaced"].urls(key[0])
    return all(query in queries for query in key)


def hides_rare_queries(case: Case, engine: Engine) -> None:
    """k-query: whatever is published is about queries of at least k users."""
    mechanism = case.make()
    with checks.noise_off():
        counting = mechanism.count(engine, engine.load(log_table(case.others)))
        tables = mechanism.publish(engine, counting, OperatingSystemRandomness())
    users: dict[str, set[str]] = {}
    for user, history in case.others.items():
        for query, _, _ in history:
            users.setdefault(query, set()).add(user)
    for table in tables.values():
        for row in table.to_pylist():
            for name in ("query", "next_query"):
                if name in row:
                    found = len(users[row[name]])
                    assert found >= mechanism.k, f"a query of {found} users"
