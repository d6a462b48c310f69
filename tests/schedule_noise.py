"""Does a mechanism draw the noise, and let as many keys pass, as its schedule says? By distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tests.schedule_executed import publish

from tacit.audit import exact
from tacit.release.mechanism import Plan
from tacit.release.schedule import Keys, Part

__all__ = ["draws_as_analysed"]

DRAWS = 4000
LIMIT = 5.5
"""Standard errors: a false alarm in at most one of 26 million (two-sided, normal approximation)."""


def draws_as_analysed(mechanism: Plan[Any]) -> None:
    """Noise of the scale stated, independent from key to key and from table to table."""
    schedule = [part for part in mechanism.schedule if part.noise is not None]
    far = {p.table: _far(p) for p in schedule}
    shown = publish(mechanism, {name: np.full(DRAWS, count) for name, count in far.items()})
    noises = {}
    for part in schedule:
        stated = part.fresh or part.noise
        assert stated is not None
        noise = np.array([shown[part.table][i] for i in range(DRAWS)]) - far[part.table]
        noises[part.table] = noise.astype(float)
        z = z_of_mean(np.abs(noise), *magnitude(stated.scale))
        assert abs(z) < LIMIT, f"{part.table}: noise of another scale than {stated.scale:g} (z = {z:.1f})"
        assert abs(_correlation(noise[1:], noise[:-1])) < LIMIT, f"{part.table}: keys share their noise"
    for one in noises:
        for two in noises:
            if one < two:
                together = abs(_correlation(noises[one], noises[two]))
                assert together < LIMIT, f"{one} and {two} share their noise"
    _share_that_passes(mechanism, schedule)


def z_of_mean(sample: np.ndarray, mean: float, deviation: float) -> float:
    return float((sample.mean() - mean) / (deviation / math.sqrt(len(sample))))


def magnitude(scale: float) -> tuple[float, float]:
    """Mean and standard deviation of |X|."""
    a = math.exp(-1 / scale)
    mean, square = 2 * a / (1 - a * a), 2 * a / (1 - a) ** 2
    return mean, math.sqrt(square - mean**2)


def _far(part: Part) -> int:
    """A count that passes whatever the noise is."""
    assert part.noise is not None
    return max(part.least or 0, part.minimum) + math.ceil(60 * part.noise.scale)


def _near(part: Part) -> int:
    """A count about one and a half scales below the threshold: how many pass depends most on the scale."""
    assert part.noise is not None and part.least is not None
    return max(part.minimum, part.least - math.ceil(1.5 * part.noise.scale))


def _correlation(one: np.ndarray, two: np.ndarray) -> float:
    """In standard errors; infinite where nothing varies."""
    if not (np.std(one) and np.std(two)):
        return math.inf
    return float(np.corrcoef(one, two)[0, 1] * math.sqrt(len(one)))


def _share_that_passes(mechanism: Plan[Any], schedule: list[Part]) -> None:
    """Of keys at a fixed distance from the threshold; of idle public keys too. Fresh counts stay unbiased."""
    compared = [part for part in schedule if part.least is not None]
    for idle in (False, True):
        at = {part.table: 0 if idle or part.least is None else _near(part) for part in schedule}
        shown = publish(mechanism, {name: np.full(2 * DRAWS, count) for name, count in at.items()})
        for part in compared:
            assert part.noise is not None and part.least is not None
            public = part.keys is not Keys.OCCURRING
            keys = range(0, 2 * DRAWS, 2) if part.keys is Keys.BOTH else range(2 * DRAWS)
            if idle and not public:
                assert not shown[part.table], f"{part.table}: keys that nobody has"
                continue
            chance = (part.chance if idle else 1.0) * float(
                exact.survival(math.exp(-1 / part.noise.scale), part.least - at[part.table])
            )
            passed = sum(key in shown[part.table] for key in keys)
            z = (passed - len(keys) * chance) / math.sqrt(len(keys) * chance * (1 - chance))
            assert abs(z) < LIMIT, (
                f"{part.table}: {passed} of {len(keys)} pass, not {chance:.4f} (z = {z:.1f})"
            )
            if part.fresh is not None:
                fresh = np.array(list(shown[part.table].values()), float) - at[part.table]
                z = z_of_mean(fresh, 0.0, float(fresh.std()) or 1.0)
                assert abs(z) < LIMIT, f"{part.table}: fresh counts remember the comparison (z = {z:.1f})"
