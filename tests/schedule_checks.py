"""Five checks that hold what a mechanism does against the schedule from which its guarantee is computed.

Each raises AssertionError. They look at a mechanism from outside: its real ``count`` and ``publish`` run, on
counts or with noise of our choice.

- :func:`compares_as_analysed`: noise off, which counts pass and what is published, exactly;
- :func:`draws_as_analysed`: the noise has the scale stated, for every key and table by itself;
- :func:`shows_as_analysed`: clicks and steps are shown with their queries alone, where the schedule says so;
- :func:`bounds_as_analysed`: what one user adds is no more than stated, in sum and on one key;
- :func:`diverges_as_claimed`: the exact divergence of what is executed, on logs that go to the limits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from tests.joint_outputs import Atom, compared_outputs, fresh_outputs, shown_together
from tests.schedule_cases import Case, History, Log, log_table

from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.randomness import OperatingSystemRandomness
from tacit.release import execution
from tacit.release.analysis import exact
from tacit.release.engines import Engine
from tacit.release.mechanism import Mechanism
from tacit.release.schedule import Keys, NoiseKind, Part, Schedule

__all__ = [
    "bounds_as_analysed",
    "compares_as_analysed",
    "diverges_as_claimed",
    "draws_as_analysed",
    "hides_rare_queries",
    "remembering",
    "shows_as_analysed",
]

DRAWS = 4000
LIMIT = 5.5
"""Standard errors: a false alarm in at most one of 26 million (two-sided, normal approximation)."""

Counts = dict[str, Counter[tuple[Any, ...]]]
Count = Callable[[Case, Mechanism[Any], Log], Counts]


def rows_of(mechanism: Mechanism[Any], part: Part, counts: np.ndarray) -> pa.RecordBatch:
    """Keys 0, 1, 2, … with these true counts; of both kinds of keys, every second is public."""
    number = len(counts)
    names = [column.name for column in part.columns]
    if part.columns[0].several:
        names = [f"query_{i + 1}" for i in range(mechanism.parameters.queries_per_session)]
    keys = [pa.array([f"k{i}" for i in range(number)]) for _ in names]
    public = pa.array(np.arange(number) % 2 == 0)
    return pa.record_batch([*keys, pa.array(counts), public], names=[*names, "count", "public"])


def publish(mechanism: Mechanism[Any], counts: Mapping[str, np.ndarray]) -> dict[str, dict[int, int]]:
    """What is published of such keys, each table by itself: number of the key to its count."""
    alone = Schedule(tuple(replace(part, within=()) for part in mechanism.schedule()))

    def rows(engine: Any, counting: Any, part: Part, published: Any) -> list[pa.RecordBatch]:
        del engine, counting, published
        return [rows_of(mechanism, part, counts[part.table])]

    def drawn(tables: Any) -> Any:
        return tables  # before post-processing

    with mock.patch.multiple(mechanism, rows=rows, schedule=lambda: alone, finish=drawn):
        tables = mechanism.publish(None, {}, OperatingSystemRandomness())  # type: ignore[arg-type]
    found = {}
    for name, table in tables.items():
        keys = [key[0] if isinstance(key, list) else key for key in table.column(0).to_pylist()]
        found[name] = {int(k[1:]): n for k, n in zip(keys, table.column("count").to_pylist(), strict=True)}
    return found


@contextmanager
def noise_off(constant: int = 0) -> Iterator[list[float]]:
    """Every draw is 0, or another constant; the scales that were asked for are noted."""
    asked: list[float] = []

    def nothing(scale: float, size: int, source: Any) -> np.ndarray:
        del source
        asked.append(scale)
        return np.full(size, constant, np.int64)

    with mock.patch.dict(execution._SAMPLERS, dict.fromkeys(NoiseKind, nothing)):
        yield asked


def always(chance: float, size: int, source: Any) -> np.ndarray:
    """In the place of chance: everybody takes part."""
    del chance, source
    return np.ones(size, np.bool_)


def compares_as_analysed(mechanism: Mechanism[Any]) -> None:
    """With noise off, exactly the counts from the threshold on pass, and appear as they are.

    With noise that lifts every count over the threshold, exactly the keys that take part pass.
    """
    schedule = mechanism.schedule()
    top = max(max(part.least or 0, part.minimum) for part in schedule) + 3
    counts = np.repeat(np.arange(top + 1), 2)  # each count on a public and on another key
    for lift in (0, top):
        with noise_off(lift), mock.patch.object(execution, "bernoulli", always):
            found = publish(mechanism, {part.table: counts for part in schedule})
        for part in schedule:
            lifted = lift if part.noise is not None else 0
            expected = {}
            for number, count in enumerate(counts.tolist()):
                public = part.keys is Keys.PUBLIC or (part.keys is Keys.BOTH and number % 2 == 0)
                if count < max(1, part.minimum) and not public:
                    continue
                compared = count if count >= max(1, part.minimum) else 0
                if part.least is None or compared + lifted >= part.least:
                    expected[number] = lifted + (count if part.fresh is not None else compared)
            assert found[part.table] == expected, f"{part.table}: not the keys or counts of the schedule"


def shown_within(mechanism: Mechanism[Any]) -> dict[str, bool]:
    """Of each table, whether what belongs to a query is shown with that query alone."""
    stated = {part.table: part.within for part in mechanism.schedule()}
    queries = {"k0": 1000, "k1": 1, "k2": 1000}  # with noise off the second one does not pass
    pairs = [(one, two) for one in queries for two in queries]

    def rows(engine: Any, counting: Any, part: Part, published: Any) -> list[pa.RecordBatch]:
        del engine, counting, published
        names = [column.name for column in part.columns]
        within = stated[part.table]
        if not within:
            columns = [list(queries), list(queries.values())]
        else:
            keys = pairs if len(within) > 1 else [(query, "http://a") for query in queries]
            columns = [*(list(column) for column in zip(*keys, strict=True)), [1000] * len(keys)]
        public = [True] * len(columns[-1])
        return [pa.record_batch([*columns, public], names=[*names, "count", "public"])]

    with noise_off(), mock.patch.object(mechanism, "rows", rows):
        tables = mechanism.publish(None, {}, OperatingSystemRandomness())  # type: ignore[arg-type]
    found = {}
    for part in mechanism.schedule():
        listed = [
            value for column, _ in part.within for value in tables[part.table].column(column).to_pylist()
        ]
        assert not part.within or listed, f"{part.table}: nothing is shown"
        found[part.table] = "k1" not in listed
    return found


def shows_as_analysed(mechanism: Mechanism[Any]) -> None:
    """No click and no step of a query that was not published."""
    if any(part.within for part in mechanism.schedule()):
        for table, holds in shown_within(mechanism).items():
            assert holds, f"{table}: shown without its query"


def z_of_mean(sample: np.ndarray, mean: float, deviation: float) -> float:
    return float((sample.mean() - mean) / (deviation / math.sqrt(len(sample))))


def magnitude(scale: float) -> tuple[float, float]:
    """Mean and standard deviation of |X|."""
    a = math.exp(-1 / scale)
    mean, square = 2 * a / (1 - a * a), 2 * a / (1 - a) ** 2
    return mean, math.sqrt(square - mean**2)


def draws_as_analysed(mechanism: Mechanism[Any]) -> None:
    """Noise of the scale stated, independent from key to key and from table to table."""
    schedule = [part for part in mechanism.schedule() if part.noise is not None]
    far = {p.table: _far(p) for p in schedule}
    shown = publish(mechanism, {name: np.full(DRAWS, count) for name, count in far.items()})
    noises = {}
    for part in schedule:
        stated = part.fresh or part.noise
        assert stated is not None
        noise = np.array([shown[part.table][i] for i in range(DRAWS)]) - far[part.table]
        noises[part.table] = noise.astype(float)
        z = z_of_mean(np.abs(noise), *magnitude(stated.scale))
        assert abs(z) < LIMIT, f"{part.table}: noise of another scale than {stated.scale:g} (z = {z:.1f})"
        assert abs(_correlation(noise[1:], noise[:-1])) < LIMIT, f"{part.table}: keys share their noise"
    for one in noises:
        for two in noises:
            if one < two:
                together = abs(_correlation(noises[one], noises[two]))
                assert together < LIMIT, f"{one} and {two} share their noise"
    _share_that_passes(mechanism, schedule)


def _far(part: Part) -> int:
    """A count that passes whatever the noise is."""
    assert part.noise is not None
    return max(part.least or 0, part.minimum) + math.ceil(60 * part.noise.scale)


def _near(part: Part) -> int:
    """A count about one and a half scales below the threshold: how many pass depends most on the scale."""
    assert part.noise is not None and part.least is not None
    return max(part.minimum, part.least - math.ceil(1.5 * part.noise.scale))


def _correlation(one: np.ndarray, two: np.ndarray) -> float:
    """In standard errors; infinite where nothing varies."""
    if not (np.std(one) and np.std(two)):
        return math.inf
    return float(np.corrcoef(one, two)[0, 1] * math.sqrt(len(one)))


def _share_that_passes(mechanism: Mechanism[Any], schedule: list[Part]) -> None:
    """Of keys at a fixed distance from the threshold; of idle public keys too. Fresh counts stay unbiased."""
    compared = [part for part in schedule if part.least is not None]
    for idle in (False, True):
        at = {part.table: 0 if idle or part.least is None else _near(part) for part in schedule}
        shown = publish(mechanism, {name: np.full(2 * DRAWS, count) for name, count in at.items()})
        for part in compared:
            assert part.noise is not None and part.least is not None
            public = part.keys is not Keys.OCCURRING
            keys = range(0, 2 * DRAWS, 2) if part.keys is Keys.BOTH else range(2 * DRAWS)
            if idle and not public:
                assert not shown[part.table], f"{part.table}: keys that nobody has"
                continue
            chance = (part.chance if idle else 1.0) * float(
                exact.survival(math.exp(-1 / part.noise.scale), part.least - at[part.table])
            )
            passed = sum(key in shown[part.table] for key in keys)
            z = (passed - len(keys) * chance) / math.sqrt(len(keys) * chance * (1 - chance))
            assert abs(z) < LIMIT, (
                f"{part.table}: {passed} of {len(keys)} pass, not {chance:.4f} (z = {z:.1f})"
            )
            if part.fresh is not None:
                fresh = np.array(list(shown[part.table].values()), float) - at[part.table]
                z = z_of_mean(fresh, 0.0, float(fresh.std()) or 1.0)
                assert abs(z) < LIMIT, f"{part.table}: fresh counts remember the comparison (z = {z:.1f})"


def counted(engine: Engine, mechanism: Mechanism[Any], log: Log) -> Counts:
    """The secret counts of a log, as the release computes them."""
    counting = mechanism.count(engine, engine.load(log_table(log)))
    found: Counts = {}
    for part in mechanism.schedule():
        rows = engine.table(counting[part.table]).to_pylist()
        found[part.table] = Counter(
            {tuple(v for k, v in row.items() if k != "count"): row["count"] for row in rows}
        )
    return found


def remembering(engine: Engine) -> Count:
    """Counts each log once: what is counted does not depend on the neighbour relation."""
    known: dict[str, Counts] = {}

    def count(case: Case, mechanism: Mechanism[Any], log: Log) -> Counts:
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
        for part in mechanism.schedule():
            moved = having[part.table].copy()
            moved.subtract(without[part.table])
            assert min(moved.values(), default=0) >= 0, "a user takes something away"
            stated = part.contribution
            found = (sum(moved.values()), max(moved.values(), default=0))
            assert found[0] <= stated.total, f"{part.table}: a user adds {found[0]}, not {stated.total}"
            assert found[1] <= stated.largest, f"{part.table}: a user adds {found[1]} to one key"


def _executed(mechanism: Mechanism[Any]) -> dict[str, tuple[int, int | None, float, float | None]]:
    """What is really drawn and compared, found out from outside: minimum, least, scale, fresh scale.

    Where even counts far below 0 are shown there is no threshold.
    """
    schedule = mechanism.schedule()
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


def _draws(mechanism: Mechanism[Any]) -> list[str]:
    """For which part each draw is made, in order."""
    return [part.table for part in mechanism.schedule() for _ in part.noises()]


def diverges_as_claimed(case: Case, count: Count) -> None:
    """The exact divergence of the outputs on neighbouring logs at the claimed ε is at most the claimed δ."""
    for relation in Neighbours:
        mechanism = case.make(neighbours=relation)
        promise = mechanism.guarantee()
        charged = mechanism.event().guarantee
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


def _outputs(
    mechanism: Mechanism[Any], executed: Mapping[str, Any], left: Counts, right: Counts
) -> exact.Pair:
    """The joint output of all keys whose counts differ.

    A key of a table that is shown within another is there only if its queries are, where that is what is
    executed. Queries whose counts do not differ are taken to be shown: that only tells more.
    """
    tied = any(part.within for part in mechanism.schedule()) and all(shown_within(mechanism).values())
    free: list[exact.Pair] = []
    queries: dict[str, tuple[Atom, exact.Pair]] = {}
    within: list[tuple[set[str], exact.Pair]] = []
    for part in mechanism.schedule():
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


def _is_public(mechanism: Mechanism[Any], part: Part, key: tuple[Any, ...]) -> bool:
    if part.keys is Keys.OCCURRING:
        return False
    if not hasattr(mechanism.parameters, "domain"):
        return True  # all keys are listed, those with a count of 0 too
    queries = set(mechanism.parameters.domain.queries.to_pylist())
    if part.table == "clicks":
        return key[0] in queries and key[1] in mechanism.parameters.surfaced.urls(key[0])
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


def hides_rare_queries(case: Case, engine: Engine) -> None:
    """k-query: whatever is published is about queries of at least k users."""
    mechanism = case.make()
    with noise_off():
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
                    assert found >= mechanism.parameters.k, f"a query of {found} users"
