"""Noise is exact: the tables against 200-digit arithmetic, and each step of the refinement forced."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from tests.drawn import SeededRandomness
from tests.scripted_source import ScriptedSource

from tacit import ParameterError
from tacit.privacy.arithmetic import Enclosure, enclose_exponential
from tacit.privacy.noise.inversion import (
    GeometricThresholds,
    InversionTable,
    OneThreshold,
    RemainderThresholds,
)
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.privacy.noise.samplers import bernoulli, discrete_laplace, geometric


def true_digits(value: mpmath.mpf, bits: int) -> int:
    return int(mpmath.floor(value * mpmath.mpf(2) ** bits))


def exponential(x: Fraction) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)


@pytest.mark.parametrize("bits", [64, 128, 400])
@pytest.mark.parametrize("x", ["1/1000000", "1/3", "1/2", "1", "7/5", "20", "333/7", "24000/1000"])
def test_an_enclosure_holds_the_true_value_and_is_narrow(x: str, bits: int) -> None:
    with mpmath.workdps(400):
        low, high = enclose_exponential(Fraction(x), bits)
        true = exponential(Fraction(x)) * mpmath.mpf(2) ** bits
        assert low <= true <= high
        assert high - low <= 3


def test_the_enclosure_of_one_is_sound() -> None:
    low, high = enclose_exponential(Fraction(0), 64)
    assert low <= 1 << 64 <= high


@pytest.mark.parametrize(
    "scale", [Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(0.1), Fraction(19), 100]
)
def test_geometric_thresholds_have_the_true_64_digits(scale: Fraction) -> None:
    rate, count = Fraction(1) / scale, max(2, math.ceil(24 * scale))
    table = InversionTable(GeometricThresholds(rate, count))
    with mpmath.workdps(200):
        expected = [true_digits(1 - exponential(t * rate), 64) for t in range(1, count + 1)]
    assert table.fine.tolist() == expected


@pytest.mark.parametrize(("scale", "modulus"), [(1000, 2), (100_000, 256), (1_000_000, 2048), (10**9, 4096)])
def test_remainder_thresholds_have_the_true_64_digits(scale: int, modulus: int) -> None:
    rate = Fraction(1, scale)
    table = InversionTable(RemainderThresholds(rate, modulus))
    with mpmath.workdps(200):
        whole = 1 - exponential(modulus * rate)
        expected = [true_digits((1 - exponential(t * rate)) / whole, 64) for t in range(1, modulus)]
    assert table.fine.tolist() == expected


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7), Fraction(300)])
def test_a_decided_cell_lies_wholly_between_two_thresholds(scale: Fraction) -> None:
    """All 65,536 cells: where the coarse table answers, both ends of the cell give that answer."""
    table = InversionTable(GeometricThresholds(1 / scale, math.ceil(24 * scale)))
    decided = np.flatnonzero(table.coarse >= 0).astype(np.uint64)
    assert decided.size > 60_000
    first, last = decided << np.uint64(48), (decided << np.uint64(48)) | np.uint64((1 << 48) - 1)
    for end in (first, last):
        assert not np.isin(end, table.fine).any()
        assert (np.searchsorted(table.fine, end) == table.coarse[decided.astype(np.int64)]).all()
    held = np.unique(table.fine >> np.uint64(48))
    assert (np.flatnonzero(table.coarse < 0) == held).all()


def words_for(uniform_digits: int, further: Sequence[int] = ()) -> list[int]:
    """The words from which a table reads U = 0.(64 digits)(64 digits)...: cell, rest of 64, refinement."""
    return [uniform_digits >> 48, (uniform_digits & ((1 << 48) - 1)) << 16, *further]


@pytest.mark.parametrize("t", [1, 2, 5, 40])
def test_ties_are_refined_on_both_sides_of_a_threshold(t: int) -> None:
    thresholds = GeometricThresholds(Fraction(1, 3), 72)
    table = InversionTable(thresholds)
    with mpmath.workdps(200):
        digits = true_digits(1 - exponential(Fraction(t, 3)), 64 * 4)
    first, second, third, fourth = ((digits >> shift) & ((1 << 64) - 1) for shift in (192, 128, 64, 0))
    for depth, exact in [((second,), first), ((second, third), first), ((second, third, fourth), first)]:
        *agreeing, last = depth
        below = ScriptedSource(*words_for(exact, [*agreeing, last - 1]))
        assert table.draw(1, below)[0] == t - 1
        assert below.left == []
        above = ScriptedSource(*words_for(exact, [*agreeing, last + 1]))
        assert table.draw(1, above)[0] == t
        assert above.left == []


@dataclass(frozen=True)
class Vague:
    """True but wide enclosures, as long as fewer than ``sharp`` bits are asked for."""

    exact: GeometricThresholds
    sharp: int

    @property
    def count(self) -> int:
        return self.exact.count

    def enclose(self, t: int, bits: int) -> Enclosure:
        low, high = self.exact.enclose(t, bits)
        width = 1 << (bits - 20) if bits < self.sharp else 0
        return low - width, high + width

    def enclose_all(self, bits: int) -> Iterator[Enclosure]:
        return (self.enclose(t, bits) for t in range(1, self.count + 1))


def test_only_proven_comparisons_decide() -> None:
    """Wide enclosures make the sampler draw more digits and ask again; they never change the value."""
    exact = GeometricThresholds(Fraction(1, 9), 216)
    sharp, vague = InversionTable(exact), InversionTable(Vague(exact, 320))
    assert (sharp.fine == vague.fine).all()
    for word in sharp.fine[:20].tolist():
        for beside in (word - 1, word + 1):
            assert vague._draw_exactly(beside, SeededRandomness(word)) == sharp._draw_exactly(
                beside, ScriptedSource()
            )


def test_the_digits_next_to_a_threshold_need_no_refinement() -> None:
    table = InversionTable(GeometricThresholds(Fraction(1, 3), 72))
    for t in (1, 2, 30):
        digits = int(table.fine[t - 1])
        assert table.draw(1, ScriptedSource(*words_for(digits - 1)))[0] == t - 1
        assert table.draw(1, ScriptedSource(*words_for(digits + 1)))[0] == t


def test_refining_agrees_with_the_fine_table() -> None:
    """Bisection in exact arithmetic, asked for U that the 64 digits decide, says the same."""
    table = InversionTable(GeometricThresholds(Fraction(1, 9), 216))
    words = SeededRandomness(5).words(300)
    for word in words.tolist():
        assert table._draw_exactly(word, ScriptedSource()) == np.searchsorted(table.fine, np.uint64(word))


def test_a_dyadic_probability_is_decided_without_end() -> None:
    """p = 1/2: the threshold is the binary fraction 0.1 itself, and U = 0.1000... reaches it."""
    table = InversionTable(OneThreshold(Fraction(1, 2)))
    assert table.draw(1, ScriptedSource(*words_for(1 << 63)))[0] == 1
    assert table.draw(1, ScriptedSource(*words_for((1 << 63) - 1)))[0] == 0


def test_a_third_is_refined_as_a_third() -> None:
    table = InversionTable(OneThreshold(Fraction(1, 3)))
    digits = (1 << 64) // 3
    assert table.draw(1, ScriptedSource(*words_for(digits, [digits, digits - 1])))[0] == 0
    assert table.draw(1, ScriptedSource(*words_for(digits, [digits, digits + 1])))[0] == 1


def test_the_tail_adds_the_reach_of_the_table_and_draws_again() -> None:
    top = 0xFFFF << 48  # the last cell of scale 1 holds thresholds, so 64 digits are read
    everything = (1 << 64) - 1
    # quotient: tail (24), then again tail (24), then the smallest value 0; the rest is unused.
    source = ScriptedSource(top >> 48, everything, top >> 48, everything, 0)
    assert geometric(1, 1, source).tolist() == [48]


def test_minus_zero_is_drawn_again() -> None:
    zero, minus, plus = 0, 0x80, 0x00
    source = ScriptedSource(zero, minus, zero, plus)
    assert discrete_laplace(1, 1, source).tolist() == [0]
    assert source.left == []


def test_digits_put_a_large_draw_together() -> None:
    """Scale 1000: G = 2q + r, here with q = 1 (U just over F_1 of the quotient) and r = 1."""
    quotient = InversionTable(GeometricThresholds(Fraction(2, 1000), 12_000))
    just_over = int(quotient.fine[0]) + 1
    source = ScriptedSource(*words_for(just_over), 0xFFFF)
    assert geometric(1000, 1, source).tolist() == [3]


@pytest.mark.parametrize("scale", [-1, math.inf, math.nan, 2.0**41, 9e-5])
def test_a_scale_out_of_range_is_refused(scale: float) -> None:
    with pytest.raises(ParameterError, match="scale of the noise must be"):
        discrete_laplace(scale, 1, OperatingSystemRandomness())


def test_the_extreme_scales_work() -> None:
    assert not discrete_laplace(1e-4, 1000, SeededRandomness(1)).any()
    large = discrete_laplace(2.0**40, 10_000, SeededRandomness(1))
    # The mean of |X| is b to within 5 of its standard deviations, b/100.
    assert abs(np.abs(large).mean() / 2.0**40 - 1) < 0.05


def test_scale_zero_is_no_noise() -> None:
    assert discrete_laplace(0, 5, ScriptedSource()).tolist() == [0] * 5
    with pytest.raises(ParameterError):
        geometric(0, 5, ScriptedSource())


def test_certain_and_impossible_events_need_no_randomness() -> None:
    assert bernoulli(1, 3, ScriptedSource()).tolist() == [True] * 3
    assert bernoulli(0.0, 3, ScriptedSource()).tolist() == [False] * 3
    with pytest.raises(ParameterError, match=r"in \[0, 1\]; found 1.5"):
        bernoulli(1.5, 3, ScriptedSource())


@pytest.mark.parametrize("size", [0, 1, 3, 65_535, 65_537, 200_001])
def test_any_number_of_draws(size: int) -> None:
    drawn = discrete_laplace(3.5, size, SeededRandomness(size))
    assert drawn.dtype == np.int64
    assert drawn.shape == (size,)


def test_numpy_and_float_scales_mean_their_exact_value() -> None:
    scales = [0.1, np.float64(0.1), Fraction(0.1)]
    draws = [discrete_laplace(scale, 1000, SeededRandomness(3)).tolist() for scale in scales]
    assert draws[0] == draws[1] == draws[2]
