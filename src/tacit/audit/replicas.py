"""Many runs of one small log in one pass of the real code.

Noise is drawn key by key, and nothing is computed over keys: so a log whose keys carry a run's number, once
for each run, is as many runs. That is an assumption, and :func:`agreement` tests it in every audit, by runs
made one at a time: a release that shares one noise among its keys is caught there.

Two things have no replicas. The counts of adaptive rounds are clipped by a limit over all users, so rounds
are audited by what they find; and what is computed from noisy tables alone, which cannot tell more.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import stats

from tacit.audit import exact
from tacit.audit.neighbours import Counted, CountedPair, Key
from tacit.privacy.noise.randomness import RandomSource
from tacit.release import execution
from tacit.release.execution import Holdings
from tacit.release.mechanism import Plan
from tacit.release.schedule import AdaptiveRounds, Part, Schedule

Outputs = NDArray[np.float64]
"""What was published in each run (rows) of each key (columns): its count, or NaN where it is not shown."""

_KEYS = 1000
"""A key of a run is the run's number times this, and the key's own."""
_CELLS = 4_000_000
"""Rows, or holders, that one pass takes."""


def copies(holdings: Holdings, times: int) -> Holdings:
    """As many logs as ``times`` that have nothing in common, each with these users."""
    sizes = np.tile(np.diff(holdings.starts), times)
    items = (np.arange(times)[:, None] * holdings.kinds + holdings.items[None, :]).ravel().astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    words = None if holdings.words is None else np.tile(holdings.words, times)
    listed = None if holdings.listed is None else np.tile(holdings.listed, times)
    return Holdings(starts, items, holdings.kinds * times, words, listed)


@dataclass(frozen=True)
class Numbered:
    """Items of one table, each shown as its number."""

    holdings: Holdings
    schedule: Schedule

    def of_kind(self, table: str, items: NDArray[np.int64]) -> NDArray[np.bool_]:
        """All items are of the first table."""
        return np.full(items.size, table == self.schedule.parts[0].table)

    def keys(self, table: str, items: NDArray[np.int64]) -> pa.Table:
        """Every key column has the number."""
        part = self.schedule.part(table)
        texts = pa.array(items, pa.int64()).cast(pa.string())
        if part.columns[0].several:
            return pa.table({part.columns[0].name: pa.array([[t] for t in texts.to_pylist()])})
        return pa.table({column.name: texts for column in part.columns})


@dataclass(frozen=True)
class Replicas:
    """Runs of a plan on either log of a pair."""

    plan: Plan[Any]
    counted: CountedPair

    def keys(self) -> list[tuple[Part, Key, Counted]]:
        """The columns of the outputs: keys whose counts differ, and those that they are shown within."""
        found = []
        differing = self.counted.differing()
        for part in self.plan.schedule:
            keys = dict(differing[part.table])
            for later in self.plan.schedule:
                for place, (_, table) in enumerate(later.within):
                    if table == part.table:
                        needed = {(key[place],) for key in differing[later.table]}
                        keys |= {key: self.counted.keys[table][key] for key in sorted(needed, key=str)}
            found += [(part, key, counts) for key, counts in keys.items()]
        return found[: _KEYS - 1]

    def runs(self, log: int, runs: int, source: RandomSource) -> Outputs:
        """Carry out so many runs on one log of the pair."""
        held = self.counted.holdings
        width = max(1, len(self.keys()) if held is None else held[1].starts.size)
        sizes = [min(_CELLS // width + 1, runs - start) for start in range(0, runs, _CELLS // width + 1)]
        return np.concatenate([self._pass(log, size, source) for size in sizes])

    def _pass(self, log: int, runs: int, source: RandomSource) -> Outputs:
        if self.counted.holdings is not None:
            return self._selected(self.counted.holdings[log], runs, source)
        keys = self.keys()
        numbers: dict[tuple[str, Key], int] = {(part.table, key): n for n, (part, key, _) in enumerate(keys)}
        tables = {
            part.table: self._rows(
                part, [(key, counts) for other, key, counts in keys if other is part], log, runs, numbers
            )
            for part in self.plan.schedule
        }
        found = execution.execute(self.plan.schedule, tables, source, self.plan.shown)
        outputs = np.full((runs, len(keys)), np.nan)
        for part in self.plan.schedule:
            shown = found[part.table]
            place = _number(_first(shown, len(part.columns) - 1))
            own = place % _KEYS
            if len(part.within) == len(part.columns) > 1:  # both columns name earlier keys
                pairs = {
                    numbers[part.within[0][1], key[:1]] * _KEYS + numbers[part.within[1][1], key[1:]]: n
                    for (table, key), n in numbers.items()
                    if table == part.table
                }
                known = np.array(sorted(pairs), np.int64)
                found_at = np.searchsorted(known, _number(shown.column(0)) % _KEYS * _KEYS + own)
                own = np.array([pairs[each] for each in known.tolist()], np.int64)[found_at]
            outputs[place // _KEYS, own] = np.asarray(shown.column("count"), np.float64)
        return outputs

    def _rows(
        self,
        part: Part,
        keys: list[tuple[Key, Counted]],
        log: int,
        runs: int,
        numbers: dict[tuple[str, Key], int],
    ) -> pa.Table:
        """The rows of a part for all runs; the last column of a key has the key's number in each run."""
        there = [(key, counts) for key, counts in keys if counts[log] is not None]
        first = _KEYS * np.arange(runs)

        def texts(places: list[int]) -> pa.Array:
            numbered = (first[:, None] + np.array(places, np.int64)[None, :]).ravel()
            return pa.array(numbered, pa.int64()).cast(pa.string())

        own = [numbers[part.table, key] for key, _ in there]
        names = [column.name for column in part.columns]
        within = {place: table for place, (_, table) in enumerate(part.within)}
        if part.columns[0].several:
            length = max((len(key) for key, _ in there), default=1)
            columns = [texts(own)] + [
                pa.array([key[place] for key, _ in there] * runs, pa.string()) for place in range(1, length)
            ]
            names = [f"query_{place + 1}" for place in range(length)]
        else:
            columns = [
                texts([numbers[within[place], (key[place],)] for key, _ in there])
                if place in within
                else texts(own)
                for place in range(len(names))
            ]
        counts = np.tile([counts[log] or 0 for _, counts in there], runs).astype(np.int64)
        public = np.tile([counts[2] for _, counts in there], runs).astype(np.bool_)
        return pa.table([*columns, counts, public], names=[*names, "count", "public"])

    def _selected(self, holdings: Holdings, runs: int, source: RandomSource) -> Outputs:
        schedule = self.plan.schedule
        selection = schedule.selection
        if isinstance(selection, AdaptiveRounds):
            parts = tuple(replace(part, measures=()) for part in schedule.parts)
            schedule = replace(schedule, selection=replace(selection, tally=None), parts=parts)
        found = execution.execute(schedule, Numbered(copies(holdings, runs), schedule), source)
        shown = found[schedule.parts[0].table]
        place = _number(_first(shown, 0))
        assert self.counted.holdings is not None
        outputs = np.full((runs, max(each.kinds for each in self.counted.holdings)), np.nan)
        counts = np.asarray(shown.column("count"), np.float64) if "count" in shown.column_names else 1.0
        outputs[place // holdings.kinds, place % holdings.kinds] = counts
        return outputs


def _first(shown: pa.Table, column: int) -> Any:
    """A key column, or of a column of lists the first text of each."""
    lists = pa.types.is_list(shown.column(0).type)
    return pc.list_element(shown.column(0), 0) if lists else shown.column(column)


def _number(texts: Any) -> NDArray[np.int64]:
    return np.asarray(texts.cast(pa.int64()), np.int64)


def agreement(replicas: Replicas, source: RandomSource, runs: int = 600) -> tuple[float, float]:
    """The least p-value by which replicas differ from as many separate runs, and of their independence.

    Compared are how often each key is shown, and the distributions of its counts (Kolmogorov and Smirnov);
    independence is that of each replica and the next one.
    """
    together = replicas.runs(1, runs, source)
    apart = np.concatenate([replicas.runs(1, 1, source) for _ in range(runs)])
    differ, shared = [1.0], [0.0]
    for one, two in zip(together.T, apart.T, strict=True):
        shown = [int(np.isfinite(each).sum()) for each in (one, two)]
        if 0 < sum(shown) < 2 * runs:
            table = [[shown[0], runs - shown[0]], [shown[1], runs - shown[1]]]
            differ.append(float(stats.fisher_exact(np.array(table)).pvalue))
        if min(shown) > 20:
            counts = [each[np.isfinite(each)] for each in (one, two)]
            differ.append(float(stats.ks_2samp(*counts).pvalue))
    filled = np.nan_to_num(together.T, nan=-1.0)
    shared += [correlation(one[:-1], one[1:]) for one in filled]
    shared += [correlation(left, right) for left, right in pairwise(filled)]
    independent = float(2 * stats.norm.sf(np.abs(shared).max()))
    return min(1.0, min(differ) * len(differ)), min(1.0, independent * len(shared))


def correlation(one: NDArray[Any], two: NDArray[Any]) -> float:
    """In standard errors; 0 where nothing varies, which another check sees."""
    if not (np.std(one) and np.std(two)):
        return 0.0
    return float(np.corrcoef(one, two)[0, 1] * math.sqrt(one.size))


def scores_of(replicas: Replicas, outputs: Outputs) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Compute what an attacker may look at: each score a number for every run.

    The mechanism's own likelihood ratio first: by the schedule, no other event tells the logs apart better.
    The others are for mechanisms that do not do what their schedule says.
    """
    if replicas.counted.holdings is None:
        yield "likelihood ratio", likelihood(replicas, outputs)
    shown = np.isfinite(outputs)
    filled = np.nan_to_num(outputs, nan=0.0)
    yield "how many are shown", shown.sum(axis=1).astype(np.float64)
    yield "sum", filled.sum(axis=1)
    if outputs.shape[1] > 1:
        yield "largest", filled.max(axis=1)
        yield "smallest", filled.min(axis=1)
        yield "difference", filled[:, 0] - filled[:, 1]
    for key in range(min(outputs.shape[1], 4)):
        yield f"key {key + 1}", np.where(shown[:, key], outputs[:, key], -1e9)


def learned_score(without: Outputs, having: Outputs) -> Callable[[Outputs], NDArray[np.float64]]:
    """A likelihood ratio learned from runs of both logs, key by key: what no schedule needs to tell."""
    keys: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []

    def binned(edges: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.where(np.isnan(counts), 0, 1 + np.searchsorted(edges, counts, side="right"))

    for columns in zip(without.T, having.T, strict=True):
        both = np.concatenate(columns)
        both = both[~np.isnan(both)]
        edges = (
            np.unique(np.quantile(both, np.linspace(0.05, 0.95, 19), method="nearest")) if both.size else both
        )
        seen = [np.bincount(binned(edges, each), minlength=edges.size + 2) + 0.5 for each in columns]
        keys.append((edges, np.log(seen[1] / seen[0])))

    def score(outputs: Outputs) -> NDArray[np.float64]:
        told = [ratio[binned(edges, counts)] for counts, (edges, ratio) in zip(outputs.T, keys, strict=True)]
        return np.sum(told, axis=0, dtype=np.float64) if told else np.zeros(len(outputs))

    return score


def likelihood(replicas: Replicas, outputs: Outputs) -> NDArray[np.float64]:
    """The logarithm of how much likelier each output is with the person, by the plan's schedule."""
    total = np.zeros(len(outputs))
    for (part, _, counts), seen in zip(replicas.keys(), outputs.T, strict=True):
        without, having = ((c if c is not None and c >= part.minimum else None) for c in counts[:2])
        if without == having:
            continue
        public = counts[2] and part.keys.value != "occurring"
        without, having = ((0 if c is None and public else c) for c in (without, having))
        missing = np.isnan(seen)
        chances = [appears(part, count) for count in (without, having)]
        told = np.where(missing, _log_ratio(1 - chances[1], 1 - chances[0]), 0.0)
        scale = part.error
        if without is not None and having is not None and scale:
            near = np.nan_to_num(np.abs(seen - without) - np.abs(seen - having)) / scale
            fresh = _log_ratio(chances[1], chances[0]) if part.fresh is not None else 0.0
            told = np.where(missing, told, near + fresh)
        else:
            told = np.where(missing, told, _log_ratio(chances[1], chances[0]))
        total += told
    return total


def appears(part: Part, count: int | None) -> float:
    """The chance that a key with this count is shown; None is one that takes no part."""
    if count is None:
        return 0.0
    if part.least is None:
        return 1.0
    chance = part.chance if count == 0 else 1.0
    if not part.scale:
        return chance * (count >= part.least)
    return chance * float(exact.survival(math.exp(-1 / part.scale), part.least - count))


def _log_ratio(one: float, two: float) -> float:
    if one <= 0 and two <= 0:
        return 0.0
    return 50.0 if two <= 0 else -50.0 if one <= 0 else math.log(one / two)
