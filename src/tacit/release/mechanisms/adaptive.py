"""Adaptive: rounds of Gaussian noise find items, then the found ones are counted, under one budget.

Where a user gives very few items, each item has one noisy count instead, if that finds more. Theorem, proof,
and the variants that break it: docs/guarantees/adaptive.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.errors import ParameterError
from tacit.privacy.guarantee import Neighbours
from tacit.release import parameters
from tacit.release.mechanism import Counting, Mechanism, Plan

if TYPE_CHECKING:
    from tacit.privacy.noise.randomness import RandomSource
    from tacit.release.engines import Engine
    from tacit.release.execution import Tables
    from tacit.release.schedule import Selection

PER_USER = 100
"""k₀ unless given: few people have more items than that, and each of them costs little."""

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
    HeldItem.QUERIES: ("query",),
    HeldItem.KEYWORDS: ("keyword",),
    HeldItem.CLICKS: ("query", "url"),
    HeldItem.PAIRS: ("query", "next_query"),
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
    summary: ClassVar[str] = "Adaptive: the most items, and how many users have each, by adaptive rounds."
    example: ClassVar[str] = "--epsilon 1 --delta 1e-6"
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
        PER_USER,
        "k₀: the most items of a user that take part in finding; give fewer only where nobody has more.",
        least=1,
        most=100_000,
    )
    single: bool = parameters.declared(
        False,
        "One noisy count of each item instead of rounds; planned where it finds more.",
        option="--single",
        panel=parameters.GIVEN,
    )
    at_epsilon: float | None = parameters.declared(
        None,
        "The ε for which the rounds are laid out.",
        above=0,
        most=parameters.LARGEST_EPSILON,
        panel=parameters.GIVEN,
    )
    at_delta: float | None = parameters.declared(
        None, "The δ for which the rounds are laid out.", above=0, below=1, panel=parameters.GIVEN
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.at_epsilon is None) != (self.at_delta is None):
            raise ParameterError(
                "`at_epsilon` and `at_delta` are given together, or neither.",
                "Give `epsilon` and `delta` to have the rounds planned.",
            )

    def to_dict(self) -> dict[str, Any]:
        """A single count is stated where it is one."""
        form = super().to_dict()
        if not self.single:
            del form["single"]
        return form

    @property
    def given(self) -> bool:
        """Whether the rounds' ε and δ were given apart from what may be spent."""
        return self.at_epsilon is not None

    def plan(self) -> AdaptivePlan:
        """Rounds or a single count for ε and δ, whichever finds more; or what is given."""
        from tacit.release.planning import require_delta
        from tacit.release.schedule import Contribution, KeyColumn, Part, Schedule

        if self.at_epsilon is not None and self.at_delta is not None:
            epsilon, delta = self.at_epsilon, self.at_delta
        else:
            epsilon, delta = require_delta(self)
        selection = self._selection(epsilon, delta)
        parts = tuple(
            Part(
                table=kind.value,
                columns=tuple(KeyColumn(name, several=name == "queries") for name in HELD_COLUMNS[kind]),
                contribution=Contribution((self.per_user,), once=True),
                noise=None,
                least=selection.least,
                measures=() if self.keys_only else ("count", "deviation"),
            )
            for kind in self.items
        )
        schedule = Schedule(parts, self.neighbours, selection, at_epsilon=epsilon)
        return AdaptivePlan(mechanism=self, schedule=schedule, laid_out_for=(epsilon, delta))

    def _selection(self, epsilon: float, delta: float) -> Selection:
        """What finds the items, and counts them."""
        from tacit.release.mechanisms.adaptive_planner import finds_more, plan_rounds, plan_single

        relation = self.neighbours
        compared = not self.given and not self.single and self.per_user <= _FEW
        if self.single or compared:
            single = plan_single(epsilon, delta, self.per_user, neighbours=relation)
            if self.single:
                return single
        rounds = plan_rounds(epsilon, delta, self.per_user, keys_only=self.keys_only, neighbours=relation)
        return single if compared and finds_more(single, rounds) else rounds


@dataclass(frozen=True, kw_only=True, repr=False)
class AdaptivePlan(Plan[Adaptive]):
    """An adaptive release, settled.

    Args:
        laid_out_for: the ε and δ for which rounds or count are laid out.
    """

    laid_out_for: tuple[float, float]

    @property
    def single(self) -> bool:
        """Whether each item has a single noisy count, in the place of rounds."""
        from tacit.release.schedule import SingleCount

        return isinstance(self.schedule.selection, SingleCount)

    @property
    def given(self) -> Adaptive:
        """With the ε and δ of the rounds given."""
        epsilon, delta = self.laid_out_for
        return self.mechanism.settled(at_epsilon=epsilon, at_delta=delta, single=self.single)

    def count(self, engine: Engine, log: Any) -> Counting:
        """Who holds what, as numbers."""
        from tacit.release.mechanisms.adaptive_holdings import read_held

        return {"held": read_held(engine, log, self.mechanism.items)}

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """Find and count, and make one table per kind."""
        from tacit.release.execution import execute

        del engine  # who holds what is in memory
        return execute(self.schedule, counting["held"], source)


MECHANISM = Adaptive
