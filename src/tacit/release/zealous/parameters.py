"""The parameters of a ZEALOUS release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from tacit.errors import ParameterError
from tacit.privacy.guarantee import GuaranteeKind, Neighbours
from tacit.release.item_kinds import Item
from tacit.release.parameters import (
    GIVEN,
    LARGEST_EPSILON,
    Choice,
    Parameters,
    check_given_together,
    declared,
    declared_noise,
    declared_take,
)

__all__ = ["PARAMETERS", "ZealousParameters"]


@dataclass(frozen=True, kw_only=True)
class ZealousParameters(Parameters):
    """m, λ, τ and T; for each of the histograms alike, and each is charged."""

    name: ClassVar[str] = "zealous"
    title: ClassVar[str] = "ZEALOUS"
    summary: ClassVar[str] = "ZEALOUS: how many users have each item, above two thresholds."
    example: ClassVar[str] = "--epsilon 1 --delta 1e-6"
    given_example: ClassVar[str] = "--noise 10 --threshold-1 1 --threshold-2 149 --per-user 5 --users 100000"

    items: tuple[Item, ...] = declared(
        (Item.QUERIES,), "What is counted; repeat it for several histograms.", option="--item"
    )
    per_user: int = declared(1, "m: the most distinct items a user gives to each histogram.", least=1)
    kind: GuaranteeKind = declared(
        GuaranteeKind.INDISTINGUISHABILITY,
        "Which guarantee: indistinguishability or probabilistic.",
        option_type=Literal["indistinguishability", "probabilistic"],
    )
    users: int | None = declared(
        None, "U, for the probabilistic guarantee: a public upper bound on the number of users.", least=1
    )
    take: Choice = declared_take()
    noise: float | None = declared_noise("λ: the scale of the noise.")
    threshold_1: int | None = declared(
        None, "τ: items of fewer users never appear (1 unless given).", least=1, panel=GIVEN
    )
    threshold_2: float | None = declared(
        None, "T (the paper's τ'): the least noisy count that is published.", panel=GIVEN, above=0
    )

    at_epsilon: float | None = declared(
        None,
        "State the guarantee at this ε, with the exact δ of the noise (planned where it helps).",
        above=0,
        most=LARGEST_EPSILON,
        panel=GIVEN,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in (GuaranteeKind.INDISTINGUISHABILITY, GuaranteeKind.PROBABILISTIC):
            raise ParameterError.outside("kind", self.kind.value, "indistinguishability or probabilistic")
        check_given_together(self, "noise", "threshold_2")
        if self.kind is GuaranteeKind.PROBABILISTIC and self.at_epsilon is not None:
            raise ParameterError("`at_epsilon` is for indistinguishability.", "Leave one of the two out.")
        if self.at_epsilon is not None and self.neighbours is not Neighbours.ADD_REMOVE:
            raise ParameterError("`at_epsilon` is for adding or removing a user.", "Leave it out.")
        if self.kind is GuaranteeKind.PROBABILISTIC and self.users is None:
            raise ParameterError(
                "the probabilistic guarantee depends on the number of users; none was given.",
                "Give `users`: the number of users, or under add-remove neighbours a public bound on it.",
            )

    @property
    def given(self) -> bool:
        """Whether noise and thresholds were given."""
        return self.noise is not None

    @property
    def histograms(self) -> int:
        """How many histograms are published."""
        return len(self.items)

    @property
    def scale(self) -> float:
        """λ of complete parameters."""
        assert self.noise is not None
        return self.noise

    @property
    def first(self) -> int:
        """τ."""
        return self.threshold_1 or 1

    @property
    def second(self) -> int:
        """T as a whole number: ``>= 78.66`` is ``>= 79`` for whole counts."""
        assert self.threshold_2 is not None
        return math.ceil(self.threshold_2)


PARAMETERS = ZealousParameters
