"""Partitions of the people online into cells of at least k: SPLIT of the paper, and one that loses less.

Both cut the whole domain into disjoint cells that cover it, so that a newcomer with any record finds one.
For such cells the mean information loss is at least k/n - 1/S(D): every cell has at least k of n records,
hence Σ n_c (S_c - 1) / (n S) >= (k/n) Σ S_c / S - 1/S, and the S_c add up to S.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from tacit.errors import ParameterError
from tacit.pool.protocol.table import Codes, Corners, losses
from tacit.pool.protocol.template import Region, Template

Method = Literal["ahead", "split"]
METHODS: tuple[Method, ...] = ("ahead", "split")
"""``ahead``: the cut that is cheapest after the next one (default); ``split``: the paper's (section 5.3)."""

VOLUME_WEIGHT = 32.0
"""How much a cell's share of the domain's volume counts beside the shares of its attributes' widths."""


@dataclass(frozen=True)
class Partition:
    """Disjoint cells that cover the domain, with at least k records each (none at all for fewer than k).

    Attributes:
        lows, highs: the corners of each cell, both included.
        sizes: how many records each cell holds.
        cell_of: the cell of each record, in the order the records were given.
    """

    template: Template
    lows: npt.NDArray[np.int64]
    highs: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    cell_of: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sizes)

    def regions(self) -> Iterator[Region]:
        """The cells as regions."""
        for low, high in zip(self.lows.tolist(), self.highs.tolist(), strict=True):
            yield Region(tuple(low), tuple(high))

    @cached_property
    def corners(self) -> Corners:
        """The cells' corners as a table has them."""
        return np.stack([self.lows, self.highs], axis=1)

    @property
    def information_loss(self) -> float:
        """AvgIL: Σ IL(G) / Σ \\|G\\| over the cells (section 6.1)."""
        return float(self.sizes @ losses(self.corners, self.template)[0] / self.sizes.sum())

    @property
    def width_share(self) -> float:
        """The mean NCP over records."""
        return float(self.sizes @ losses(self.corners, self.template)[1] / self.sizes.sum())


def headroom(k: int) -> int:
    """The least size of a cell that is cut off: k + 2.2 √k.

    A cell must find k people again a period later; the number fluctuates by about its root.
    """
    return math.ceil(k + 2.2 * math.sqrt(k))


def partition(
    records: Codes,
    template: Template,
    k: int,
    *,
    method: Method = "ahead",
    least: int | None = None,
    within: Region | None = None,
) -> Partition:
    """Cut the domain into cells with at least ``k`` of ``records`` each.

    Args:
        records: one row per person, one column per attribute.
        k: the least number of people who share a region.
        method: how cuts are chosen, see :data:`METHODS`.
        least: cut off no cell with fewer records than this (default k; never below k).
        within: the region to cut, in which all records lie (default the whole domain).
    """
    if k < 1:
        raise ParameterError.outside("k", k, "at least 1")
    if method not in METHODS:
        raise ParameterError.outside("method", repr(method), f"one of {', '.join(METHODS)}")
    least = max(k, least or k)
    number, width = records.shape
    sizes = np.array(template.sizes, np.int64)
    if number < k:
        none = np.empty((0, width), np.int64)
        return Partition(template, none, none, none[:, 0], np.full(number, -1, np.int64))
    from tacit.pool.loops.cuts import cut_tree  # numba takes a moment to load

    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rows, order = np.array(records, np.uint16, order="C"), np.arange(number)
    low, high = np.array((within or template.domain).low), np.array((within or template.domain).high)
    lows, highs, begins, ends, cut_in, _ = cut_tree(
        rows, order, sizes, offsets, low, high, least, VOLUME_WEIGHT, method == "ahead"
    )
    cells = np.flatnonzero(cut_in < 0)
    ranked = cells[np.argsort(begins[cells])]
    counts = ends[ranked] - begins[ranked]
    cell_of = np.empty(number, np.int64)
    cell_of[order] = np.repeat(np.arange(len(counts)), counts)
    return Partition(template, lows[ranked], highs[ranked], counts, cell_of)
