"""k-query anonymity (Adar): what it does guarantee, and that it guarantees no ε.

A query is published iff at least k users asked it; histograms of keywords, queries and pairs follow
exactly, without noise. An attacker who controls k - 1 accounts learns of any one user whether they asked a
given query. Derivation: docs/guarantees/k-query.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.privacy import Guarantee, Kind, Neighbours
from tacit.release.analysis.ranges import check_whole

__all__ = ["KQueryParameters", "guarantee"]


@dataclass(frozen=True)
class KQueryParameters:
    """The parameter of a k-query anonymous release.

    Args:
        k: the least number of users who asked a published query.
    """

    k: int

    def __post_init__(self) -> None:
        check_whole("k", self.k, 1)

    def honest_users(self, attacker_accounts: int) -> int:
        """How many users at least share a published query, of whom the attacker controls none."""
        check_whole("attacker_accounts", attacker_accounts, 0)
        return max(0, self.k - attacker_accounts)


def guarantee(parameters: KQueryParameters, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Guarantee:
    """k-query anonymity. ε is infinite: no differential privacy of any kind follows."""
    return Guarantee(Kind.K_QUERY, neighbours, k=parameters.k)
