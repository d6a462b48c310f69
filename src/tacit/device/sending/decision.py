"""Decide, query by query, what of a profile is exposed (Algorithm 1, lines 2 and 3).

Mapping, decision and generalisation happen on the device, over public data and the user's own profile;
nothing leaves it on the way. :class:`OnlineProfiler` follows the paper; :class:`EvidenceProfiler` sends a
profile only where the history shows an interest in the query.

The documents of the history that are about the query are found by attention: after results are known as in
:mod:`tacit.device.ranking.attention`; before, by the query alone::

    r[h] = cov(q, h) / 2 + max(0, cos(q, h)) / 2

where only documents with r of at least 0.45 count: those that hold the query's words, or are as near to it
as if they did. What they say together is one direction: the sum of their own, without the query's words,
each weighted by its attention. The query's topics are at most three, none above another, whose directions
together come nearest to it, for their sum is what a server ranks by: chosen one after the other among the
fifty nearest, as long as each brings the sum nearer. They are the seed that generalisation starts from.
Where fewer than half of the attention is on the history, there is no evidence, and no profile is sent.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from tacit.device.generalise.algorithms import Algorithm, Generalisation, generalise
from tacit.device.generalise.mapping import MappedQuery, map_topics, query_topics, seed_of_leaves
from tacit.device.profile.arrays import Bags
from tacit.device.profile.repository import Repository
from tacit.device.profile.user import Floats, Integers, SeedProfile, UserProfile
from tacit.device.ranking.attention import Attention, QueryWords
from tacit.device.sending.exposure import ExposureBound, ExposureLedger
from tacit.errors import ParameterError
from tacit.retrieval.topic_vectors import TopicVectors

_Float32 = npt.NDArray[np.float32]

LEAST_EVIDENCE = 0.5
"""The share of the attention that must lie on the history for a profile to go out."""

_SPEAKS = 0.45
_TEMPERATURE = 0.12
_SPEAKERS = 12
_FAINT = 0.01
_TOPICS = 3
_AROUND = 50


@dataclass(frozen=True, eq=False)
class Interest:
    """What the history says about a query."""

    evidence: float
    """The share of the attention on the history, in [0, 1]."""
    topics: Integers
    """The query's topics in the light of the history, ascending; none above another."""
    preferences: Floats
    """The preference for each, adding up to 1."""

    def seed(self, profile: UserProfile, prior: Floats, baseline: float) -> SeedProfile | None:
        """The seed profile over these topics; None where there are none."""
        if len(self.topics) == 0:
            return None
        return seed_of_leaves(profile, prior, self.topics, self.preferences, baseline)


def _together_nearest(said: _Float32, around: Integers, rows: _Float32, end: Integers) -> list[int]:
    """At most three of the topics ``around``, none above another, whose sum is nearest to ``said``."""
    chosen: list[int] = []
    total = np.zeros_like(said)
    free = np.ones(len(around), np.bool_)
    nearest = 0.0
    while len(chosen) < _TOPICS:
        sums = total + rows
        cosines = np.where(free, sums @ said / np.maximum(1e-6, np.linalg.norm(sums, axis=1)), -1)
        best = int(cosines.argmax())
        if not cosines[best] > nearest:
            break
        nearest, topic = float(cosines[best]), int(around[best])
        chosen.append(topic)
        total = sums[best]
        free &= ~(((topic <= around) & (around < end[topic])) | ((around <= topic) & (topic < end[around])))
    return chosen


class InterestFinder:
    """Finds the interest behind a query. Not for several threads at once, as attention is not."""

    def __init__(self, vectors: TopicVectors, attention: Attention) -> None:
        self._vectors = vectors
        self._attention = attention

    def find(self, query: str, history: Bags, results: Bags | None = None) -> Interest:
        """The interest of a history in a query, given its results where they are known."""
        nobody = Interest(0.0, np.empty(0, np.int32), np.empty(0))
        if len(history) == 0:
            return nobody
        words = QueryWords(self._attention.table, query)
        if results is not None and len(results):
            attended = self._attention.attend(words, results, history)
            places, weights = attended.documents, attended.attention.astype(np.float64)
        else:
            places, weights = self._before_results(query, words, history)
        evidence = float(weights.sum())
        if evidence < LEAST_EVIDENCE:
            return Interest(evidence, nobody.topics, nobody.preferences)
        best = np.argsort(-weights, kind="stable")[:_SPEAKERS]
        best = best[weights[best] >= _FAINT * weights[best[0]]]
        directions = self._attention.directions(words, history, places[best])
        topics, preferences = self._preferences(directions, weights[best])
        return Interest(evidence, topics, preferences)

    def _before_results(
        self, query: str, words: QueryWords, history: Bags
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The documents that speak about the query by themselves, with their share of the attention."""
        table = self._attention.table
        covered = self._attention.coverage(words, history)
        asked = table.vector(table.bag(query))
        near = np.maximum(0, history.sums @ asked / np.maximum(1e-6, history.norms))
        relevance = (covered + near).astype(np.float64) / 2
        places = np.flatnonzero(relevance >= _SPEAKS)
        excess = np.exp((relevance[places] - _SPEAKS) / _TEMPERATURE)
        return places, excess / (excess.sum() + 1)

    def _preferences(self, directions: _Float32, weights: npt.NDArray[np.float64]) -> tuple[Integers, Floats]:
        """The topics that together come nearest to what the documents say, and the preference for each."""
        said = weights.astype(np.float32) @ directions
        length = np.linalg.norm(said)
        if not length > 1e-6:
            return np.empty(0, np.int32), np.empty(0)
        said /= length
        around = self._vectors.nearest(said[None, :], _AROUND)[0][0]
        rows = self._vectors.matrix[around]
        chosen = np.array(sorted(_together_nearest(said, around, rows, self._vectors.tree.end)), np.int32)
        squares = np.maximum(0, self._vectors.matrix[chosen] @ said).astype(np.float64) ** 2
        if not squares.sum() > 0:
            return np.empty(0, np.int32), np.empty(0)
        return chosen, squares / squares.sum()


DISTINCT = 0.82
"""Queries with at least this discriminating power of their own are distinct (section 7.1)."""

RETRIEVED = 20
"""How many documents of the repository say what a query is about."""


class Decision(StrEnum):
    """Whether a profile goes out with a query, and if not, why."""

    PERSONALISED = "personalised"
    DISTINCT = "the query says enough by itself"
    NO_EVIDENCE = "what of your history may be used shows no interest in this query"
    UNTOUCHED = "the profile has nothing on this query"
    INFEASIBLE = "even the most general topic alone exceeds the risk bound"
    NOTHING_LEFT = "only the root is left within the risk bound"
    EXPOSED = "together with what was sent before it would exceed the exposure bound"


@dataclass(frozen=True, eq=False)
class RuntimeProfile:
    """What was decided for a query."""

    decision: Decision
    mapped: MappedQuery
    generalisation: Generalisation | None
    """None where none was needed: the query is distinct, or the profile has nothing on it."""
    microseconds: float
    """Of mapping, decision and generalisation together."""

    @property
    def personalised(self) -> bool:
        """Whether a profile may be sent with the query."""
        return self.decision is Decision.PERSONALISED

    @property
    def exposed(self) -> list[int]:
        """The topics that may be sent, ascending; none where the query goes out alone."""
        if self.generalisation is None or not self.personalised:
            return []
        return [int(topic) for topic in self.generalisation.topics]


class OnlineProfiler:
    """Decides, query by query, what of a profile is exposed.

    Args:
        repository: the public taxonomy with its documents.
        profile: the user's profile.
        delta: the bound on risk(q, G).
        distinct: the threshold mu: queries with DP(q, R) at or above it go out alone. Above 1 turns the
            decision off.
        algorithm: how to generalise.
    """

    def __init__(
        self,
        repository: Repository,
        profile: UserProfile,
        delta: float = 0.1,
        *,
        distinct: float = DISTINCT,
        algorithm: Algorithm | str = Algorithm.GREEDY_RATIO,
    ) -> None:
        if not 0 <= delta <= 1:
            raise ParameterError.outside("delta", delta, "in [0, 1]")
        if not (distinct >= 0 and math.isfinite(distinct)):
            raise ParameterError.outside("distinct", distinct, "a number of 0 or more")
        self.repository = repository
        self.profile = profile
        self.delta = delta
        self.distinct = distinct
        self.algorithm = algorithm

    def profile_query(self, query: str) -> RuntimeProfile:
        """What may go out with ``query``."""
        begun = time.perf_counter_ns()
        topics = self.repository.retrieve(query, RETRIEVED)
        mapped = map_topics(self.profile, self.repository.prior, topics)
        decision, generalisation = (
            (Decision.DISTINCT, None) if mapped.power >= self.distinct else self._within_risk(mapped)
        )
        return RuntimeProfile(decision, mapped, generalisation, (time.perf_counter_ns() - begun) / 1000)

    def expose(
        self,
        query: str,
        result: RuntimeProfile,
        ledger: ExposureLedger,
        upstream: str,
        bound: ExposureBound | None = None,
    ) -> RuntimeProfile:
        """Record that ``query`` goes to ``upstream``, and with how much of the profile it may.

        Call it before sending. Where a bound on everything the upstream was told would be exceeded, the
        profile is generalised further or withheld.
        """
        proposed = result.generalisation if result.personalised else None
        admitted = ledger.admit(upstream, query, proposed, self.profile, bound)
        if proposed is None or admitted is proposed:
            return result
        decision = Decision.EXPOSED if admitted is None else result.decision
        return replace(result, decision=decision, generalisation=admitted or proposed)

    def _within_risk(self, mapped: MappedQuery) -> tuple[Decision, Generalisation | None]:
        if mapped.seed is None:
            return Decision.UNTOUCHED, None
        result = generalise(mapped.seed, self.delta, self.algorithm)
        if not result.feasible:
            return Decision.INFEASIBLE, result
        if not result.kept[1:].any():
            return Decision.NOTHING_LEFT, result
        return Decision.PERSONALISED, result


class EvidenceProfiler(OnlineProfiler):
    """Decides, query by query, what is exposed: topics of the documents that are about the query.

    Args:
        repository: the public taxonomy with its documents.
        profile: for its taxonomy and costs.
        finder: finds the interest behind a query.
        history: the documents that may influence what is sent.
        delta: the bound on risk(q, G).
        algorithm: how to generalise.
    """

    def __init__(
        self,
        repository: Repository,
        profile: UserProfile,
        finder: InterestFinder,
        history: Bags,
        delta: float,
        algorithm: Algorithm | str = Algorithm.GREEDY_RATIO,
    ) -> None:
        super().__init__(repository, profile, delta, algorithm=algorithm)
        self._finder = finder
        self._history = history

    def profile_query(self, query: str, results: Bags | None = None) -> RuntimeProfile:
        """What may go out with ``query``, given its results where they are known."""
        begun = time.perf_counter_ns()
        retrieved = self.repository.retrieve(query, RETRIEVED)
        tree, prior = self.repository.tree, self.repository.prior
        topics, relevance, power = query_topics(tree, prior, retrieved)
        interest = self._finder.find(query, self._history, results)
        seed = interest.seed(self.profile, prior, power)
        mapped = MappedQuery(topics, relevance, power, seed)
        decision, generalisation = (
            self._within_risk(mapped) if interest.evidence >= LEAST_EVIDENCE else (Decision.NO_EVIDENCE, None)
        )
        return RuntimeProfile(decision, mapped, generalisation, (time.perf_counter_ns() - begun) / 1000)
