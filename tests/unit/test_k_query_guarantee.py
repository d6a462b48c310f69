"""k-query anonymity: the rule, and the attack that it does not withstand."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from tests import exact_pairs

from tacit import KQuery, ParameterError
from tacit.audit import exact
from tacit.privacy import GuaranteeKind


def published(log: Iterable[tuple[str, str]], k: int) -> set[str]:
    """The rule on a log of (user, query)."""
    users: dict[str, set[str]] = {}
    for user, query in log:
        users.setdefault(query, set()).add(user)
    return {query for query, asked in users.items() if len(asked) >= k}


def test_an_attacker_with_accounts_tells_the_logs_apart() -> None:
    k, query = 5, "a query about one person"
    planted = [(f"attacker {number}", query) for number in range(k - 1)]
    without, with_user = published(planted, k), published([*planted, ("victim", query)], k)
    assert without == set()
    assert with_user == {query}
    shown = exact_pairs.released((float(query in with_user), float(query in without)), (0.0, 1.0))
    for epsilon in (0.1, 10.0, 500.0):
        assert exact.divergence(shown, math.exp(epsilon)) == 1


def test_it_promises_k_users_and_no_epsilon() -> None:
    found = KQuery(k=5).plan().guarantee
    assert (found.kind, found.k, found.epsilon) == (GuaranteeKind.K_QUERY, 5, math.inf)
    with pytest.raises(ParameterError, match="k must be"):
        KQuery(k=0)
