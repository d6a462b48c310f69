"""The online path by evidence: a profile goes out only where the history shows an interest in the query."""

from __future__ import annotations

import time

from tacit.device.bags import Bags
from tacit.device.generalise import Algorithm, Generalisation
from tacit.device.interest import LEAST_EVIDENCE, Interest, InterestFinder
from tacit.device.mapping import MappedQuery, map_topics
from tacit.device.online import RETRIEVED, Decision, OnlineProfiler, RuntimeProfile
from tacit.device.profile import UserProfile
from tacit.device.repository import Repository

__all__ = ["EvidenceProfiler"]


class EvidenceProfiler(OnlineProfiler):
    """Decides, query by query, what is exposed: topics of the documents that are about the query.

    Args:
        repository: the public taxonomy with its documents.
        profile: for its taxonomy and costs.
        finder: finds the interest behind a query.
        history: the documents that have a say.
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
        public = map_topics(self.profile, self.repository.prior, retrieved)
        interest = self._finder.find(query, self._history, results)
        seed = interest.seed(self.profile, self.repository.prior, public.power)
        mapped = MappedQuery(public.topics, public.relevance, public.power, seed)
        decision, generalisation = self._by_evidence(interest, mapped)
        return RuntimeProfile(decision, mapped, generalisation, (time.perf_counter_ns() - begun) / 1000)

    def _by_evidence(self, interest: Interest, mapped: MappedQuery) -> tuple[Decision, Generalisation | None]:
        if interest.evidence < LEAST_EVIDENCE:
            return Decision.NO_EVIDENCE, None
        return self._within_risk(mapped)
