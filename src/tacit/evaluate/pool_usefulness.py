"""What a region is still good for: search results that depend on who asks, with d, d', d* and nothing.

Queries are ambiguous words; the embedded engine finds results, which fall into kinds by their topic. Which
kind a person wants depends on age, country and occupation ("what people like you read"): each kind has an age
at which it is liked most, places where it is at home and occupations it belongs to, drawn at random. The
service learns from the clicks in its own log, which shows of each person exactly what the guard lets
through, and ranks kinds for people who are not in that log. Average Precision of the results the person wants
is measured with their record d, the region d' the pool gave them, the whole domain d* (what everybody
reads), and the engine's own order. The dependence on attributes is made up; people, regions, engine and words
are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.pool.population import Population
from tacit.pool.query_log import AuditedLog
from tacit.pool.simulation import SimulationSetting, simulate
from tacit.retrieval import SearchEngine
from tacit.taxonomy import TopicTree

__all__ = [
    "Floats",
    "Numbers",
    "Usefulness",
    "Waiting",
    "affinities",
    "average_precision",
    "learned",
    "region_scores",
    "topic_kinds",
    "usefulness",
    "waiting_times",
]

QUERIES = (
    "java jaguar mercury saturn apple bank bass bat bow box club court crane date drill fan file fly game "
    "jam key lead match model mouse nail note organ palm pitch plant pool port press ring rock scale seal "
    "spring star tie train trunk watch wave yard"
).split()
_RESULTS = 60
_KINDS = 8
_AGE, _OCCUPATION, _COUNTRY = 0, 4, 7
_SMOOTHING = 4.0

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Usefulness:
    """Mean Average Precision on held-out people, by what the service sees of them."""

    k: int
    window: float
    exact: float
    region: float
    general: float
    nothing: float
    entries: int

    def as_dict(self) -> dict[str, Any]:
        """A row of a table; ``kept`` is the share of the gain of d over d* that d' keeps."""
        gain = self.exact - self.general
        return {
            "k": self.k,
            "window": self.window,
            "d": self.exact,
            "region": self.region,
            "d*": self.general,
            "nothing": self.nothing,
            "kept": (self.region - self.general) / gain if gain > 0 else 0.0,
            "entries": self.entries,
        }


@dataclass(frozen=True)
class Waiting:
    """How newcomers come to their first region, at a rate of arrivals."""

    arrivals: float
    at_once: float
    never: float
    wait: float

    def as_dict(self) -> dict[str, Any]:
        """A row of a table."""
        return {"arrivals": self.arrivals, "at_once": self.at_once, "never": self.never, "wait": self.wait}


def average_precision(wanted: Sequence[bool]) -> float:
    """AP of a ranking, given for each place whether its result is wanted (all wanted ones are ranked)."""
    hits = np.flatnonzero(np.asarray(wanted))
    if not hits.size:
        return 0.0
    return float((np.arange(1, hits.size + 1) / (hits + 1)).mean())


def topic_kinds(tree: TopicTree, depth: int = 6) -> Numbers:
    """The kind of each topic: its ancestor at ``depth`` steps below the root, or itself if it is higher."""
    parent = np.asarray(tree.parent, np.int64)
    kinds = np.arange(len(parent))
    depths = np.zeros(len(parent), np.int64)
    for topic in range(1, len(parent)):  # parents come before their children
        depths[topic] = depths[parent[topic]] + 1
        if depths[topic] > depth:
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
            common = [topic for topic, _ in _by_count(topics)][: _KINDS - 1]
            place = {topic: number for number, topic in enumerate(common)}
            self.kinds.append(np.array([place.get(int(topic), len(common)) for topic in topics], np.int64))
        self.affinity = [affinities(int(kinds.max()) + 1, sizes, random) for kinds in self.kinds]

    def wants(self, query: Numbers, record: Numbers, random: np.random.Generator) -> Numbers:
        """The kind that each asker wants, drawn by their affinities."""
        wanted = np.empty(len(query), np.int64)
        for number in range(len(QUERIES)):
            rows = np.flatnonzero(query == number)
            logits = sum(by[record[rows, a]] for a, by in self.affinity[number].items())
            assert not isinstance(logits, int)
            wanted[rows] = np.argmax(logits + random.gumbel(size=logits.shape), axis=1)
        return wanted


def _by_count(topics: Numbers) -> list[tuple[int, int]]:
    values, counts = np.unique(topics, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [(int(values[place]), int(counts[place])) for place in order]


def learned(
    low: Numbers,
    high: Numbers,
    wanted: Numbers,
    kinds: int,
    sizes: Sequence[int],
    smoothing: float = _SMOOTHING,
) -> list[Floats]:
    """For each attribute the log of how much more often a kind is clicked at a value than overall.

    A click of somebody in a region counts evenly for the values that the region covers. ``smoothing`` clicks
    as everybody's are added to each value's.
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
        rate = (clicks + smoothing * overall) / (total + smoothing)
        ratios.append(np.log(rate / overall))
    return [np.log(overall), *ratios]


def region_scores(model: list[Floats], low: Numbers, high: Numbers) -> Floats:
    """For each asker how much each kind is liked, by what their region says on average."""
    score = np.tile(model[0], (len(low), 1))
    for attribute, ratio in enumerate(model[1:]):
        sums = np.vstack([np.zeros((1, ratio.shape[1])), np.cumsum(ratio, axis=0)])
        width = (high[:, attribute] - low[:, attribute] + 1)[:, None]
        score += (sums[high[:, attribute] + 1] - sums[low[:, attribute]]) / width
    return score


def _ranked_kinds(model: list[Floats], low: Numbers, high: Numbers) -> Numbers:
    """For each asker the kinds from best to worst."""
    return np.argsort(-region_scores(model, low, high), axis=1, kind="stable")


def _mean_precision(kinds: Numbers, ranked: Numbers, wanted: Numbers) -> float:
    """The mean AP when the results of a query are shown kind by kind in each asker's order of kinds."""
    known: dict[tuple[bytes, int], float] = {}
    total = 0.0
    for order, want in zip(ranked, wanted.tolist(), strict=True):
        key = (order.tobytes(), want)
        if key not in known:
            place = np.empty(order.size, np.int64)
            place[order] = np.arange(order.size)
            shown = kinds[np.argsort(place[kinds], kind="stable")]
            known[key] = average_precision((shown == want).tolist())
        total += known[key]
    return total / len(wanted)


def usefulness(
    setting: SimulationSetting,
    population: Population,
    engine: SearchEngine,
    kind_of: Numbers,
    *,
    seed: int = 7,
) -> Usefulness:
    """Measure one setting: simulate its traffic, learn from two thirds of the people, rank for the others."""
    found = simulate(setting, population, keep_log=True)
    assert found.log is not None
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
            ranked = _ranked_kinds(model, low[judge], high[judge])
            totals[name] += _mean_precision(kinds, ranked, wanted[judge]) * judge.sum()
        plain = {want: average_precision((kinds == want).tolist()) for want in range(int(kinds.max()) + 1)}
        totals["nothing"] += sum(plain[want] for want in wanted[judge].tolist())
    entries = int((~train).sum())
    means = {name: total / entries for name, total in totals.items()}
    return Usefulness(
        setting.k, setting.window, means["d"], means["region"], means["d*"], means["nothing"], entries
    )


def _seen(log: AuditedLog, sizes: Sequence[int]) -> dict[str, tuple[Numbers, Numbers]]:
    """What the service sees of each asker, as lower and upper corners."""
    top = np.tile(np.array(sizes, np.int64) - 1, (len(log), 1))
    return {"d": (log.record, log.record), "region": (log.low, log.high), "d*": (np.zeros_like(top), top)}


def waiting_times(
    base: SimulationSetting, population: Population, arrivals: Sequence[float] = (1, 3, 10, 50, 200)
) -> list[Waiting]:
    """How long newcomers wait for their first region, by the rate of arrivals."""
    found = [simulate(replace(base, arrivals=float(rate)), population) for rate in arrivals]
    return [Waiting(one.setting.arrivals, one.guarded_at_once, one.never_guarded, one.wait) for one in found]
