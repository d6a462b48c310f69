"""The audit's bounds against second implementations, in exact fractions or by their definition."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tacit import Guarantee
from tacit.audit.bounds import (
    Seen,
    at_least,
    at_most,
    chance_of_guesses,
    epsilon_at,
    most_power,
    one_run_epsilon,
    weakest,
)
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.accounting.events import (
    ApproximateDp,
    Composed,
    GaussianRounds,
    LaplaceCounts,
    RareDisclosure,
)


def tail(hits: int, runs: int, chance: Fraction) -> Fraction:
    """P(at least so many hits), exactly."""
    whole = range(hits, runs + 1)
    return sum(
        (math.comb(runs, k) * chance**k * (1 - chance) ** (runs - k) for k in whole), start=Fraction(0)
    )


@pytest.mark.parametrize(("hits", "runs"), [(0, 20), (1, 20), (7, 20), (19, 20), (20, 20), (33, 60)])
def test_clopper_and_pearson_by_exact_tails(hits: int, runs: int) -> None:
    alpha = 0.025
    low, high = at_least(hits, runs, alpha), at_most(hits, runs, alpha)
    if hits:
        assert float(tail(hits, runs, Fraction(low))) == pytest.approx(alpha, rel=1e-6)
    else:
        assert low == 0
    if hits < runs:
        assert 1 - float(tail(hits + 1, runs, Fraction(high))) == pytest.approx(alpha, rel=1e-6)
    else:
        assert high == 1


def test_epsilon_of_rates() -> None:
    assert epsilon_at(0.3, 0.1, 0.0) == pytest.approx(math.log(3))
    assert epsilon_at(0.3, 0.1, 0.1) == pytest.approx(math.log(2))
    assert epsilon_at(0.1, 0.3, 0.0) == 0
    assert epsilon_at(0.1, 0.0, 0.01) == math.inf


@pytest.mark.parametrize(("right", "guesses", "epsilon"), [(8, 10, 0.5), (10, 10, 1.0), (13, 20, 0.0)])
def test_guesses_by_exact_tails(right: int, guesses: int, epsilon: float) -> None:
    share = Fraction(1 / (1 + math.exp(-epsilon)))
    assert chance_of_guesses(right, guesses, guesses, epsilon) == pytest.approx(
        float(tail(right, guesses, share)), rel=1e-9
    )


def test_guesses_with_a_delta_by_the_theorem() -> None:
    """β + 2mδ·max over i of (P(v - i ≤ W < v))/i, summed here term by term."""
    right, guesses, coins, epsilon, delta = 14, 20, 30, 0.4, 1e-3
    share = Fraction(1 / (1 + math.exp(-epsilon)))
    exactly = [tail(k, guesses, share) - tail(k + 1, guesses, share) for k in range(guesses + 1)]
    worst = max(sum(exactly[right - i : right]) / i for i in range(1, right + 1))
    expected = float(tail(right, guesses, share) + worst * Fraction(2 * coins * delta))
    assert chance_of_guesses(right, guesses, coins, epsilon, delta) == pytest.approx(expected, rel=1e-9)


def test_the_bound_of_one_run_is_where_the_chance_is_alpha() -> None:
    found = one_run_epsilon(296, 400, 400, 1e-6)
    assert chance_of_guesses(296, 400, 400, found, 1e-6) == pytest.approx(0.05, rel=1e-3)
    assert 0.8 < found < 0.9  # ZEALOUS, ε = 1: 74% of 400 canaries
    assert one_run_epsilon(205, 400, 400) == 0
    assert one_run_epsilon(400, 400, 400) == pytest.approx(4.88, abs=0.02)


LAPLACE = LaplaceCounts(2.0, 2)


def test_most_power_of_laplace_counts_is_that_of_their_exact_likelihood_ratio() -> None:
    """Two counts moved by 1: losses 1, 0 and -1, by hand."""
    a = math.exp(-0.5)
    up = 1 / (1 + a)
    atoms = [(up * up, (a * up) ** 2), (2 * a * up * up, 2 * a * up * up), ((a * up) ** 2, up * up)]
    power = most_power(LAPLACE)
    for q in (0.01, 0.1, 0.3, 0.6, 0.9):
        left, best = q, 0.0
        for p, other in atoms:  # Neyman and Pearson: the likeliest first
            part = min(1.0, left / other)
            best, left = best + part * p, left - part * other
        assert power(q) == pytest.approx(best, rel=1e-9)


def test_rates_on_the_claimed_curve_show_the_whole_claim_and_no_more() -> None:
    pure = Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, 0.7)
    events = [LAPLACE, GaussianRounds(0.8, 1e-3, 1.0), Composed((LAPLACE, RareDisclosure(1e-3)))]
    for event in [*events, ApproximateDp(pure)]:
        for q in (0.05, 0.2, 0.5):
            p = most_power(event)(q)
            assert weakest(event, p, q) == pytest.approx(1, abs=2e-3)
            assert weakest(event, q + 0.8 * (p - q), q) < 0.9
            assert weakest(event, min(1.0, p + 0.05), q) > 1.03


def test_the_event_that_does_not_occur_counts_too() -> None:
    often = Seen(9_990, 9_000, 10_000)
    assert often.epsilon(0.0) > math.log(10) - 0.8 > math.log(9_990 / 9_000)


def test_rates_that_hardly_differ_show_next_to_nothing() -> None:
    """However little noise they would need: its scale stays finite."""
    for event in (LAPLACE, GaussianRounds(0.8, 1e-3, 1.0)):
        assert 0 <= weakest(event, 0.3 + 1e-9, 0.3) < 1e-5
