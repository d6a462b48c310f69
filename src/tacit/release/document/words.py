"""A guarantee in words that a data protection officer can sign or refuse to, for the terminal and the page.

How strong a protection is follows from ε alone, by thresholds that are stated and the same everywhere: on
the page, in the terminal and in the manifest. What ε means is said by a belief: somebody who knows
everything else, and holds it for an even chance that a person searched for something, can become so sure
and no surer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.release.parameters import Choice
from tacit.release.thresholds import upward_bias

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


def counted(count: int, thing: str, things: str = "") -> str:
    """``1 user``, ``5 users``."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def taken(choice: Choice, count: int, thing: str, things: str = "") -> str:
    """``most frequent query``, ``first 5 queries``: which of a user's things count, and how many."""
    return f"{choice.words} {thing}" if count == 1 else f"{choice.words} {counted(count, thing, things)}"


def biased_counts(noise: float) -> str:
    """How counts are biased where the numbers that were compared with a threshold are published."""
    near, far = upward_bias(noise, 0), upward_bias(noise, math.ceil(3 * noise))
    return (
        "Published are the numbers that were compared, so counts near the threshold are biased upward (those "
        f"that noise pushed below are missing): at it by about {near:.2g}, three noise scales above by "
        f"{far:.2g}."
    )


def meaning_of(guarantee: Guarantee) -> tuple[str, ...]:
    """What is promised, to whom."""
    if guarantee.kind is GuaranteeKind.K_QUERY:
        return (
            f"Every published query was asked by at least {guarantee.k} users of the log.",
            "This is not differential privacy, and it gives no protection against an active attacker: "
            "whoever runs enough accounts, or knows all other users of a query, learns whether one more "
            "person asked it.",
        )
    neighbours = (
        "whether a person's whole history is in the log or not"
        if guarantee.neighbours is Neighbours.ADD_REMOVE
        else "whether a person's history is what it is or any other (the number of users is public)"
    )
    lines = [
        f"Each user is protected, with all records together: {neighbours}.",
        "From anybody who sees the release, whatever else they know, however they compute, and even if they "
        "know or control all other users.",
    ]
    if guarantee.kind is GuaranteeKind.PURE:
        lines.append(f"Nothing seen in the release becomes more than {_times(guarantee)} times as likely.")
    elif guarantee.kind is GuaranteeKind.PROBABILISTIC:
        lines.append(
            f"Except with a chance of {one_in(guarantee.delta)}, nothing seen in the release becomes more "
            f"than {_times(guarantee)} times as likely."
        )
    else:
        lines.append(
            f"Nothing that can be seen becomes more than {_times(guarantee)} times as likely, except "
            f"that of any one given person, with a chance of at most {one_in(guarantee.delta)}, something "
            "only this person did is shown."
        )
    return tuple(lines)


def _times(guarantee: Guarantee) -> str:
    """The factor as a number that a person can judge: ``2.72 (e^1)``, ``2,981 (e^8)``."""
    factor = math.exp(min(guarantee.epsilon, 700.0))
    words = f"{factor:.3g}" if factor < 100 else f"{factor:,.0f}" if factor < 1e9 else "a thousand million"
    return f"{words} (e^{guarantee.epsilon:.4g})"


def residual_risks(guarantee: Guarantee) -> tuple[str, ...]:
    """What the guarantee does not keep from an attacker."""
    if guarantee.kind is GuaranteeKind.K_QUERY:
        return (
            "Whether a particular person asked a published query, given accounts of their own or knowledge "
            "of the other users: the counts are exact.",
            "What changed between two such releases, to the very user.",
        )
    lines = [
        "What is true of many: that a query is popular is the purpose of the release, and it may tell "
        "something about everybody who is like the many.",
        "Something about each person, within the bound above. Several releases of the same log add up; the "
        "ledger keeps the sum.",
        "More about a group acting as one: for k people who share a secret, ε counts k times and δ grows.",
        "The parameters, the public lists and this page. They were chosen without looking at the log, or "
        "else they tell what was looked at.",
    ]
    if guarantee.delta:
        lines.insert(
            1,
            "Outright, something that one person alone did: for any given person with a chance of at most "
            f"{one_in(guarantee.delta)}. Among as many people as that, one is to be expected.",
        )
    return tuple(lines)
