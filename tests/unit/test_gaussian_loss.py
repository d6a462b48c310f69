"""What Gaussian noise promises, against 60-digit arithmetic and against exact sums over the integers."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.privacy.accounting.loss import (
    LATTICE_LOSS,
    _delta,
    enclose_upper_tail,
    gaussian_mu,
    lattice_delta,
    root_above,
)
from tacit.privacy.arithmetic import round_up


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ(ε; μ) of normal noise, rounded up."""
    return round_up(_delta(Fraction(epsilon), Fraction(mu)))


@pytest.mark.parametrize("x", ["-9", "-1/3", "0", "1/7", "1", "561/100", "8", "20", "30"])
@pytest.mark.parametrize("bits", [128, 320])
def test_a_tail_is_enclosed(x: str, bits: int) -> None:
    with mpmath.workdps(250):
        true = mpmath.erfc(mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator / mpmath.sqrt(2)) / 2
        low, high = enclose_upper_tail(Fraction(x), bits)
        assert low <= true * mpmath.mpf(2) ** bits <= high
        assert high - low <= 2


def test_beyond_its_range_a_tail_is_bounded_from_above() -> None:
    low, high = enclose_upper_tail(Fraction(1000), 1024)
    assert low == 0 and 0 < high < 2 ** (1024 - 600)


def reference(epsilon: float, mu: float) -> mpmath.mpf:
    e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
    return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize("mu", [0.01, 0.23, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
def test_delta_is_the_least_float_above_the_true_one(epsilon: float, mu: float) -> None:
    with mpmath.workdps(80):
        true = reference(epsilon, mu)
        stated = gaussian_delta(epsilon, mu)
        if true > mpmath.mpf(10) ** -60:
            assert true <= mpmath.mpf(stated) <= true * (1 + mpmath.mpf(2) ** -51)
        assert stated <= lattice_delta(epsilon, mu) <= stated * (1 + 1e-12) + 1e-24


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.05, 1e-9), (10.0, 1e-5)])
def test_mu_is_the_largest_that_keeps_to_delta(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert lattice_delta(epsilon, mu) <= delta < lattice_delta(epsilon, mu * (1 + 1e-9))


def exact_discrete(sigma: float, moved: int, epsilon: float) -> float:
    """δ of discrete Gaussian noise on ``moved`` counts that one user moves by 1: the loss depends on their
    sum.
    """
    x = np.arange(-60, 61)
    p = np.exp(-(x**2) / (2 * sigma**2))
    p /= p.sum()
    total = p
    for _ in range(moved - 1):
        total = np.convolve(total, p)
    sums = np.arange(total.size) - total.size // 2
    loss = (moved - 2 * sums) / (2 * sigma**2)
    return float((total * np.maximum(0, -np.expm1(epsilon - loss))).sum())


@pytest.mark.parametrize("sigma", [2.5, 3.0, 4.0, 6.0])
@pytest.mark.parametrize("moved", [1, 2, 3, 9])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.5, 1.0])
def test_discrete_noise_keeps_to_the_bound_of_its_origin(sigma: float, moved: int, epsilon: float) -> None:
    mu = root_above(Fraction(moved) / (Fraction(sigma) ** 2 - 4))
    assert exact_discrete(sigma, moved, epsilon) <= lattice_delta(epsilon, mu)


def test_discrete_noise_does_not_keep_to_what_the_normal_of_the_same_width_promises() -> None:
    """Why the rounding is taken off: σ = 2, three counts, ε = 1/2."""
    exact, normal = exact_discrete(2.0, 3, 0.5), gaussian_delta(0.5, math.sqrt(3) / 2)
    assert exact == pytest.approx(0.1863, abs=1e-4) and normal == pytest.approx(0.1852, abs=1e-4)
    assert exact > normal


def test_the_factor_of_the_lattice_is_as_small_as_stated() -> None:
    """ln((1+κ)/(1-κ)), κ = 2Σ exp(-2π²η²k²) at η = 2, for 400 million numbers that a user moves."""
    with mpmath.workdps(80):
        kappa = 2 * mpmath.nsum(lambda k: mpmath.exp(-8 * mpmath.pi**2 * k**2), [1, mpmath.inf])
        assert 4e8 * mpmath.log((1 + kappa) / (1 - kappa)) < mpmath.mpf(LATTICE_LOSS.numerator) / (
            LATTICE_LOSS.denominator
        )


def test_rounding_moves_a_draw_by_less_than_twelve_widths_but_for_one_in_10_to_the_30() -> None:
    """The tail of a discrete Gaussian of η = 2 around any centre, beyond 24."""
    with mpmath.workdps(60):
        for centre in (0, 0.25, 0.5):
            weights = [mpmath.exp(-((k - mpmath.mpf(centre)) ** 2) / 8) for k in range(-200, 201)]
            far = [w for k, w in zip(range(-200, 201), weights, strict=True) if abs(k - centre) >= 24]
            assert mpmath.fsum(far) / mpmath.fsum(weights) < mpmath.mpf(10) ** -30
