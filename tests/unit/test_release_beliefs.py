"""The table of beliefs on a release's page says the truth, by an exact computation of the worst case."""

import math

import pytest

from tacit.privacy import Guarantee, Kind, Neighbours
from tacit.release.page import _beliefs


def posterior(prior: float, likelihood_ratio: float) -> str:
    return f"{prior * likelihood_ratio / (1 + prior * (likelihood_ratio - 1)):.1%}"


def test_what_somebody_did_moves_twice_as_far_as_presence_under_add_remove() -> None:
    """One noisy count each for two queries, scale b, q_f records: a user asks one or the other q_f times.

    The likelihood ratio of (high, low) against the swapped history is exp(2 q_f/b) = e^(2ε): attained.
    """
    q_f, b = 5, 5.0
    epsilon = q_f / b

    def mass(noisy: int, count: int) -> float:
        a = math.exp(-1 / b)
        return (1 - a) / (1 + a) * a ** abs(noisy - count)

    ratio = (mass(q_f, q_f) * mass(0, 0)) / (mass(q_f, 0) * mass(0, q_f))
    assert ratio == pytest.approx(math.exp(2 * epsilon))
    rows = _beliefs(Guarantee(Kind.PURE, Neighbours.ADD_REMOVE, epsilon))
    assert (
        rows[-1]
        == ("50%", posterior(0.5, math.exp(epsilon)), posterior(0.5, ratio))
        == (
            "50%",
            "73.1%",
            "88.1%",
        )
    )
    assert _beliefs(Guarantee(Kind.PURE, Neighbours.REPLACE, 2 * epsilon))[-1] == ("50%", "88.1%")


def test_no_table_where_nothing_is_bounded() -> None:
    assert _beliefs(Guarantee(Kind.K_QUERY, Neighbours.ADD_REMOVE, k=5)) == []
    assert _beliefs(Guarantee(Kind.PURE, Neighbours.ADD_REMOVE, 800)) == []
