"""The verdict on a guarantee, in words that a data protection officer can sign or refuse to.

How strong a protection is follows from ε alone, by thresholds that are stated and the same everywhere: on
the page, in the terminal and in the manifest. What ε means is said by a belief: somebody who knows
everything else, and holds it for an even chance that a person searched for something, can become so sure and
no surer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from tacit.privacy import Guarantee, GuaranteeKind

__all__ = [
    "NO_PROTECTION_ABOVE",
    "STRONG_UP_TO",
    "WEAK_ABOVE",
    "Strength",
    "ReleaseVerdict",
    "belief_after",
    "one_in",
    "percent",
    "verdict_on",
]

STRONG_UP_TO = 1.0
WEAK_ABOVE = 5.0
"""Above this ε a protection is called weak."""
NO_PROTECTION_ABOVE = 10.0
"""Above this ε it is none to speak of."""


class Strength(StrEnum):
    """How strong a protection is."""

    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"
    NONE_TO_SPEAK_OF = "no protection to speak of"
    NONE = "no protection"


@dataclass(frozen=True)
class ReleaseVerdict:
    """What is to be said first about a release."""

    strength: Strength
    headline: str
    sentence: str
    after: float
    """How sure one can be at most, after an even chance."""

    @property
    def sure(self) -> str:
        """How sure one can become, to follow "can be"."""
        if self.strength is Strength.NONE:
            return "certain"
        return (
            f"at most {percent(self.after)} sure" if self.after <= 0.999 else "practically sure (over 99.9%)"
        )

    @property
    def warns(self) -> bool:
        """Whether the release needs a second thought."""
        return self.strength not in (Strength.STRONG, Strength.MODERATE)


def _strength(guarantee: Guarantee) -> Strength:
    if guarantee.kind is GuaranteeKind.K_QUERY:
        return Strength.NONE
    if guarantee.epsilon > NO_PROTECTION_ABOVE:
        return Strength.NONE_TO_SPEAK_OF
    if guarantee.epsilon > WEAK_ABOVE:
        return Strength.WEAK
    return Strength.STRONG if guarantee.epsilon <= STRONG_UP_TO else Strength.MODERATE


def belief_after(prior: float, loss: float) -> float:
    """The belief to which one of ``prior`` can rise when the odds move by e^loss; in no case more than 1."""
    return 1 / (1 + (1 - prior) / prior * math.exp(-min(loss, 700.0)))


def percent(belief: float) -> str:
    """A belief as it reads: never rounded to certainty, which only exact counts give."""
    if belief > 0.999:
        return "over 99.9%"
    return f"{belief:.1%}".replace(".0%", "%")


def one_in(chance: float) -> str:
    """A chance as people say it, never below what it is.

    >>> one_in(1e-6), one_in(0.75), one_in(3e-22)
    ('1 in 1,000,000', '75%', '1 in a million million')
    """
    if chance >= 0.5:
        return f"{chance:.0%}"
    return f"1 in {int(1 / chance * (1 + 1e-12)):,}" if chance > 1e-12 else "1 in a million million"


def verdict_on(guarantee: Guarantee) -> ReleaseVerdict:
    """The verdict on what a release promises."""
    strength = _strength(guarantee)
    if strength is Strength.NONE:
        return ReleaseVerdict(
            strength,
            "No protection against anybody who knows the method",
            "Somebody who knows or controls the other people behind a published row learns with"
            " certainty whether one "
            "more person is among them. No privacy guarantee holds for this release.",
            1.0,
        )
    after = belief_after(0.5, guarantee.as_replace().epsilon)
    headline = {
        Strength.STRONG: "Strong protection of every single person",
        Strength.MODERATE: "Moderate protection of every single person",
        Strength.WEAK: "Weak protection: think twice before publishing this",
        Strength.NONE_TO_SPEAK_OF: "No protection to speak of",
    }[strength]
    except_for = (
        f" In addition, with a chance of at most {one_in(guarantee.delta)}, something that only this"
        " person did is shown."
        if guarantee.delta
        else ""
    )
    verdict = ReleaseVerdict(strength, headline, "", after)
    return replace(
        verdict,
        sentence="Take somebody who knows everything else in the log, and holds it for an even chance that a"
        " certain person searched for something. After seeing this release they can be"
        f" {verdict.sure} of it, whatever it was.{except_for}",
    )
