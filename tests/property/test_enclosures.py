"""Enclosures hold the true value at every precision, also where they are coarse."""

from __future__ import annotations

from fractions import Fraction

import mpmath
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn import SeededRandomness

from tacit.privacy.arithmetic import _series, enclose_exponential, enclose_fraction, multiply
from tacit.privacy.noise.inversion import GeometricThresholds, InversionTable, RemainderThresholds
from tacit.privacy.noise.samplers import geometric

rates = st.fractions(min_value=Fraction(1, 10**7), max_value=25, max_denominator=10**9)
precisions = st.integers(8, 200)


def scaled(value: mpmath.mpf, bits: int) -> mpmath.mpf:
    return value * mpmath.mpf(2) ** bits


def exponential(x: Fraction) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)


@given(st.integers(4, 120), st.data())
def test_the_series_is_enclosed(bits: int, data: st.DataObject) -> None:
    y = data.draw(st.integers(0, 1 << (bits - 1)))
    low, high = _series(y, bits)
    with mpmath.workdps(150):
        assert low <= scaled(exponential(Fraction(y, 1 << bits)), bits) <= high


@given(rates, precisions)
def test_an_exponential_is_enclosed(x: Fraction, bits: int) -> None:
    low, high = enclose_exponential(x, bits)
    with mpmath.workdps(150):
        assert low <= scaled(exponential(x), bits) <= high
    assert high - low <= 3


@given(st.fractions(0, 1), st.fractions(0, 1), st.integers(1, 80))
def test_a_product_is_enclosed(left: Fraction, right: Fraction, bits: int) -> None:
    low, high = multiply(enclose_fraction(left, bits), enclose_fraction(right, bits), bits)
    assert low <= left * right * (1 << bits) <= high


@given(rates, st.integers(2, 200), st.integers(30, 90), st.data())
def test_the_remainder_is_enclosed(rate: Fraction, modulus: int, bits: int, data: st.DataObject) -> None:
    thresholds = RemainderThresholds(rate, modulus)
    t = data.draw(st.integers(1, modulus - 1))
    every = list(thresholds.enclose_all(bits))
    with mpmath.workdps(150):
        true = scaled((1 - exponential(t * rate)) / (1 - exponential(modulus * rate)), bits)
        for low, high in (thresholds.enclose(t, bits), every[t - 1]):
            assert low <= true <= high


@given(rates, st.integers(1, 60), st.integers(30, 90))
def test_powers_are_enclosed_one_from_another(rate: Fraction, count: int, bits: int) -> None:
    with mpmath.workdps(150):
        for t, (low, high) in enumerate(GeometricThresholds(rate, count).enclose_all(bits), start=1):
            assert low <= scaled(1 - exponential(t * rate), bits) <= high


@given(st.integers(0, (1 << 64) - 1), st.integers(1, 400))
def test_the_three_steps_of_inversion_agree(word: int, tenths: int) -> None:
    """Coarse table, fine table and exact bisection give one answer for one uniform number."""
    table = InversionTable(GeometricThresholds(Fraction(10, tenths), 40))
    fine = int((table.fine < word).sum())
    coarse = int(table.coarse[word >> 48])
    assert coarse in (fine, -1)
    if word not in table.fine:
        assert table._draw_exactly(word, SeededRandomness(0)) == fine


@given(st.fractions(min_value=Fraction(1, 20), max_value=10**12, max_denominator=1000), st.integers(0, 2**32))
def test_draws_are_counts(scale: Fraction, seed: int) -> None:
    drawn = geometric(scale, 50, SeededRandomness(seed))
    assert drawn.min() >= 0
    assert drawn.max() < 60 * scale + 60
