"""A guarantee in words that a data protection officer can sign or refuse to, for the terminal and the page.

How strong a protection is follows from a belief: somebody who knows everything else, and thinks it as likely
as not that a user searched for something, can become so sure and no surer, but for a stated chance. The
verdict is about everything published from the data set so far; what this release alone does comes second. Its
thresholds are stated and the same everywhere: on the page, in the terminal and in the manifest.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.release.parameters import Choice
from tacit.release.thresholds import upward_bias

STRONG_UP_TO = 0.90
MODERATE_UP_TO = 0.95
WEAK_UP_TO = 0.99
"""How sure one may become, after an even chance, for a protection to be called so."""

SHOWN = 0.1
FEWEST = 10_000
"""A δ may show a person if one of the users is expected to be shown with a chance above a tenth; where fewer
users are stated than this, or none, δ is judged as for so many."""

A_USER_ID = "A user is one user id of the log: an account, a cookie or an address."
A_USER = (
    f"{A_USER_ID} A person with several ids is protected as several users, each apart; people who share one "
    "are protected together, as one."
)


class Strength(StrEnum):
    """How strong a protection is."""

    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"
    NONE_TO_SPEAK_OF = "no protection to speak of"
    NONE = "no protection"


_HEADLINES = {
    Strength.STRONG: "Strong protection of every user",
    Strength.MODERATE: "Moderate protection of every user",
    Strength.WEAK: "Weak protection: think twice before publishing this",
    Strength.NONE_TO_SPEAK_OF: "No protection to speak of",
}


@dataclass(frozen=True)
class ReleaseVerdict:
    """What is to be said first about a release: of everything published from the data set so far."""

    strength: Strength
    headline: str
    sentences: tuple[str, ...]  # what that means for a belief, and what the exceptions are
    after: float  # how sure one can be at most, after an even chance
    chance: float  # with which one may become surer; 0 where that cannot be
    alone: Strength  # of this release by itself
    shown: str = ""  # what a δ means that may show a person; empty where it hardly can

    @property
    def sentence(self) -> str:
        """Write all that is said below the headline."""
        return " ".join(self.sentences)

    @property
    def sure(self) -> str:
        """Write how sure one can become, to follow "can be"."""
        if self.strength is Strength.NONE:
            return "certain"
        if self.after > 0.999:
            return "practically sure (over 99.9%)"
        return f"at most {percent(self.after)} sure"

    @property
    def sure_but_for(self) -> str:
        """The same with the chance of more; nothing lies beyond being practically sure."""
        return self.sure + (but_for(self.chance) if self.after <= 0.999 else "")

    @property
    def warns(self) -> bool:
        """Whether the release needs a second thought."""
        return self.strength not in (Strength.STRONG, Strength.MODERATE)


def belief_after(prior: float, loss: float) -> float:
    """The belief to which one of ``prior`` can rise when the odds move by e^loss; in no case more than 1."""
    return 1 / (1 + (1 - prior) / prior * math.exp(-min(loss, 700.0)))


def percent(belief: float) -> str:
    """A belief as it reads, rounded up and never to certainty, which only exact counts give."""
    if belief > 0.999:
        return "over 99.9%"
    return f"{math.ceil(belief * 1000 - 1e-9) / 1000:.1%}".replace(".0%", "%")


def rounded(number: float) -> str:
    """Write a number of users or rows as people do, to two digits.

    >>> rounded(0.0862), rounded(281.3), rounded(123_456), rounded(4.5e-5)
    ('0.086', '280', '120,000', 'less than 0.01')
    """
    return "less than 0.01" if 0 < number < 0.01 else f"{float(f'{number:.2g}'):,.12g}"


def one_in(chance: float) -> str:
    """A chance as people say it, never below what it is.

    >>> one_in(1e-6), one_in(0.75), one_in(3e-22)
    ('1 in 1,000,000', '75%', '1 in a million million')
    """
    if chance >= 0.1:
        return f"{math.ceil(chance * 100 - 1e-9):d}%"
    if chance <= 1e-12:
        return "1 in a million million"
    number = int(1 / chance * (1 + 1e-12))
    unit = 10 ** max(0, len(str(number)) - 3)  # three digits, rounded towards the larger chance
    return f"1 in {number // unit * unit:,}"


def but_for(chance: float) -> str:
    """The exception to a bound, to follow it; nothing where there is none."""
    return f", except with a chance of at most {one_in(chance)}" if chance else ""


def may_show(delta: float, users: int | None) -> str:
    """Explain a δ that may show a person outright; empty for one that hardly can."""
    if delta * max(users or 0, FEWEST) <= SHOWN * (1 + 1e-9):
        return ""
    said = f"A δ of {delta:.3g}: something one user alone did is shown with a chance of up to {one_in(delta)}"
    if users is None:
        return f"{said}; for a log of {FEWEST:,} users it should be at most {SHOWN / FEWEST:g}."
    expected, most = rounded(delta * users), SHOWN / max(users, FEWEST)
    return f"{said}: up to {expected} of {users:,} users are to be expected. It should be at most {most:.2g}."


def _strength(total: Guarantee, shown: str, users: int | None) -> Strength:
    if total.kind is GuaranteeKind.K_QUERY:
        return Strength.NONE
    after = belief_after(0.5, total.as_replace().but_for()[0])
    if after > WEAK_UP_TO or total.delta * (users or FEWEST) >= 1:
        return Strength.NONE_TO_SPEAK_OF
    if after > MODERATE_UP_TO or shown:
        return Strength.WEAK
    return Strength.STRONG if after <= STRONG_UP_TO else Strength.MODERATE


def verdict_on(
    alone: Guarantee, total: Guarantee | None = None, *, exact: int = 0, users: int | None = None
) -> ReleaseVerdict:
    """The verdict on a release that promises ``alone`` by itself, with all of its data set so far ``total``.

    So many releases of the data set, with this one, have ``exact`` counts, which no total describes.
    """
    total = alone if total is None else total
    by_itself = _strength(alone, may_show(alone.delta, users), users)
    if by_itself is Strength.NONE:
        said = (
            "Somebody who knows or controls the other users behind a published row learns with certainty "
            "whether one more user is among them. No privacy guarantee holds for this release, nor for the "
            "data set from now on."
        )
        headline = "No protection against anybody who knows the method"
        return ReleaseVerdict(Strength.NONE, headline, (said,), 1.0, 0.0, by_itself)
    if exact:
        said = (
            f"Exact counts of this data set went out before, in {counted(exact, 'k-query release')}: whoever "
            "knows the other users behind a row of those learns with certainty whether one more is among "
            "them. No total describes that, and what this release promises cannot take it back."
        )
        headline = "No protection: exact counts of this data set were published before"
        return ReleaseVerdict(Strength.NONE, headline, (said, _of_this(alone, users)), 1.0, 0.0, by_itself)
    shown = may_show(total.delta, users)
    strength = _strength(total, shown, users)
    loss, chance = total.as_replace().but_for()
    verdict = ReleaseVerdict(
        strength, _HEADLINES[strength], (), belief_after(0.5, loss), chance, by_itself, shown
    )
    return replace(verdict, sentences=tuple(_said(verdict, alone, total, users)))


def _said(verdict: ReleaseVerdict, alone: Guarantee, total: Guarantee, users: int | None) -> Iterator[str]:
    """The sentences below the headline, everything so far first."""
    several = (alone.epsilon, alone.delta) != (total.epsilon, total.delta)
    seen = (
        "everything published from this data set so far, this release included,"
        if several
        else "this release"
    )
    yield (
        "Take somebody who knows everything else in the log, and thinks it as likely as not that a certain "
        f"user searched for something. After seeing {seen} they can be {verdict.sure} of it, whatever it was"
        f"{but_for(verdict.chance) if verdict.after <= 0.999 else ''}."
    )
    if verdict.shown:
        yield verdict.shown
    elif total.delta:
        yield (
            f"With a chance of at most {one_in(total.delta)}, something only this user did is shown outright"
            + (f"; any of {users:,} users, with at most {one_in(total.delta * users)}." if users else ".")
        )
    if several:
        yield _of_this(alone, users)


def _of_this(alone: Guarantee, users: int | None) -> str:
    """Describe in a sentence what this release does by itself."""
    found = verdict_on(alone, users=users)
    return f"This release by itself: {found.strength.value}; from an even chance to {found.sure_but_for}."


THINGS = {
    "queries": "query",
    "keywords": "keyword",
    "clicks": "click on a url for a query",
    "pairs": "pair of a query and the next one",
    "sessions": "beginning of a session",
}
"""One of what a table lists, by the table's name."""


def among(choice: Choice, count: int, thing: str, things: str = "") -> str:
    """``as their most frequent query``, ``among their first 5 queries``: in which of a user's things."""
    return f"{'as' if count == 1 else 'among'} their {taken(choice, count, thing, things)}"


def counted(count: int, thing: str, things: str = "") -> str:
    """``1 user``, ``5 users``."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def taken(choice: Choice, count: int, thing: str, things: str = "") -> str:
    """``most frequent query``, ``first 5 queries``: which of a user's things count, and how many."""
    return f"{choice.words} {thing}" if count == 1 else f"{choice.words} {counted(count, thing, things)}"


def biased_counts(noise: float) -> str:
    """Explain the bias of counts where the numbers that were compared with a threshold are published."""
    near, far = upward_bias(noise, 0), upward_bias(noise, math.ceil(3 * noise))
    return (
        "Published are the numbers that were compared, so counts near the threshold are biased upward (those "
        f"that noise pushed below are missing): at the threshold by about {rounded(near)}, three noise "
        f"scales above it by {rounded(far)}."
    )


def meaning_of(guarantee: Guarantee) -> tuple[str, ...]:
    """Explain what is promised, and to whom."""
    if guarantee.kind is GuaranteeKind.K_QUERY:
        return (
            f"Every published query was asked by at least {guarantee.k} users of the log.",
            "This is not differential privacy, and it gives no protection against an active attacker: "
            "whoever runs enough accounts, or knows all other users of a query, learns whether one more "
            "person asked it.",
        )
    neighbours = (
        "whether a user's whole history is in the log or not"
        if guarantee.neighbours is Neighbours.ADD_REMOVE
        else "whether a user's history is what it is or any other (the number of users is public)"
    )
    instead = (
        "without them" if guarantee.neighbours is Neighbours.ADD_REMOVE else "with others in their place"
    )
    lines = [
        f"Each user is protected, with all records together: {neighbours}.",
        A_USER,
        "From anybody who sees the release, whatever else they know, however they compute, and even if they "
        "know or control all other users.",
    ]
    if guarantee.kind is GuaranteeKind.PURE:
        lines.append(
            f"Nothing seen in the release becomes more than {_times(guarantee.epsilon)} times as likely."
        )
    elif guarantee.kind is GuaranteeKind.PROBABILISTIC:
        lines.append(
            f"Except with a chance of {one_in(guarantee.delta)}, nothing seen in the release as a whole "
            f"becomes more than {_times(guarantee.epsilon)} times as likely."
        )
    else:
        lines += [
            "Whatever somebody looks for in the release, or computes from it: the chance to find it is with "
            f"this user's records at most {_times(guarantee.epsilon)} times what it is {instead}, plus "
            f"{one_in(guarantee.delta)}; and the other way round.",
        ]
        loss, chance = guarantee.but_for()
        lines.append(
            f"It follows that nothing seen becomes more than {_times(loss)} times as likely{but_for(chance)}."
            " At a chance of δ itself no such factor follows: δ pays for what the noise may give away, too."
            if chance < 1
            else "At so large a δ that bounds nothing that is seen: any of it may be as telling as can be."
        )
    return tuple(lines)


def _times(loss: float) -> str:
    """The factor as a number that a person can judge: ``2.72 (e^1)``, ``2,981 (e^8)``."""
    factor = math.exp(min(loss, 700.0))
    if factor >= 1e9:
        return f"over a thousand million (e^{loss:.4g})"
    unit = 10.0 ** min(0, math.floor(math.log10(factor)) - 2)  # rounded up, to three digits at least
    words = f"{math.ceil(factor / unit - 1e-9) * unit:,.{max(0, -round(math.log10(unit)))}f}"
    return f"{words} (e^{loss:.4g})"


def residual_risks(total: Guarantee, exact: int = 0) -> tuple[str, ...]:
    """List what a guarantee of all releases, of which so many have exact counts, cannot prevent."""
    certain = (
        "Whether a particular person asked a query that was published with exact counts, given accounts of "
        "their own or knowledge of the other users.",
        "What changed between two releases of exact counts, to the very user.",
    )
    if total.kind is GuaranteeKind.K_QUERY:
        return certain
    lines = [
        *(certain if exact else ()),
        "What is true of many: that a query is popular is the purpose of the release, and it may tell "
        "something about everybody who is like the many.",
        f"Something about each user, {'without a bound' if exact else 'within the bound above'}. Several "
        "releases of the same log add up; the ledger keeps the sum.",
        "More about a group acting as one: for k people who share a secret, ε counts k times and δ grows.",
        "The parameters, the public lists and this page. They were chosen without looking at the log, or "
        "else they tell what was looked at.",
    ]
    if total.delta and not exact:
        lines.insert(
            1,
            "Outright, something that one user alone did: for any given user with a chance of at most "
            f"{one_in(total.delta)}.",
        )
    return tuple(lines)
