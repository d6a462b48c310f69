"""Carrying out a schedule: the only code that draws noise for a release and compares with a threshold.

All noise is integer (:mod:`tacit.privacy.noise.samplers`), drawn independently for each key, and compared
with whole thresholds: ``count + X >= least``. A strict comparison with K is ``least = K + 1``.

:func:`execute` needs no engine and no log, only counts::

    plan = tacit.Zealous(epsilon=1, delta=1e-6).plan()
    execute(plan.schedule, {"queries": pa.table({"query": ["tea"], "count": [41]})}, source)

What a user's weights in adaptive rounds depend on, and what happens to an item: docs/guarantees/adaptive.md.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.privacy.noise.randomness import KeyedRandomness, RandomSource, parted
from tacit.privacy.noise.samplers import (
    bernoulli,
    capped_laplace,
    discrete_gaussian,
    discrete_laplace,
    exact_scale,
    exact_sigma,
)
from tacit.release import schedule as schedules
from tacit.release.clipping import Clipped, Counts, limit_of
from tacit.release.rounds_analysis import single_deviation
from tacit.release.weights import BLOCK, add_weights, blocks, only_weighted, squared_norms

Tables = dict[str, pa.Table]
"""What is published: tables by name, each with its key columns and ``count``."""

Rows = Callable[[schedules.Part, Mapping[str, pa.Table]], Iterable[pa.RecordBatch]]
"""The keys of a part with their true counts, given the tables published before it. Secret.

Columns: those that make a key, ``count``, and where the part takes both kinds of keys ``public``.
"""

Whole = NDArray[np.int64]


@runtime_checkable
class SpreadRows(Protocol):
    """Rows of a part that lie on many machines."""

    def mapped(self, change: Callable[[pa.RecordBatch], pa.Table]) -> pa.Table:
        """Change every batch where it lies, once, and give what is left: keys as texts, and ``count``."""
        ...


@dataclass(frozen=True)
class Holdings:
    """Who holds which items: those of user u are ``items[starts[u]:starts[u+1]]``, each once. Secret."""

    starts: Whole
    items: NDArray[np.int32]
    kinds: int  # how many different items there are; they are numbered from 0
    # how many words the text of each item has; None where all have one
    words: NDArray[np.uint8] | None = None
    listed: NDArray[np.bool_] | None = None  # which items are on the public list; None where there is none


class ItemKeys(Protocol):
    """The keys of items by their numbers."""

    def of_kind(self, table: str, items: Whole) -> NDArray[np.bool_]:
        """Select the items that are keys of this table."""
        ...

    def keys(self, table: str, items: Whole) -> pa.Table:
        """The keys of these items, all of one table, in their order."""
        ...


class Held(ItemKeys, Protocol):
    """Who holds which items of several tables, numbered through. Secret."""

    @property
    def holdings(self) -> Holdings:
        """Return the holdings of all tables together."""
        ...


@dataclass(frozen=True)
class SelectedItems:
    """Published items, with counts and their standard deviations, or empty arrays of both."""

    items: Whole  # their numbers
    counts: Whole  # of users
    deviations: NDArray[np.float64]  # of each count
    # for a count that is withheld, what it is below; 0 for others. None where none ever is
    below: Whole | None = None

    @property
    def withheld(self) -> NDArray[np.bool_]:
        """Which counts are withheld."""
        return np.zeros(self.items.size, np.bool_) if self.below is None else self.below > 0


@runtime_checkable
class SpreadHeld(Protocol):
    """Who holds what, in tables of an engine: too much for memory, or on many machines. Secret."""

    def select(self, selection: schedules.Selection, source: RandomSource) -> tuple[SelectedItems, ItemKeys]:
        """Carry out a selection where the tables are; what is found, and its keys."""
        ...


_SAMPLERS = {schedules.NoiseKind.LAPLACE: discrete_laplace}
_NOT_KEYS = ("count", "public")


@dataclass(frozen=True)
class Passed:
    """Keys that passed, with their counts: secret ones, and as they were compared."""

    keys: pa.Table
    true: NDArray[np.int64]
    noisy: NDArray[np.int64]


def execute(
    schedule: schedules.Schedule,
    counts: Rows | Mapping[str, pa.Table] | Held | SpreadHeld,
    source: RandomSource,
    shown: Callable[[schedules.Part, pa.Table], pa.Table] = lambda _, keys: keys,
) -> Tables:
    """Draw, compare and publish: one table for each part.

    Args:
        schedule: what is drawn and compared.
        counts: the keys of each part with their true counts, by table, or as a function of the part and of
            what was published before; for a schedule with a selection, who holds what.
        source: of the random bits.
        shown: keys that passed, as the table shows them.
    """
    if schedule.selection is not None:
        return _publish_selected(schedule, schedule.selection, cast("Held | SpreadHeld", counts), source)
    tables: Tables = {}
    for part in schedule:
        if isinstance(counts, Mapping):
            rows: Iterable[pa.RecordBatch] = counts[part.table].to_batches()
        else:
            rows = cast("Rows", counts)(part, tables)
        own = source.within(part.table) if isinstance(source, KeyedRandomness) else source
        found, numbers = _published(part, rows, tables, own)
        keys = shown(part, found) if len(numbers) else _schema(part).empty_table()
        tables[part.table] = in_order(_with_measures(keys.cast(_schema(part)), numbers))
    return tables


def _published(
    part: schedules.Part, rows: Iterable[pa.RecordBatch], tables: Mapping[str, pa.Table], source: RandomSource
) -> tuple[pa.Table, Whole]:
    """The keys that are published, and the number of each; drawn where the rows lie if noise has a key."""
    if isinstance(rows, SpreadRows) and isinstance(source, KeyedRandomness):
        left = rows.mapped(partial(published_rows, part, source))
        drawn = np.asarray(left.column("count"))
        passed = _within(part, Passed(left.drop_columns("count"), drawn, drawn), tables)
        return passed.keys, passed.noisy
    passed = _within(part, pass_threshold(part, rows, source), tables)
    return passed.keys, _published_numbers(part, passed, source)


def published_rows(part: schedules.Part, source: RandomSource, batch: pa.RecordBatch) -> pa.Table:
    """Publish from a batch: a function of the batch, the schedule and the source's key alone.

    Neither which rows stand together nor which attempt it is plays a part.
    """
    passed = pass_threshold(part, [batch], source)
    return _with_measures(passed.keys, _published_numbers(part, passed, source))


def _published_numbers(part: schedules.Part, passed: Passed, source: RandomSource) -> Whole:
    """The compared numbers, or true counts with fresh noise."""
    if part.fresh is None:
        return passed.noisy
    return with_noise(
        passed.true, draw(part.fresh, len(passed.true), _addressed(source, "fresh", passed.keys))
    )


def _addressed(source: RandomSource, purpose: str, keys: pa.Table) -> RandomSource:
    """The bits for these keys: from a stream for each where the source has a key, else from its one."""
    if not isinstance(source, KeyedRandomness):
        return source
    texts = [
        [b"" if text is None else b"=" + text.encode() for text in column.to_pylist()]
        for column in keys.columns
    ]
    return source.addressed(purpose, [parted(row) for row in zip(*texts, strict=True)])


def _with_measures(keys: pa.Table, counts: Whole) -> pa.Table:
    """A table of keys with a count for each."""
    return keys.append_column("count", pa.array(counts, pa.int64()))


def _with_counts(part: schedules.Part, keys: pa.Table, found: SelectedItems, chosen: Whole) -> pa.Table:
    """A table of keys with what is published of each: its count and deviation, or what it is fewer than."""
    withheld = found.withheld[chosen]
    columns = {
        "count": pa.array(found.counts[chosen], pa.int64(), mask=withheld),
        "deviation": pa.array(np.ceil(found.deviations[chosen]).astype(np.int64), mask=withheld),
    }
    if found.below is not None:
        columns["fewer_than"] = pa.array(found.below[chosen], pa.int64(), mask=~withheld)
    for name in part.measures:
        keys = keys.append_column(name, columns[name])
    return keys


def _publish_selected(
    schedule: schedules.Schedule,
    selection: schedules.Selection,
    held: Held | SpreadHeld,
    source: RandomSource,
) -> Tables:
    """Find and count the items of all parts together, and make one table of each."""
    if isinstance(held, SpreadHeld):
        found, keys = held.select(selection, source)
    else:
        found, keys = select(selection, held.holdings, source), held
    tables: Tables = {}
    for part in schedule:
        chosen = np.flatnonzero(keys.of_kind(part.table, found.items))
        table = keys.keys(part.table, found.items[chosen]).cast(_schema(part))
        if part.measures:
            table = _with_counts(part, table, found, chosen)
        tables[part.table] = in_order(table)
    return tables


def require_drawable(schedule: schedules.Schedule) -> None:
    """Refuse, before anything is charged, what no noise can be drawn for."""
    for noise in schedule.noises():
        if noise.kind is schedules.NoiseKind.GAUSSIAN:
            exact_sigma(noise.scale)
        else:
            exact_scale(noise.scale)


def _within(part: schedules.Part, passed: Passed, tables: Mapping[str, pa.Table]) -> Passed:
    """Select, of the keys that passed, those with a key of an earlier table that was published.

    The guarantee rests on it, so it is done here, whatever rows a mechanism gives.
    """
    shown = np.ones(len(passed.true), np.bool_)
    for column, table in part.within:
        known = tables[table].column(0).combine_chunks()
        shown &= np.asarray(pc.is_in(passed.keys.column(column), value_set=known), np.bool_)
    if shown.all():
        return passed
    return Passed(passed.keys.filter(pa.array(shown)), passed.true[shown], passed.noisy[shown])


def with_noise(numbers: Whole, noise: Whole) -> Whole:
    """Numbers of a log with noise: the one place where both meet, so that what follows sees their sum alone.

    Tests put numbers of their own in the place of the sum, and see that nothing else of a log gets out.
    """
    return numbers + noise


def draw(noise: schedules.Noise | None, size: int, source: RandomSource) -> NDArray[np.int64]:
    """Draw noise for ``size`` keys; zeros where there is none."""
    if noise is None:
        return np.zeros(size, np.int64)
    return _SAMPLERS[noise.kind](noise.scale, size, source)


def pass_threshold(part: schedules.Part, batches: Iterable[pa.RecordBatch], source: RandomSource) -> Passed:
    """Add noise to the counts of all keys that take part; keep those that reach the threshold."""
    kept, true, noisy = [], [], []
    for batch in batches:
        names = [name for name in batch.schema.names if name not in _NOT_KEYS]
        counts = np.asarray(batch.column("count").cast(pa.int64()))
        compared = np.where(counts >= part.minimum, counts, 0)
        keys = pa.Table.from_batches([batch]).select(names)
        rows = np.flatnonzero(_taking_part(part, batch, keys, compared, source))
        own = _addressed(source, "compared", keys.take(pa.array(rows)))
        values = with_noise(compared[rows], draw(part.noise, len(rows), own))
        if part.least is not None:
            passing = values >= part.least
            rows, values = rows[passing], values[passing]
        if rows.size:
            kept.append(keys.take(pa.array(rows)))
            true.append(counts[rows])
            noisy.append(values)
    if not kept:
        nothing = np.empty(0, np.int64)
        return Passed(_schema(part).empty_table(), nothing, nothing)
    plain = pa.schema([(name, pa.string()) for name in kept[0].schema.names])  # no dictionaries
    keys = pa.concat_tables([table.cast(plain) for table in kept])
    return Passed(keys, np.concatenate(true), np.concatenate(noisy))


def _taking_part(
    part: schedules.Part, batch: pa.RecordBatch, keys: pa.Table, compared: Whole, source: RandomSource
) -> NDArray[np.bool_]:
    """Secret keys that occur often enough; public ones always, or by chance where their count is 0."""
    occurring = compared >= max(1, part.minimum)
    if part.keys is schedules.Keys.OCCURRING:
        return occurring
    public = np.ones(len(compared), np.bool_)
    if part.keys is schedules.Keys.BOTH:
        public = np.asarray(batch.column("public"))
    idle = np.flatnonzero(public & ~occurring)
    taking = occurring.copy()
    own = _addressed(source, "chance", keys.take(pa.array(idle)))
    taking[idle] = bernoulli(part.chance, len(idle), own)
    return taking


def in_order(table: pa.Table) -> pa.Table:
    """Sort by count, largest first, then by key; lists of queries compare by their text.

    The order tells nothing more than the table.
    """
    measures = ("count", "deviation", "fewer_than")
    order = [("count", "descending")] if "count" in table.schema.names else []
    by = table
    for name in table.schema.names:
        if name not in measures:
            column = table.column(name)
            if pa.types.is_list(column.type):
                by = by.set_column(by.schema.get_field_index(name), name, pc.binary_join(column, "\x00"))
            order.append((name, "ascending"))
    return table.take(pc.sort_indices(by, sort_keys=order)).combine_chunks()


def column_types(part: schedules.Part) -> Sequence[tuple[str, pa.DataType]]:
    """The key columns of a published table."""
    return [
        (column.name, pa.list_(pa.string()) if column.several else pa.string()) for column in part.columns
    ]


def _schema(part: schedules.Part) -> pa.Schema:
    """Key columns are text, or lists of text, and never null."""
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in column_types(part)])


def select(selection: schedules.Selection, holdings: Holdings, source: RandomSource) -> SelectedItems:
    """Carry out a selection on who holds what: which items are published, and with which counts."""
    if isinstance(selection, schedules.SingleCount):
        items, counts = count_once(selection, holdings, source)
        return SelectedItems(items, counts, np.full(items.size, single_deviation(selection)))
    found = find(selection, holdings, source)
    if selection.tally is None:
        return SelectedItems(found.items, np.zeros(0, np.int64), np.zeros(0))
    return take_tally(selection.tally, holdings, found, source)


@dataclass(frozen=True)
class Found:
    """What the rounds found."""

    items: NDArray[np.int64]  # the numbers of found items
    first: Whole  # the noisy weight of each in the first round
    rounds: NDArray[np.int64]  # the round in which each was found, from 1


def cut_to(
    holdings: Holdings, held: int, source: RandomSource, scores: NDArray[np.uint16] | None = None
) -> Holdings:
    """Select at most ``held`` items per user, for all rounds: those of the largest scores, by lot if alike.

    The texts of the user's own items and the user's own randomness decide: neither other users nor the
    numbering of items may influence it. Without ``scores`` all are alike.
    """
    sizes = np.diff(holdings.starts)
    if sizes.size == 0 or sizes.max() <= held:
        return holdings
    longer = sizes > held
    places = np.flatnonzero(np.repeat(longer, sizes))
    worth = np.zeros(places.size, np.int64) if scores is None else scores[holdings.items[places]]
    some = list(blocks(np.concatenate([[0], np.cumsum(sizes[longer])])))
    alike = True
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        each: Callable[..., Iterable[tuple[Whole, bool]]] = workers.map if len(some) > 1 else map
        while alike:  # 64 random bits an item; if any of a user's are equal, all are drawn again
            lots = source.words(places.size)
            found = list(each(lambda block: _out(worth, lots, held, *block[1:]), some))  # noqa: B023
            alike = any(equal for _, equal in found)
    keep = np.ones(holdings.items.size, dtype=np.bool_)
    keep[places[np.concatenate([out for out, _ in found])]] = False
    starts = np.concatenate([[0], np.cumsum(np.minimum(sizes, held))]).astype(np.int64)
    return replace(holdings, starts=starts, items=holdings.items[keep])


def _out(
    worth: NDArray[Any], lots: NDArray[np.uint64], held: int, pairs: slice, sizes: Whole
) -> tuple[Whole, bool]:
    """Which items of some users, one after the other, are not kept: all but each user's ``held`` of most
    worth, of these those of the smallest lots; and whether any lots of a user's that decide are equal.
    """
    lots, best = lots[pairs], int(worth[pairs].max())
    order = np.argsort(lots)
    kind = np.repeat(np.arange(sizes.size) * (best + 1), sizes) + (best - worth[pairs])
    order = order[np.argsort(kind[order].astype(np.uint32), kind="stable")]
    again = (np.diff(lots[order]) == 0) & (np.diff(kind[order]) == 0)
    ranks = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return pairs.start + order[ranks >= held], bool(again.any())


def noisy_weights(
    holdings: Holdings,
    values: NDArray[np.uint16],
    present: Whole,
    sigma: int,
    source: RandomSource,
    least: int = 0,
) -> Whole:
    """Sum the weight of each present item over users, with noise on every one, weighted or not."""
    totals = np.zeros(holdings.kinds, dtype=np.int64)
    drawn = partial(discrete_gaussian, sigma, present.size, source)
    with ThreadPoolExecutor(1) as beside:
        coming = beside.submit(drawn).result if present.size > BLOCK else drawn
        add_weights(holdings.starts, holdings.items, values, least, totals)
        return with_noise(totals[present], coming())


def noisy_numbers(numbers: Whole, sigma: int, source: RandomSource) -> Whole:
    """Add to each number Gaussian noise of its own."""
    return with_noise(numbers, discrete_gaussian(sigma, numbers.size, source))


def noisy_number(number: int, sigma: int, source: RandomSource) -> int:
    """Add noise to a single number."""
    return int(with_noise(np.array([number]), discrete_gaussian(sigma, 1, source))[0])


def stepped(steps: schedules.StepFunction, numbers: Whole) -> NDArray[np.uint16]:
    """Evaluate the step function at each number: from a grid, most of whose cells hold no cut."""
    cuts, values = np.array(steps.cuts, np.int64), np.array((0, *steps.values), np.uint16)
    shift = max(0, int(cuts[-1] - cuts[0]).bit_length() - 10)
    edges = cuts[0] + (np.arange(-1, 1026) << shift)
    first, last = np.searchsorted(cuts, [edges[:-1], edges[1:] - 1], side="right")
    cells = np.clip(numbers, cuts[0] - 1, cuts[-1]) - (cuts[0] - (1 << shift)) >> shift
    found: NDArray[np.uint16] = np.where(first == last, values[first], 1 << 15).astype(np.uint16)[cells]
    rest = np.flatnonzero(found >> 15)
    found[rest] = values[np.searchsorted(cuts, numbers[rest], side="right")]
    return found


def find(schedule: schedules.AdaptiveRounds, holdings: Holdings, source: RandomSource) -> Found:
    """Carry out the rounds of selection.

    An item whose steering says 0 is out for good, by its own noisy numbers, so no more noise is drawn for it:
    whatever it would be, it is not looked at.
    """
    listed = np.zeros(holdings.kinds, np.bool_)
    if schedule.public is not None and holdings.listed is not None:
        listed = holdings.listed
    scores = scores_of(schedule, holdings, listed)
    holdings = cut_to(holdings, schedule.held, source, scores)
    occurring = np.bincount(holdings.items, minlength=holdings.kinds) > 0
    present = np.flatnonzero(occurring | listed).astype(np.int64)
    values = schedules.LARGEST_VALUE * scores
    standing = np.zeros(present.size, dtype=np.int64)
    first = np.zeros(0, dtype=np.int64)
    found: list[tuple[Whole, Whole, Whole]] = []
    for number, step in enumerate(schedule.rounds, start=1):
        weights = noisy_weights(holdings, values, present, step.sigma, source)
        if number == 1:
            first = weights
        standing, reached, steered = stand(schedule, number, standing, weights, listed[present])
        found.append((present[reached], first[reached], np.full(int(reached.sum()), number)))
        values[present] = 0
        if step.steering is None:
            break
        staying = np.flatnonzero(~reached & (steered > 0))
        present, standing, first = present[staying], standing[staying], first[staying]
        values[present] = steered[staying] * scores[present]
        weighted = only_weighted(holdings.starts, holdings.items, values)
        holdings = replace(holdings, starts=weighted[0], items=weighted[1])
    items, starts, rounds = (np.concatenate(column) for column in zip(*found, strict=True))
    return Found(items, starts, rounds)


def stand(
    schedule: schedules.AdaptiveRounds, number: int, before: Whole, weights: Whole, listed: NDArray[np.bool_]
) -> tuple[Whole, NDArray[np.bool_], NDArray[np.uint16]]:
    """Update standings after a round: who is found, and what each weighs in the next; 0 is out for good."""
    step = schedule.rounds[number - 1]
    standing = before + step.coefficient * weights
    reached = standing >= step.threshold
    if schedule.public is not None:
        reached |= listed & (standing >= schedule.public.thresholds[number - 1])
    steered = np.zeros(standing.size, np.uint16)
    return standing, reached, steered if step.steering is None else stepped(step.steering, standing)


def scores_of(
    schedule: schedules.AdaptiveRounds, holdings: Holdings, listed: NDArray[np.bool_]
) -> NDArray[np.uint16]:
    """Compute the score of every item, by the number of its words and whether it is on the public list."""
    if holdings.words is None:
        return np.ones(holdings.kinds, np.uint16)
    places = np.clip(holdings.words, 1, len(schedule.scores)).astype(np.int64) - 1
    scores = np.array(schedule.scores, np.uint16)[places]
    if schedule.public is not None:
        scores = np.where(listed, np.array(schedule.public.scores, np.uint16)[places], scores)
    return scores


def bounded_parts(squares: Whole, bound: int) -> Whole:
    """Compute each user's squared norm, at most ``bound``, as a part of it: ``ONE`` at the most."""
    return np.asarray(np.minimum(squares, bound) * schedules.ONE // bound)


def take_tally(
    schedule: schedules.Tally, holdings: Holdings, found: Found, source: RandomSource
) -> SelectedItems:
    """Count the found items; which they are is public by now."""
    if not found.items.size:
        return SelectedItems(found.items, np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
    relative = stepped(schedule.weighing, found.first)
    values = np.zeros(holdings.kinds, dtype=np.uint16)
    values[found.items] = relative
    people = holdings.starts.size - 1
    weighted = only_weighted(holdings.starts, holdings.items, values)
    holdings = replace(holdings, starts=weighted[0], items=weighted[1])
    users = noisy_number(schedules.ONE * people, schedule.users_sigma, source)
    weights = relative.astype(np.int64)
    numbers = noisy_weights(holdings, values, found.items, schedule.sigma, source, least=limit_of(weights))
    clipped = Clipped(schedule, weights, numbers, users)
    bound = clipped.bound_of_squares()
    squares = np.zeros(people, dtype=np.int64)
    squared_norms(holdings.starts, holdings.items, values, squares)
    parts = int(bounded_parts(squares, bound).sum())
    return selected(
        found.items, clipped.put_right(bound, noisy_number(parts, schedule.squares_sigma, source))
    )


def selected(items: Whole, counted: Counts) -> SelectedItems:
    """Found items with their counts, or what these are below."""
    below = np.where(counted.withheld, np.ceil(counted.below), 0).astype(np.int64)
    return SelectedItems(items, counted.counts, counted.deviations, below)


def noisy_once(schedule: schedules.SingleCount, true: Whole, source: RandomSource) -> Whole:
    """Add to counts the noise of a single count."""
    return with_noise(true, capped_laplace(schedule.scale, schedule.upward, schedule.most, true.size, source))


def count_once(
    schedule: schedules.SingleCount, holdings: Holdings, source: RandomSource, times: float = 1.0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Carry it out: the items that are published, and their noisy counts.

    Args:
        schedule: what is drawn and compared.
        holdings: who holds what.
        source: of lots and noise.
        times: every count so many times as large, to foresee a larger log; 1 in a release.
    """
    holdings = cut_to(holdings, schedule.held, source)
    counts = np.bincount(holdings.items, minlength=holdings.kinds).astype(np.int64)
    present = np.flatnonzero(counts).astype(np.int64)
    true = counts[present] if times == 1 else np.rint(times * counts[present]).astype(np.int64)
    numbers = noisy_once(schedule, true, source)
    published = numbers >= schedule.least
    return present[published], numbers[published]
