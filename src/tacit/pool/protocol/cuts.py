"""Cuts of a region of records: those of the public tree, and the paper's SPLIT.

A cut divides a region at a value of one attribute so that both halves keep ``least`` records. Halves stay
inside the region, so cells are disjoint and cover it by construction.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tacit.pool.protocol.template import Region, Template

Codes = npt.NDArray[np.uint16]
"""Records as codes: one row per record, one column per attribute."""

Cut = tuple[int, int]
"""The attribute a node is cut in, and the last code of its lower half."""

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

_VOLUME_WEIGHT = 32.0
"""How much a cell's share of the domain's volume counts beside the shares of its attributes' widths."""


def halves(region: Region, cut: Cut) -> tuple[Region, Region]:
    """Return the two regions that a cut leaves."""
    attribute, last = cut
    low, high = list(region.low), list(region.high)
    high[attribute], low[attribute] = last, last + 1
    return Region(region.low, tuple(high)), Region(tuple(low), region.high)


def cut_region(
    records: Codes, within: Region, choose: Callable[[Codes, Region], Cut | None]
) -> list[tuple[Region, Cut | None]]:
    """Cut a region until ``choose`` finds no cut: nodes in preorder, with the cut of each (None: a cell)."""
    nodes, waiting = [], [(records, within)]
    while waiting:
        inside, region = waiting.pop()
        cut = choose(inside, region)
        nodes.append((region, cut))
        if cut is not None:
            low, high = halves(region, cut)
            upper = inside[:, cut[0]] > cut[1]
            waiting += [(inside[upper], high), (inside[~upper], low)]
    return nodes


def median_cut(records: Codes, region: Region, least: int) -> Cut | None:
    """Choose as SPLIT does (Fig. 5): at each attribute's median, the cut that loses least information.

    Where the median itself does not leave ``least`` on both sides, the cut just below it is tried: every
    other one is further from the middle, so if neither is valid none is.
    """
    number, best, best_cost = len(records), None, math.inf
    for attribute, (low, high) in enumerate(zip(region.low, region.high, strict=True)):
        if number < 2 * least or low == high:
            continue
        lefts = np.bincount(records[:, attribute], minlength=high + 1)[low:].cumsum()
        at = int(np.searchsorted(2 * lefts, number))
        if number - lefts[at] < least:
            at -= 1
        if at < 0 or lefts[at] < least:
            continue
        share, left = (at + 1) / (high - low + 1), int(lefts[at])
        cost = left * share + (number - left) * (1 - share)  # IL(G1) + IL(G2), in units of the cell's volume
        if cost < best_cost:
            best, best_cost = (attribute, low + at), cost
    return best


class LookAhead:
    """Chooses the cut that is cheapest after the best next cut of both halves.

    A record costs the shares of the attributes' widths that its cell covers, and :data:`_VOLUME_WEIGHT` times
    its cell's share of the domain's volume. Histograms of all attributes lie in one array, one after another.
    """

    def __init__(self, template: Template, least: int) -> None:
        self._least = least
        self._sizes = np.array(template.sizes)
        self._first = np.cumsum(self._sizes) - self._sizes
        self._attribute = np.repeat(np.arange(len(self._sizes)), self._sizes)
        self._value = np.arange(len(self._attribute)) - self._first[self._attribute]

    def __call__(self, records: Codes, region: Region) -> Cut | None:
        """Choose a cut of the records in a region; None if none leaves enough on both sides."""
        if len(records) < 2 * self._least:
            return None
        codes = records + self._first
        counts = self._histogram(codes)
        costs, _ = self._costs(counts, len(records), region)
        best, best_cost = None, math.inf
        for attribute, (first, size) in enumerate(zip(self._first, self._sizes, strict=True)):
            own = costs[first : first + size]
            if own.min() == math.inf:
                continue
            cut = (attribute, int(own.argmin()))
            lower = records[:, attribute] <= cut[1]
            left, near = int(lower.sum()), self._histogram(codes[lower])
            low, high = halves(region, cut)
            cost = self._costs(near, left, low)[1] + self._costs(counts - near, len(records) - left, high)[1]
            if cost < best_cost:
                best, best_cost = cut, cost
        return best

    def _histogram(self, codes: Numbers) -> Numbers:
        return np.bincount(codes.ravel(), minlength=len(self._value))

    def _costs(self, counts: Numbers, number: int, region: Region) -> tuple[Floats, float]:
        """Return the cost of each cut (infinite if it is not valid), and the least, of no cut if none is."""
        low, high = np.array(region.low), np.array(region.high)
        width, most = high - low, np.maximum(self._sizes - 1, 1)
        widths, volume = sum((width / most).tolist()), math.prod(((width + 1) / self._sizes).tolist())
        at, scale = self._attribute, (1.0 / most)[self._attribute]
        others, slab = widths - width[at] * scale, (_VOLUME_WEIGHT * volume / (width + 1))[at]
        left = counts.cumsum()
        left -= (left[self._first] - counts[self._first])[at]
        below, above = self._value - low[at], high[at] - self._value
        lower = others + below * scale + slab * (below + 1)
        upper = others + (above - 1) * scale + slab * above
        costs = left * lower + (number - left) * upper
        costs[(left < self._least) | (number - left < self._least)] = math.inf
        least = float(costs.min())
        return costs, number * (widths + _VOLUME_WEIGHT * volume) if least == math.inf else least
