"""Releases as events: the domination they rest on, exactly, and what it gains over many weeks."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import exact_pairs
from tests.claims import click, session, zealous
from tests.short_forms import click_parameters, session_parameters, zealous_parameters

from tacit import Guarantee
from tacit.audit import exact
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.accounting.composition import Account, CompositionRule, loss_of
from tacit.privacy.accounting.events import ApproximateDp
from tacit.release.mechanisms.click import ClickMode


def partitions(total: int, largest: int):
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


@pytest.mark.parametrize("a", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)])
@pytest.mark.parametrize("d", [2, 3, 5, 7])
def test_one_count_moved_by_d_dominates_every_spread(a: Fraction, d: int) -> None:
    """At every breakpoint of the two profiles, in rational numbers; both directions, e^ε below 1 included."""
    one = exact.noisy(a, 0, d)
    for parts in partitions(d, d):
        spread = exact.product(exact.noisy(a, 0, k) for k in parts)
        for factor in [a**n for n in range(-d, d + 1)]:
            assert spread.hockey_stick(factor) <= one.hockey_stick(factor)
            assert spread.flipped().hockey_stick(factor) <= one.flipped().hockey_stick(factor)


@given(st.fractions(0, 1), st.fractions(0, 1), st.fractions(0, 4))
def test_a_disclosure_dominates_fresh_keys(sigma: Fraction, other: Fraction, factor: Fraction) -> None:
    """Keys that only one log can show, on both sides, against (0, max(σ, σ'))."""
    fresh = exact.Pair(((sigma, Fraction(0)), (1 - sigma, 1 - other), (Fraction(0), other)))
    delta = max(sigma, other)
    worst = exact.Pair(((delta, Fraction(0)), (1 - delta, 1 - delta), (Fraction(0), delta)))
    assert fresh.hockey_stick(factor) <= worst.hockey_stick(factor)


ZEALOUS = zealous_parameters(20, 40.0, 1, 800)
CLICK = click_parameters(3, 2, 40.0, 700, 160.0, 40.0, 40.0, mode=ClickMode.APPROXIMATE)
SESSION = session_parameters(1, 3, 20.0, 400, 80.0, clicks=(4, 20.0, 400, 80.0))


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("same", [False, True])
def test_an_event_promises_what_the_guarantee_does(relation: Neighbours, same: bool) -> None:
    """Adding up the parts of an event gives the guarantee, to the last bits of floating point."""
    counts = None if same else 6.0
    pairs = [
        (zealous.event(ZEALOUS, relation), zealous.guarantee(ZEALOUS, relation)),
        (
            zealous.event(zealous_parameters(3, 10.0, 2, 80, 4), relation),
            zealous.guarantee(zealous_parameters(3, 10.0, 2, 80, 4), relation),
        ),
    ]
    for mode in ClickMode:
        for chance, least in ((1.0, 1), (0.9, 1), (1.0, 3)):
            p = click_parameters(
                3, 2, 7.0, 70, counts, 5.0, 9.0, pool_probability=chance, minimum_frequency=least, mode=mode
            )
            pairs.append((click.event(p, relation), click.guarantee(p, relation)))
    for once in (False, True):
        p = session_parameters(2, 4, 3.0, 60, counts, once, (4, 2.0, 40, counts))
        pairs.append((session.event(p, relation), session.guarantee(p, relation)))
    for event, promise in pairs:
        assert event.guarantee.neighbours is relation
        assert event.guarantee.epsilon == pytest.approx(promise.epsilon, rel=1e-14)
        assert event.guarantee.epsilon >= promise.epsilon * (1 - 1e-15)
        assert event.guarantee.delta == pytest.approx(promise.delta, rel=1e-14)
        assert event.guarantee.kind is promise.kind


def exact_twice(pair: exact.Pair, factor: float) -> float:
    return float(exact.divergence(pair * pair, factor))


def test_privacy_loss_of_two_releases_covers_the_exact_divergence() -> None:
    """Two releases of each mechanism on the worst neighbours, fresh keys and shared ones."""
    z = zealous_parameters(3, 3.0, 1, 12)
    a = math.exp(-1 / z.noise)
    histories = [
        exact.product(exact_pairs.thresholded(a, c, c - 1 or None, 12) for c in (first, 1, 9))
        for first in (1, 12)
    ]
    c = click_parameters(2, 0, 3.0, 9, 4.0, 1.0, 1.0, False, mode=ClickMode.APPROXIMATE)
    fresh = exact.noisy(math.exp(-1 / 4.0), 10, 8)
    clicks = [exact_pairs.selected(a, 10, 8, 10, fresh), exact_pairs.selected(a, 2, None, 10)]
    for pairs, event in ((histories, zealous.event(z)), (clicks, click.event(c))):
        for epsilon in (0.2, 0.5, 1.0):
            bound = loss_of(event, 2).delta(epsilon)
            for pair in pairs:
                assert exact_twice(pair, math.exp(epsilon)) <= bound * (1 + 1e-9)


@pytest.mark.parametrize(
    ("event", "promise"),
    [
        (zealous.event(ZEALOUS), zealous.guarantee(ZEALOUS)),
        (click.event(CLICK), click.guarantee(CLICK)),
        (session.event(SESSION), session.guarantee(SESSION)),
    ],
    ids=["zealous", "click", "session"],
)
def test_a_budget_lasts_longer_than_by_adding(event, promise: Guarantee) -> None:
    budget = Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 12 * promise.epsilon, 1e-5)
    by_adding = Account(budget, CompositionRule.BASIC).repetitions_left(event)
    known = Account(budget, CompositionRule.PLD).repetitions_left(event)
    unknown = Account(budget, CompositionRule.PLD).repetitions_left(ApproximateDp(promise))
    assert by_adding <= 12
    assert known > by_adding
    assert known > unknown
