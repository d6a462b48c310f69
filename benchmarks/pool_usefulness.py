"""What a region is still good for, and how long one waits for it.

Claims, at the paper's traffic (50 arrivals a unit of time, stays of 50; records from Adult):

- search results that depend on age, country and occupation keep a good part of what knowing the exact record
  gains over knowing nothing of the person, less with a larger k;
- almost every newcomer's first query goes out at once, down to a few arrivals a unit of time.

Queries are ambiguous words; the embedded engine finds results, which fall into kinds by their topic. Which
kind a person wants depends on age, country and occupation: each kind has an age at which it is liked most,
places where it is at home and occupations it belongs to, drawn at random. The service learns from the
clicks in its own log, which shows of each person exactly what the guard lets through, and ranks kinds for
people who are not in that log. Average Precision of the results the person wants is measured with their
record d, the region d' the pool gave them, the whole domain d* (what everybody reads), and the engine's own
order. The dependence on attributes is simulated; people, regions, engine and words are not.

Run: ``python benchmarks/pool_usefulness.py [--quick]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.pool.protocol.population import Population, adult
from tacit.pool.simulation.traffic import SimulationSetting, simulate
from tacit.pool.simulation.verification import AuditedLog
from tacit.retrieval import SearchEngine, average_precision
from tacit.taxonomy import TopicTree
from tacit.world import wordnet_corpus, wordnet_engine

QUERIES = (
    "java jaguar mercury saturn apple bank bass bat bow box club court crane date drill fan file fly game "
    "jam key lead match model mouse nail note organ palm pitch plant pool port press ring rock scale seal "
    "spring star tie train trunk watch wave yard"
).split()
_RESULTS = 60
_KINDS = 8
_AGE, _OCCUPATION, _COUNTRY = 0, 4, 7
_SMOOTHING = 4.0
_KIND_DEPTH = 6

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def topic_kinds(tree: TopicTree) -> Numbers:
    """The kind of each topic: its ancestor at six steps below the root, or itself if it is higher."""
    parent = np.asarray(tree.parent, np.int64)
    kinds = np.arange(len(parent))
    depths = np.zeros(len(parent), np.int64)
    for topic in range(1, len(parent)):  # parents come before their children
        depths[topic] = depths[parent[topic]] + 1
        if depths[topic] > _KIND_DEPTH:
            kinds[topic] = kinds[parent[topic]]
    return kinds


def affinities(kinds: int, sizes: Sequence[int], random: np.random.Generator) -> dict[int, Floats]:
    """For each attribute that matters, how much each of its values likes each kind (logits)."""
    ages = np.arange(sizes[_AGE])
    centre, width = random.uniform(0, sizes[_AGE], kinds), random.uniform(6, 14, kinds)
    by_age = 3.0 * np.exp(-(((ages[:, None] - centre) / width) ** 2))
    home = random.integers(0, sizes[_COUNTRY], kinds)
    by_country = 2.0 * np.exp(-np.abs(np.arange(sizes[_COUNTRY])[:, None] - home) / 4.0)
    by_occupation = 1.5 * random.normal(size=(sizes[_OCCUPATION], kinds))
    return {_AGE: by_age, _COUNTRY: by_country, _OCCUPATION: by_occupation}


class _World:
    """The queries with their results and kinds, and who wants which kind."""

    def __init__(self, engine: SearchEngine, kind_of: Numbers, sizes: Sequence[int], seed: int) -> None:
        random = np.random.default_rng(seed)
        self.kinds: list[Numbers] = []
        for query in QUERIES:
            found = np.array([hit.document for hit in engine.search(query, _RESULTS)], np.int64)
            topics = kind_of[found]
            values, counts = np.unique(topics, return_counts=True)
            common = values[np.argsort(-counts, kind="stable")][: _KINDS - 1].tolist()
            place = {topic: number for number, topic in enumerate(common)}
            self.kinds.append(np.array([place.get(int(topic), len(common)) for topic in topics], np.int64))
        self.affinity = [affinities(int(kinds.max()) + 1, sizes, random) for kinds in self.kinds]

    def wants(self, query: Numbers, record: Numbers, random: np.random.Generator) -> Numbers:
        """The kind that each searcher wants, drawn by their affinities."""
        wanted = np.empty(len(query), np.int64)
        for number in range(len(QUERIES)):
            rows = np.flatnonzero(query == number)
            logits = sum(by[record[rows, a]] for a, by in self.affinity[number].items())
            assert not isinstance(logits, int)
            wanted[rows] = np.argmax(logits + random.gumbel(size=logits.shape), axis=1)
        return wanted


def learned(low: Numbers, high: Numbers, wanted: Numbers, kinds: int, sizes: Sequence[int]) -> list[Floats]:
    """For each attribute the log of how much more often a kind is clicked at a value than overall.

    A click of somebody in a region counts evenly for the values that the region covers. A few clicks as
    everybody's are added to each value's.
    """
    overall = np.bincount(wanted, minlength=kinds) + 1.0
    overall /= overall.sum()
    ratios = []
    for attribute, size in enumerate(sizes):
        change = np.zeros((size + 1, kinds))
        weight = 1.0 / (high[:, attribute] - low[:, attribute] + 1)
        np.add.at(change, (low[:, attribute], wanted), weight)
        np.add.at(change, (high[:, attribute] + 1, wanted), -weight)
        clicks = np.cumsum(change, axis=0)[:-1]
        total = clicks.sum(axis=1, keepdims=True)
        rate = (clicks + _SMOOTHING * overall) / (total + _SMOOTHING)
        ratios.append(np.log(rate / overall))
    return [np.log(overall), *ratios]


def region_scores(model: list[Floats], low: Numbers, high: Numbers) -> Floats:
    """For each searcher how much each kind is liked, by what their region says on average."""
    score = np.tile(model[0], (len(low), 1))
    for attribute, ratio in enumerate(model[1:]):
        sums = np.vstack([np.zeros((1, ratio.shape[1])), np.cumsum(ratio, axis=0)])
        width = (high[:, attribute] - low[:, attribute] + 1)[:, None]
        score += (sums[high[:, attribute] + 1] - sums[low[:, attribute]]) / width
    return score


def _precision(kinds: Numbers, wanted: int) -> float:
    """Average Precision of results in this order of kinds, one kind being wanted."""
    return average_precision(range(len(kinds)), set(np.flatnonzero(kinds == wanted).tolist()))


def _mean_precision(kinds: Numbers, ranked: Numbers, wanted: Numbers) -> float:
    """The mean AP when the results of a query are shown kind by kind in each searcher's order of kinds."""
    known: dict[tuple[bytes, int], float] = {}
    total = 0.0
    for order, want in zip(ranked, wanted.tolist(), strict=True):
        key = (order.tobytes(), want)
        if key not in known:
            place = np.empty(order.size, np.int64)
            place[order] = np.arange(order.size)
            shown = kinds[np.argsort(place[kinds], kind="stable")]
            known[key] = _precision(shown, want)
        total += known[key]
    return total / len(wanted)


def usefulness(
    setting: SimulationSetting,
    population: Population,
    engine: SearchEngine,
    kind_of: Numbers,
    *,
    seed: int = 7,
) -> dict[str, Any]:
    """Measure one setting: simulate its traffic, learn from two thirds of the people, rank for the others.

    ``kept`` is the share of the gain of d over d* that the region d' keeps.
    """
    found = simulate(setting, population)
    log, sizes = found.log, population.template.sizes
    random = np.random.default_rng(seed)
    world = _World(engine, kind_of, sizes, seed)
    query = random.integers(0, len(QUERIES), len(log))
    wanted = world.wants(query, log.record, random)
    train = log.sender % 3 != 0
    seen = _seen(log, sizes)
    totals = dict.fromkeys((*seen, "nothing"), 0.0)
    for number, kinds in enumerate(world.kinds):
        here = query == number
        learn, judge = here & train, here & ~train
        for name, (low, high) in seen.items():
            model = learned(low[learn], high[learn], wanted[learn], int(kinds.max()) + 1, sizes)
            ranked = np.argsort(-region_scores(model, low[judge], high[judge]), axis=1, kind="stable")
            totals[name] += _mean_precision(kinds, ranked, wanted[judge]) * judge.sum()
        plain = {want: _precision(kinds, want) for want in range(int(kinds.max()) + 1)}
        totals["nothing"] += sum(plain[want] for want in wanted[judge].tolist())
    entries = int((~train).sum())
    means = {name: total / entries for name, total in totals.items()}
    gain = means["d"] - means["d*"]
    kept = (means["region"] - means["d*"]) / gain if gain > 0 else 0.0
    return {"k": setting.k, "window": setting.window, **means, "kept": kept, "entries": entries}


def _seen(log: AuditedLog, sizes: Sequence[int]) -> dict[str, tuple[Numbers, Numbers]]:
    """Show what the service sees of each searcher, as lower and upper corners."""
    top = np.tile(np.array(sizes, np.int64) - 1, (len(log), 1))
    return {"d": (log.record, log.record), "region": (log.low, log.high), "d*": (np.zeros_like(top), top)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="fewer windows and settings")
    chosen = parser.parse_args()
    base = SimulationSetting(windows=2 if chosen.quick else 6)
    engine, kinds = wordnet_engine(), topic_kinds(wordnet_corpus().tree)
    print("mean Average Precision for held-out people; kept: share of the gain of d over d* that d' keeps")
    print(f"{'k':>4} {'w':>5} {'d':>7} {'region':>8} {'d*':>7} {'nothing':>8} {'kept':>6}")
    settings = [(5, 50), (10, 50), (30, 50), (60, 50), (30, 25), (30, 100), (30, 200)]
    for k, window in settings[2:3] if chosen.quick else settings:
        row = usefulness(
            replace(base, k=k, window=float(window), every=None, patience=None), adult(), engine, kinds
        )
        print(
            f"{k:>4} {window:>5} {row['d']:>7.3f} {row['region']:>8.3f} {row['d*']:>7.3f} "
            f"{row['nothing']:>8.3f} {row['kept']:>6.1%}",
            flush=True,
        )
    print("\nby arrivals a unit of time (k = 30, w = 50): queries answered, how long these waited (median)")
    for rate in (0.5, 1.0, 2.0, 3.0, 10.0, 50.0):
        one = simulate(replace(base, arrivals=rate, windows=base.windows if rate > 5 else 60), adult())
        print(f"{rate:>6g} {one.answered:>8.2%} {one.delay_median:>8.1f} units", flush=True)


if __name__ == "__main__":
    main()
