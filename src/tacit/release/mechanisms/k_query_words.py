"""What a k-query anonymous release does, means and costs, said to a person."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.release.mechanism import DescribedStep
from tacit.release.mechanisms.k_query import KQueryParameters


def words(p: KQueryParameters) -> Sequence[str]:
    """What k means, and what it is not."""
    assert p.k is not None
    left = p.honest_users(p.attacker_accounts)
    return (
        f"A query, click or pair is published if at least {p.k} users have it; what is rarer is lost.",
        f"With {p.attacker_accounts} accounts of their own, an attacker leaves {left} others behind "
        "each published query. More accounts leave fewer: it rests on a guess about the attacker.",
        "Counts are exact. Whoever knows all users of a query but one learns whether that one asked it.",
        "This is no differential privacy: no epsilon, however large, describes it.",
    )


def steps(p: KQueryParameters) -> Sequence[DescribedStep]:
    """Adar's rule."""
    return (
        DescribedStep("Drop rare queries", f"all records of a query with fewer than {p.k} users"),
        DescribedStep("Count", "how many users have each item of what is left: " + ", ".join(p.items)),
        DescribedStep("Publish", f"what at least {p.k} users have, with exact counts and no noise"),
    )
