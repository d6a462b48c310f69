"""What a k-query anonymous release does, means and costs."""

from collections.abc import Mapping, Sequence

from tacit.release.mechanisms.k_query import KQueryPlan
from tacit.release.prose import DescribedStep, Notes


def words(plan: KQueryPlan) -> Sequence[str]:
    return (
        f"A query, click or pair is published if at least {plan.k} users have it; what is rarer is lost.",
        f"An attacker with s accounts of their own leaves {plan.k} - s others behind each published query: "
        "it rests on a guess about the attacker.",
        "Counts are exact. Whoever knows all users of a query but one learns whether that one asked it.",
        "This is no differential privacy: no epsilon, however large, describes it.",
    )


def columns(plan: KQueryPlan) -> Mapping[str, Mapping[str, str]]:
    counts = f"Users who have it, exactly; at least {plan.k}."
    return {part.table: {"count": counts} for part in plan.schedule}


def steps(plan: KQueryPlan) -> Sequence[DescribedStep]:
    items = ", ".join(plan.mechanism.items)
    return (
        DescribedStep("Drop rare queries", f"all records of a query with fewer than {plan.k} users"),
        DescribedStep("Count", f"how many users have each item of what is left: {items}"),
        DescribedStep("Publish", f"what at least {plan.k} users have, with exact counts and no noise"),
    )


def notes(plan: KQueryPlan) -> Notes:
    """The paper claims no ε either."""
    why = "the paper uses it as a baseline and says the same: active attackers defeat it."
    paper = {"k": plan.k, "epsilon": None, "delta": None, "source": "Adar, as in paper 004", "why": why}
    return Notes(paper=paper, rows=(("k", str(plan.k), str(plan.k)),))
