"""The greedy bundling of the paper (Algorithm 1), among users whose similarities fit in memory.

Start at a user, take the furthest as the first seed; add the user closest to the group so far until
the group meets its criterion; take the user furthest from that seed as the next one. Users left in a
group that never met the criterion go to other groups (:mod:`tacit.groups.leftovers`).

"Closest to the group" is the largest sum of similarities to its members: the ranking by the dot
product with the group's centroid of unit vectors. Ties go to the user who is first in the canonical
order, so the result depends on the population and the seed alone.

Cost: one similarity matrix of n users, then O(n) for each user added: O(n^2) in all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.groups.criterion import CompiledCriterion, Scratch, judge
from tacit.groups.profiles import Rows
from tacit.groups.stop_flag import is_raised

__all__ = ["grow_groups"]

_SELDOM = 16
"""Against attackers with knowledge, judging a group is a search: a group that has grown past 16 members
is judged again only after growing by a sixteenth."""


@compiled
def _least_similar(similarity_to_seed: NDArray[np.float32], free: NDArray[np.bool_]) -> int:
    chosen = -1
    for candidate in range(free.size):
        if free[candidate] and (chosen < 0 or similarity_to_seed[candidate] < similarity_to_seed[chosen]):
            chosen = candidate
    return chosen


@compiled
def _closest(closeness: NDArray[np.float64], free: NDArray[np.bool_]) -> int:
    chosen = -1
    for candidate in range(free.size):
        if free[candidate] and (chosen < 0 or closeness[candidate] > closeness[chosen]):
            chosen = candidate
    return chosen


@compiled
def grow_groups(
    similarities: NDArray[np.float32],
    users: NDArray[np.int64],
    rows: Rows,
    rule: CompiledCriterion,
    scratch: Scratch,
) -> NDArray[np.int32]:
    """Algorithm 1 up to its leftovers.

    Args:
        similarities: eq. 4 of each pair of ``users``.
        users: the rows to group, in canonical order; the first is the random start.
        rows: the original terms, on which the criterion is judged.

    Returns:
        the group of each user, from 0, or -1 for those left in a group that did not meet the rule.
    """
    count = users.size
    labels = np.full(count, -1, np.int32)
    free = np.ones(count, np.bool_)
    places = np.empty(count, np.int64)
    members = np.empty(count, np.int64)
    seed, group, remaining = 0, 0, count
    while remaining > 0 and not is_raised(scratch.stop):
        seed = _least_similar(similarities[seed], free)
        closeness = np.zeros(count, np.float64)
        chosen, size, holds, check_at = seed, 0, False, 1
        while True:
            places[size], members[size] = chosen, users[chosen]
            size += 1
            free[chosen] = False
            remaining -= 1
            if size >= check_at or remaining == 0:
                holds = judge(members[:size], rows, rule, scratch)
                check_at = size + 1 + (size // _SELDOM if rule.known_terms > 0 else 0)
            if holds or remaining == 0 or is_raised(scratch.stop):
                break
            for other in range(count):
                closeness[other] += similarities[chosen, other]
            chosen = _closest(closeness, free)
        if holds:
            for place in places[:size]:
                labels[place] = group
            group += 1
    return labels
