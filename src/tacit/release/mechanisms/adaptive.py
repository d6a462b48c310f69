"""The parameters of an adaptive release: what is released, and for which ε and δ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from tacit.errors import ParameterError
from tacit.release.parameters import GIVEN, LARGEST_EPSILON, Parameters, declared

PER_USER = 100
"""k₀ unless given: few people have more items than that, and each of them costs little."""

SEQUENCE = 5
"""Sessions are cut to so many queries."""


class HeldItem(StrEnum):
    """What users hold."""

    QUERIES = "queries"
    KEYWORDS = "keywords"
    CLICKS = "clicks"
    PAIRS = "pairs"
    SESSIONS = "sessions"
    """The first two, three, four and five queries of each session, each beginning an item of its own."""


HELD_COLUMNS: Mapping[HeldItem, tuple[str, ...]] = {
    HeldItem.QUERIES: ("query",),
    HeldItem.KEYWORDS: ("keyword",),
    HeldItem.CLICKS: ("query", "url"),
    HeldItem.PAIRS: ("query", "next_query"),
    HeldItem.SESSIONS: ("queries",),
}
"""The key columns of each kind's published table."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveParameters(Parameters):
    """ε, δ and k₀ determine all rounds; items of several kinds share one budget."""

    name: ClassVar[str] = "adaptive"
    title: ClassVar[str] = "Adaptive"
    summary: ClassVar[str] = "Adaptive: the most items, and how many users have each, by steered rounds."
    example: ClassVar[str] = "--epsilon 1 --delta 1e-6"
    given_example: ClassVar[str] = "--at-epsilon 1 --at-delta 1e-6 --per-user 50 --keys-only"

    items: tuple[HeldItem, ...] = declared(
        (HeldItem.QUERIES,),
        "What is released; repeat it for several kinds under one budget.",
        option="--item",
    )
    keys_only: bool = declared(
        False, "Publish the items alone, without counts: a fifth more of them.", option="--keys-only"
    )
    per_user: int = declared(
        PER_USER,
        "k₀: the most items of a user that take part in finding; give fewer only where nobody has more.",
        least=1,
        most=100_000,
    )
    single: bool = declared(
        False,
        "One noisy count of each item instead of rounds; planned where it finds more.",
        option="--single",
        panel=GIVEN,
    )
    at_epsilon: float | None = declared(
        None, "The ε for which the rounds are laid out.", above=0, most=LARGEST_EPSILON, panel=GIVEN
    )
    at_delta: float | None = declared(
        None, "The δ for which the rounds are laid out.", above=0, below=1, panel=GIVEN
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.at_epsilon is None) != (self.at_delta is None):
            raise ParameterError(
                "`at_epsilon` and `at_delta` are given together, or neither.",
                "Give `epsilon` and `delta` to have the rounds planned.",
            )

    def to_dict(self) -> dict[str, Any]:
        """Rounds are stated as they were before there was another way."""
        form = super().to_dict()
        if not self.single:
            del form["single"]
        return form

    @property
    def given(self) -> bool:
        """Whether the rounds' ε and δ were given apart from what may be spent."""
        return self.at_epsilon is not None

    @property
    def laid_out_for(self) -> tuple[float, float]:
        """ε and δ of complete parameters."""
        assert self.at_epsilon is not None and self.at_delta is not None
        return self.at_epsilon, self.at_delta


PARAMETERS = AdaptiveParameters
