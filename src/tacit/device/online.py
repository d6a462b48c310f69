"""The online path: from a query to the profile that may go out with it (Algorithm 1, lines 2 and 3).

Mapping, decision and generalisation happen on the device, over public data and the user's own profile;
nothing leaves it on the way.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from enum import StrEnum

from tacit.device.exposure import ExposureBound, ExposureLedger
from tacit.device.generalise import Algorithm, Generalisation, generalise
from tacit.device.mapping import MappedQuery, map_topics
from tacit.device.profile import UserProfile
from tacit.device.repository import Repository
from tacit.errors import ParameterError

__all__ = ["DISTINCT", "RETRIEVED", "Decision", "OnlineProfiler", "RuntimeProfile"]

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
    NO_GAIN = "the predicted utility of what may be exposed is too low"
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
        least_utility: profiles of at most this predicted utility stay at home. Off by default, as in the
            paper: 0 exposes less, but the prediction's sign is right on some data and wrong on other.
        algorithm: how to generalise.
        retrieved: how many documents say what a query is about.
    """

    def __init__(
        self,
        repository: Repository,
        profile: UserProfile,
        delta: float = 0.1,
        *,
        distinct: float = DISTINCT,
        least_utility: float = -math.inf,
        algorithm: Algorithm | str = Algorithm.GREEDY_RATIO,
        retrieved: int = RETRIEVED,
    ) -> None:
        if not 0 <= delta <= 1:
            raise ParameterError.outside("delta", delta, "in [0, 1]")
        if not (distinct >= 0 and math.isfinite(distinct)):
            raise ParameterError.outside("distinct", distinct, "a number of 0 or more")
        if math.isnan(least_utility):
            raise ParameterError.outside("least_utility", least_utility, "a number")
        self.repository = repository
        self.profile = profile
        self.delta = delta
        self.distinct = distinct
        self.least_utility = least_utility
        self.algorithm = algorithm
        self.retrieved = retrieved

    def profile_query(self, query: str) -> RuntimeProfile:
        """What may go out with ``query``."""
        begun = time.perf_counter_ns()
        topics = self.repository.retrieve(query, self.retrieved)
        mapped = map_topics(self.profile, self.repository.prior, topics)
        decision, generalisation = self._decide(mapped)
        return RuntimeProfile(decision, mapped, generalisation, (time.perf_counter_ns() - begun) / 1000)

    def warm_up(self, query: str) -> None:
        """Load the compiled kernels, which the first query of a process would otherwise wait for."""
        self.profile_query(query)

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

    def _decide(self, mapped: MappedQuery) -> tuple[Decision, Generalisation | None]:
        if mapped.power >= self.distinct:
            return Decision.DISTINCT, None
        return self._within_risk(mapped)

    def _within_risk(self, mapped: MappedQuery) -> tuple[Decision, Generalisation | None]:
        if mapped.seed is None:
            return Decision.UNTOUCHED, None
        result = generalise(mapped.seed, self.delta, self.algorithm)
        if not result.feasible:
            return Decision.INFEASIBLE, result
        if not result.kept[1:].any():
            return Decision.NOTHING_LEFT, result
        if result.utility <= self.least_utility:
            return Decision.NO_GAIN, result
        return Decision.PERSONALISED, result
