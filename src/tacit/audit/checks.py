"""Exact checks: what a mechanism does, held against the schedule from which its guarantee is computed.

They look at a plan from outside: its real ``count`` runs, and its schedule is carried out on counts, or with
noise, of our choice. Each ends with a :class:`Fault` or says what it found, and its first line says what must
hold. Of rounds and single counts they look at the one place where numbers of a log meet noise.
"""

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import chi2

from tacit.audit import exact
from tacit.audit.neighbours import CountedPair, Log, log_table, pairs_of, taken_in
from tacit.audit.replicas import Numbered, appears, correlation
from tacit.engines import open_engine
from tacit.privacy.noise.randomness import KeyedRandomness, OperatingSystemRandomness, RandomSource
from tacit.release import execution
from tacit.release.mechanism import Plan
from tacit.release.schedule import ONE, AdaptiveRounds, Keys, NoiseKind, Part, Schedule, SingleCount

OF_NOISE = (
    *("compares_as_analysed", "shows_as_analysed", "draws_as_analysed"),
    *("bits_are_fresh", "moves_as_stated", "finds_as_stated", "widths_as_stated", "composes_as_claimed"),
)
"""The checks that need no counts of a log."""
DRAWS = 20_000
LIMIT, NEVER = 6.2, 1e-9
"""Standard errors, and a p-value: a false alarm in one of a billion at most (normal approximation)."""
_ITEMS = 4_000
Whole = NDArray[np.int64]
Atom = tuple[exact.Number, exact.Number]
"""The chances of an output on the two logs."""


class Fault(AssertionError):  # noqa: N818 - not an error of the program
    """What is executed is not what is analysed."""


def require(holds: bool, fault: str) -> None:
    """Raise a :class:`Fault` unless it holds; also where Python leaves out assertions."""
    if not holds:
        raise Fault(fault)


@dataclass(frozen=True)
class ExactCheck:
    """One exact check and what came of it."""

    name: str
    says: str
    holds: bool
    found: str


@contextmanager
def instead(place: Any = execution, **changes: Any) -> Iterator[None]:
    """Other values for names of a module while the block runs; execution draws and compares in one place."""
    before = {name: getattr(place, name) for name in changes}
    for name, value in changes.items():
        setattr(place, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(place, name, value)


@contextmanager
def noise_off(constant: int = 0) -> Iterator[list[float]]:
    """Every draw is 0, or another constant; the scales that were asked for are noted."""
    asked: list[float] = []

    def nothing(scale: float, size: int, source: Any) -> Whole:
        del source
        asked.append(scale)
        return np.full(size, constant, np.int64)

    with instead(_SAMPLERS=dict.fromkeys(NoiseKind, nothing)):
        yield asked


def publish(
    plan: Plan[Any], counts: Mapping[str, Whole], source: RandomSource | None = None
) -> dict[str, dict[int, int]]:
    """What is published of keys 0, 1, 2, … with these counts, each table by itself: the key to its count.

    Of both kinds of keys, every second is public.
    """

    def rows(part: Part, published: Any) -> list[pa.RecordBatch]:
        del published
        number = len(counts[part.table])
        names = [column.name for column in part.columns]
        if part.columns[0].several:
            names = [f"query_{i + 1}" for i in range(plan.mechanism.queries_per_session)]
        keys = [pa.array([f"k{i}" for i in range(number)], pa.string()) for _ in names]
        public = pa.array(np.arange(number) % 2 == 0)
        columns = [*keys, pa.array(counts[part.table], pa.int64()), public]
        return [pa.record_batch(columns, names=[*names, "count", "public"])]

    parts = tuple(replace(part, within=()) for part in plan.schedule)
    alone = replace(plan.schedule, parts=parts)
    tables = execution.execute(alone, rows, source or OperatingSystemRandomness(), plan.shown)
    found = {}
    for name, table in tables.items():
        keys = [key[0] if isinstance(key, list) else key for key in table.column(0).to_pylist()]
        counted = zip(keys, table.column("count").to_pylist(), strict=True)
        found[name] = dict(sorted((int(key[1:]), count) for key, count in counted))
    return found


def shown_within(plan: Plan[Any]) -> dict[str, bool]:
    """Of each table, whether what belongs to a query is shown with that query alone."""
    queries = {"k0": 1000, "k1": 1, "k2": 1000}  # with noise off the second one does not pass
    pairs = [(one, two) for one in queries for two in queries]

    def rows(part: Part) -> pa.Table:
        columns: list[Any] = [list(queries), list(queries.values())]
        if part.within:
            keys = pairs if len(part.within) > 1 else [(query, "http://a") for query in queries]
            columns = [*(list(column) for column in zip(*keys, strict=True)), [1000] * len(keys)]
        names = [column.name for column in part.columns]
        return pa.table([*columns, [True] * len(columns[-1])], names=[*names, "count", "public"])

    with noise_off():
        tables = execution.execute(
            plan.schedule, {part.table: rows(part) for part in plan.schedule}, OperatingSystemRandomness()
        )
    found = {}
    for part in plan.schedule:
        listed = [each for column, _ in part.within for each in tables[part.table].column(column).to_pylist()]
        require(not part.within or bool(listed), f"{part.table}: nothing is shown")
        found[part.table] = "k1" not in listed
    return found


def compares_as_analysed(plan: Plan[Any]) -> str:
    """With noise off, exactly the counts from the threshold on pass, and appear as they are.

    With noise that lifts every count over the threshold, exactly the keys that take part pass.
    """
    schedule = plan.schedule
    top = max(max(part.least or 0, part.minimum) for part in schedule) + 3
    counts = np.repeat(np.arange(top + 1), 2)  # each count on a public and on another key
    for lift in (0, top):
        with noise_off(lift), instead(bernoulli=lambda _, size, *_rest: np.ones(size, np.bool_)):
            found = publish(plan, {part.table: counts for part in schedule})
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
            require(found[part.table] == expected, f"{part.table}: not the keys or counts of the schedule")
    least = {part.table: part.minimum if schedule.exact else part.least for part in schedule}
    return ", ".join(f"{table} from {each}" for table, each in least.items() if each is not None)


def shows_as_analysed(plan: Plan[Any]) -> str:
    """No click and no step of a query that was not published."""
    if any(part.within for part in plan.schedule):
        for table, holds in shown_within(plan).items():
            require(holds, f"{table}: shown without its query")
    return ""


def draws_as_analysed(plan: Plan[Any]) -> str:
    """Noise as stated, independent from key to key and table to table; also where its bits have a key."""
    schedule = [part for part in plan.schedule if part.noise is not None]
    far = {p.table: max(p.least or 0, p.minimum) + math.ceil(60 * p.scale) for p in schedule}
    for source in (OperatingSystemRandomness(), KeyedRandomness.drawn("audit")):
        number = DRAWS if isinstance(source, OperatingSystemRandomness) else DRAWS // 5
        shown = publish(plan, {name: np.full(number, count) for name, count in far.items()}, source)
        noises = {p.table: np.array(list(shown[p.table].values())) - far[p.table] for p in schedule}
        for part in schedule:
            require_noise(noises[part.table], laplace(part.error), part.error, part.table)
        for one, two in combinations(sorted(noises), 2):
            require(abs(correlation(noises[one], noises[two])) < LIMIT, f"{one} and {two} share their noise")
    _share_that_passes(plan, schedule)
    return ", ".join(f"{part.table} of scale {part.error:g}" for part in schedule)


Tail = Callable[[int], float]
"""P(noise ≥ t)."""


def laplace(scale: float) -> Tail:
    """Of discrete Laplace noise."""
    return lambda t: float(exact.survival(math.exp(-1 / scale), t)) if scale else float(t <= 0)


def capped(stated: SingleCount) -> Tail:
    """Of noise that is drawn again above a bound, summed up from the definition."""
    a, up, most = math.exp(-1 / stated.scale), stated.upward, stated.most

    def whole(t: int) -> float:
        return up * a**t if t >= 0 else 1 - (1 - up) * a**-t

    return lambda t: max(0.0, whole(t) - whole(most + 1)) / (1 - whole(most + 1))


def require_noise(noise: Whole, tail: Tail, width: float, named: str) -> None:
    """Require so many draws to be of this distribution (Pearson's χ²), and none to tell of the next one."""
    near = np.array([0, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3]) * width
    edges = np.unique(np.rint(np.concatenate([-near, near + 1])).astype(np.int64))
    expected = -noise.size * np.diff([1.0, *(tail(edge) for edge in edges.tolist()), 0.0])
    seen = np.diff([0, *np.searchsorted(np.sort(noise), edges), noise.size])
    often = expected > 5
    statistic = float(((seen - expected) ** 2)[often] @ (1 / expected[often]))
    found = float(chi2.sf(statistic, max(1, int(often.sum()) - 1)))
    require(found > NEVER, f"{named}: noise of another distribution than stated (p = {found:.1g})")
    require(abs(correlation(noise[1:], noise[:-1])) < LIMIT, f"{named}: keys share their noise")


def bits_are_fresh(plan: Plan[Any]) -> str:
    """No eight bytes come twice: within a source, from another one, or under a key."""
    del plan
    read: list[bytes] = []
    for _ in range(2):
        fresh, keyed = OperatingSystemRandomness(), KeyedRandomness.drawn("audit")
        for source in (fresh, keyed):
            read += [source.bits(size) for size in [64] * 100 + [1 << 13]]
        read += [fresh.bits(1 << 16)]
        items = keyed.addressed("audit", [bytes([n]) for n in range(200)])
        read += [items.words(200).tobytes() for _ in range(10)]
    windows = sliding_window_view(np.frombuffer(b"".join(read), np.uint8), 8)
    found = np.unique(np.ascontiguousarray(windows).view(np.uint64)).size
    require(found == len(windows), f"{len(windows) - found} of {len(windows):,} came before")
    return f"{len(windows):,} times eight bytes"


def _share_that_passes(plan: Plan[Any], schedule: list[Part]) -> None:
    """Of keys at a fixed distance from the threshold; of idle public keys too. Fresh counts stay unbiased."""
    # About one and a half scales below the threshold: how many pass depends most on the scale.
    near = {
        part.table: max(part.minimum, part.least - math.ceil(1.5 * part.scale))
        for part in schedule
        if part.least is not None
    }
    for idle in (False, True):
        at = {part.table: 0 if idle else near.get(part.table, 0) for part in schedule}
        shown = publish(plan, {name: np.full(2 * DRAWS, count) for name, count in at.items()})
        for part in (part for part in schedule if part.least is not None):
            keys = range(0, 2 * DRAWS, 2) if part.keys is Keys.BOTH else range(2 * DRAWS)
            if idle and part.keys is Keys.OCCURRING:
                require(not shown[part.table], f"{part.table}: keys that nobody has")
                continue
            chance = appears(part, at[part.table])
            passed = sum(key in shown[part.table] for key in keys)
            z = (passed - len(keys) * chance) / math.sqrt(len(keys) * chance * (1 - chance))
            said = f"{part.table}: {passed} of {len(keys)} pass, not {chance:.4f} (z = {z:.1f})"
            require(abs(z) < LIMIT or len(keys) * chance < 20 > passed, said)
            if part.fresh is not None and len(shown[part.table]) > 20:
                fresh = np.array(list(shown[part.table].values()), float) - at[part.table]
                z = float(fresh.mean()) / (float(fresh.std()) or 1.0) * math.sqrt(fresh.size)
                require(abs(z) < LIMIT, f"{part.table}: fresh counts remember the comparison (z = {z:.1f})")


def adds_as_analysed(plan: Plan[Any], counted: CountedPair, changed: int | None = None) -> str:
    """What a person adds, in sum and on one key, is what the schedule says, or less.

    The logs differ by ``changed`` people: by those of the plan's own neighbours unless given.
    """
    said, changed = [], changed or plan.neighbours.users_changed
    for part in plan.schedule:
        moved = [(b or 0) - (a or 0) for a, b, _ in counted.keys[part.table].values()]
        require(min(moved, default=0) >= 0 or changed > 1, "a user takes something away")
        stated, total = part.contribution, sum(abs(each) for each in moved)
        most = max((abs(each) for each in moved), default=0)
        require(total <= stated.total * changed, f"{part.table}: a user adds {total}, not {stated.total}")
        require(most <= stated.largest, f"{part.table}: a user adds {most} to one key")
        said.append(f"{total} to {part.table}")
    return ", ".join(said)


def holds_as_counted(plan: Plan[Any]) -> str:
    """As read from a log everybody is one holder, and holds each item once, however often it was asked."""
    sizes = {"one": 5, "two": 2, "three": 1}
    log: Log = {
        user: [(f"item {chr(97 + n % size)}", n, f"http://{n}") for n in range(2 * size)]
        for user, size in sizes.items()
    }
    with open_engine(threads=1) as engine:
        holdings = taken_in(plan, engine, log)["held"].holdings
    require_holders(holdings, len(sizes))
    found = sorted(np.diff(holdings.starts).tolist(), reverse=True)
    queries = [part.table for part in plan.schedule] == ["queries"]
    expected = list(sizes.values())
    require(not queries or found == expected, f"people hold {found} items, not {expected}")
    return f"{len(sizes)} people, each item once"


def require_holders(holdings: execution.Holdings, people: int) -> None:
    """Require so many holders, none of whom has an item twice."""
    require(holdings.starts.size - 1 == people, f"{holdings.starts.size - 1} holders for {people} people")
    holders = np.repeat(np.arange(people), np.diff(holdings.starts))
    pairs = np.unique(holders * holdings.kinds + holdings.items)
    require(pairs.size == holdings.items.size, "an item of a person is counted twice")


Executed = Mapping[str, Part]
"""The parts as they are really drawn and compared."""


def executed(plan: Plan[Any]) -> Executed:
    """What is really drawn and compared, found out from outside: the least count, and scales of noise.

    Where even counts far below 0 are shown there is no threshold.
    """
    schedule = plan.schedule
    top = max(max(part.least or 0, part.minimum) for part in schedule) + 3
    draws = [part.table for part in schedule for _ in part.noises()]
    found = {}
    for part in schedule:
        counts = {each.table: np.empty(0, np.int64) for each in schedule}
        counts[part.table] = np.repeat(np.arange(top + 1), 2)
        with noise_off() as asked:
            shown = publish(plan, counts)[part.table]
        require(len(asked) == len(draws), f"{len(asked)} noises are drawn as stated, of {len(draws)}")
        scales = [scale for scale, each in zip(asked, draws, strict=True) if each == part.table]
        passed = sorted({counts[part.table].tolist()[number] for number in shown})
        least: int | None = passed[0] if passed else top
        with noise_off(-10 * top):
            if len(publish(plan, counts)[part.table]) == len(counts[part.table]):
                least = None
        drawn = [replace(each, scale=scale) for each, scale in zip(part.noises(), scales, strict=True)]
        fresh = drawn[1] if len(drawn) > 1 else None
        found[part.table] = replace(part, least=least, noise=drawn[0], fresh=fresh)
    return found


def diverges_as_claimed(plan: Plan[Any], counted: CountedPair, by: Executed | None = None) -> str:
    """The exact divergence of the outputs at the claimed ε is at most the claimed δ."""
    promise = plan.guarantee
    pair = outputs(plan, counted, by or executed(plan))
    found = float(exact.divergence(pair, math.exp(promise.epsilon)))
    require(found <= promise.delta * (1 + 1e-9) + 1e-12, f"{found:.3g} > {promise.delta:.3g}")
    loss, chance = promise.but_for()
    for atoms in (pair.atoms, pair.flipped().atoms):
        more = float(sum(p for p, q in atoms if p > math.exp(loss) * q * (1 + 1e-9)))
        require(more <= chance * (1 + 1e-9) + 1e-12, f"{more:.3g} exceed the stated loss")
    least = max(float(each.factor_at(promise.delta)) for each in (pair, pair.flipped()))
    return f"δ = {found:.3g} at ε = {promise.epsilon:.3g}, ε = {math.log(least):.4g} at δ"


def outputs(plan: Plan[Any], counted: CountedPair, by: Executed) -> exact.Pair:
    """The joint output of all keys whose counts differ.

    A key of a table that is shown within another is there only if its queries are, where that is what is
    executed. Queries whose counts do not differ are taken to be shown: that only tells more.
    """
    tied = any(part.within for part in plan.schedule) and all(shown_within(plan).values())
    free: list[exact.Pair] = []
    queries: dict[str | None, tuple[Atom, exact.Pair]] = {}
    within: list[tuple[set[str | None], exact.Pair]] = []
    for part in plan.schedule:
        for key, (one, two, public) in sorted(counted.differing()[part.table].items(), key=repr):
            counts = (one or 0, two or 0)
            if counts[0] == counts[1] or (part.keys is Keys.PUBLIC and not public):
                continue  # the same on both logs, or counted and never shown
            missing, shown = _key_outputs(by[part.table], public, counts)
            pair = exact.Pair.of([missing, *shown.atoms])
            if tied and part.within:
                within.append((set(key[: len(part.within)]), pair))
            elif tied:
                queries[key[0]] = (missing, shown)
            else:
                free.append(pair)
    return exact.product([*free, shown_together(queries, within)])


def _key_outputs(part: Part, public: bool, counts: tuple[int, int]) -> tuple[Atom, exact.Pair]:
    """The chances that a key is missing on the two logs, and the outputs that show it."""
    a = math.exp(-1 / part.scale)
    if part.least is None:
        return (0.0, 0.0), exact.noisy(a, *counts)
    one, two = (n if n >= max(1, part.minimum) else (0 if public else None) for n in counts)
    if part.fresh is None and part.chance == 1:
        return compared_outputs(a, one, two, part.least)
    then = None if part.fresh is None else exact.noisy(math.exp(-1 / part.fresh.scale), *counts)
    return fresh_outputs(appears(part, one), appears(part, two), then)


def compared_outputs(
    a: float | Fraction, one: int | None, two: int | None, least: int
) -> tuple[Atom, exact.Pair]:
    """A key that passes ``>= least`` with the compared count: its chances to be missing; what shows it."""
    if one is not None and two is not None:
        missing = (exact.survival(a, 1 - least + one), exact.survival(a, 1 - least + two))
        return missing, exact.passing(a, one, two, least)
    chances = [0.0 if n is None else exact.survival(a, least - n) for n in (one, two)]
    return fresh_outputs(chances[0], chances[1], None)


def fresh_outputs(one: exact.Number, two: exact.Number, then: exact.Pair | None) -> tuple[Atom, exact.Pair]:
    """A key that appears with these chances, and ``then`` with it."""
    following = then.atoms if then is not None else ((1, 1),)
    return (1 - one, 1 - two), exact.Pair.of((one * p, two * q) for p, q in following)


def shown_together(
    queries: Mapping[Any, tuple[Atom, exact.Pair]], within: Sequence[tuple[set[Any], exact.Pair]]
) -> exact.Pair:
    """Queries, and with those that appear what belongs to them: over all sets of queries that may appear.

    Args:
        queries: of each query whose counts differ, the chances to be missing, and the outputs that show it.
        within: clicks and steps with the queries that they belong to. Queries that are not listed are shown.
    """
    atoms: list[Atom] = []
    for size in range(len(queries) + 1):
        for chosen in combinations(queries, size):
            hidden = queries.keys() - set(chosen)
            parts = [queries[query][1] for query in chosen]
            parts += [exact.Pair((queries[query][0],)) for query in sorted(hidden)]
            parts += [pair for needed, pair in within if not needed & hidden]
            atoms += exact.product(parts).atoms
    return exact.Pair.of(atoms)


def _meeting(
    schedule: Schedule, sets: Sequence[Sequence[int]], lift: int = 0, sums: Sequence[Whole] = ()
) -> list[tuple[Whole, Whole, Whole]]:
    """Numbers of a log and noise wherever they meet, and the sum with which the release went on.

    Args:
        schedule: with a selection.
        sets: the items of each user.
        lift: what is added to the numbers, in the place of noise, where they meet first.
        sums: to go on with instead.
    """
    kinds = 1 + max(item for held in sets for item in held)
    starts = np.concatenate([[0], np.cumsum([len(held) for held in sets])]).astype(np.int64)
    items = np.array([item for held in sets for item in held], np.int32)
    met: list[tuple[Whole, Whole, Whole]] = []

    def meet(numbers: Whole, noise: Whole) -> Whole:
        used = sums[len(met)] if sums else numbers + (0 if met else lift)
        met.append((numbers, noise, used))
        return used

    held = Numbered(execution.Holdings(starts, items, kinds), schedule)
    with instead(with_noise=meet):
        execution.execute(schedule, held, OperatingSystemRandomness())
    return met


def moves_as_stated(plan: Plan[Any]) -> str:
    """A person who holds more than counts, beside others of the same items, moves all by one unit at most.

    Of rounds a unit is a Euclidean norm of 2^16 for every noise that is drawn; of a single count, 1 for each
    of k₀ counts. The release goes on with the same sums on both logs, so that the same is looked at.
    """
    selection: Any = plan.schedule.selection
    person = list(range(min(selection.held, 300) + 5))
    others = [[item] for item in person for _ in range(40)]
    numbers = 0
    for lift in (0, 1 << 46):
        without = _meeting(plan.schedule, others, lift)
        having = _meeting(plan.schedule, [*others, person], lift, [used for _, _, used in without])
        for (before, *_), (after, *_) in zip(without, having, strict=True):
            moved = [int(each) for each in after - before]
            numbers += len(moved)
            if isinstance(selection, SingleCount):
                require(max(moved) <= 1, f"a person adds {max(moved)} to one count")
                require(sum(moved) <= selection.held, f"a person adds {sum(moved)}, not {selection.held}")
            else:
                require(sum(each**2 for each in moved) <= ONE**2, "a person weighs more than one")
        taking = int(np.count_nonzero(having[0][0] - without[0][0]))
        require(taking <= selection.held, f"{taking} items of a person take part")
    return f"{numbers:,} numbers, {selection.held} of a person's items"


def finds_as_stated(plan: Plan[Any]) -> str:
    """Of items brought to a threshold, or one step below it, exactly those that reach it are found."""
    selection: Any = plan.schedule.selection
    once, lots = isinstance(selection, SingleCount), np.random.default_rng(1)
    steps = [] if once else list(selection.rounds)
    left, met = np.arange(_ITEMS), 0
    standing, expected = np.zeros((2, _ITEMS), np.int64)

    def meet(numbers: Whole, noise: Whole) -> Whole:
        nonlocal left, met
        del noise
        if met >= max(1, len(steps)):
            return numbers
        met += 1
        require(numbers.size == left.size, f"round {met}: not the items that steering leaves")
        # Half of those that stay go on from anywhere, so that every remainder is met at later thresholds.
        above = lots.choice([-1, -1, 0], left.size) * np.where(
            lots.random(left.size) < 0.5, 1, lots.integers(1, 2000, left.size)
        )
        if once:
            expected[:] = np.where(above < 0, 0, selection.least + above)
            return np.asarray(selection.least + above)
        step = steps[met - 1]
        sums = -((standing[left] - step.threshold) // step.coefficient) + above  # the least that reaches it
        standing[left] += step.coefficient * sums
        expected[left[above >= 0]] = met
        if step.steering is not None:
            left = left[(above < 0) & (execution.stepped(step.steering, standing[left]) > 0)]
        return np.asarray(sums)

    holdings = execution.Holdings(np.arange(_ITEMS + 1), np.arange(_ITEMS, dtype=np.int32), _ITEMS)
    with instead(with_noise=meet):
        if once:
            items, told = execution.count_once(selection, holdings, OperatingSystemRandomness())
        else:
            result = execution.find(selection, holdings, OperatingSystemRandomness())
            items, told = result.items, result.rounds
    found = np.zeros(_ITEMS, np.int64)
    found[items] = told
    require(np.array_equal(found, expected), "not what reaches the thresholds is found")
    return f"{len(items):,} of {_ITEMS:,} items, in {met} rounds" if steps else f"from {selection.least}"


def widths_as_stated(plan: Plan[Any]) -> str:
    """Every noise that meets a number has the distribution that is charged, and none is left out."""
    schedule, selection = plan.schedule, plan.schedule.selection
    stated = [noise.scale for noise in schedule.noises()]
    drawn = [noise for _, noise, _ in _meeting(schedule, [[item] for item in range(2 * DRAWS // 5)], 1 << 46)]
    require(len(drawn) == len(stated) and drawn[0].size == 2 * DRAWS // 5, "an item without noise")
    if isinstance(selection, SingleCount):
        # The bound of the noise is seldom met: a low one shows that it is one.
        for each in (selection, replace(selection, most=max(1, round(selection.scale)))):
            noise = _meeting(replace(schedule, selection=each), [[item] for item in range(DRAWS)])[0][1]
            require(int(noise.max()) <= each.most, "noise above its bound")
            require_noise(noise, capped(each), each.scale, "the count")
        return f"{selection.scale:g}, at most {selection.most}"
    # Numbers of the whole log are one a run: those of many runs, of one item.
    several = [_meeting(schedule, [[0]], 1 << 46) for _ in range(300)] if len(stated) > 1 else []
    for number, (noise, sigma) in enumerate(zip(drawn, stated, strict=True)):
        single = np.array([run[number][1][0] for run in several if len(run) > number and run[number][1].size])
        for sample in (noise, single):
            if sample.size >= 200:
                named = f"noise {number + 1}"
                require_noise(sample, lambda t, s=sigma: float(ndtr((0.5 - t) / s)), sigma, named)  # type: ignore[misc]
    return f"in people: {', '.join(f'{each / ONE:.3g}' for each in stated)}"


def gaussian_delta(epsilon: float, square: float) -> float:
    """δ of Gaussian noise of this μ² at ε."""
    mu = math.sqrt(square)
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def cost_in_floats(rounds: AdaptiveRounds) -> tuple[float, float]:
    """μ² of all noise of rounds, and a bound of the chance that an item of one user alone is found."""
    by_chance, weight, variance = 0.0, 0, 0
    for step in rounds.rounds:
        weight, variance = weight + ONE * step.coefficient, variance + (step.coefficient * step.sigma) ** 2
        by_chance += rounds.held * float(ndtr((weight - step.threshold) / math.sqrt(variance)))
    return sum((ONE / noise.scale) ** 2 for noise in rounds.noises()), by_chance


def composes_as_claimed(plan: Plan[Any]) -> str:
    """ε and δ from what is drawn and compared, by another computation; no less is promised and charged.

    Of rounds by the curve of Gaussian noise and a bound of chance finds in floats; of a single count by the
    tail of its noise.
    """
    selection, changed = plan.schedule.selection, plan.neighbours.users_changed
    epsilon = plan.epsilon
    if isinstance(selection, SingleCount):
        tail = capped(selection)
        needed = changed * selection.held / selection.scale
        require(epsilon >= needed * (1 - 1e-9), f"ε is {needed:.4g}, and {epsilon:.4g} is promised")
        delta = 1 - (1 - max(tail(selection.most), tail(selection.least - 1))) ** selection.held
    else:
        assert isinstance(selection, AdaptiveRounds)
        square, by_chance = cost_in_floats(selection)
        delta = gaussian_delta(epsilon, changed * square) + changed * by_chance
    for promise in (plan.guarantee, plan.event.guarantee):
        require(promise.delta >= delta * (1 - 1e-6), f"δ is {delta:.4g}, and {promise.delta:.4g} is promised")
    return f"δ = {delta:.4g} at ε = {epsilon:.4g}"


def charges_as_claimed(plan: Plan[Any]) -> str:
    """The ledger is charged no less than is stated, before the first draw, and its balance is the charge."""
    from tacit.privacy.ledger import Ledger, register
    from tacit.release.preparation import Preparation
    from tacit.release.publication import Order, publish_log

    promise, charged = plan.guarantee, plan.event.guarantee
    require(charged.epsilon >= promise.epsilon * (1 - 1e-12), "the ledger is charged less than is stated")
    require(charged.delta >= promise.delta * (1 - 1e-12), "the ledger is charged less than is stated")
    before: list[int] = []
    real = execution.with_noise
    # The ledger is registered in a folder that goes with it, not among the user's own.
    with (
        tempfile.TemporaryDirectory(prefix="tacit-audit-") as name,
        instead(register, state_directory=lambda: Path(name)),
    ):
        folder = Path(name)
        _, _, log = next(iter(pairs_of(plan, ["alone"])), ("", {}, next(pairs_of(plan))[2]))
        pq.write_table(log_table(log), folder / "log.parquet")
        budget = replace(charged, epsilon=2 * charged.epsilon, delta=min(1.0, 2 * charged.delta))
        ledger = Ledger.create(folder / "ledger", budget)

        def noting(numbers: Whole, noise: Whole) -> Whole:
            before.append(len(ledger.state().entries))
            return real(numbers, noise)

        with instead(with_noise=noting):
            order = Order(folder / "log.parquet", folder / "out", plan, Preparation(), ledger, threads=1)
            publish_log(order)
        spent = ledger.state().account.spent()
    require(bool(before) and min(before) > 0, "noise is drawn before the ledger is charged")
    exactly = math.isclose(spent.epsilon, charged.epsilon, rel_tol=1e-9)
    require(exactly, "the balance is not what was charged")
    return f"charged {charged.epsilon:.4g}, {charged.delta:.3g}, then drawn"


Check = Callable[..., str]


def checked(check: Check, plan: Any, *given: Any, over: Sequence[CountedPair] = ()) -> ExactCheck:
    """Carry a check out, over several pairs of logs if there are any, and say what came of it."""
    says, came = (check.__doc__ or check.__name__).partition("\n")[0].rstrip("."), list[ExactCheck]()
    with failures(came, check.__name__, says):
        found = [f"{pair.name}: {check(plan, pair)}" for pair in over] or [check(plan, *given)]
        came.append(ExactCheck(check.__name__, says, True, "; ".join(found)))
    return came[0]


@contextmanager
def failures(
    checks: list[ExactCheck],
    name: str = "runs",
    says: str = "It runs",
    *,
    but: tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """Add a fault as a check that fails, and so an error of the code under audit: it was claimed to run.

    Of an error its kind alone is said, since its text may hold what people wrote. Memory and disks are not
    the mechanism's, nor are errors of the kinds ``but``.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, (OSError, MemoryError, *but)):
            raise
        said = f"it fails where the claim says that it runs ({type(error).__name__})"
        checks.append(ExactCheck(name, says, False, str(error) if isinstance(error, Fault) else said))


def exact_checks(
    plan: Plan[Any], pairs: Sequence[CountedPair], only: Sequence[str] = ()
) -> Iterator[ExactCheck]:
    """Every check that applies to the plan, with what it found.

    Args:
        plan: what is checked.
        pairs: what is counted of neighbouring logs.
        only: the names of the checks wanted; all unless given.
    """
    checks: list[Check] = [compares_as_analysed]
    of_pairs: list[Check] = []
    if plan.schedule.selection is not None:
        checks = [holds_as_counted, moves_as_stated, finds_as_stated, widths_as_stated, composes_as_claimed]
    elif plan.mechanism.private:
        checks += [shows_as_analysed] * any(part.within for part in plan.schedule) + [draws_as_analysed]
        of_pairs = [adds_as_analysed, diverges_as_claimed]
    checks += [bits_are_fresh, charges_as_claimed] * plan.mechanism.private
    for check in (*of_pairs, *checks):
        if not only or check.__name__ in only:
            yield checked(check, plan, over=pairs if check in of_pairs else ())
