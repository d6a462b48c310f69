"""Decide as in the paper, query by query, what of a profile is exposed (Algorithm 1, lines 2 and 3).

Mapping, decision and generalisation happen on the device, over public data and the user's own profile;
nothing leaves it on the way. (Over the people's taxonomy :mod:`tacit.device.sending.interests` chooses.)
"""

import math
from dataclasses import KW_ONLY, dataclass
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
        return self.decision is Decision.PERSONALISED

    @property
    def exposed(self) -> list[int]:
        """The topics that may be sent, ascending; none where the query goes out alone."""
        if self.generalisation is None or not self.personalised:
            return []
        return [int(topic) for topic in self.generalisation.topics]


@dataclass(frozen=True)
class OnlineProfiler:
    """Decides, query by query, what of a profile is exposed.

    Attributes:
        repository: the public taxonomy with its documents.
        profile: the user's profile.
        delta: the bound on risk(q, G).
        distinct: the threshold mu: queries with DP(q, R) at or above it go out alone. Above 1 turns the
            decision off.
        algorithm: how to generalise.
    """

    repository: Repository
    profile: UserProfile
    delta: float = 0.1
    _: KW_ONLY
    distinct: float = DISTINCT
    algorithm: Algorithm | str = Algorithm.GREEDY_RATIO

    def __post_init__(self) -> None:
        if not 0 <= self.delta <= 1:
            raise ParameterError.outside("delta", self.delta, "in [0, 1]")
        if not (self.distinct >= 0 and math.isfinite(self.distinct)):
            raise ParameterError.outside("distinct", self.distinct, "a number of 0 or more")

    def profile_query(self, query: str) -> RuntimeProfile:
        topics = self.repository.retrieve(query, RETRIEVED)
        mapped = map_topics(self.profile, self.repository.prior, topics)
        if mapped.power >= self.distinct:
            return RuntimeProfile(Decision.DISTINCT, mapped, None)
        if mapped.seed is None:
            return RuntimeProfile(Decision.UNTOUCHED, mapped, None)
        result, decision = generalise(mapped.seed, self.delta, self.algorithm), Decision.PERSONALISED
        if not result.feasible:
            decision = Decision.INFEASIBLE
        elif not result.kept[1:].any():
            decision = Decision.NOTHING_LEFT
        return RuntimeProfile(decision, mapped, result)
