"""Supports from counts: how what was counted anywhere in a tree becomes supports at its leaves.

UPS takes supports at leaves and sums them upwards (eq. 1). Real data counts inner topics too: a text
about dogs is about some dog. Such a count is shared among the leaves below in proportion to what they
have themselves, so that eq. 1 holds everywhere and no count is lost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.errors import TaxonomyError

__all__ = ["share_out"]

_Float = npt.NDArray[np.float64]


def share_out(parent: npt.NDArray[np.int32], depth: npt.NDArray[np.int32], counts: _Float) -> _Float:
    """Supports for a tree in pre-order such that each node's is the sum over its children.

    Raises:
        TaxonomyError: a count is negative or not finite, or a leaf has none (its information content
            would be infinite).
    """
    if len(counts) != len(parent):
        raise TaxonomyError(f"{len(counts)} counts for {len(parent)} topics: each topic needs one.")
    if not np.all(np.isfinite(counts)) or np.any(counts < 0):
        raise TaxonomyError("a count is negative or not finite; counts must be at least 0.")
    levels = [np.flatnonzero(depth == level) for level in range(int(depth.max()) + 1)]
    has_children = np.zeros(len(parent), bool)
    has_children[parent[1:]] = True
    if np.any(counts[~has_children] == 0):
        raise TaxonomyError(
            f"{int(np.sum(counts[~has_children] == 0))} leaf topics have a count of 0; each must be above 0.",
            "Add one to every leaf count, or leave out the empty topics.",
        )
    below = np.zeros(len(parent))  # what all children hold, before sharing
    total = counts.copy()
    for nodes in reversed(levels[1:]):
        np.add.at(below, parent[nodes], total[nodes])
        above = np.unique(parent[nodes])
        total[above] = counts[above] + below[above]
    support = total.copy()
    for nodes in levels[1:]:
        above = parent[nodes]
        support[nodes] = total[nodes] * (support[above] / below[above])
    # Rounding: sum upwards once more, so that eq. 1 holds to the last bit that addition allows.
    for nodes in reversed(levels[1:]):
        above = np.unique(parent[nodes])
        support[above] = 0.0
        np.add.at(support, parent[nodes], support[nodes])
    return support
