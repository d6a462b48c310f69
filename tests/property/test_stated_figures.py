"""Stated figures lie on the safe side: never below the exact value, and never δ = 0 for a threshold."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.claims import click, session, zealous
from tests.short_forms import (
    click_parameters,
    mechanism_for,
    plan_zealous,
    session_parameters,
    zealous_parameters,
)

from tacit import BudgetError, Guarantee, ParameterError
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.accounting.composition import Account, CompositionRule
from tacit.privacy.accounting.events import Event
from tacit.release.mechanisms.click import ClickMode

scales = st.floats(0.05, 1e4)
records = st.integers(1, 60)
relations = st.sampled_from(list(Neighbours))


def is_least_float(stated: float, exact: Fraction) -> bool:
    """``stated`` is not below ``exact``, and the float before it is."""
    return Fraction(math.nextafter(stated, 0.0)) < exact <= Fraction(stated)


def test_a_third_is_not_stated_as_less() -> None:
    found = zealous.guarantee(zealous_parameters(1, 3.0, 1, 50)).epsilon
    assert Fraction(found) >= Fraction(1, 3)
    assert found == math.nextafter(1 / 3, 1)


def test_what_is_whole_stays_whole() -> None:
    """Three times a third is 1: sums are rounded once, not part by part."""
    thirds = zealous_parameters(5, 15.0, 1, 200, histograms=3)
    assert zealous.guarantee(thirds).epsilon == zealous.event(thirds).guarantee.epsilon == 1.0
    same = click_parameters(1, 1, 3.0, 40, 3.0, 3.0, 3.0)
    assert click.guarantee(same).epsilon == click.event(same).guarantee.epsilon == 1.0


@given(scales, scales, scales, scales, records, records, relations)
def test_epsilon_is_the_least_float_that_is_not_too_small(
    b: float, b_q: float, b_c: float, b_t: float, q: int, c: int, relation: Neighbours
) -> None:
    double = 2 if relation is Neighbours.REPLACE else 1
    loss = [Fraction(n) / Fraction(s) for n, s in ((q, b), (q, b_q), (c, b_c), (q - 1, b_t))]
    parameters = click_parameters(q, c, b, 40, b_q, b_c, b_t)
    for found in (click.guarantee(parameters, relation), click.event(parameters, relation).guarantee):
        assert is_least_float(found.epsilon, double * sum(loss))
    sequences = session_parameters(1, 3, b, 20, b_q, clicks=(c, b_c, 20, b_t))
    exact = Fraction(4) / Fraction(b) + Fraction(4) / Fraction(b_q)
    exact += Fraction(c) / Fraction(b_c) + Fraction(c) / Fraction(b_t)
    for found in (session.guarantee(sequences, relation), session.event(sequences, relation).guarantee):
        assert is_least_float(found.epsilon, double * exact)
    items = zealous_parameters(q, b, 1, 40, 3)
    for found in (zealous.guarantee(items, relation), zealous.event(items, relation).guarantee):
        assert is_least_float(found.epsilon, double * 3 * Fraction(q) / Fraction(b))


@given(st.floats(0.2, 300), st.integers(0, 2000), records, st.integers(1, 10**6))
def test_delta_is_not_below_the_exact_one(noise: float, gap: int, m: int, users: int) -> None:
    """Against many digits: 1 - (1-p)^n, n = m and n = U m."""
    parameters = zealous_parameters(m, noise, 1, 1 + gap)
    with localcontext() as context:
        context.prec = 1200  # 1 - (1 - 1e-1000) must not cancel
        scale = Decimal(noise)
        shown = (-gap / scale).exp() / (1 + (-1 / scale).exp())
        context.prec = 60
        for n, found in (
            (m, zealous.guarantee(parameters).delta),
            (users * m, zealous.probabilistic_guarantee(parameters, users).delta),
        ):
            # 1 - (1-p)^n lies between n p - (n p)²/2 and n p where n p is small
            exact = n * shown if n * shown < Decimal("1e-30") else 1 - (1 - shown) ** n
            assert Decimal(found) >= exact * (1 - Decimal("1e-28"))
            assert found <= max(2.3e-308 * n, float(exact) * (1 + 1e-12))


def high(mode: ClickMode = ClickMode.APPROXIMATE) -> list[tuple[str, Guarantee, Event]]:
    z = zealous_parameters(5, 5.0, 1, 5000)
    c = click_parameters(3, 2, 5.0, 5000, 5.0, 5.0, 5.0, mode=mode)
    s = session_parameters(1, 3, 5.0, 5000, 5.0, clicks=(4, 5.0, 5000, 5.0))
    return [
        ("zealous", zealous.guarantee(z), zealous.event(z)),
        ("click", click.guarantee(c), click.event(c)),
        ("session", session.guarantee(s), session.event(s)),
    ]


@pytest.mark.parametrize(("name", "promise", "event"), high(), ids=["zealous", "click", "session"])
def test_a_threshold_never_promises_a_delta_of_zero(name: str, promise: Guarantee, event: Event) -> None:
    """At threshold 5000 and noise 5 the chance, e^-1000, is below every float; a pure ledger refuses it."""
    assert promise.delta > 0 and event.guarantee.delta > 0
    ledger = Account(Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, 100.0), CompositionRule.BASIC)
    with pytest.raises(BudgetError):
        ledger.charge(event)
    roomy = Account(
        Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 100.0, 1e-12),
        CompositionRule.BASIC,
    )
    assert roomy.charge(event).charged == (event,)


def test_a_first_threshold_above_the_number_of_users_is_refused() -> None:
    """It used to promise δ = 0: no log of one user has an item of two, but nothing held the log to one."""
    parameters = zealous_parameters(5, 5.0, 2, 2)
    with pytest.raises(
        ParameterError, match="first threshold is 2 with a public bound of 1 users"
    ) as refused:
        zealous.probabilistic_guarantee(parameters, 1)
    assert "`threshold_1`" in str(refused.value.remedy)
    assert zealous.probabilistic_guarantee(parameters, 2).delta > 0


@given(records, st.floats(0.5, 50), st.integers(1, 30), st.integers(0, 200), st.integers(0, 1000), relations)
def test_probabilistic_is_never_cheaper_than_approximate(
    m: int, noise: float, tau: int, gap: int, more: int, relation: Neighbours
) -> None:
    parameters = zealous_parameters(m, noise, tau, tau + gap, 2)
    plain = zealous.guarantee(parameters, relation)
    found = zealous.probabilistic_guarantee(parameters, tau + more, relation)
    assert found.delta >= plain.delta
    assert found.epsilon >= plain.epsilon
    charges = zealous.probabilistic_charges(parameters, tau + more, relation)
    double = 2 if relation is Neighbours.REPLACE else 1
    assert double * math.fsum(c.epsilon for c in charges) == pytest.approx(found.epsilon, rel=1e-14)
    assert math.fsum(c.delta for c in charges) >= found.delta * (1 - 1e-12)


def test_many_items_of_few_users_are_planned() -> None:
    """m so large that the best τ would lie above U."""
    plan = plan_zealous(10.0, 1e-6, 1000, kind=GuaranteeKind.PROBABILISTIC, users=10)
    assert plan.given.threshold_1 <= 10


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0])
@pytest.mark.parametrize("name", ["epsilon", "delta"])
@pytest.mark.parametrize("given_noise", [False, True])
def test_a_limit_that_is_no_number_is_refused(name: str, value: float, given_noise: bool) -> None:
    """``cost > nan`` is never true: as a limit it would let everything pass."""
    parameters = {"noise": 0.01, "threshold_2": 1} if given_noise else {}
    with pytest.raises(ParameterError, match=f"{name} must be"):
        mechanism_for("zealous", **{"epsilon": 1.0, "delta": 1e-6, name: value}, **parameters)
