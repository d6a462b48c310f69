"""The inner loops of the partitions, as machine code: cuts are chosen from histograms of the attributes.

``rows`` is a copy of the records that is sorted into cells in place, together with ``order``, the records'
numbers. A node of the recursion is a run of rows and the rectangle it fills; both halves of a cut stay inside
it, so cells are disjoint and cover the domain by construction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.compiled import compiled


@compiled
def _count(rows: Any, begin: int, end: int, low: Any, high: Any, offsets: Any, counts: Any) -> None:
    """Histograms of all attributes over rows ``begin`` to ``end``, which lie between ``low`` and ``high``."""
    for a in range(rows.shape[1]):
        for value in range(low[a], high[a] + 1):
            counts[offsets[a] + value] = 0
    for row in range(begin, end):
        for a in range(rows.shape[1]):
            counts[offsets[a] + rows[row, a]] += 1


@compiled
def _median_cut(counts: Any, offsets: Any, low: Any, high: Any, number: int, least: int) -> tuple[int, int]:
    """SPLIT's choice (Fig. 5): at each attribute's median, the cut that loses least; attribute -1 if none.

    A cut leaves ``least`` on both sides. Where the median itself does not, the cut just below it is tried:
    every other one is further from the middle, so if neither is valid none is.
    """
    best, best_cut = -1, 0
    best_cost = np.inf
    for a in range(low.size):
        if low[a] == high[a]:
            continue
        below, value = 0, low[a]
        left = counts[offsets[a] + value]
        while 2 * left < number:
            below = left
            value += 1
            left += counts[offsets[a] + value]
        if number - left < least:
            left = below
            value -= 1
            if left < least:
                continue
        width = high[a] - low[a] + 1
        share = (value - low[a] + 1) / width
        cost = left * share + (number - left) * (1 - share)  # IL(G1) + IL(G2), in units of the cell's volume
        if cost < best_cost:
            best, best_cut, best_cost = a, value, cost
    return best, best_cut


@compiled
def _best_cuts(
    counts: Any,
    offsets: Any,
    low: Any,
    high: Any,
    number: int,
    least: int,
    sizes: Any,
    beta: float,
    cuts: Any,
    lefts: Any,
    costs: Any,
) -> float:
    """Each attribute's cheapest cut into ``cuts``, its left count and its cost; the least cost of all.

    A record costs the shares of the attributes' widths that its cell covers, and beta times its share of the
    domain's volume. The least cost is that of leaving the cell whole where no cut is valid.
    """
    widths, volume = 0.0, 1.0
    for a in range(low.size):
        if sizes[a] > 1:
            widths += (high[a] - low[a]) / (sizes[a] - 1)
            volume *= (high[a] - low[a] + 1) / sizes[a]
    best = np.inf
    for a in range(low.size):
        costs[a] = np.inf
        if low[a] == high[a]:
            continue
        scale = 1.0 / (sizes[a] - 1)
        others = widths - (high[a] - low[a]) * scale
        slab = beta * volume / (high[a] - low[a] + 1)
        left = 0
        for value in range(low[a], high[a]):
            left += counts[offsets[a] + value]
            if left < least:
                continue
            if number - left < least:
                break
            cost_left = others + (value - low[a]) * scale + slab * (value - low[a] + 1)
            cost_right = others + (high[a] - value - 1) * scale + slab * (high[a] - value)
            cost = left * cost_left + (number - left) * cost_right
            if cost < costs[a]:
                costs[a], cuts[a], lefts[a] = cost, value, left
        best = min(best, costs[a])
    if best == np.inf:
        return number * (widths + beta * volume)
    return best


@compiled
def _look_ahead(
    rows: Any,
    begin: int,
    end: int,
    low: Any,
    high: Any,
    offsets: Any,
    counts: Any,
    least: int,
    sizes: Any,
    beta: float,
    cuts: Any,
    lefts: Any,
    costs: Any,
) -> None:
    """Replace each attribute's cost by what its cut costs after the best next cut of both halves."""
    number = end - begin
    width = low.size
    near = np.empty_like(counts)
    far = np.empty_like(counts)
    low_half, high_half = low.copy(), high.copy()
    next_cuts, next_lefts = np.empty(width, np.int64), np.empty(width, np.int64)
    next_costs = np.empty(width, np.float64)
    for a in range(width):
        if costs[a] == np.inf:
            continue
        count_left = 2 * lefts[a] <= number  # the smaller half is counted, the other is the difference
        for b in range(width):
            for value in range(low[b], high[b] + 1):
                near[offsets[b] + value] = 0
        for row in range(begin, end):
            if (rows[row, a] <= cuts[a]) == count_left:
                for b in range(width):
                    near[offsets[b] + rows[row, b]] += 1
        for b in range(width):
            for value in range(low[b], high[b] + 1):
                far[offsets[b] + value] = counts[offsets[b] + value] - near[offsets[b] + value]
        left, right = (near, far) if count_left else (far, near)
        high_half[a] = cuts[a]
        number_left = lefts[a]
        cost = _best_cuts(
            left, offsets, low, high_half, number_left, least, sizes, beta, next_cuts, next_lefts, next_costs
        )
        high_half[a] = high[a]
        low_half[a] = cuts[a] + 1
        others = number - number_left
        cost += _best_cuts(
            right, offsets, low_half, high, others, least, sizes, beta, next_cuts, next_lefts, next_costs
        )
        low_half[a] = low[a]
        costs[a] = cost


@compiled
def _divide(rows: Any, order: Any, begin: int, end: int, a: int, cut: int) -> int:
    """Bring the rows with at most ``cut`` in attribute ``a`` to the front; where the others begin."""
    first, last = begin, end - 1
    while first <= last:
        if rows[first, a] <= cut:
            first += 1
        else:
            for b in range(rows.shape[1]):
                held = rows[first, b]
                rows[first, b] = rows[last, b]
                rows[last, b] = held
            number = order[first]
            order[first] = order[last]
            order[last] = number
            last -= 1
    return first


@compiled
def cut_tree(
    rows: Any,
    order: Any,
    sizes: Any,
    offsets: Any,
    lowest: Any,
    highest: Any,
    least: int,
    beta: float,
    ahead: bool,
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Cut the region from ``lowest`` to ``highest`` until no cut leaves ``least`` rows on both sides.

    Gives the nodes in preorder: lower and upper corners, first rows and those after the last, the attribute
    each was cut in (-1: a cell) and the last code of its lower half.

    Args:
        ahead: take the cut that is cheapest after the next one; otherwise cut as SPLIT does (medians, least
            information loss).
    """
    number, width = rows.shape
    most = 2 * max(1, number // max(least, 1))
    lows, highs = np.empty((most, width), np.int64), np.empty((most, width), np.int64)
    begins, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    cut_in, cut_at = np.empty(most, np.int64), np.empty(most, np.int64)
    open_low, open_high = np.empty((most + 1, width), np.int64), np.empty((most + 1, width), np.int64)
    open_begin, open_end = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    counts = np.zeros(offsets[-1] + sizes[-1], np.int64)
    cuts, lefts = np.empty(width, np.int64), np.empty(width, np.int64)
    costs = np.empty(width, np.float64)
    open_begin[0], open_end[0] = 0, number
    for a in range(width):
        open_low[0, a], open_high[0, a] = lowest[a], highest[a]
    waiting, nodes = 1, 0
    while waiting:
        waiting -= 1
        begin, end = open_begin[waiting], open_end[waiting]
        low, high = open_low[waiting].copy(), open_high[waiting].copy()
        chosen, cut = -1, 0
        if end - begin >= 2 * least:
            _count(rows, begin, end, low, high, offsets, counts)
            if not ahead:
                chosen, cut = _median_cut(counts, offsets, low, high, end - begin, least)
            else:
                _best_cuts(counts, offsets, low, high, end - begin, least, sizes, beta, cuts, lefts, costs)
                _look_ahead(
                    rows, begin, end, low, high, offsets, counts, least, sizes, beta, cuts, lefts, costs
                )
                for a in range(width):
                    if costs[a] < np.inf and (chosen < 0 or costs[a] < costs[chosen]):
                        chosen, cut = a, cuts[a]
        lows[nodes], highs[nodes], begins[nodes], ends[nodes] = low, high, begin, end
        cut_in[nodes], cut_at[nodes] = chosen, cut
        nodes += 1
        if chosen < 0:
            continue
        middle = _divide(rows, order, begin, end, chosen, cut)
        open_low[waiting], open_high[waiting] = low, high
        open_begin[waiting], open_end[waiting] = middle, end
        open_low[waiting, chosen] = cut + 1
        waiting += 1
        open_low[waiting], open_high[waiting] = low, high
        open_begin[waiting], open_end[waiting] = begin, middle
        open_high[waiting, chosen] = cut
        waiting += 1
    return lows[:nodes], highs[:nodes], begins[:nodes], ends[:nodes], cut_in[:nodes], cut_at[:nodes]


@compiled
def locate(records: Any, lows: Any, highs: Any, found: Any) -> None:
    """The smallest rectangle that contains each record into ``found``, or -1 where none does.

    Rectangles must be sorted by their volume.
    """
    for row in range(records.shape[0]):
        found[row] = -1
        for cell in range(lows.shape[0]):
            inside = True
            for a in range(records.shape[1]):
                if records[row, a] < lows[cell, a] or records[row, a] > highs[cell, a]:
                    inside = False
                    break
            if inside:
                found[row] = cell
                break
