"""The exact optimum of Problem 1 by brute force (section 5.3.1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tacit.device.generalise.measures import evaluate
from tacit.device.profile.user import Flags, Floats, Integers, SeedProfile
from tacit.errors import InputError


def count_rooted_subtrees(seed: SeedProfile) -> int:
    """How many profiles there are to choose from: each child is absent, or in one of its own ways."""
    ways = [1] * len(seed)
    for topic in range(len(seed) - 1, 0, -1):
        ways[seed.parent[topic]] *= 1 + ways[topic]
    return ways[0]


def rooted_subtrees(seed: SeedProfile) -> Iterator[Flags]:
    """Every rooted subtree, as flags. The array is reused: copy what you keep."""
    kept = np.zeros(len(seed), np.bool_)
    kept[0] = True

    def choose(topic: int) -> Iterator[Flags]:
        if topic == len(seed):
            yield kept
            return
        kept[topic] = False
        yield from choose(topic + 1)
        if kept[seed.parent[topic]]:
            kept[topic] = True
            yield from choose(topic + 1)
            kept[topic] = False

    yield from choose(1)


def brute_force(seed: SeedProfile, delta: float, *, limit: int = 1_000_000) -> tuple[Flags, Integers, Floats]:
    """The best profile of all, by trying every one."""
    if count_rooted_subtrees(seed) > limit:
        raise InputError(
            f"this profile has {count_rooted_subtrees(seed):,} rooted subtrees; brute force tries at most "
            f"{limit:,}.",
            "Use the algorithm greedy-ratio, which comes near.",
        )
    best = np.zeros(len(seed), np.bool_)
    best[0] = True
    highest = -1.0
    for kept in rooted_subtrees(seed):
        found = evaluate(seed, kept)
        if found.risk <= delta and found.power > highest:
            best, highest = kept.copy(), found.power
    cuts = np.array([t for t in range(1, len(seed)) if not best[t] and best[seed.parent[t]]], dtype=np.int32)
    return best, cuts, np.zeros(len(cuts))
