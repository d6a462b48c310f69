"""Our accounting against ``dp-accounting``, Google's: at or above it, and within 1%.

The reference rounds losses to a lattice, upward or downward as it is told: the true figure lies between the
two, and ours must not lie below the lower one, but for the 10^-15 of mass that the reference cuts from each
tail and counts as lost.
"""

from __future__ import annotations

import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as reference

import tacit
from tacit import Guarantee
from tacit.privacy.accounting.composition import loss_of, repeated_epsilon
from tacit.privacy.accounting.events import (
    ApproximateDp,
    Composed,
    Event,
    GaussianRounds,
    LaplaceCounts,
    RareDisclosure,
)
from tacit.privacy.guarantee import GuaranteeKind, Neighbours

LATTICE = 1e-4
Loss = reference.PrivacyLossDistribution


def both(event: Event) -> tuple[Loss, Loss]:
    """The reference's distribution for one event: losses rounded down, and up."""

    def made(upward: bool) -> Loss:
        rounding = {"value_discretization_interval": LATTICE, "pessimistic_estimate": upward}
        rounding["use_connect_dots"] = upward
        if isinstance(event, LaplaceCounts):
            one = reference.from_discrete_laplace_mechanism(1 / event.scale, event.step, **rounding)
            return one.self_compose(event.counts)
        if isinstance(event, GaussianRounds):
            return reference.from_gaussian_mechanism(1 / event.mu, **rounding)
        promise = event.guarantee
        return reference.from_privacy_parameters(
            common.DifferentialPrivacyParameters(promise.epsilon, promise.delta), LATTICE
        )

    return made(False), made(True)


def composed(events: list[Event]) -> tuple[Loss, Loss]:
    """All events; of those known by (ε, δ) alone the reference has no lower one, so these are left out."""
    low, high = both(events[0])
    for event in events[1:]:
        high = high.compose(both(event)[1])
        if isinstance(event, LaplaceCounts | GaussianRounds):
            low = low.compose(both(event)[0])
    return low, high


def holds(ours: float, low: float, high: float) -> None:
    """At or above the reference, and within 1% of it."""
    assert low * (1 - 1e-5) <= ours <= high * 1.01 + 1e-9, (low, ours, high)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(
    ("event", "times"),
    [
        (LaplaceCounts(2.0, 1), 1),
        (LaplaceCounts(20.0, 3), 50),
        (LaplaceCounts(40.0, 20), 8),
        (LaplaceCounts(9.5, 1, 4), 10),
        (GaussianRounds(0.3, 0.0, 1.0), 1),
        (GaussianRounds(0.05, 0.0, 1.0), 100),
        (GaussianRounds(1.5, 0.0, 1.0), 3),
    ],
)
def test_repeated_releases(event: Event, times: int, delta: float) -> None:
    low, high = (loss.self_compose(times) for loss in both(event))
    ours = repeated_epsilon(event, times, delta)
    holds(ours, low.get_epsilon_for_delta(delta), high.get_epsilon_for_delta(delta))
    at = ours * 0.8
    holds(loss_of(event, times).delta(at), low.get_delta_for_epsilon(at), high.get_delta_for_epsilon(at))


APPROXIMATE = Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 0.2, 1e-8)


@pytest.mark.parametrize(
    "events",
    [
        [LaplaceCounts(20.0, 3), LaplaceCounts(7.0, 1, 2)],
        [LaplaceCounts(30.0, 5), GaussianRounds(0.2, 0.0, 1.0)],
        [GaussianRounds(0.1, 0.0, 1.0), GaussianRounds(0.3, 0.0, 1.0), RareDisclosure(1e-8)],
        [LaplaceCounts(10.0, 2), ApproximateDp(APPROXIMATE)],
        [LaplaceCounts(40.0, 20), GaussianRounds(0.4, 0.0, 1.0), ApproximateDp(APPROXIMATE)],
    ],
    ids=lambda events: " ".join(type(event).__name__ for event in events),
)
def test_different_releases_together(events: list[Event]) -> None:
    low, high = composed(events)
    holds(
        repeated_epsilon(Composed(tuple(events)), 1, 1e-6),
        low.get_epsilon_for_delta(1e-6),
        high.get_epsilon_for_delta(1e-6),
    )


def test_the_guarantee_of_adaptive_rounds_is_that_of_their_noise() -> None:
    """δ of the noise at the stated ε, without what may be found by chance."""
    plan = tacit.Adaptive(epsilon=1.0, delta=1e-6).plan()
    event = plan.event
    assert isinstance(event, GaussianRounds)
    low, high = both(event)
    ours = plan.delta - event.disclosure
    holds(ours, low.get_delta_for_epsilon(1.0), high.get_delta_for_epsilon(1.0))


def test_a_planned_release_by_exact_loss() -> None:
    """ZEALOUS with 20 items a user: the noise alone costs no more than is stated, and nearly as much."""
    plan = tacit.Zealous(epsilon=1.0, delta=1e-6, per_user=20).plan()
    assert plan.schedule.at_epsilon == 1.0
    low, _ = both(LaplaceCounts(plan.noise, 20))
    assert low.get_delta_for_epsilon(1.0) <= plan.delta <= 1e-6
