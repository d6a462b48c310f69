"""A guarantee in plain words, for the terminal and the page: what it means, what can still be learnt."""

from __future__ import annotations

import math

from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.release.analysis.threshold import lean
from tacit.release.parameters import Choice
from tacit.release.verdict import one_in

__all__ = ["counted", "leaning", "meaning_of", "still_learns", "taken"]


def counted(count: int, thing: str, things: str = "") -> str:
    """``1 user``, ``5 users``."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def taken(choice: Choice, count: int, thing: str, things: str = "") -> str:
    """``most frequent query``, ``first 5 queries``: which of a user's things count, and how many."""
    return f"{choice.words} {thing}" if count == 1 else f"{choice.words} {counted(count, thing, things)}"


def leaning(noise: float) -> str:
    """How published counts lean where they are the numbers that were compared with a threshold."""
    near, far = lean(noise, 0), lean(noise, math.ceil(3 * noise))
    return (
        "Published are the numbers that were compared, so counts near the threshold lean upwards (those that "
        f"noise pushed below are missing): at it by about {near:.2g}, three noise scales above by {far:.2g}."
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
        f"Protected is each user with all records together: {neighbours}.",
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


def still_learns(guarantee: Guarantee) -> tuple[str, ...]:
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
