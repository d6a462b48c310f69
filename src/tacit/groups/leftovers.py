"""Users left over by the greedy growth: each joins the closest group that still meets its criterion.

The paper assigns them to the closest group and stops. A newcomer can break a criterion that held (a
profile larger than the others together, for instance), so here every group is judged again with the
newcomer in it. If no group can take a user in, groups merge around the user, the closest first, until
the criterion holds. If even everybody together does not meet it, there is no grouping to give.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.groups.criterion import CompiledCriterion, Scratch, judge
from tacit.groups.profiles import Rows

__all__ = ["place_leftovers"]


def place_leftovers(
    labels: NDArray[np.int32],
    similarities: NDArray[np.float32],
    users: NDArray[np.int64],
    rows: Rows,
    rule: CompiledCriterion,
    scratch: Scratch,
) -> NDArray[np.int32] | None:
    """Give every user a group (labels from 0, without gaps), or None where that cannot be done."""
    labels = labels.copy()
    for place in np.flatnonzero(labels < 0).tolist():
        ranked = _groups_by_closeness(labels, similarities[place])
        for group in ranked.tolist():
            if judge(users[_with(labels, group, place)], rows, rule, scratch):
                labels[place] = group
                break
        else:
            if not _merge_around(place, ranked, labels, users, rows, rule, scratch):
                return None
    _, dense = np.unique(labels, return_inverse=True)
    return dense.astype(np.int32)


def _groups_by_closeness(labels: NDArray[np.int32], closeness: NDArray[np.float32]) -> NDArray[np.int64]:
    """The groups, the one with the largest mean similarity first."""
    placed = labels >= 0
    if not placed.any():
        return np.empty(0, np.int64)
    sizes = np.bincount(labels[placed])
    sums = np.bincount(labels[placed], weights=closeness[placed])
    present = np.flatnonzero(sizes)
    return present[np.argsort(-sums[present] / sizes[present], kind="stable")]


def _with(labels: NDArray[np.int32], group: int, place: int) -> NDArray[np.int64]:
    return np.append(np.flatnonzero(labels == group), place)


def _merge_around(
    place: int,
    ranked: NDArray[np.int64],
    labels: NDArray[np.int32],
    users: NDArray[np.int64],
    rows: Rows,
    rule: CompiledCriterion,
    scratch: Scratch,
) -> bool:
    """Merge the closest groups and this user until they meet the rule; False if all together do not."""
    for taken in range(2, ranked.size + 1):
        merged = np.isin(labels, ranked[:taken])
        merged[place] = True
        if judge(users[merged], rows, rule, scratch):
            labels[merged] = ranked[0]
            return True
    return False
