"""Exact divergence of the outputs on two neighbouring logs: the judge of every claimed ε and δ.

With noise of its own on every key, the output on a log is a product of independent outputs, one per key.
For one key and two true counts (c on the one log, c' on the other) the outputs fall into few classes of
equal likelihood ratio: discrete Laplace noise makes the ratio constant below both counts and above both, so
even the infinite tails are one class each and nothing is cut off. A :class:`Pair` holds these classes as
atoms (p, q): the class's probability on either log. Products of pairs merge classes of equal ratio again.

The smallest δ that goes with ε for these two logs is the hockey-stick divergence

    δ(ε) = Σ over atoms of max(0, p - e^ε q),

taken in both directions. Everything works on floats, and on :class:`~fractions.Fraction` without any
rounding: give the noise as a = exp(-1/b), and e^ε as a number (a power of 1/a is rational if a is).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

Number = float | Fraction


@dataclass(frozen=True)
class Pair:
    """The distributions of an output on two logs, as atoms (p, q) of different ratio p : q."""

    atoms: tuple[tuple[Number, Number], ...]

    @classmethod
    def of(cls, atoms: Iterable[tuple[Number, Number]]) -> Pair:
        """Merge atoms of equal ratio; drop those that occur on neither log."""
        merged: dict[Number, tuple[Number, Number]] = {}
        for p, q in atoms:
            if p or q:
                key = _ratio(p, q)
                old = merged.get(key, (0, 0))
                merged[key] = (old[0] + p, old[1] + q)
        return cls(tuple(merged.values()))

    def __mul__(self, other: Pair) -> Pair:
        """The joint output of two independent parts."""
        return Pair.of((p * r, q * s) for p, q in self.atoms for r, s in other.atoms)

    def flipped(self) -> Pair:
        """The same two logs, the other way round."""
        return Pair(tuple((q, p) for p, q in self.atoms))

    def hockey_stick(self, factor: Number) -> Number:
        """δ for e^ε = ``factor``, in this direction only."""
        return _sum(p - factor * q for p, q in self.atoms if p > factor * q)

    def factor_at(self, delta: Number) -> Number:
        """The smallest e^ε >= 1 that goes with ``delta`` in this direction; infinite if none does.

        δ falls with e^ε along straight lines that break at the ratios of the atoms: find the line, solve it.
        """
        above_p: Number = 0
        above_q: Number = 0
        ratios = [(p / q if q else math.inf, p, q) for p, q in self.atoms]
        for ratio, p, q in sorted(ratios, reverse=True):
            if q and above_p - ratio * above_q > delta:
                break
            above_p, above_q = above_p + p, above_q + q
        if above_p - above_q <= delta:
            return 1
        return (above_p - delta) / above_q if above_q else math.inf


def _sum(terms: Iterable[Number]) -> Number:
    listed = list(terms)
    if any(isinstance(term, float) for term in listed):
        return math.fsum(float(term) for term in listed)
    return sum(listed, Fraction(0))


def _ratio(p: Number, q: Number) -> Number:
    """Compute what tells classes apart: p/q exactly for fractions, ln(p/q) to 12 digits for floats."""
    if not q:
        return math.inf
    if isinstance(p, Fraction) and isinstance(q, Fraction):
        return p / q
    return round(math.log(p) - math.log(q), 12) if p else -math.inf


def survival(a: Number, t: int) -> Number:
    """P(X >= t) for P(X = x) = (1-a)/(1+a) a^|x|."""
    tail: Number = a ** abs(t if t >= 0 else 1 - t) / (1 + a)
    return tail if t >= 0 else 1 - tail


def _mass(a: Number, x: int) -> Number:
    mass: Number = (1 - a) / (1 + a) * a ** abs(x)
    return mass


def noisy(a: Number, count: int, other: int) -> Pair:
    """A count published with noise: all below both counts is one output more than what passes."""
    low = min(count, other)
    below = (survival(a, 1 - low + count), survival(a, 1 - low + other))
    return Pair.of([below, *passing(a, count, other, low).atoms])


def passing(a: Number, count: int, other: int, t: int) -> Pair:
    """The outputs that show a key passing ``>= t`` with the compared count; they add up to its chance."""
    start = max(t, min(count, other))
    high = max(start, count, other)
    atoms: list[tuple[Number, Number]] = []
    if start > t:  # published values below both counts
        below = [survival(a, t - c) - survival(a, start - c) for c in (count, other)]
        atoms.append((below[0], below[1]))
    atoms += [(_mass(a, y - count), _mass(a, y - other)) for y in range(start, high)]
    atoms.append((survival(a, high - count), survival(a, high - other)))
    return Pair.of(atoms)


def product(pairs: Iterable[Pair]) -> Pair:
    """The joint output of independent keys."""
    return reduce(Pair.__mul__, pairs, Pair(((Fraction(1), Fraction(1)),)))


def divergence(pair: Pair, factor: Number) -> Number:
    """The smallest δ with which e^ε = ``factor`` holds for these two logs, both directions."""
    return max(pair.hockey_stick(factor), pair.flipped().hockey_stick(factor))
