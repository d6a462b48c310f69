"""k-query anonymity (Adar), the baseline: what at least k users asked, published as it is.

Queries asked by fewer than k users are dropped with all their records; of what is left, each keyword, query,
click and pair that k users have is published with its exact count. **No protection against an active
attacker**: with k - 1 accounts of their own, anyone learns whether one more person asked a query, and exact
counts tell the last unknown user apart. There is no ε. Derivation: docs/guarantees/k-query.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.privacy.guarantee import Neighbours
from tacit.release.mechanism import Counting, Mechanism, Plan
from tacit.release.parameters import ITEM_KEYS, Item, declared, declared_neighbours
from tacit.release.schedule import Contribution, Part, Schedule, text_columns

if TYPE_CHECKING:
    from tacit.engines import Engine


@dataclass(frozen=True, kw_only=True, repr=False)
class KQuery(Mechanism):
    """k-query anonymity: exact counts of what k users asked. No differential privacy.

    Choose k as the honest users who shall share a query and the accounts that an attacker may have. It has
    no ε, and is recorded in the ledger without a charge.
    """

    name: ClassVar[str] = "k-query"
    title: ClassVar[str] = "k-query anonymity"
    example: ClassVar[str] = "--k 20"
    private: ClassVar[bool] = False

    neighbours: Neighbours = declared_neighbours()
    items: tuple[Item, ...] = declared(
        tuple(Item), "What is counted; repeat it for several histograms.", option="--item"
    )
    k: int = declared(
        20,
        "The least number of users behind a published query (honest users and attacker's accounts together).",
        least=2,
    )

    def plan(self) -> KQueryPlan:
        """A user may add to any number of keys, and nothing is drawn: true counts are compared with k."""
        parts = tuple(
            Part(
                table=item.value,
                columns=text_columns(*ITEM_KEYS[item]),
                contribution=Contribution((), once=True),
                noise=None,
                least=None,
                minimum=self.k,
            )
            for item in self.items
        )
        return KQueryPlan(mechanism=self, schedule=Schedule(parts, self.neighbours))


@dataclass(frozen=True, kw_only=True, repr=False)
class KQueryPlan(Plan[KQuery]):
    """A k-query anonymous release, settled."""

    @property
    def k(self) -> int:
        return self.mechanism.k

    @property
    def given(self) -> KQuery:
        return self.mechanism

    def count(self, engine: Engine, log: Any) -> Counting:
        """Exact histograms of the records of frequent queries; an item counts its users."""
        from tacit.release.contribution import counts_of, items_of

        asked = log.group_by("query").aggregate(users=log.user.nunique())
        frequent = engine.keep(asked.filter(asked.users >= self.k).select("query"))
        left = log.semi_join(frequent, "query")
        counting = {}
        for item in self.mechanism.items:
            keys = list(ITEM_KEYS[item])
            distinct = items_of(left, item).select("user", *keys).distinct()
            counting[item.value] = engine.keep(counts_of(distinct, keys))
        return counting


MECHANISM = KQuery
