"""k for k-query anonymity, against an attacker with accounts of their own."""

from __future__ import annotations

from tacit.privacy import Neighbours
from tacit.release.analysis import k_query
from tacit.release.analysis.k_query import KQueryParameters
from tacit.release.analysis.ranges import check_whole
from tacit.release.plan.setting import PaperSetting, Plan

__all__ = ["plan_k_query"]


def plan_k_query(
    hide_among: int, attacker_accounts: int = 0, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> Plan[KQueryParameters]:
    """The k at which ``hide_among`` users whom the attacker does not control share each published query."""
    check_whole("hide_among", hide_among, 1)
    check_whole("attacker_accounts", attacker_accounts, 0)
    parameters = KQueryParameters(hide_among + attacker_accounts)
    return Plan(
        parameters,
        k_query.guarantee(parameters, neighbours),
        {"honest_users": float(hide_among)},
        (
            f"A query is published if at least {parameters.k} users asked it; rarer queries are lost.",
            f"With {attacker_accounts} accounts of their own, an attacker leaves {hide_among} others behind "
            "each published query. More accounts leave fewer: it rests on a guess about the attacker.",
            "Counts are exact. Whoever knows all users of a query but one learns whether that one asked it.",
            "This is no differential privacy: no epsilon, however large, describes it.",
        ),
        PaperSetting(
            {"k": float(hide_among)},
            "Adar's rule as paper 004 gives it",
            "the paper counts all users, and says itself that an attacker's accounts defeat it.",
        ),
    )
