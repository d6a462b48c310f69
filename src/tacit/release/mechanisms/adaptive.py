"""Adaptive: rounds of Gaussian noise find items, then the found ones are counted, under one budget.

Where a user gives very few items, each item has one noisy count instead, if that finds more. Theorem, proof,
and the variants that break it: docs/guarantees/adaptive.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.errors import InfeasibleError, ParameterError
from tacit.privacy.guarantee import Neighbours
from tacit.release import parameters
from tacit.release.mechanism import Counting, Mechanism, Plan
from tacit.release.schedule import Contribution, KeyColumn, Part, Schedule, Selection, SingleCount

if TYPE_CHECKING:
    from tacit.engines import Engine
    from tacit.privacy.noise.randomness import RandomSource
    from tacit.release.execution import Tables
    from tacit.release.preparation import Preparation

PER_USER = 80
"""k₀ unless given: of queries the longest are cut, which are rarely shared."""

PER_USER_OF_MANY = 200
"""k₀ of keywords and of several kinds: people have more of them, and of single words some are cut by lot."""

_PAIRS_OF_KEYWORDS = 3
"""Pairs of a user and an item for each record, about; of other kinds one at most."""

SEQUENCE = 5
"""Sessions are cut to so many queries."""

_FEW = 4
"""A single count is compared with rounds for no more items a user than this: for more it never wins."""


class HeldItem(StrEnum):
    """What users hold."""

    QUERIES = "queries"
    KEYWORDS = "keywords"
    CLICKS = "clicks"
    PAIRS = "pairs"
    SESSIONS = "sessions"
    """The first two, three, four and five queries of each session, each prefix an item of its own."""


HELD_COLUMNS: Mapping[HeldItem, tuple[str, ...]] = {
    **{HeldItem(item.value): columns for item, columns in parameters.ITEM_KEYS.items()},
    HeldItem.SESSIONS: ("queries",),
}
"""The key columns of each kind's published table."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Adaptive(Mechanism):
    """Adaptive: the most items, and how many users have each, by adaptive rounds.

    ε, δ and k₀ determine all rounds; items of several kinds share one budget.
    """

    name: ClassVar[str] = "adaptive"
    title: ClassVar[str] = "Adaptive"
    example: ClassVar[str] = "--epsilon 1 --delta 1e-6"
    together: ClassVar[tuple[str, ...]] = ("at_epsilon", "at_delta")
    given_example: ClassVar[str] = "--at-epsilon 1 --at-delta 1e-6 --per-user 50 --keys-only"
    counts_prefixes: ClassVar[bool] = True

    epsilon: float | None = parameters.declared_epsilon()
    delta: float = parameters.declared_delta()
    neighbours: Neighbours = parameters.declared_neighbours()
    items: tuple[HeldItem, ...] = parameters.declared(
        (HeldItem.QUERIES,),
        "What is released; repeat it for several kinds under one budget.",
        option="--item",
    )
    keys_only: bool = parameters.declared(
        False, "Publish the items alone, without counts: a fifth more of them.", option="--keys-only"
    )
    per_user: int = parameters.declared(
        None,
        f"k₀: the most items of a user that take part in finding; unless given {PER_USER}, of keywords and "
        f"of several kinds {PER_USER_OF_MANY}. Give fewer only where nobody has more.",
        least=1,
        most=100_000,
    )
    public_list: Any = parameters.declared(
        None,
        "Keys fixed before the log is seen, which need no room for one person: words, wordnet or a file.",
        option_type=str | None,
    )
    single: bool = parameters.declared(
        False,
        "One noisy count of each item instead of rounds; planned where it finds more.",
        option="--single",
    )
    at_epsilon: float | None = parameters.declared_at_epsilon()
    at_delta: float | None = parameters.declared_at_delta()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "public_list", parameters.public_set("public_list", self.public_list))
        if self.per_user is None:
            many = len(self.items) > 1 or HeldItem.KEYWORDS in self.items
            object.__setattr__(self, "per_user", PER_USER_OF_MANY if many else PER_USER)
        if self.public_list is not None and (self.single or not self.listed_kinds):
            raise ParameterError(
                "a public list is of queries or keywords, found in rounds.",
                "Leave `public_list` or `single` out, or release queries or keywords.",
            )

    @property
    def listed_kinds(self) -> tuple[HeldItem, ...]:
        """The kinds of which a public list has keys: those of one text."""
        return tuple(kind for kind in self.items if kind in (HeldItem.QUERIES, HeldItem.KEYWORDS))

    @property
    def listed(self) -> Any:
        """The public list, read; None where none is named."""
        from tacit.release.public_sets import take_list

        return take_list(self.public_list) if isinstance(self.public_list, str) else self.public_list

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        named = form.get("public_list")
        return super().from_dict({**form, "public_list": parameters.StatedSet(named) if named else None})

    def to_dict(self) -> dict[str, Any]:
        """A single count and a public list are stated where there is one."""
        form = super().to_dict()
        if not self.single:
            del form["single"]
        if self.public_list is None:
            del form["public_list"]
        else:
            form["public_list"] = self.listed.to_dict()
        return form

    def plan(self) -> AdaptivePlan:
        """Rounds or a single count for ε and δ, whichever finds more; or what is given."""
        from tacit.release.planning import laid_out_for

        epsilon, delta = laid_out_for(self)
        selection = self._selection(epsilon, delta)
        measures: tuple[str, ...] = () if self.keys_only else ("count", "deviation")
        if measures and not isinstance(selection, SingleCount):
            measures = (*measures, "fewer_than")  # counts of rounds that noise may have made are withheld
        parts = tuple(
            Part(
                table=kind.value,
                columns=tuple(KeyColumn(name, several=name == "queries") for name in HELD_COLUMNS[kind]),
                contribution=Contribution((self.per_user,), once=True),
                noise=None,
                least=selection.least,
                measures=measures,
            )
            for kind in self.items
        )
        schedule = Schedule(parts, self.neighbours, selection, at_epsilon=epsilon)
        return AdaptivePlan(mechanism=self, schedule=schedule, laid_out_for=(epsilon, delta))

    def _selection(self, epsilon: float, delta: float) -> Selection:
        """Return the selection that finds the items and counts them."""
        from tacit.release.mechanisms.adaptive_planner import finds_more, plan_rounds, plan_single

        relation = self.neighbours
        listed = 0 if self.public_list is None else len(self.listed) * len(self.listed_kinds)
        compared = not (self.given or self.single or listed) and self.per_user <= _FEW
        if self.single or compared:
            single = plan_single(epsilon, delta, self.per_user, neighbours=relation)
            if self.single:
                return single
        try:
            rounds = plan_rounds(
                epsilon, delta, self.per_user, keys_only=self.keys_only, listed=listed, neighbours=relation
            )
        except InfeasibleError:
            if compared:  # of a δ too small for rounds
                return single
            raise
        return single if compared and finds_more(single, rounds) else rounds


@dataclass(frozen=True, kw_only=True, repr=False)
class AdaptivePlan(Plan[Adaptive]):
    """An adaptive release, settled."""

    laid_out_for: tuple[float, float]  # the ε and δ for which rounds or count are laid out

    @property
    def single(self) -> bool:
        """Whether each item has a single noisy count, in the place of rounds."""
        return isinstance(self.schedule.selection, SingleCount)

    @property
    def given(self) -> Adaptive:
        epsilon, delta = self.laid_out_for
        return self.mechanism.settled(at_epsilon=epsilon, at_delta=delta, single=self.single)

    def check(self) -> None:
        if isinstance(self.mechanism.public_list, parameters.StatedSet):
            raise ParameterError("the public list is known by its digest alone.", "Name its file.")

    def admit(self, engine: Engine, log: Any) -> None:
        """A list from a file must not be the log's own."""
        from tacit.release.public_sets import refuse_domain_of_log

        listed = self.mechanism.listed
        if listed is not None and listed.from_file:
            refuse_domain_of_log(engine, log, listed)

    def take_in(self, engine: Engine, log: Path, preparation: Preparation) -> Counting:
        from tacit.release.mechanisms.adaptive_holdings import AS_RECORDED, read_held

        kinds, listed = self.mechanism.items, self.mechanism.public_list is not None
        if listed or not (set(kinds) <= AS_RECORDED and engine.holds(len(kinds), log)):
            return super().take_in(engine, log, preparation)
        return {"held": read_held(engine, lambda names: preparation.read(log, names, engine.threads), kinds)}

    def count(self, engine: Engine, log: Any) -> Counting:
        listed, kinds = self.mechanism.listed, self.mechanism.items
        public = listed and listed.queries
        if engine.holds(sum(_PAIRS_OF_KEYWORDS if kind is HeldItem.KEYWORDS else 1 for kind in kinds)):
            from tacit.release.mechanisms.adaptive_holdings import read_held

            return {"held": read_held(engine, log, kinds, public)}
        from tacit.release.mechanisms.adaptive_relational import read_named

        return {"held": read_named(engine, log, kinds, public)}

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        from tacit.release.execution import execute

        del engine  # who holds what knows where it is
        return execute(self.schedule, counting["held"], source)


MECHANISM = Adaptive
