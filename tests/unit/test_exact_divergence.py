"""The judge itself: exact pairs equal plain enumeration of outputs over a wide window."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from tests import exact_pairs

from tacit.audit import exact

HALF = Fraction(1, 2)
WINDOW = range(-120, 121)


def pmf(a: float, x: int) -> float:
    return (1 - a) / (1 + a) * a ** abs(x)


def enumerated_threshold(a: float, count: int | None, t: int) -> dict[int | None, float]:
    """The distribution of one key's output, by summing: None is 'not published'."""
    outputs: dict[int | None, float] = {None: 1.0 if count is None else 0.0}
    if count is not None:
        for x in WINDOW:
            y = count + x
            key = y if y >= t else None
            outputs[key] = outputs.get(key, 0.0) + pmf(a, x)
    return outputs


def enumerated_selection(a: float, a_counts: float, count: int, t: int) -> dict[int | None, float]:
    chance = math.fsum(pmf(a, x) for x in WINDOW if count + x >= t)
    outputs: dict[int | None, float] = {count + x: chance * pmf(a_counts, x) for x in WINDOW}
    outputs[None] = 1 - chance
    return outputs


def plain_hockey_stick(one: dict, other: dict, factor: float) -> float:
    return math.fsum(
        max(0.0, one.get(o, 0.0) - factor * other.get(o, 0.0)) for o in one.keys() | other.keys()
    )


def joint(*parts: dict) -> dict:
    return {
        tuple(output for output, _ in chosen): math.prod(chance for _, chance in chosen)
        for chosen in itertools.product(*(part.items() for part in parts))
    }


@pytest.mark.parametrize(("count", "other"), [(0, 1), (3, 1), (4, 4), (6, 2), (None, 1), (2, None), (9, 5)])
@pytest.mark.parametrize("t", [1, 3, 5])
@pytest.mark.parametrize("factor", [1.0, 1.3, 2.0, 5.0])
def test_a_thresholded_count(count: int | None, other: int | None, t: int, factor: float) -> None:
    a = 0.6
    pair = exact_pairs.thresholded(a, count, other, t)
    one, two = enumerated_threshold(a, count, t), enumerated_threshold(a, other, t)
    assert pair.hockey_stick(factor) == pytest.approx(plain_hockey_stick(one, two, factor), abs=1e-14)
    assert math.fsum(p for p, _ in pair.atoms) == pytest.approx(1)
    assert math.fsum(q for _, q in pair.atoms) == pytest.approx(1)


@pytest.mark.parametrize(("count", "other"), [(0, 1), (5, 1), (4, 4), (6, 2)])
@pytest.mark.parametrize("factor", [1.0, 1.3, 4.0])
def test_a_selected_count_with_fresh_noise(count: int, other: int, factor: float) -> None:
    pair = exact_pairs.selected(0.5, count, other, 4, exact.noisy(0.7, count, other))
    one, two = enumerated_selection(0.5, 0.7, count, 4), enumerated_selection(0.5, 0.7, other, 4)
    assert pair.hockey_stick(factor) == pytest.approx(plain_hockey_stick(one, two, factor), abs=1e-14)


@pytest.mark.parametrize("factor", [1.0, 2.0, 4.0])
def test_a_product_of_keys(factor: float) -> None:
    a = 0.4
    pair = exact.product([exact_pairs.thresholded(a, None, 1, 3), exact_pairs.thresholded(a, 4, 3, 3)])
    one = joint(enumerated_threshold(a, None, 3), enumerated_threshold(a, 4, 3))
    two = joint(enumerated_threshold(a, 1, 3), enumerated_threshold(a, 3, 3))
    assert pair.hockey_stick(factor) == pytest.approx(plain_hockey_stick(one, two, factor), abs=1e-14)
    assert pair.flipped().hockey_stick(factor) == pytest.approx(
        plain_hockey_stick(two, one, factor), abs=1e-14
    )


def test_fractions_stay_exact() -> None:
    pair = exact.noisy(HALF, 0, 1)
    assert sum(p for p, _ in pair.atoms) == 1
    assert exact_pairs.largest_ratio(pair) == 2
    assert exact.divergence(pair, Fraction(2)) == 0
    assert exact.divergence(pair, Fraction(1)) == Fraction(1, 3)  # (1-a)/(1+a): the mass at the true count


@pytest.mark.parametrize(
    "delta", [Fraction(0), Fraction(1, 100), Fraction(1, 10), Fraction(1, 3), Fraction(9, 10)]
)
@pytest.mark.parametrize("flip", [False, True])
def test_the_factor_that_goes_with_a_delta(delta: Fraction, flip: bool) -> None:
    """δ(e^ε) at the factor found is the δ asked for, and a smaller factor has a larger δ."""
    for pair in (
        exact.product([exact_pairs.thresholded(HALF, None, 1, 3), exact.noisy(HALF, 3, 1)]),
        exact.noisy(HALF, 0, 2),
        exact.noisy(HALF, 4, 4),
    ):
        way = pair.flipped() if flip else pair
        factor = way.factor_at(delta)
        if factor == math.inf:
            assert way.hockey_stick(Fraction(10**9)) > delta
            continue
        assert way.hockey_stick(factor) <= delta
        if factor > 1:
            assert way.hockey_stick(factor) == delta
            assert way.hockey_stick(factor * Fraction(999, 1000)) > delta
