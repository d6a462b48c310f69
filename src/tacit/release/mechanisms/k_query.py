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
from tacit.release.parameters import GIVEN, ITEM_KEYS, Item, check_whole, declared, declared_neighbours

if TYPE_CHECKING:
    from tacit.release.engines import Engine


@dataclass(frozen=True, kw_only=True, repr=False)
class KQuery(Mechanism):
    """k-query anonymity: exact counts of what k users asked. No differential privacy.

    k is given, or follows from how many honest users shall share a query with how many accounts of an
    attacker. It has no ε, and is recorded in the ledger without a charge.
    """

    name: ClassVar[str] = "k-query"
    title: ClassVar[str] = "k-query anonymity"
    summary: ClassVar[str] = "k-query anonymity: exact counts of what k users asked. No differential privacy."
    example: ClassVar[str] = "--hide-among 20 --attacker-accounts 10"
    given_example: ClassVar[str] = "--k 20"
    private: ClassVar[bool] = False

    neighbours: Neighbours = declared_neighbours()
    items: tuple[Item, ...] = declared(
        tuple(Item), "What is counted; repeat it for several histograms.", option="--item"
    )
    hide_among: int = declared(
        20, "How many honest users shall share a published query.", least=1, planning=True
    )
    attacker_accounts: int = declared(0, "How many accounts the attacker may have.", least=0, planning=True)
    k: int | None = declared(
        None,
        "The least number of users behind a published query (honest users and attacker's accounts together).",
        least=2,
        panel=GIVEN,
    )

    @property
    def given(self) -> bool:
        """Whether k was given."""
        return self.k is not None

    def plan(self) -> KQueryPlan:
        """The k at which the honest users asked for share each published query, unless it is given.

        A user may add to any number of keys, and nothing is drawn: true counts are compared with k.
        """
        from tacit.release.schedule import Contribution, Part, Schedule, text_columns

        k = max(2, self.hide_among + self.attacker_accounts) if self.k is None else self.k
        parts = tuple(
            Part(
                table=item.value,
                columns=text_columns(*ITEM_KEYS[item]),
                contribution=Contribution((), once=True),
                noise=None,
                least=None,
                minimum=k,
            )
            for item in self.items
        )
        return KQueryPlan(mechanism=self, schedule=Schedule(parts, self.neighbours))


@dataclass(frozen=True, kw_only=True, repr=False)
class KQueryPlan(Plan[KQuery]):
    """A k-query anonymous release, settled."""

    @property
    def k(self) -> int:
        """The least number of users of a published query."""
        return self.schedule.parts[0].minimum

    @property
    def given(self) -> KQuery:
        """With k given."""
        return self.mechanism.settled(k=self.k)

    def honest_users(self, attacker_accounts: int) -> int:
        """How many users at least share a published query, of whom the attacker controls none."""
        check_whole("attacker_accounts", attacker_accounts, 0)
        return max(0, self.k - attacker_accounts)

    def count(self, engine: Engine, log: Any) -> Counting:
        """Exact histograms of the records of frequent queries; an item counts its users."""
        from tacit.release.contribution import items_of

        asked = log.group_by("query").aggregate(users=log.user.nunique())
        frequent = engine.keep(asked.filter(asked.users >= self.k).select("query"))
        left = log.semi_join(frequent, "query")
        counting = {}
        for item in self.mechanism.items:
            keys = list(ITEM_KEYS[item])
            distinct = items_of(left, item).select("user", *keys).distinct()
            counting[item.value] = engine.keep(distinct.group_by(keys).aggregate(count=distinct.count()))
        return counting


MECHANISM = KQuery
