"""Discrete Gaussian noise has the distribution it claims, from the operating system's bits.

α, the probability to fail although all is right, is 1e-11 a check, in about 60 checks.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.privacy.noise.samplers import discrete_gaussian

ALPHA = 1e-11
SIGMAS = [0.4, 1.0, 6.5, 300.0, 513.0, 3e5, 2.0**33]


def cell_probabilities(edges: np.ndarray, sigma: float) -> np.ndarray:
    """P(X < e_1), P(e_1 ≤ X < e_2), …: by summing where σ is small, by the normal's integral where large.

    For σ ≥ 100 the sum over integers and the integral with half-integer ends differ by under 1e-5 of a cell.
    """
    if sigma < 100:
        reach = math.ceil(40 * sigma) + 2
        x = np.arange(-reach, reach + 1)
        weights = np.exp(-(x**2) / (2 * sigma**2))
        cells = np.searchsorted(edges, x, side="right")
        return np.bincount(cells, weights=weights, minlength=edges.size + 1) / weights.sum()
    return np.diff(np.concatenate([[0.0], stats.norm.cdf((edges - 0.5) / sigma), [1.0]]))


def p_value(drawn: np.ndarray, sigma: float) -> float:
    edges = np.unique(np.linspace(-3.2 * sigma, 3.2 * sigma, 40).round().astype(np.int64))
    expected = cell_probabilities(edges, sigma) * drawn.size
    observed = np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=edges.size + 1)
    keep = expected >= 20
    expected = np.append(expected[keep], expected[~keep].sum())
    observed = np.append(observed[keep], observed[~keep].sum())
    if expected[-1] < 20:
        expected[-2] += expected[-1]
        observed[-2] += observed[-1]
        expected, observed = expected[:-1], observed[:-1]
    return float(stats.chisquare(observed, expected * drawn.size / expected.sum()).pvalue)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_discrete_gaussian_is_distributed_as_claimed(sigma: float) -> None:
    """α = 1e-11 a σ (chi-square, one million draws)."""
    assert p_value(discrete_gaussian(sigma, 1_000_000, OperatingSystemRandomness()), sigma) > ALPHA


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("factor", [0.7, 1.3, 0.95, 1.05])
def test_the_same_test_fails_for_more_or_less_noise(sigma: float, factor: float) -> None:
    """30% off is caught by far; at a million draws even 5% is. A miss has probability under 1e-6."""
    drawn = discrete_gaussian(sigma * factor, 1_000_000, OperatingSystemRandomness())
    assert p_value(drawn, sigma) < ALPHA


@pytest.mark.parametrize("sigma", [0.8, 700.0])
def test_the_noise_is_symmetric_and_neighbouring_draws_are_uncorrelated(sigma: float) -> None:
    """α = 1e-11 a check."""
    drawn = discrete_gaussian(sigma, 1_000_000, OperatingSystemRandomness())
    for part in (drawn[drawn != 0], drawn[np.abs(drawn) > 2 * sigma]):
        assert stats.binomtest(int((part > 0).sum()), part.size, 0.5).pvalue > ALPHA
    for lag in (1, 2, 4, 65_536):
        r = np.corrcoef(drawn[:-lag], drawn[lag:])[0, 1]
        assert abs(r) * math.sqrt(drawn.size - lag) < stats.norm.isf(ALPHA / 2)


def test_far_tails_have_the_right_weight() -> None:
    """α = 1e-11 a tail: exact binomial counts where the table's last cells decide."""
    sigma = 40_000.0
    drawn = np.abs(discrete_gaussian(sigma, 8_000_000, OperatingSystemRandomness()))
    for z in (3.5, 4.0, 4.5, 5.0):
        tail = 2 * float(stats.norm.sf(z))
        assert stats.binomtest(int((drawn >= z * sigma).sum()), drawn.size, tail).pvalue > ALPHA


def test_the_low_digits_of_a_draw_are_uniform() -> None:
    """α = 1e-11: where σ is a million, the last 8 binary digits are uniform to within 1e-12."""
    drawn = discrete_gaussian(1e6, 1_000_000, OperatingSystemRandomness())
    assert stats.chisquare(np.bincount(drawn & 255, minlength=256)).pvalue > ALPHA


def test_opendp_draws_from_the_same_distribution() -> None:
    """α = 1e-11: two-sample chi-square against an independent exact sampler; 30% off is told apart."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    theirs = np.array(dp.m.make_gaussian(*space, scale=12.0)([0] * 20_000))

    def homogeneous(ours: np.ndarray) -> float:
        edges = np.round(np.linspace(-30, 30, 14))
        table = np.array([np.bincount(np.digitize(x, edges), minlength=15) for x in (ours, theirs)])
        return float(stats.chi2_contingency(table).pvalue)

    source = OperatingSystemRandomness()
    assert homogeneous(discrete_gaussian(12.0, 1_000_000, source)) > ALPHA
    assert homogeneous(discrete_gaussian(12.0 * 0.7, 1_000_000, source)) < ALPHA
    assert homogeneous(discrete_gaussian(12.0 * 1.3, 1_000_000, source)) < ALPHA
