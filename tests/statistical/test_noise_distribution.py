"""The noise has the distribution it claims, from the operating system's bits.

Each test states its false-alarm rate α, the probability to fail although all is right: 1e-11 a check,
in about 200 checks, so one false alarm in half a billion runs. The tests of distribution are shown to
fail for 30% (and 5%) more or less noise.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.privacy.noise.samplers import bernoulli, discrete_laplace, geometric

ALPHA = 1e-11
SCALES = [0.05, 0.5, 1.0, 4.7, 60.0, 513.0, 1e6, 3e9]


def laplace_survival(t: np.ndarray, scale: float) -> np.ndarray:
    """P(X ≥ t) for integer t, written from the definition and apart from the sampler."""
    a = math.exp(-1 / scale)
    return np.where(t >= 0, a ** np.maximum(t, 0) / (1 + a), 1 - a ** np.maximum(1 - t, 0) / (1 + a))


def p_value(drawn: np.ndarray, scale: float) -> float:
    """Chi-square over cells of about equal probability (whole integers), cut off in the far tails."""
    reach = max(1, math.ceil(4 * scale))
    edges = np.unique(np.linspace(-reach, reach + 1, 42).round().astype(np.int64))
    survival = np.concatenate([[1.0], laplace_survival(edges, scale), [0.0]])
    expected = -np.diff(survival) * drawn.size
    observed = np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=edges.size + 1)
    keep = expected >= 20
    merged_expected = np.append(expected[keep], expected[~keep].sum())
    merged_observed = np.append(observed[keep], observed[~keep].sum())
    if merged_expected[-1] < 20:
        merged_expected[-2] += merged_expected[-1]
        merged_observed[-2] += merged_observed[-1]
        merged_expected, merged_observed = merged_expected[:-1], merged_observed[:-1]
    if merged_expected.size == 1:  # next to nothing but zeros: too few others to fill a cell
        return float(
            stats.binomtest(int((drawn != 0).sum()), drawn.size, 1 - expected.max() / drawn.size).pvalue
        )
    return float(
        stats.chisquare(merged_observed, merged_expected * drawn.size / merged_expected.sum()).pvalue
    )


@pytest.mark.parametrize("scale", SCALES)
def test_the_discrete_laplace_is_distributed_as_claimed(scale: float) -> None:
    """α = 1e-11 a scale (chi-square, one million draws)."""
    drawn = discrete_laplace(scale, 1_000_000, OperatingSystemRandomness())
    assert p_value(drawn, scale) > ALPHA


@pytest.mark.parametrize("scale", SCALES[1:])
@pytest.mark.parametrize("factor", [0.7, 1.3, 0.95, 1.05])
def test_the_same_test_fails_for_more_or_less_noise(scale: float, factor: float) -> None:
    """30% off is caught by far; at a million draws even 5% is. A miss has probability under 1e-6."""
    drawn = discrete_laplace(scale * factor, 1_000_000, OperatingSystemRandomness())
    assert p_value(drawn, scale) < ALPHA


@pytest.mark.parametrize("scale", [0.5, 3.0, 700.0])
def test_the_noise_is_symmetric(scale: float) -> None:
    """α = 1e-11: given that a draw is not 0, its sign is a fair coin, whatever its size."""
    drawn = discrete_laplace(scale, 1_000_000, OperatingSystemRandomness())
    for part in (drawn[np.abs(drawn) > 0], drawn[np.abs(drawn) > scale], drawn[np.abs(drawn) > 3 * scale]):
        assert stats.binomtest(int((part > 0).sum()), part.size, 0.5).pvalue > ALPHA


def test_far_tails_beyond_the_table_have_the_right_weight() -> None:
    """α = 1e-11 a tail: exact binomial counts far out, where the table's last cells decide."""
    drawn = np.abs(discrete_laplace(2.0, 8_000_000, OperatingSystemRandomness()))
    a = math.exp(-0.5)
    for t in (10, 15, 20, 24):
        tail = 2 * a**t / (1 + a)
        assert stats.binomtest(int((drawn >= t).sum()), drawn.size, tail).pvalue > ALPHA


@pytest.mark.parametrize("scale", [0.3, 8.0, 5000.0, 2.0**35])
def test_geometric_draws_are_distributed_as_claimed(scale: float) -> None:
    """α = 1e-11: Kolmogorov's bound at the integers (Dvoretzky, Kiefer, Wolfowitz, Massart)."""
    size = 1_000_000
    drawn = np.sort(geometric(scale, size, OperatingSystemRandomness()))
    at = np.unique(drawn)
    empirical = np.searchsorted(drawn, at, side="right") / size
    true = -np.expm1(-(at + 1) / scale)
    assert np.abs(empirical - true).max() < math.sqrt(math.log(2 / ALPHA) / (2 * size))


@pytest.mark.parametrize("scale", [3.0, 900.0, 1e6, 2.0**35])
def test_every_binary_digit_of_a_geometric_draw_is_right(scale: float) -> None:
    """α = 1e-11 a digit: digit j is 1 with probability c/(1+c), c = exp(-2^j/scale), digits independent."""
    size = 400_000
    drawn = geometric(scale, size, OperatingSystemRandomness())
    before = drawn & 1
    for j in range(round(math.log2(scale)) + 3):
        digit = (drawn >> j) & 1
        odds = math.exp(-(2.0**j) / scale)
        p = odds / (1 + odds)
        assert stats.binomtest(int(digit.sum()), size, p).pvalue > ALPHA
        if j:
            agree = int((digit & before).sum())
            assert stats.binomtest(agree, int(before.sum()), p).pvalue > ALPHA
        before = digit


@pytest.mark.parametrize("p", [0.001, 1 / 3, 0.5, 0.97])
def test_bernoulli_draws_hit_as_often_as_claimed(p: float) -> None:
    """α = 1e-11 a probability (exact binomial test)."""
    hits = int(bernoulli(p, 1_000_000, OperatingSystemRandomness()).sum())
    assert stats.binomtest(hits, 1_000_000, p).pvalue > ALPHA


def test_neighbouring_draws_are_uncorrelated() -> None:
    """α = 1e-11: the correlation of draw i with draw i+lag, under independence about N(0, 1/n)."""
    drawn = discrete_laplace(20.0, 1_000_000, OperatingSystemRandomness()).astype(np.float64)
    for lag in (1, 2, 3, 4, 65_536):
        r = np.corrcoef(drawn[:-lag], drawn[lag:])[0, 1]
        assert abs(r) * math.sqrt(drawn.size - lag) < stats.norm.isf(ALPHA / 2)


@pytest.mark.parametrize("scale", [0.8, 12.0])
def test_opendp_draws_from_the_same_distribution(scale: float) -> None:
    """α = 1e-11: two-sample chi-square against an independent exact sampler; 30% off is told apart."""
    theirs = opendp_draws(scale, 20_000)

    def homogeneous(ours: np.ndarray) -> float:
        edges = np.unique(np.round(np.linspace(-3 * scale, 3 * scale + 1, 14)))
        table = np.array(
            [np.bincount(np.digitize(x, edges), minlength=edges.size + 1) for x in (ours, theirs)]
        )
        return float(stats.chi2_contingency(table[:, table.sum(axis=0) >= 40]).pvalue)

    source = OperatingSystemRandomness()
    assert homogeneous(discrete_laplace(scale, 1_000_000, source)) > ALPHA
    assert homogeneous(discrete_laplace(scale * 0.7, 1_000_000, source)) < ALPHA
    assert homogeneous(discrete_laplace(scale * 1.3, 1_000_000, source)) < ALPHA


def opendp_draws(scale: float, size: int) -> np.ndarray:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return np.array(dp.m.make_laplace(*space, scale=scale)([0] * size))


def epsilon_shown(low: np.ndarray, high: np.ndarray, scale: float) -> float:
    """The largest ε that counts of two neighbouring logs prove, at a confidence of 1 - 1e-11.

    For the outputs "at least t", Clopper and Pearson's bounds on both probabilities, t over 9 values.
    """
    confidence = ALPHA / 2 / 9
    shown = 0.0
    for t in np.unique(np.round(np.linspace(-scale, scale, 9))):
        hits_high, hits_low = int((high >= t).sum()), int((low >= t).sum())
        at_least = stats.beta.ppf(confidence, hits_high, high.size - hits_high + 1)
        at_most = stats.beta.isf(confidence, hits_low + 1, low.size - hits_low)
        shown = max(shown, math.log(at_least / at_most))
    return shown


@pytest.mark.parametrize("scale", [0.7, 3.0])
def test_an_attacker_learns_no_more_than_epsilon_and_catches_weak_noise(scale: float) -> None:
    """Audit of a noisy count, 1 against 0: no proof of more than ε = 1/b (α = 1e-11); nearly ε is shown.

    The same attack on noise of 0.7 times the scale proves that ε is broken.
    """
    source = OperatingSystemRandomness()
    size, epsilon = 4_000_000, 1 / scale
    sound = epsilon_shown(
        discrete_laplace(scale, size, source), 1 + discrete_laplace(scale, size, source), scale
    )
    assert 0.9 * epsilon < sound <= epsilon
    weak = 0.7 * scale
    broken = epsilon_shown(
        discrete_laplace(weak, size, source), 1 + discrete_laplace(weak, size, source), scale
    )
    assert broken > epsilon
