"""Search quality with profiles generalised on the device (UPS, section 7.5).

Users of a synthetic log search the embedded world. The first four fifths of a user's records make the
profile, with up to five random topics of depth 3 and below sensitive, as in the paper; the rest are
test queries. The engine shows 20 results; they are reranked with what the profile exposes.

What is relevant is the **meaning** that the user had in mind, which the synthetic log knows. Clicks
would be the paper's choice, but people click what is ranked high: measured on the very ranking that
was clicked, the engine's order is hard to beat whatever the profile says. (The paper replays AOL's
queries on other engines.) Average precision (equation 19) of one relevant document is one over its rank.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.device import (
    Decision,
    OnlineProfiler,
    Repository,
    RuntimeProfile,
    UserProfile,
    interest_scores,
    rerank,
    topic_scores,
    uscore,
)
from tacit.device.construction import file_document
from tacit.device.online import DISTINCT
from tacit.taxonomy import TopicTree

__all__ = [
    "MOST_RECORDS",
    "SCORES",
    "SHOWN",
    "Case",
    "Outcome",
    "average_precision",
    "groups_by_power",
    "held_out_cases",
    "measure",
    "sensitive_topics",
]

SHOWN = 20
"""Results that the engine shows, and that are reranked."""
MOST_RECORDS = 2_000
"""Whoever has more is taken for a robot."""
_NOT_SEARCHES = {"errand", "next-page"}
_MOST_SENSITIVE, _SHALLOWEST = 5, 3


@dataclass(frozen=True, eq=False)
class Case:
    """One test query of a user."""

    profile: UserProfile
    query: str
    results: tuple[int, ...]
    """What the engine answers, best first."""
    relevant: frozenset[int]
    """The document the user had in mind, or those clicked; they are among the results."""
    user: int = -1
    """The user's place in the log; -1 where there is no log."""


@dataclass(frozen=True)
class Outcome:
    """What personalisation did to one case."""

    query_power: float
    """DP(q, R): how distinct the query is by itself."""
    original: float
    """Average precision of the engine's order."""
    personalised: float
    """Average precision after reranking."""
    exposed: bool
    """Whether any of the profile was exposed."""


def average_precision(order: Sequence[int], relevant: AbstractSet[int]) -> float:
    """Equation 19: the mean over relevant documents of the precision at their ranks.

    The same as ir-measures' AP, as a test shows, which takes 30 times as long for many short rankings
    (``python benchmarks/own_parts.py``) and would be needed wherever a device is measured.
    """
    ranks = [rank for rank, document in enumerate(order, start=1) if document in relevant]
    return sum(found / rank for found, rank in enumerate(ranks, start=1)) / len(relevant)


def held_out_cases(
    repository: Repository,
    log: pa.Table,
    truth: pa.Table,
    users: int,
    *,
    by_clicks: bool = False,
    seed: int = 0,
) -> Iterator[Case]:
    """The test queries of the ``users`` users with the most records (robots aside: :data:`MOST_RECORDS`).

    Args:
        repository: the taxonomy with its documents.
        log: a synthetic log.
        truth: what lies behind its records.
        users: of how many users.
        by_clicks: take the clicked documents for relevant, rather than the meaning in mind.
        seed: for the choice of sensitive topics.
    """
    lengths = np.array([len(meanings) for meanings in truth["meanings"].to_pylist()])
    begins = np.concatenate(([0], np.cumsum(lengths)))
    random = np.random.default_rng(seed)
    chosen = [user for user in np.argsort(-lengths, kind="stable") if lengths[user] <= MOST_RECORDS][:users]
    for user in chosen:
        records = log.slice(begins[user], lengths[user]).to_pylist()
        behind = {name: truth[name][int(user)].as_py() for name in ("meanings", "kinds")}
        for case in _cases_of(repository, records, behind, random, by_clicks):
            yield replace(case, user=int(user))


def _cases_of(
    repository: Repository,
    records: list[dict[str, Any]],
    behind: Mapping[str, list[Any]],
    random: np.random.Generator,
    by_clicks: bool,
) -> Iterator[Case]:
    cut = len(records) * 4 // 5
    profile = _profile(repository, records[:cut], random)
    wanted: dict[tuple[str, object], set[int]] = {}
    for record, meant, kind in zip(
        records[cut:], behind["meanings"][cut:], behind["kinds"][cut:], strict=True
    ):
        if kind in _NOT_SEARCHES:
            continue
        if not by_clicks:
            wanted[record["query"], meant] = {meant}
        elif record["url"] is not None:
            clicked = repository.number_of_url(record["url"])
            if clicked is not None:
                wanted.setdefault((record["query"], record["time"]), set()).add(clicked)
    for (query, _), relevant in wanted.items():
        results = tuple(hit.document for hit in repository.engine.search(query, SHOWN))
        if relevant <= set(results):
            yield Case(profile, query, results, frozenset(relevant))


def _profile(
    repository: Repository, records: list[dict[str, Any]], random: np.random.Generator
) -> UserProfile:
    filed: dict[tuple[str, str], int | None] = {}
    documents: Counter[int] = Counter()
    for record in records:
        query, url = record["query"], record["url"]
        text = repository.text_behind(url) if url is not None else None
        if text is None:
            continue
        if (query, url) not in filed:
            filed[query, url] = file_document(repository, query, text)
        topic = filed[query, url]
        if topic is not None:
            documents[topic] += 1
    counts = {topic: float(count) for topic, count in documents.items()}
    tree = repository.tree
    return UserProfile(tree, counts, sensitive_topics(tree, counts, random, _MOST_SENSITIVE, _SHALLOWEST))


def sensitive_topics(
    tree: TopicTree,
    documents: Mapping[int, float],
    random: np.random.Generator,
    most: int,
    shallowest: int,
) -> dict[int, float]:
    """At most ``most`` random topics of a profile, none above another, of equal sensitivity (7.1)."""
    topics = UserProfile(tree, documents, {}).topics.tolist()
    deep = [topic for topic in topics if tree.depth[topic] >= shallowest]
    sensitivity: dict[int, float] = {}
    for topic in random.permutation(deep).tolist():
        if len(sensitivity) == most:
            break
        if not any(tree.is_ancestor(topic, s) or tree.is_ancestor(s, topic) for s in sensitivity):
            sensitivity[topic] = 1.0
    return sensitivity


def _by_topics(repository: Repository, case: Case, found: RuntimeProfile) -> list[float]:
    """At the server: exposed topics with the user's preferences among them."""
    assert found.generalisation is not None
    exposed = found.generalisation
    return topic_scores(
        repository.tree,
        repository.prior,
        exposed.leaves,
        exposed.preferences,
        repository.topic_of[list(case.results)],
    )


def _by_bare_topics(repository: Repository, case: Case, found: RuntimeProfile) -> list[float]:
    """At the server: exposed topics alone, all alike."""
    assert found.generalisation is not None
    leaves = found.generalisation.leaves
    equal = np.full(len(leaves), 1 / len(leaves))
    return topic_scores(
        repository.tree, repository.prior, leaves, equal, repository.topic_of[list(case.results)]
    )


def _by_words(repository: Repository, case: Case, found: RuntimeProfile) -> list[float]:
    """At the server: the paper's uscore, from the words of the results."""
    assert found.generalisation is not None
    documents = (repository.corpus[number] for number in case.results)
    return [
        uscore(repository.index, f"{document.title} {document.text}", found.generalisation.leaves)
        for document in documents
    ]


def _on_device(repository: Repository, case: Case, _found: RuntimeProfile) -> list[float]:
    """On the device: the complete profile. Nothing is exposed."""
    return interest_scores(case.profile, repository.prior, repository.topic_of[list(case.results)])


Score = Callable[[Repository, Case, RuntimeProfile], list[float]]

SCORES: dict[str, Score] = {
    "topics with preferences": _by_topics,
    "topics alone": _by_bare_topics,
    "words (eq. 20)": _by_words,
    "on the device": _on_device,
}
"""Ways to rerank, by name."""


def measure(
    repository: Repository, cases: Sequence[Case], delta: float, score: str, *, decide: bool = False
) -> list[Outcome]:
    """Rerank every case under the bound ``delta``; without the online decision, as in the paper.

    With ``decide``, distinct queries and profiles without a predicted gain go out alone.
    """
    distinct, least_utility = (DISTINCT, 0.0) if decide else (2.0, -math.inf)
    way = SCORES[score]
    profilers: dict[int, OnlineProfiler] = {}
    outcomes = []
    for case in cases:
        profiler = profilers.get(id(case.profile))
        if profiler is None:
            profiler = OnlineProfiler(
                repository, case.profile, delta, distinct=distinct, least_utility=least_utility
            )
            profilers[id(case.profile)] = profiler
        found = profiler.profile_query(case.query)
        order: Sequence[int] = case.results
        if found.decision is Decision.PERSONALISED or way is _on_device:
            order = rerank(case.results, way(repository, case, found))
        outcomes.append(
            Outcome(
                found.mapped.power,
                average_precision(case.results, case.relevant),
                average_precision(order, case.relevant),
                found.personalised,
            )
        )
    return outcomes


def groups_by_power(powers: npt.NDArray[np.float64], groups: int = 3) -> npt.NDArray[np.intp]:
    """Queries in groups of similar DP(q, R), the least distinct first: one-dimensional k-means (7.1).

    In one dimension the best clusters are intervals; Lloyd's steps from the quantiles find them.
    """
    centres = np.quantile(powers, (np.arange(groups) + 0.5) / groups)
    for _ in range(100):
        nearest = np.argmin(np.abs(powers[:, None] - centres[None, :]), axis=1)
        moved = np.array(
            [powers[nearest == g].mean() if np.any(nearest == g) else centres[g] for g in range(groups)]
        )
        if np.array_equal(moved, centres):
            break
        centres = moved
    order = np.argsort(centres)
    place = np.empty(groups, np.intp)
    place[order] = np.arange(groups)
    found: npt.NDArray[np.intp] = place[nearest]
    return found
