"""Discrete Gaussian noise is exact: tables against 60-digit sums, and each decision forced on both sides."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from tests.drawn import SeededRandomness
from tests.scripted_source import ScriptedSource

from tacit import ParameterError
from tacit.privacy.noise import samplers as gaussian
from tacit.privacy.noise.inversion import GaussianThresholds, InversionTable
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.privacy.noise.samplers import discrete_gaussian


def theta_parts(rate: Fraction, count: int) -> list[mpmath.mpf]:
    """P(Q < t) for t = 1..count, by summing until the terms vanish."""
    exact = mpmath.mpf(rate.numerator) / rate.denominator
    weights = []
    while not weights or weights[-1] > mpmath.mpf(10) ** -110:
        weights.append(mpmath.exp(-exact * len(weights) ** 2))
    total, running, parts = mpmath.fsum(weights), mpmath.mpf(0), []
    for q in range(count):
        running += weights[q] if q < len(weights) else 0
        parts.append(running / total)
    return parts


@pytest.mark.parametrize("sigma", ["1/3", "1", "5/2", "40", "300"])
def test_the_table_holds_the_first_digits_of_every_threshold(sigma: str) -> None:
    rate = 1 / (2 * Fraction(sigma) ** 2)
    count = max(1, int(8 * Fraction(sigma)))
    with mpmath.workdps(120):
        table = InversionTable(GaussianThresholds(rate, count))
        true = [int(mpmath.floor(part * 2**64)) for part in theta_parts(rate, count)]
    assert table.fine.tolist() == true


@pytest.mark.parametrize("bits", [64, 128, 300])
def test_an_enclosure_holds_the_true_threshold_and_is_narrow(bits: int) -> None:
    thresholds = GaussianThresholds(Fraction(1, 50), 30)
    with mpmath.workdps(120):
        true = theta_parts(thresholds.rate, 30)
        for t, (low, high) in enumerate(thresholds.enclose_all(bits), start=1):
            assert low <= true[t - 1] * 2**bits <= high
            assert high - low < 2**12
            assert thresholds.enclose(t, bits) == (low, high)


@pytest.mark.parametrize("x", ["1/1000", "1/7", "2/3", "3"])
@pytest.mark.parametrize("tie", [False, True])
def test_a_uniform_number_is_kept_iff_it_lies_under_the_exponential(x: str, tie: bool) -> None:
    """On both sides of exp(-x), one unit of the 64th digit away and at the digit itself, refined."""
    with mpmath.workdps(120):
        y = mpmath.exp(-mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator)
        digits = int(mpmath.floor(y * 2**64))
        next_digits = int(mpmath.floor(y * 2**128)) - (digits << 64)
    loss = Fraction(x)
    if tie:
        assert gaussian._under_exponential(
            digits, loss.numerator, loss.denominator, ScriptedSource(next_digits - 1)
        )
        assert not gaussian._under_exponential(
            digits, loss.numerator, loss.denominator, ScriptedSource(next_digits + 1)
        )
    else:
        assert gaussian._under_exponential(digits - 1, loss.numerator, loss.denominator, ScriptedSource())
        assert not gaussian._under_exponential(digits + 1, loss.numerator, loss.denominator, ScriptedSource())


def test_what_is_kept_at_once_would_have_been_kept_by_the_exponential() -> None:
    """For every block the first 16 digits are taken for enough only under the least chance of the block."""
    sampler = gaussian._GaussianSampler(Fraction(5000))
    assert sampler.modulus == 16
    with mpmath.workdps(40):
        for q in range(0, sampler.reach, 97):
            loss = mpmath.mpf(2 * q * 16 * 15 + 225) / (2 * 5000**2)
            assert int(sampler.kept[q]) <= mpmath.exp(-loss) * 2**16
            assert int(sampler.kept[q]) >= mpmath.exp(-loss) * 2**16 - 2 - 2**16 * loss**2


def test_the_three_steps_make_the_density_of_the_claim() -> None:
    """P(block)·P(rest)·P(kept) is proportional to exp(-x²/2σ²): in fractions of the exponents, exactly."""
    sampler = gaussian._GaussianSampler(Fraction(1300))
    modulus = sampler.modulus
    for x in (0, 1, modulus, 777, 1300, 9999):
        q, r = divmod(x, modulus)
        exponent = q * q * sampler.rate + Fraction(2 * q * modulus * r + r * r) / sampler.twice_variance
        assert exponent == Fraction(x * x) / (2 * Fraction(1300) ** 2)


def test_beyond_the_table_the_tail_goes_on_as_it_should() -> None:
    """α = 1e-8: with a table that ends at its first entry, the continuation alone makes the distribution."""
    sampler = gaussian._GaussianSampler(Fraction(2))
    sampler.reach = 3
    source = OperatingSystemRandomness()
    drawn = np.array([sampler._beyond(source) for _ in range(20_000)])
    weights = np.exp(-((3 + np.arange(30)) ** 2) / 8.0)
    expected = weights / weights.sum() * drawn.size
    observed = np.bincount(drawn, minlength=30)
    keep = expected > 10
    statistic = ((observed[keep] - expected[keep]) ** 2 / expected[keep]).sum()
    from scipy import stats

    assert stats.chi2.sf(statistic, keep.sum()) > 1e-8


def test_a_draw_beyond_the_table_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian, "_REACH_GAUSSIAN", Fraction(1, 100))
    sampler = gaussian._GaussianSampler(Fraction(3))
    assert sampler.reach == 1
    drawn = sampler.draw(4000, OperatingSystemRandomness())
    assert drawn.max() > 5


def test_no_noise_is_zero_and_wrong_parameters_are_refused() -> None:
    source = SeededRandomness(1)
    assert discrete_gaussian(0, 5, source).tolist() == [0] * 5
    assert discrete_gaussian(3.0, 0, source).size == 0
    for wrong in (-1.0, 0.001, float("nan"), float("inf"), 2.0**41):
        with pytest.raises(ParameterError, match="sigma of the noise"):
            discrete_gaussian(wrong, 1, source)
    with pytest.raises(ParameterError, match="number of draws"):
        discrete_gaussian(1.0, -1, source)
