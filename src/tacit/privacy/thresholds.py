"""The thresholds of the distributions that Tacit draws from, each known to any precision.

Those of the geometric distribution rest on exp(-x) for rational x > 0, which is transcendental
(Lindemann), so that no quotient of 1 - exp(-x) and 1 - exp(-y) is rational for x ≠ y: such a threshold is
no finite binary fraction, and a gradually drawn uniform number parts from it after finitely many digits.
A rational threshold may be a finite binary fraction; then U reaches it or not by its known digits alone.
Of those of the discrete Gaussian, quotients of theta sums, none is known to be one; a table that was built
has shown that its own are told apart from every binary fraction of 64 digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tacit.privacy.enclosure import Enclosure, enclose_exponential, enclose_fraction, multiply

__all__ = [
    "ExponentialThreshold",
    "GaussianThresholds",
    "GeometricThresholds",
    "OneThreshold",
    "RemainderThresholds",
]


@dataclass(frozen=True)
class GeometricThresholds:
    """F_t = P(G < t) = 1 - exp(-t·rate) for t = 1..count; a value of ``count`` means "or more"."""

    rate: Fraction
    count: int

    def enclose(self, t: int, bits: int) -> Enclosure:
        low, high = enclose_exponential(t * self.rate, bits)
        return (1 << bits) - high, (1 << bits) - low

    def enclose_all(self, bits: int) -> Iterator[Enclosure]:
        for low, high in _powers(self.rate, self.count, bits):
            yield (1 << bits) - high, (1 << bits) - low


@dataclass(frozen=True)
class RemainderThresholds:
    """F_t = P(G mod M < t) = (1 - exp(-t·rate))/(1 - exp(-M·rate)) for t = 1..M-1."""

    rate: Fraction
    modulus: int

    @property
    def count(self) -> int:
        return self.modulus - 1

    def enclose(self, t: int, bits: int) -> Enclosure:
        whole = enclose_exponential(self.modulus * self.rate, bits)
        return _quotient(enclose_exponential(t * self.rate, bits), whole, bits)

    def enclose_all(self, bits: int) -> Iterator[Enclosure]:
        whole = enclose_exponential(self.modulus * self.rate, bits)
        for power in _powers(self.rate, self.count, bits):
            yield _quotient(power, whole, bits)


@dataclass(frozen=True)
class GaussianThresholds:
    """F_t = P(Q < t), t = 1..count, where Q = 0, 1, … with P(Q = q) ∝ exp(-q²·rate).

    A value of ``count`` means "or more": the sum that normalises runs over all q, not over the table.
    """

    rate: Fraction
    count: int

    def enclose(self, t: int, bits: int) -> Enclosure:
        sums, total = self._sums(bits)
        return _part_of(sums[t - 1], total, bits)

    def enclose_all(self, bits: int) -> Iterator[Enclosure]:
        sums, total = self._sums(bits)
        for part in sums:
            yield _part_of(part, total, bits)

    def _sums(self, bits: int) -> tuple[list[Enclosure], Enclosure]:
        """Enclosures of Σ_{q<t} exp(-q²·rate) for t = 1..count, and of the sum over all q.

        From one weight to the next: exp(-(q+1)²·rate) = exp(-q²·rate)·s_q with s_q = exp(-(2q+1)·rate), and
        s_{q+1} = s_q·exp(-2·rate). From q = J on each weight is at most exp(-2J·rate) times the one before,
        so the rest is at most the J-th weight divided by 1 - exp(-2J·rate).
        """
        one = 1 << bits
        shrink = enclose_exponential(2 * self.rate, bits)
        step = enclose_exponential(self.rate, bits)
        weight = (one, one)
        low = high = 0
        sums: list[Enclosure] = []
        q = 0
        while q < self.count or weight[1] > 2:
            low, high = low + weight[0], high + weight[1]
            if q < self.count:
                sums.append((low, high))
            weight = multiply(weight, step, bits)
            step = multiply(step, shrink, bits)
            q += 1
        ratio = enclose_exponential(2 * q * self.rate, bits)[1]
        rest = -(-(weight[1] << bits) // (one - ratio))
        return sums, (low, high + rest)


@dataclass(frozen=True)
class ExponentialThreshold:
    """F_1 = exp(-x): a uniform number lies under it with probability exp(-x)."""

    x: Fraction
    count: int = 1

    def enclose(self, t: int, bits: int) -> Enclosure:
        del t
        return enclose_exponential(self.x, bits)

    def enclose_all(self, bits: int) -> Iterator[Enclosure]:
        yield self.enclose(1, bits)


@dataclass(frozen=True)
class OneThreshold:
    """F_1 = p: the value is 1 with probability 1 - p."""

    p: Fraction
    count: int = 1

    def enclose(self, t: int, bits: int) -> Enclosure:
        del t
        return enclose_fraction(self.p, bits)

    def enclose_all(self, bits: int) -> Iterator[Enclosure]:
        yield self.enclose(1, bits)


def _powers(rate: Fraction, count: int, bits: int) -> Iterator[Enclosure]:
    """Enclosures of exp(-t·rate) for t = 1..count, each from the one before."""
    first = power = enclose_exponential(rate, bits)
    for _ in range(count):
        yield power
        power = multiply(power, first, bits)


def _quotient(part: Enclosure, whole: Enclosure, bits: int) -> Enclosure:
    """An enclosure of (1 - part)/(1 - whole)."""
    one = 1 << bits
    low = ((one - part[1]) << bits) // (one - whole[0])
    high = -(-((one - part[0]) << bits) // (one - whole[1]))
    return low, high


def _part_of(part: Enclosure, total: Enclosure, bits: int) -> Enclosure:
    """An enclosure of part/total, at most 1."""
    return (part[0] << bits) // total[1], min(1 << bits, -(-(part[1] << bits) // total[0]))
