"""Samplers where their numbers are cut into several digits: exact, forced digit by digit."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from tests.scripted_source import ScriptedSource

from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.privacy.noise.samplers import _GaussianSampler, _GeometricSampler, _uniform

BITS = 128


def chances(thresholds: object) -> list[Decimal]:
    """P(0), P(1), … of a table, from its thresholds to 128 bits."""
    ends = [Decimal(0)]
    for low, high in thresholds.enclose_all(BITS):  # type: ignore[attr-defined]
        ends.append(Decimal(low + high) / 2 / Decimal(1 << BITS))
    ends.append(Decimal(1))
    return [b - a for a, b in pairwise(ends)]


@pytest.mark.parametrize("scale", [1 << 14, 3 << 21, (1 << 24) + 7])
def test_the_digits_of_a_remainder_make_its_distribution(scale: int) -> None:
    """P(G mod M = r) = (1-a)·a^r/(1-a^M), for remainders of one digit and of several."""
    getcontext().prec = 60
    sampler = _GeometricSampler(Fraction(scale))
    digits = [(weight, chances(table._thresholds)) for weight, table in sampler.remainders]
    assert len(digits) == (1 if scale <= 1 << 21 else 2)
    assert math.prod(len(table) for _, table in digits) == sampler.modulus
    a = (Decimal(-1) / Decimal(scale)).exp()
    for r in (0, 1, 4095, 4096, sampler.modulus // 2 + 1, sampler.modulus - 1):
        if r >= sampler.modulus:
            continue
        expected = (1 - a) * a**r / (1 - a**sampler.modulus)
        made = Decimal(1)
        for weight, table in digits:
            made *= table[r // weight % len(table)]
        assert abs(made / expected - 1) < Decimal("1e-25")


def test_each_digit_of_a_remainder_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three digits beside the quotient, each 1: the sum of their places."""
    sampler = _GeometricSampler(Fraction(1 << 35))
    assert [weight for weight, _ in sampler.remainders] == [1, 1 << 12, 1 << 24]
    for table in (sampler.quotient, *(table for _, table in sampler.remainders)):
        monkeypatch.setattr(table, "draw", lambda size, source: np.ones(size, np.int32))
    assert sampler.draw(2, ScriptedSource()).tolist() == [sampler.modulus + 1 + (1 << 12) + (1 << 24)] * 2


@pytest.mark.parametrize("bits", [1, 12, 16, 17, 31, 32, 33, 40])
def test_a_uniform_remainder_has_all_its_digits(bits: int) -> None:
    """Of 400 draws each binary digit is 1 in some and 0 in others (a false alarm: 2^-390)."""
    drawn = _uniform(1 << bits, 400, OperatingSystemRandomness())
    assert drawn.min() >= 0 and drawn.max() < 1 << bits
    assert np.bitwise_or.reduce(drawn) == (1 << bits) - 1
    assert np.bitwise_and.reduce(drawn) == 0


SIGMA = Fraction(1 << 20)


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize(("q", "r"), [(0, 2047), (0, 1024), (3, 2047), (700, 5)])
def test_a_pair_is_kept_with_the_chance_of_its_square(q: int, r: int, above: bool) -> None:
    """A uniform number just under exp(-(2qMr + r²)/(2σ²)) keeps it, one just above does not."""
    getcontext().prec = 60
    sampler = _GaussianSampler(SIGMA)
    assert sampler.modulus == 2048
    whole = q * sampler.modulus + r
    loss = Decimal(whole**2 - (q * sampler.modulus) ** 2) / Decimal(2 * int(SIGMA) ** 2)
    line = int((-loss).exp() * (1 << 64))
    digits = min((1 << 64) - 1, line + (1 << 20 if above else -(1 << 20)))
    # Sixteen digits first, then the 48 that follow; words are little-endian, so the first is in front.
    source = ScriptedSource(digits >> 48, (digits & ((1 << 48) - 1)) << 16)
    kept = sampler._keeps(np.array([q]), np.array([r]), source)  # type: ignore[arg-type]
    assert kept.tolist() == [not above]


def test_what_is_kept_at_once_is_kept_for_every_remainder() -> None:
    getcontext().prec = 40
    sampler = _GaussianSampler(SIGMA)
    largest = sampler.modulus - 1
    for q in range(0, sampler.reach, 37):
        loss = Decimal(2 * q * sampler.modulus * largest + largest**2) / Decimal(2 * int(SIGMA) ** 2)
        assert int(sampler.kept[q]) <= (-loss).exp() * 65536
