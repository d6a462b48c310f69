"""Exact, vectorised inversion: from uniform bits to a value whose distribution is given by thresholds.

Let 0 < F_1 < F_2 < ... < F_n < 1 and let U be uniform on [0, 1). The value drawn is the number of thresholds
at or under U, so P(value ≥ t) = 1 - F_t. U is never rounded: its binary digits are drawn as far as they are
needed.

1. The first 16 digits name one of 2^16 cells. In most no threshold lies; a table holds their value.
2. In the others 48 further digits are drawn and compared with the thresholds' own first 64 digits, which were
   computed with proven bounds.
3. If all 64 agree with those of a threshold, U and the threshold are refined together until they part.

Every step decides on proven inequalities alone, and step 3 ends (docs/guarantees/noise.md).
"""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InputError
from tacit.files import atomic_file, cache_directory
from tacit.privacy.arithmetic import Enclosure, enclose_exponential, enclose_fraction, multiply
from tacit.privacy.noise.randomness import RandomSource, at, halves

_COARSE = 16
_FINE = 64
_UNDECIDED = -1


class Thresholds(Protocol):
    """An increasing sequence F_1 < ... < F_n in (0, 1), each known to any precision."""

    @property
    def count(self) -> int:
        """How many thresholds there are (n)."""
        ...

    def enclose(self, t: int, bits: int) -> Enclosure:
        """Integers (low, high) with low ≤ F_t·2^bits ≤ high; more bits bring them as near as one likes."""
        ...

    def enclose_all(self, bits: int) -> Iterator[Enclosure]:
        """Enclosures of F_1, ..., F_n in this order."""
        return (self.enclose(t, bits) for t in range(1, self.count + 1))


class GradualUniform:
    """A uniform number of which only the first binary digits have been drawn so far."""

    def __init__(self, digits: int, known: int, source: RandomSource) -> None:
        self._digits = digits
        self._known = known
        self._source = source

    def reaches(self, thresholds: Thresholds, t: int) -> bool:
        """Whether U ≥ F_t, drawing further digits while the known ones leave it open."""
        while True:
            low, high = thresholds.enclose(t, self._known + _FINE)
            if self._digits << _FINE >= high:
                return True
            if (self._digits + 1) << _FINE <= low:
                return False
            self._digits = (self._digits << 64) | int.from_bytes(self._source.bits(8), "little")
            self._known += 64


class InversionTable:
    """Draws values by the thresholds given (see the module's text)."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self.fine = _digits_of(thresholds)
        """The first 64 binary digits of each threshold."""
        coarse = self.fine >> np.uint64(_FINE - _COARSE)
        cells = np.arange(1 << _COARSE, dtype=np.uint64)
        values = np.searchsorted(coarse, cells, side="left").astype(np.int32)
        values[coarse.astype(np.int64)] = _UNDECIDED
        self.coarse = values
        """The value in each cell of 16 digits; -1 where a threshold lies in the cell."""

    def draw(self, size: int, source: RandomSource) -> NDArray[np.int32]:
        """``size`` independent values in 0..n."""
        cells = halves(source, size)
        values: NDArray[np.int32] = self.coarse[cells]
        open_ones = np.flatnonzero(values == _UNDECIDED)
        if open_ones.size:
            values[open_ones] = self._draw_finely(cells[open_ones], at(source, open_ones))
        return values

    def _draw_finely(self, cells: NDArray[np.uint16], source: RandomSource) -> NDArray[np.int32]:
        further = source.words(cells.size) >> np.uint64(_COARSE)
        digits = (cells.astype(np.uint64) << np.uint64(_FINE - _COARSE)) | further
        values = np.searchsorted(self.fine, digits, side="left").astype(np.int32)
        nearest = self.fine[np.minimum(values, self.fine.size - 1)]
        for position in np.flatnonzero(nearest == digits):
            values[position] = self._draw_exactly(int(digits[position]), at(source, np.array([position])))
        return values

    def _draw_exactly(self, digits: int, source: RandomSource) -> int:
        """The number of thresholds at or under U, by bisection over one gradually drawn U."""
        uniform = GradualUniform(digits, _FINE, source)
        low, high = 0, self._thresholds.count
        while low < high:
            middle = (low + high + 1) // 2
            if uniform.reaches(self._thresholds, middle):
                low = middle
            else:
                high = middle - 1
        return low


_LARGE = 256


def _digits_of(thresholds: Thresholds) -> NDArray[np.uint64]:
    """The first 64 digits of all thresholds; those of large tables, which take long, are kept on disk.

    A file is named after the thresholds and after the code that proves their digits, and begins with a hash
    of the digits: one that is damaged is not used. Whoever may write Tacit's cache may also change its code.
    """
    if thresholds.count < _LARGE:
        return np.array(list(_leading_digits(thresholds)), dtype=np.uint64)
    name = f"noise-{_fingerprint(repr(thresholds))[:32]}"
    with contextlib.suppress(OSError):
        content = (cache_directory() / name).read_bytes()
        if (
            hashlib.sha256(content[32:]).digest() == content[:32]
            and len(content) == 8 * thresholds.count + 32
        ):
            return np.frombuffer(content[32:], np.uint64)
    found = np.array(list(_leading_digits(thresholds)), dtype=np.uint64)
    with contextlib.suppress(OSError, InputError):
        kept_at = cache_directory() / name
        with atomic_file(kept_at, mode=0o600) as written:
            written.write_bytes(hashlib.sha256(found.tobytes()).digest() + found.tobytes())
    return found


def _fingerprint(of: str) -> str:
    code = Path(__file__).read_bytes() + Path(enclose_exponential.__code__.co_filename).read_bytes()
    return hashlib.sha256(of.encode() + code).hexdigest()


def _leading_digits(thresholds: Thresholds) -> Iterator[int]:
    """floor(F_t·2^64) for each t, proven: both ends of the enclosure have these digits."""
    bits = 2 * _FINE
    for t, (low, high) in enumerate(thresholds.enclose_all(bits), start=1):
        precision = bits
        while low >> (precision - _FINE) != high >> (precision - _FINE):
            precision *= 2
            low, high = thresholds.enclose(t, precision)
        yield low >> (precision - _FINE)


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
class ExponentialThreshold(Thresholds):
    """F_1 = exp(-x): a uniform number lies under it with probability exp(-x)."""

    x: Fraction
    count: int = 1

    def enclose(self, t: int, bits: int) -> Enclosure:
        del t
        return enclose_exponential(self.x, bits)


@dataclass(frozen=True)
class OneThreshold(Thresholds):
    """F_1 = p: the value is 1 with probability 1 - p."""

    p: Fraction
    count: int = 1

    def enclose(self, t: int, bits: int) -> Enclosure:
        del t
        return enclose_fraction(self.p, bits)


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
