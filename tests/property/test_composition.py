"""Guarantees and their composition against exact divergences of small distributions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import BudgetError, Guarantee, ParameterError
from tacit.privacy.accounting.composition import (
    Account,
    CompositionRule,
    basic_composition,
    decimal,
    loss_of,
    repeated_epsilon,
)
from tacit.privacy.accounting.events import (
    ApproximateDp,
    Composed,
    Event,
    KQueryRelease,
    LaplaceCounts,
    RareDisclosure,
    event_from_dict,
)
from tacit.privacy.guarantee import GuaranteeKind, Neighbours

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def divergence(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The smallest δ with P[O] ≤ e^ε Q[O] + δ for all O (hockey stick), one way."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def both_ways(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return max(divergence(p, q, epsilon), divergence(q, p, epsilon))


distributions = (
    st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(sum).map(lambda w: np.array(w) / sum(w))
)


@given(distributions, distributions, distributions, st.floats(0, 3))
def test_replacing_a_user_costs_no_more_than_the_conversion_says(
    with_one: np.ndarray, without: np.ndarray, with_another: np.ndarray, epsilon: float
) -> None:
    delta = max(both_ways(with_one, without, epsilon), both_ways(without, with_another, epsilon))
    replaced = Guarantee(GuaranteeKind.APPROXIMATE, AR, epsilon, min(1.0, delta)).as_replace()
    assert replaced.neighbours is RO
    assert replaced.epsilon == 2 * epsilon
    assert both_ways(with_one, with_another, replaced.epsilon) <= replaced.delta + 1e-12


def test_the_conversion_is_attained() -> None:
    """No smaller δ would do: a chain that loses δ at each step, the second blown up by e^ε."""
    epsilon, delta = 1.0, 0.01
    q = np.array([0.0, 0.01, 0.99])
    middle = np.array([delta, math.exp(epsilon) * 0.01, 0])
    middle[2] = 1 - middle.sum()
    p = np.array([math.exp(epsilon) * delta + delta, math.exp(2 * epsilon) * 0.01, 0])
    p[2] = 1 - p.sum()
    assert both_ways(p, middle, epsilon) <= delta + 1e-12
    assert both_ways(middle, q, epsilon) <= delta + 1e-12
    converted = Guarantee(GuaranteeKind.APPROXIMATE, AR, epsilon, delta).as_replace()
    assert divergence(p, q, converted.epsilon) == pytest.approx(converted.delta)


@given(distributions, distributions, st.floats(0, 3))
def test_probabilistic_implies_approximate(p: np.ndarray, q: np.ndarray, epsilon: float) -> None:
    bad = (p > math.exp(epsilon) * q) | (q > math.exp(epsilon) * p)
    promise = Guarantee(
        GuaranteeKind.PROBABILISTIC, AR, epsilon, min(1.0, float(p[bad].sum()))
    ).as_approximate()
    assert divergence(p, q, promise.epsilon) <= promise.delta + 1e-12


def randomised_response(epsilon: float, times: int) -> tuple[np.ndarray, np.ndarray]:
    likely = math.exp(epsilon) / (1 + math.exp(epsilon))
    p = np.array([math.prod(digits) for digits in product([likely, 1 - likely], repeat=times)])
    return p, p[::-1]


@pytest.mark.parametrize(("epsilon", "times"), [(0.5, 2), (0.1, 10), (1.0, 8)])
def test_privacy_loss_of_repetitions_is_exact_for_the_worst_mechanism(epsilon: float, times: int) -> None:
    """Randomised response attains (ε, 0): its exact divergence bounds the result from below, nearly."""
    event = ApproximateDp(Guarantee(GuaranteeKind.PURE, AR, epsilon))
    p, q = randomised_response(epsilon, times)
    for total in np.linspace(0, epsilon * times, 7)[:-1]:
        exact = divergence(p, q, total)
        assert exact - 1e-12 <= loss_of(event, times).delta(total) <= exact + 2e-3 * times


def laplace(scale: float, shift: int = 0, reach: int = 400) -> np.ndarray:
    x = np.arange(-reach, reach + 1) - shift
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** np.abs(x)


@pytest.mark.parametrize("shifts", [(1, 1), (1, -1), (1, 0), (0, 0)])
def test_counts_are_dominated_by_their_privacy_loss(shifts: tuple[int, int]) -> None:
    event = LaplaceCounts(scale=2.0, counts=2)
    p = np.outer(laplace(2.0), laplace(2.0)).ravel()
    q = np.outer(laplace(2.0, shifts[0]), laplace(2.0, shifts[1])).ravel()
    for epsilon in (0.0, 0.2, 0.5, 0.9, 1.0):
        assert both_ways(p, q, epsilon) <= loss_of(event, 1).delta(epsilon) + 1e-12
    assert both_ways(p, q, event.guarantee.epsilon) <= 1e-12


def test_the_privacy_loss_of_counts_is_attained() -> None:
    event = LaplaceCounts(scale=2.0, counts=2)
    p, q = (np.outer(laplace(2.0, s), laplace(2.0, s)).ravel() for s in (0, 1))
    for epsilon in (0.2, 0.5, 0.9):
        assert loss_of(event, 1).delta(epsilon) == pytest.approx(both_ways(p, q, epsilon), abs=3e-4)


def test_a_threshold_release_is_dominated_by_counts_and_a_rare_disclosure() -> None:
    """One shared key moves by 1; another exists in one log only and passes the line rarely."""
    scale, threshold = 1.0, 9
    a = math.exp(-1 / scale)
    appears = a ** (threshold - 1) / (1 + a)
    unseen = laplace(scale, 0)
    shown = np.where(np.arange(-400, 401) >= threshold, laplace(scale, 1), 0)
    absent = np.append(np.zeros_like(unseen), 1.0)
    present = np.append(shown, 1 - shown.sum())
    assert shown.sum() == pytest.approx(appears)
    p = np.outer(laplace(scale, 0), absent).ravel()
    q = np.outer(laplace(scale, 1), present).ravel()
    event = Composed((LaplaceCounts(scale, 1), RareDisclosure(appears)))
    for epsilon in (0.3, 0.7, 1.0, 1.5):
        exact = both_ways(p, q, epsilon)
        assert exact <= loss_of(event, 1).delta(epsilon) + 1e-12
    assert both_ways(p, q, event.guarantee.epsilon) <= event.guarantee.delta + 1e-12
    assert both_ways(p, q, event.guarantee.epsilon) > 0.9 * event.guarantee.delta


def test_unequal_events_compose_as_their_exact_product() -> None:
    first, second = LaplaceCounts(2.0, 1), ApproximateDp(Guarantee(GuaranteeKind.PURE, AR, 0.3))
    p2, q2 = randomised_response(0.3, 1)
    p, q = np.outer(laplace(2.0, 0), p2).ravel(), np.outer(laplace(2.0, 1), q2).ravel()
    for delta in (0.2, 0.1, 0.02):
        epsilon = repeated_epsilon(Composed((first, second)), 1, delta)
        assert both_ways(p, q, epsilon) <= delta + 1e-12
        assert both_ways(p, q, epsilon - 0.01) > delta


def test_many_small_releases_cost_less_by_privacy_loss() -> None:
    """52 weeks at ε = 0.05: 2.6 by adding, 1.52 at δ = 1e-6."""
    weekly = LaplaceCounts(scale=20.0, counts=1)
    assert weekly.guarantee.epsilon == 0.05
    assert repeated_epsilon(weekly, 52, 1e-6) == pytest.approx(1.52, abs=0.005)


@pytest.mark.parametrize("scale", [10 / 0.3, 5 / 0.1, 3.3, 1e-3, 7e5])
def test_the_stated_epsilon_is_never_below_the_exact_one(scale: float) -> None:
    event = LaplaceCounts(scale, 7, 3)
    assert Fraction(event.guarantee.epsilon) >= Fraction(21) / Fraction(scale)
    assert event.guarantee.epsilon == pytest.approx(21 / scale)


prices = st.tuples(st.integers(0, 400).map(lambda n: n / 1000), st.integers(0, 400).map(lambda n: n * 1e-9))


@given(st.lists(prices, max_size=12))
def test_an_account_accepts_exactly_what_the_decimal_sums_allow(spendings: list[tuple[float, float]]) -> None:
    account = Account(Guarantee(GuaranteeKind.APPROXIMATE, AR, 1.0, 1e-6), CompositionRule.BASIC)
    epsilon = delta = Fraction(0)
    for price in spendings:
        event = ApproximateDp(Guarantee(GuaranteeKind.APPROXIMATE, AR, *price))
        total = epsilon + decimal(price[0]), delta + decimal(price[1])
        if total[0] <= 1 and total[1] <= decimal(1e-6) * (1 + Fraction(1, 10**12)):
            account = account.charge(event)
            epsilon, delta = total
        else:
            with pytest.raises(BudgetError, match=r"requested.*remaining.*too much by"):
                account.charge(event)
    assert account.spent().epsilon == float(epsilon)
    assert account.remaining().epsilon == pytest.approx(1 - float(epsilon), abs=1e-15)


@pytest.mark.parametrize("rule", list(CompositionRule))
def test_the_repetitions_left_are_as_many_as_fit(rule: CompositionRule) -> None:
    account = Account(Guarantee(GuaranteeKind.APPROXIMATE, AR, 1.0, 1e-6), rule)
    event = ApproximateDp(Guarantee(GuaranteeKind.APPROXIMATE, AR, 0.05, 1e-9))
    left = account.repetitions_left(event)
    assert left == 20 if rule is CompositionRule.BASIC else left > 20
    for _ in range(left):
        account = account.charge(event)
    assert account.repetitions_left(event) == 0
    with pytest.raises(BudgetError, match="requested"):
        account.charge(event)
    assert account.spent().epsilon <= 1.0


@pytest.mark.parametrize(
    ("event", "by_adding", "by_privacy_loss"),
    [
        (LaplaceCounts(20.0, 1), 80, 284),
        (LaplaceCounts(40.0, 20), 8, 56),
        (Composed((LaplaceCounts(40.0, 20), RareDisclosure(1e-8))), 8, 53),
        (ApproximateDp(Guarantee(GuaranteeKind.APPROXIMATE, AR, 0.5, 1e-8)), 8, 8),
    ],
)
def test_the_weeks_that_a_budget_lasts(event: Event, by_adding: int, by_privacy_loss: int) -> None:
    """The figures of docs/how-to/weekly-releases.md."""
    budget = Guarantee(GuaranteeKind.APPROXIMATE, AR, 4.0, 1e-6)
    assert Account(budget, CompositionRule.BASIC).repetitions_left(event) == by_adding
    assert Account(budget, CompositionRule.PLD).repetitions_left(event) == by_privacy_loss


events = st.recursive(
    st.one_of(
        st.builds(LaplaceCounts, st.floats(0.1, 1e6), st.integers(0, 50), st.integers(1, 5)),
        st.builds(RareDisclosure, st.floats(0, 1)),
        st.builds(
            ApproximateDp,
            st.builds(
                Guarantee, st.just(GuaranteeKind.PROBABILISTIC), st.just(AR), st.floats(0, 9), st.floats(0, 1)
            ),
        ),
    ),
    lambda inner: st.builds(Composed, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    max_leaves=6,
)


@given(events)
@settings(max_examples=60)
def test_events_survive_json_and_hold_their_guarantee(event: Event) -> None:
    assert event_from_dict(event.to_dict()) == event
    assert Guarantee.from_dict(event.guarantee.to_dict()) == event.guarantee
    assert hash(event) == hash(event_from_dict(event.to_dict()))


def test_what_cannot_be_composed_is_refused() -> None:
    pure, k_query = Guarantee(GuaranteeKind.PURE, AR, 1.0), KQueryRelease(5)
    with pytest.raises(ParameterError, match="does not add to"):
        basic_composition([pure, pure.as_replace()], AR)
    with pytest.raises(ParameterError, match="without a finite epsilon"):
        basic_composition([k_query.guarantee], AR)
    with pytest.raises(ParameterError, match="cannot be composed"):
        Composed((LaplaceCounts(1.0, 1), k_query))
    with pytest.raises(ParameterError, match="different neighbour relations"):
        Composed((LaplaceCounts(1.0, 1), LaplaceCounts(1.0, 1, neighbours=RO)))
    with pytest.raises(ParameterError, match="k-query anonymity implies no"):
        k_query.guarantee.as_approximate()
    with pytest.raises(ParameterError, match="greater than 0 for composition"):
        repeated_epsilon(LaplaceCounts(1.0, 1), 2, 0.0)


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (Guarantee(GuaranteeKind.PURE, AR, 0.5), "0.5-differential privacy, user level, add/remove"),
        (
            Guarantee(GuaranteeKind.APPROXIMATE, AR, 1.0, 1e-6),
            "(1, 1e-06)-differential privacy, user level, add/remove",
        ),
        (
            Guarantee(GuaranteeKind.PROBABILISTIC, RO, 2.0, 1e-3),
            "(2, 0.001)-probabilistic differential privacy, user level, replace",
        ),
        (
            Guarantee(GuaranteeKind.K_QUERY, AR, k=7),
            "7-query anonymity (no protection against an active attacker)",
        ),
    ],
)
def test_a_guarantee_reads_as_a_sentence(guarantee: Guarantee, words: str) -> None:
    assert str(guarantee) == words
