"""k-query anonymity (Adar), the baseline: what at least k users asked, published as it is.

Queries asked by fewer than k users are dropped with all their records; then the histograms of what is left
are exact. **No protection against an active attacker**: with k - 1 accounts of their own, anyone learns
whether one more person asked a query, and exact counts tell the last unknown user apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from tacit.privacy import Guarantee, Neighbours
from tacit.privacy.events import Event, KQueryRelease
from tacit.privacy.randomness import RandomSource
from tacit.release.analysis import k_query as analysis
from tacit.release.analysis.charge import Charge
from tacit.release.analysis.k_query import KQueryParameters
from tacit.release.engines import Engine
from tacit.release.mechanism import Counting, Step, Tables
from tacit.release.thresholding import in_order
from tacit.release.zealous import ITEM_KEYS, Item, items_of, key_schema

__all__ = ["KQuery"]


@dataclass(frozen=True)
class KQuery:
    """A k-query anonymous release: it has no ε, and is recorded in the ledger without a charge."""

    parameters: KQueryParameters
    items: tuple[Item, ...] = (Item.KEYWORDS, Item.QUERIES, Item.CLICKS, Item.PAIRS)

    name = "k-query"
    neighbours = Neighbours.ADD_REMOVE

    def guarantee(self) -> Guarantee:
        """k, and nothing else."""
        return analysis.guarantee(self.parameters, self.neighbours)

    def charges(self) -> tuple[Charge, ...]:
        """None: no ε describes it."""
        return ()

    def paper(self) -> None:
        """The paper claims no ε either."""

    def event(self) -> Event:
        """Recorded, not charged."""
        return KQueryRelease(self.parameters.k)

    def to_dict(self) -> dict[str, Any]:
        """Every parameter."""
        return {**asdict(self.parameters), "items": [item.value for item in self.items]}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> KQuery:
        """What ``to_dict`` wrote."""
        return cls(KQueryParameters(form["k"]), tuple(Item(item) for item in form["items"]))

    def steps(self) -> Sequence[Step]:
        """Adar's rule."""
        return (
            Step("Drop rare queries", f"all records of a query with fewer than {self.parameters.k} users"),
            Step("Count", "how many users have each item of what is left: " + ", ".join(self.items)),
            Step("Publish", "exact counts, without noise"),
        )

    def count(self, engine: Engine, log: Any) -> Counting:
        """Exact histograms of the records of frequent queries; an item counts its users."""
        asked = log.group_by("query").aggregate(users=log.user.nunique())
        frequent = engine.keep(asked.filter(asked.users >= self.parameters.k).select("query"))
        left = log.semi_join(frequent, "query")
        counting = {}
        for item in self.items:
            keys = list(ITEM_KEYS[item])
            distinct = items_of(left, item).select("user", *keys).distinct()
            counting[item.value] = engine.keep(distinct.group_by(keys).aggregate(count=distinct.count()))
        return counting

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """The histograms as they are; no noise is drawn."""
        del source
        tables = {}
        for item in self.items:
            schema = key_schema(ITEM_KEYS[item]).append(pa.field("count", pa.int64()))
            rows = engine.table(counting[item.value]).select(schema.names).cast(schema)
            tables[item.value] = in_order(rows, ITEM_KEYS[item])
        return tables
