"""Seed profiles for hypothesis, and the paper's definitions written out naively, to compare with."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from benchmarks.specimens.seed_profiles import random_seed_profile
from hypothesis import strategies as st

from tacit.device.generalise.algorithms import evaluate
from tacit.device.profile.user import Flags, SeedProfile

__all__ = ["naive_power", "naive_risk", "optimum", "seed_profiles"]


@st.composite
def seed_profiles(draw: st.DrawFn, max_size: int = 12, max_sensitive: int = 5) -> SeedProfile:
    """Seed profiles of every shape; the numbers come from a drawn seed."""
    size = draw(st.integers(1, max_size))
    sensitive = draw(st.integers(0, max_sensitive))
    climb = draw(st.sampled_from([0.1, 0.5, 0.8, 0.99]))
    number = draw(st.integers(0, 2**32 - 1))
    return random_seed_profile(np.random.default_rng(number), size, sensitive, climb=climb)


def naive_power(seed: SeedProfile, kept: np.ndarray) -> float:
    """DP straight from equations 10 to 12, over an explicit list of leaves and shadow leaves."""
    cells: list[tuple[int, float, float]] = []  # (topic to cover, mass, prior)
    for topic in np.flatnonzero(kept):
        below = [c for c in range(len(seed)) if kept[c] and seed.parent[c] == topic]
        mass = seed.mass[topic] - sum(seed.mass[c] for c in below)
        prior = seed.prior[topic] - sum(seed.prior[c] for c in below)
        if not below or mass > 1e-12:
            cells.append((int(topic), mass, prior))
    paths = []
    for topic, _, _ in cells:
        path = [topic]
        while seed.parent[path[-1]] >= 0:
            path.append(int(seed.parent[path[-1]]))
        paths.append(path[::-1])
    lca = 0
    for level in zip(*paths, strict=False):
        if len(set(level)) > 1:
            break
        lca = level[0]
    if seed.expected_content <= 0:
        return 0.0
    granularity = sum(m * math.log(m / p) for _, m, p in cells)
    return (granularity - math.log(seed.prior[lca])) / (2 * seed.expected_content)


def naive_risk(seed: SeedProfile, kept: np.ndarray, topic: int = 0) -> float:
    """Risk(t, G) straight from equation 14, not normalised."""
    below = [c for c in range(len(seed)) if kept[c] and seed.parent[c] == topic]
    return max(float(seed.cost[topic]), sum(naive_risk(seed, kept, c) for c in below))


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


def optimum(seed: SeedProfile, delta: float) -> float:
    """The highest power of all profiles within the bound, by trying every one; -1 where there is none."""
    found = (evaluate(seed, kept) for kept in rooted_subtrees(seed))
    return max((one.power for one in found if one.risk <= delta), default=-1.0)
