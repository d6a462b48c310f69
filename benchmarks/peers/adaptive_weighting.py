"""MAD and MAD2R beside adaptive selection: our reconstruction of "Scalable Private Partition Selection via
Adaptive Weighting" (Chen, Cohen-Addad, Epasto, Zadimoghaddam, ICML 2025) from what is said about it.

MAD: a user of n queries gives each 1/n. A query whose sum exceeds an adaptive threshold (the threshold and
some widths of noise) returns the excess in proportion; a user spreads a part of what came back over the own
queries, and adds 1/√n - 1/n to each. MAD2R: a round of small budget, then another in which what was found,
and what cannot be found (its noisy sum and some widths lie below the threshold), is left out, and queries
that are surely above get less of a user's weight, the others more.

The paper itself was not at hand. Settled in its favour: how the bias of the second round is combined with
returned weight (here the shares 1/n become squares of the biased weights), that the sensitivity stays 1 with
both, and that the threshold need not account for returned weight. Noise is charged by Gaussian composition in
μ, exactly. So what it finds here is an estimate from above, and no guarantee is claimed for this code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from peers.key_selection import DELTA, Draw, cut, selection_threshold, selection_width

__all__ = ["TUNED", "Setting", "mad", "mad2r"]


@dataclass(frozen=True)
class Setting:
    """What the paper leaves to choose.

    Args:
        most: queries of a user.
        degree: users of at most so many return and spread excess.
        above: widths of noise between the threshold and the adaptive one.
        first: the first round's part of the budget (μ²); 0 is MAD.
        sure: widths below a noisy sum at which it is surely above the threshold.
        lost: widths above a noisy sum at which it is surely below.
        least: the least factor of a weight by bias.
        largest: the largest.
    """

    most: int = 100
    degree: int = 50
    above: float = 2.0
    first: float = 0.1
    sure: float = 1.0
    lost: float = 3.0
    least: float = 0.5
    largest: float = 2.0


def _biased(
    user: np.ndarray, factor: np.ndarray, heavy: np.ndarray, people: int, largest: float
) -> np.ndarray:
    """Weights of norm at most 1 a user: heavy items by their factor, the others share what is left evenly."""
    size = np.bincount(user, minlength=people)
    given = np.bincount(user, weights=np.where(heavy, factor**2, 0.0), minlength=people)
    light = np.bincount(user[~heavy], minlength=people)
    more = np.minimum(largest, np.sqrt((size - given) / np.maximum(1, light)))
    return np.where(heavy, factor, more[user]) / np.sqrt(size[user])


def _weights(
    draw: Draw, user: np.ndarray, items: np.ndarray, own: np.ndarray, line: float, degree: int
) -> np.ndarray:
    """Sums by item: shares cut at ``line``, what came back spread again, and the rest of each weight."""
    people = draw.starts.size - 1
    size = np.bincount(user, minlength=people)
    adapting = (size[user] > 1) & (size[user] <= degree)
    shares = np.where(adapting, own**2, 0.0)
    sums = np.bincount(items, weights=shares, minlength=draw.kinds)
    excess = np.maximum(0.0, 1 - line / np.maximum(sums, 1e-9))
    returned = np.bincount(user, weights=shares * excess[items], minlength=people)
    spread = np.where(adapting, returned[user] / degree, 0.0)
    rest = np.bincount(items, weights=own - shares + spread, minlength=draw.kinds)
    return np.minimum(sums, line) + rest


def mad2r(draw: Draw, setting: Setting) -> int:
    """Keys found in both rounds; in one, if the first has no budget."""
    generator = np.random.default_rng(4)
    user, items, _ = cut(draw, setting.most, generator)
    people = draw.starts.size - 1
    found = np.zeros(draw.kinds, dtype=bool)
    factor, heavy = np.ones(draw.kinds), np.zeros(draw.kinds, dtype=bool)
    parts = [part for part in (setting.first, 1 - setting.first) if part]
    widths = [selection_width() / math.sqrt(part) for part in parts]
    lines = [
        selection_threshold(width, setting.most, DELTA / 2 * part)
        for width, part in zip(widths, parts, strict=True)
    ]
    for number, (width, line) in enumerate(zip(widths, lines, strict=True)):
        own = _biased(user, factor[items], heavy[items], people, setting.largest)
        sums = _weights(draw, user, items, own, line + setting.above * width, setting.degree)
        held = np.flatnonzero(np.bincount(items, minlength=draw.kinds))
        noisy = np.full(draw.kinds, -math.inf)
        noisy[held] = sums[held] + width * generator.standard_normal(held.size)
        found |= noisy >= line
        if number + 1 < len(parts):
            out = found | (noisy + setting.lost * width < lines[-1])
            user, items = user[~out[items]], items[~out[items]]
            surely = noisy - setting.sure * width
            heavy = surely > lines[-1]
            factor[heavy] = np.maximum(setting.least, lines[-1] / surely[heavy])
    return int(found.sum())


def mad(draw: Draw, most: int, degree: int = 50) -> int:
    """One round."""
    return mad2r(draw, Setting(most=most, degree=degree, first=0.0))


TUNED = (
    Setting(),
    Setting(first=0.2, lost=2.0),
    Setting(first=0.28, lost=2.1, degree=10, above=1.0, sure=0.0, largest=3.0),
    Setting(first=0.35, lost=2.5, degree=5, sure=0.0, least=0.3, largest=3.0),
    Setting(first=0.36, lost=2.5, degree=20, least=0.2, largest=3.0),
)
"""As said of the paper, and the best of 260 at random on a log of a million records (first seed 1)."""
