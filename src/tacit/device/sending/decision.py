"""Decide as in the paper, query by query, what of a profile is exposed (Algorithm 1, lines 2 and 3).

Mapping, decision and generalisation happen on the device, over public data and the user's own profile;
nothing leaves it on the way. (Over the people's taxonomy :mod:`tacit.device.sending.interests` chooses.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from tacit.device.generalise.algorithms import Algorithm, Generalisation, generalise
from tacit.device.generalise.mapping import MappedQuery, map_topics
from tacit.device.profile.repository import Repository
from tacit.device.profile.user import UserProfile
from tacit.errors import ParameterError

DISTINCT = 0.82
"""Queries with at least this discriminating power of their own are distinct (section 7.1)."""

RETRIEVED = 20
"""How many documents of the repository say what a query is about."""


class Decision(StrEnum):
    """Whether a profile goes out with a query, and if not, why."""

    PERSONALISED = "personalised"
    DISTINCT = "the query says enough by itself"
    NO_EVIDENCE = "no topic that you read about is near this query"
    UNCONFIRMED = "you have not looked at the list of what is never sent"
    SENSITIVE = "the query itself may be about something sensitive"
    UNREADABLE = "nobody can tell what the query is about: it may be in another language"
    UNTOUCHED = "the profile has nothing on this query"
    INFEASIBLE = "even the most general topic alone exceeds the risk bound"
    NOTHING_LEFT = "only the root is left within the risk bound"


@dataclass(frozen=True, eq=False)
class RuntimeProfile:
    """What was decided for a query."""

    decision: Decision
    mapped: MappedQuery
    generalisation: Generalisation | None
    """None where none was needed: the query is distinct, or the profile has nothing on it."""

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
        """Decide what may go out with ``query``."""
        topics = self.repository.retrieve(query, RETRIEVED)
        mapped = map_topics(self.profile, self.repository.prior, topics)
        decision, generalisation = (
            (Decision.DISTINCT, None) if mapped.power >= self.distinct else self._within_risk(mapped)
        )
        return RuntimeProfile(decision, mapped, generalisation)

    def _within_risk(self, mapped: MappedQuery) -> tuple[Decision, Generalisation | None]:
        if mapped.seed is None:
            return Decision.UNTOUCHED, None
        result = generalise(mapped.seed, self.delta, self.algorithm)
        if not result.feasible:
            return Decision.INFEASIBLE, result
        if not result.kept[1:].any():
            return Decision.NOTHING_LEFT, result
        return Decision.PERSONALISED, result
