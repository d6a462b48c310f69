"""What a generalised profile is worth: the shape of Figures 9 and 10 of the paper on UPS (section 7.5).

Ways to search are compared on the same queries: the engine's order (no profile), orders by what goes out at
a risk bound δ, and the order by the complete profile on the device, of which nothing goes out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.device import Repository, wordnet_repository
from tacit.errors import InfeasibleError
from tacit.evaluate.device_articles import article_cases, article_repository
from tacit.evaluate.device_quality import SCORES, Case, Outcome, groups_by_power, held_out_cases, measure
from tacit.world.synth import SyntheticLog

__all__ = [
    "DELTAS",
    "GROUPS",
    "ByDelta",
    "ByQuery",
    "DeviceExperiments",
    "article_experiments",
    "device_experiments",
    "log_experiments",
    "steps",
]

GROUPS = ("ambiguous", "medium", "distinct")
"""Queries by DP(q, R), the least distinct first."""
DELTAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
_DELTA = 0.1
_SENT = tuple(name for name in SCORES if name != "on the device")


@dataclass(frozen=True)
class ByQuery:
    """Average precision on one kind of query, by one way to rerank, at δ = 0.1."""

    queries: str
    cases: int
    order: str
    original: float
    personalised: float
    spread: float
    """The half-width of a 95% interval of the gain."""

    @property
    def gain(self) -> float:
        """Over no profile."""
        return self.personalised - self.original


@dataclass(frozen=True)
class ByDelta:
    """Average precision over all queries at one risk bound."""

    delta: float
    exposed: float
    """The share of queries with which any of the profile went out."""
    order: str
    original: float
    personalised: float
    spread: float

    @property
    def gain(self) -> float:
        """Over no profile."""
        return self.personalised - self.original


@dataclass(frozen=True)
class DeviceExperiments:
    """Both figures."""

    source: str
    cases: int
    by_query: tuple[ByQuery, ...]
    by_delta: tuple[ByDelta, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def steps() -> int:
    """How many rankings of all queries there are, for progress."""
    return len(SCORES) + len(DELTAS) * len(_SENT)


def log_experiments(
    users: int,
    population: int,
    *,
    by_clicks: bool = False,
    seed: int = 5,
    advance: Callable[[int], None] = lambda _: None,
) -> DeviceExperiments:
    """On the most active users of a synthetic log."""
    repository = wordnet_repository()
    log = SyntheticLog(population, seed=seed)
    cases = list(held_out_cases(repository, log.table(), log.truth(), users, by_clicks=by_clicks))
    judged = "clicks" if by_clicks else "the meaning in mind"
    return device_experiments(repository, cases, f"synthetic log, judged by {judged}", advance)


def article_experiments(
    articles: str | Path, users: int, *, seed: int = 5, advance: Callable[[int], None] = lambda _: None
) -> DeviceExperiments:
    """On simulated readers of real articles."""
    with tempfile.TemporaryDirectory() as folder:
        repository = article_repository(articles, folder)
        cases = list(article_cases(repository, users, seed=seed))
        return device_experiments(repository, cases, "articles", advance)


def device_experiments(
    repository: Repository,
    cases: Sequence[Case],
    source: str,
    advance: Callable[[int], None] = lambda _: None,
) -> DeviceExperiments:
    """All rankings of these queries."""
    if len(cases) < len(GROUPS):
        raise InfeasibleError(
            f"{len(cases)} test queries were found; three and more are needed.", "Take more users."
        )
    outcomes = {}
    for score in SCORES:
        outcomes[score] = measure(repository, cases, _DELTA, score)
        advance(1)
    by_delta = []
    for delta in DELTAS:
        for score in _SENT:
            found = measure(repository, cases, delta, score)
            exposed = float(np.mean([outcome.exposed for outcome in found]))
            by_delta.append(ByDelta(delta, exposed, score, *_mean(found)))
            advance(1)
    return DeviceExperiments(source, len(cases), tuple(_by_query(outcomes)), tuple(by_delta))


def _by_query(outcomes: dict[str, list[Outcome]]) -> list[ByQuery]:
    powers = np.array([outcome.query_power for outcome in outcomes[_SENT[0]]])
    group = groups_by_power(powers)
    rows = []
    for which, name in [*enumerate(GROUPS), (-1, "all")]:
        inside = np.flatnonzero(group == which) if which >= 0 else np.arange(len(powers))
        if len(inside):
            rows += [
                ByQuery(name, len(inside), order, *_mean([found[place] for place in inside]))
                for order, found in outcomes.items()
            ]
    return rows


def _mean(outcomes: Sequence[Outcome]) -> tuple[float, float, float]:
    """Original and personalised average precision, and the half-width of a 95% interval of the gain."""
    gains = np.array([outcome.personalised - outcome.original for outcome in outcomes])
    spread = 1.96 * gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    original = float(np.mean([outcome.original for outcome in outcomes]))
    return original, original + float(gains.mean()), float(spread)
