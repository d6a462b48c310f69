"""ZEALOUS (paper 004): histograms of a log's items with two thresholds.

For each histogram: a user gives at most m distinct items; items with fewer than τ users are dropped; the
others get integer noise λ and are published iff their noisy count is at least T. Guarantee:
:mod:`tacit.release.analysis.zealous`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

import pyarrow as pa

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, Kind, Neighbours
from tacit.privacy.events import Event
from tacit.privacy.randomness import RandomSource
from tacit.release.analysis import zealous as analysis
from tacit.release.analysis.accounting import zealous_event
from tacit.release.analysis.charge import Charge, PaperFigure
from tacit.release.analysis.zealous import ZealousParameters
from tacit.release.contribution import Choice, bounded_items, searches_of, steps_of
from tacit.release.engines import Engine
from tacit.release.keywords import keywords_of
from tacit.release.mechanism import Counting, Step, Tables, charge_of
from tacit.release.thresholding import publish, select

__all__ = ["ITEM_KEYS", "Item", "Zealous", "items_of", "key_schema"]


class Item(StrEnum):
    """What a histogram counts the users of."""

    KEYWORDS = "keywords"
    QUERIES = "queries"
    CLICKS = "clicks"
    PAIRS = "pairs"


ITEM_KEYS: Mapping[Item, tuple[str, ...]] = {
    Item.KEYWORDS: ("keyword",),
    Item.QUERIES: ("query",),
    Item.CLICKS: ("query", "url"),
    Item.PAIRS: ("query", "next_query"),
}
"""The columns that make an item: a pair is a query and the next different one of the same session."""

_ITEMS: Mapping[Item, Callable[[Any], Any]] = {
    Item.KEYWORDS: keywords_of,
    Item.QUERIES: lambda log: log,
    Item.CLICKS: lambda log: log.filter(log.url.notnull()),
    Item.PAIRS: lambda log: steps_of(searches_of(log)),
}


def items_of(log: Any, item: Item) -> Any:
    """All items of a log, with repetitions: user, time, the key columns, maybe others."""
    return _ITEMS[item](log)


def key_schema(names: Sequence[str]) -> pa.Schema:
    """Key columns are text and never null."""
    return pa.schema([pa.field(name, pa.string(), nullable=False) for name in names])


@dataclass(frozen=True)
class Zealous:
    """A ZEALOUS release.

    Args:
        parameters: m, λ, τ, T; ``histograms`` equals the number of items.
        items: the histograms to publish.
        kind: which guarantee is stated and charged.
        users: U for the probabilistic guarantee: a public number (or bound) of users.
        neighbours: which logs are neighbours.
        choice: which items of a user are taken when there are more than m.
    """

    parameters: ZealousParameters
    items: tuple[Item, ...] = (Item.QUERIES,)
    kind: Kind = Kind.INDISTINGUISHABILITY
    users: int | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    choice: Choice = Choice.FIRST

    name = "zealous"

    def __post_init__(self) -> None:
        if len(set(self.items)) != len(self.items) or len(self.items) != self.parameters.histograms:
            raise ParameterError.outside(
                "histograms", self.parameters.histograms, f"the number of different items ({len(self.items)})"
            )
        if self.kind is Kind.PROBABILISTIC and self.users is None:
            raise ParameterError("the probabilistic guarantee needs the public number of users.")

    def guarantee(self) -> Guarantee:
        """(ε,δ), of the kind asked for."""
        if self.kind is Kind.PROBABILISTIC:
            assert self.users is not None  # checked on construction
            return analysis.probabilistic_guarantee(self.parameters, self.users, self.neighbours)
        return analysis.guarantee(self.parameters, self.neighbours)

    def charges(self) -> tuple[Charge, ...]:
        """One a histogram."""
        listed = analysis.charges(self.parameters)
        if self.kind is Kind.PROBABILISTIC:
            assert self.users is not None  # checked on construction
            listed = analysis.probabilistic_charges(self.parameters, self.users, self.neighbours)
        return tuple(replace(charge, what=item) for item, charge in zip(self.items, listed, strict=True))

    def paper(self) -> PaperFigure:
        """The figure of paper 004 for the same kind of guarantee."""
        if self.kind is Kind.PROBABILISTIC and self.users is not None:
            return analysis.paper_probabilistic(self.parameters, self.users)
        return analysis.paper_figure(self.parameters)

    def event(self) -> Event:
        """What is charged: noisy counts and a rare disclosure; a probabilistic guarantee as it is stated.

        The price is that of the guarantee; the rule ``pld`` composes counts more tightly.
        """
        if self.kind is Kind.PROBABILISTIC:
            return charge_of(self.guarantee())
        return zealous_event(self.parameters, self.neighbours)

    def to_dict(self) -> dict[str, Any]:
        """Every parameter."""
        return {
            **asdict(self.parameters),
            "items": [item.value for item in self.items],
            "kind": self.kind.value,
            "users": self.users,
            "neighbours": self.neighbours.value,
            "choice": self.choice.value,
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Zealous:
        """What ``to_dict`` wrote."""
        names = ("per_user", "noise", "threshold_1", "threshold_2", "histograms")
        return cls(
            ZealousParameters(*(form[name] for name in names)),
            tuple(Item(item) for item in form["items"]),
            Kind(form["kind"]),
            form["users"],
            Neighbours(form["neighbours"]),
            Choice(form["choice"]),
        )

    def steps(self) -> Sequence[Step]:
        """As paper 004 lists them."""
        p = self.parameters
        listed = ", ".join(self.items)
        return (
            Step("Bound", f"of each user the {self.choice.value} {p.per_user} different items: {listed}"),
            Step("Count", "how many users have each item"),
            Step(
                "First threshold", f"keep items of at least {p.threshold_1} user{'s' * (p.threshold_1 > 1)}"
            ),
            Step("Noise", f"add whole-number Laplace noise of scale {p.noise:g} to every count", noisy=True),
            Step("Second threshold", f"publish what has a noisy count of {p.threshold_2} or more"),
        )

    def count(self, engine: Engine, log: Any) -> Counting:
        """Users an item, of those with at least τ. More users than the public bound are refused."""
        self._require_bound(engine, log)
        counting = {}
        for item in self.items:
            keys = ITEM_KEYS[item]
            bounded = bounded_items(items_of(log, item), keys, self.parameters.per_user, self.choice)
            histogram = bounded.group_by(list(keys)).aggregate(count=bounded.count())
            counting[item.value] = engine.keep(
                histogram.filter(histogram["count"] >= self.parameters.threshold_1)
            )
        return counting

    def _require_bound(self, engine: Engine, log: Any) -> None:
        """The probabilistic guarantee holds for at most U users, so a log of more is not released.

        How many there are is protected, and not said.
        """
        if self.kind is not Kind.PROBABILISTIC:
            return
        found = engine.table(log.aggregate(users=log.user.nunique())).column("users")[0].as_py()
        if self.users is None or found > self.users:
            raise ParameterError(
                f"the log has more users than the {self.users} of --users, a public bound on their number on "
                "which the probabilistic guarantee rests.",
                "Nothing was charged or published. Give a bound from public knowledge, with room to spare.",
            )

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """Noise, second threshold."""
        p, tables = self.parameters, {}
        for item in self.items:
            schema = key_schema(ITEM_KEYS[item])
            batches = engine.batches(counting[item.value])
            passed = select(batches, schema, p.noise, p.threshold_2, source)
            tables[item.value] = publish(passed, None, source)
        return tables
