"""An attacker who looks at the weights: do two terms of equal weight belong to one person?

The paper's weights are sums, or largest values, of what a few members weigh a term. A number that few sums
give marks a person: where two terms of a group carry the same rare weight, one member is likely to hold
both. This attacker guesses so for pairs of released terms of one group whose published weights are equal,
first for those that **only** these two of the group's terms carry.

**Chance** is the same guess without the weights: one term of the pair is exchanged for another of the same
group that equally many members hold. An attacker who is right no more often than that learns nothing from
weights beyond n_t/n. Under the default weights, which are n_t/n, this is so by construction, and measured
all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tacit.groups.bundler import Bundling

__all__ = ["WeightAttack", "attack_weights"]

_GROUPS = 2000
_PAIRS = 45
_TWO_SIDED_95 = 1.959964


@dataclass(frozen=True)
class WeightAttack:
    """What "same weight, same person" gets right.

    Attributes:
        exclusive: only pairs that share their weight with no third term of the group.
        guesses: how many pairs were guessed.
        right: the share of guesses in which one member holds both terms.
        right_interval: of that share, with 95 % confidence (Wilson).
        chance: the share right when weights are ignored.
        users: the share of users in the attacked groups about whom a guess is right.
        singled_out: the same where the attacker may be more than p sure of his guesses, and surer than by
            chance; otherwise 0.
    """

    exclusive: bool
    guesses: int
    right: float
    right_interval: tuple[float, float]
    chance: float
    users: float
    singled_out: float


class _Group:
    """One group as the attacker sees it, and who really holds what."""

    def __init__(self, bundling: Bundling, group: int) -> None:
        released, profiles = bundling.released, bundling.profiles
        held = slice(released.offsets[group], released.offsets[group + 1])
        self.terms = released.terms[held]
        self.holders = released.holders[held]
        # Compared as they are published: with six digits.
        self.weights = np.array([float(f"{weight:.6g}") for weight in released.weights[held]])
        self.owners: list[set[int]] = [set() for _ in self.terms]
        place = {int(term): index for index, term in enumerate(self.terms)}
        for member in bundling.members[group].tolist():
            for term in profiles.terms[profiles.offsets[member] : profiles.offsets[member + 1]].tolist():
                if term in place:
                    self.owners[place[term]].add(member)

    def pairs(self, exclusive: bool, randomness: np.random.Generator) -> Iterator[tuple[int, int]]:
        """Pairs of terms of equal weight; a sample of them where many terms share one."""
        _, bucket = np.unique(self.weights, return_inverse=True)
        for members in np.split(np.argsort(bucket, kind="stable"), np.cumsum(np.bincount(bucket))[:-1]):
            if members.size < 2 or (exclusive and members.size > 2):
                continue
            if members.size * (members.size - 1) // 2 <= _PAIRS:
                yield from combinations(members.tolist(), 2)
            else:
                for _ in range(_PAIRS):
                    left, right = randomness.choice(members, 2, replace=False).tolist()
                    yield left, right

    def without_weights(self, pair: tuple[int, int], randomness: np.random.Generator) -> tuple[int, int]:
        """The pair with its second term exchanged for one that equally many hold."""
        alike = np.flatnonzero(self.holders == self.holders[pair[1]])
        alike = alike[alike != pair[0]]
        return pair[0], int(randomness.choice(alike))


def attack_weights(bundling: Bundling, *, exclusive: bool = True, seed: int = 0) -> WeightAttack:
    """Guess "same weight, same person" over the groups (a random 2,000 of them where there are more)."""
    randomness = np.random.default_rng([seed, int(exclusive)])
    chosen = randomness.permutation(len(bundling.released))[:_GROUPS]
    attacked = int(bundling.sizes[chosen].sum())
    guesses, right, by_chance, touched = 0, 0, 0, set[int]()
    for group in chosen.tolist():
        seen = _Group(bundling, group)
        for pair in seen.pairs(exclusive, randomness):
            guesses += 1
            both = seen.owners[pair[0]] & seen.owners[pair[1]]
            left, other = seen.without_weights(pair, randomness)
            right += bool(both)
            by_chance += bool(seen.owners[left] & seen.owners[other])
            touched |= both
    interval, chance = _wilson(right, guesses), by_chance / guesses if guesses else 0.0
    sure = interval[0] > max(chance, bundling.criterion.p)
    return WeightAttack(
        exclusive,
        guesses,
        right / guesses if guesses else 0.0,
        interval,
        chance,
        len(touched) / attacked,
        len(touched) / attacked if sure else 0.0,
    )


def _wilson(right: int, guesses: int) -> tuple[float, float]:
    """The interval of a share that never leaves [0, 1]."""
    if not guesses:
        return 0.0, 1.0
    share, square = right / guesses, _TWO_SIDED_95**2
    middle = (share + square / (2 * guesses)) / (1 + square / guesses)
    half = _TWO_SIDED_95 / (1 + square / guesses)
    half *= float(np.sqrt(share * (1 - share) / guesses + square / (4 * guesses * guesses)))
    return max(0.0, middle - half), min(1.0, middle + half)
