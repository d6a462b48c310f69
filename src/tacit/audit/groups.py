"""Attackers of groups: who compares what is shown, who brings fake accounts, who tests the noise.

**The observer** sees every representative after each step and knows whose step it was. Whatever moved is laid
to that person: a term that is new, gone or of another weight is guessed to be one that the person holds.
Against groups whose profiles are computed anew at each step this is nearly always right;
:mod:`tacit.groups.service` is made so that it finds next to nothing, and this measures it.

A group that vanishes when somebody leaves is remembered: terms of it that no group formed since shows are
guessed to be the leaver's, for those who stayed would have brought theirs into a new group.

**Fakes among newcomers** of groups of words: an attacker's accounts wait with real people until batches are
drawn. He knows his own terms; whatever a batch shows is laid to each real member who is left.

**The test of the noise** guesses from one noisy count whether a person marked a pair; how often it is right
proves a lower bound on ε. The language attacker, and fakes against cohorts, are part of the report
(:mod:`tacit.groups.report`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, hypergeom

from tacit.groups.bundles import BATCH, FAKES, WAITING, batches, stand_together
from tacit.groups.criterion import Criterion
from tacit.groups.service import Groups
from tacit.groups.words import UNIT, Generation
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource

Seen = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True)
class Learnt:
    """What the observer got right over many steps.

    Attributes:
        steps: how many people came or went.
        guesses: how many times a term was laid to a person.
        right: the share of guesses that are right; 0 where there were none.
        people: the share of steps with a right guess.
        terms: the share of the people's terms that were guessed.
        vanished: how many terms of vanished groups were laid to who left.
        vanished_right: the share of these guesses that are right; 0 where there were none.
    """

    steps: int
    guesses: int
    right: float
    people: float
    terms: float
    vanished: int
    vanished_right: float


class Observer:
    """Watches representatives, one step at a time."""

    def __init__(self, before: Seen) -> None:
        self._seen = before
        self._steps = self._guesses = self._right = self._people = self._held = 0
        self._gone: list[tuple[set[str], set[str]]] = []

    @staticmethod
    def look(groups: Groups) -> Seen:
        """Everything that is shown now."""
        return {shown.group: shown.terms for shown in groups.representatives()}

    def step(self, after: Seen, holds: Iterable[str]) -> None:
        """One person who ``holds`` these terms came or went.

        Groups that appear whole tell of several people at once, and are not laid to one.
        """
        own = set(holds)
        laid = {
            term
            for group in self._seen.keys() & after.keys()
            for term in self._seen[group].keys() | after[group].keys()
            if self._seen[group].get(term) != after[group].get(term)
        }
        for group in self._seen.keys() - after.keys():
            self._gone.append((set(self._seen[group]), own))
        for group in after.keys() - self._seen.keys():
            for terms, _ in self._gone:
                terms.difference_update(after[group])
        self._seen = after
        self._steps += 1
        self._guesses += len(laid)
        self._right += len(laid & own)
        self._people += bool(laid & own)
        self._held += len(own)

    def learnt(self) -> Learnt:
        """All steps together."""
        return Learnt(
            self._steps,
            self._guesses,
            self._right / self._guesses if self._guesses else 0.0,
            self._people / self._steps if self._steps else 0.0,
            self._right / self._held if self._held else 0.0,
            laid := sum(len(terms) for terms, _ in self._gone),
            sum(len(terms & own) for terms, own in self._gone) / laid if laid else 0.0,
        )


@dataclass(frozen=True)
class Infiltrated:
    """What fakes among newcomers got.

    Attributes:
        batches: how many batches formed a group.
        beyond: the chance that a victim's batch holds more fakes than it withstands.
        exposed: the share of real members in these groups of whom a shown term is held by more than a share p
            of the real members, or more than a share p of what real people brought is theirs.
    """

    batches: int
    beyond: float
    exposed: float


def infiltrate(
    people: Sequence[NDArray[np.int32]], fakes: Sequence[NDArray[np.int32]], criterion: Criterion, key: bytes
) -> Infiltrated:
    """Let fakes wait with real newcomers, and look at the batches that form.

    Args:
        people, fakes: the terms of each, ascending.
        key: by which batches are drawn.
    """
    terms = {f"real-{n}": held for n, held in enumerate(people)}
    terms |= {f"fake-{n}": held for n, held in enumerate(fakes)}
    everybody = np.bincount(np.concatenate(list(terms.values())))
    formed, members, exposed = 0, 0, 0
    for batch in batches(terms, key):
        shown = stand_together([terms[each] for each in batch], criterion, lambda ids: everybody[ids])
        if shown is None:
            continue
        formed += 1
        real = [terms[each] for each in batch if each.startswith("real")]
        counts = np.array([sum(term in held for held in real) for term in shown.terms])
        brought = int((counts > 0).sum())
        members += len(real)
        for held in real:
            own = np.isin(shown.terms, held)
            linked = (counts[own] > criterion.p * len(real)).any()
            exposed += bool(linked or own.sum() > criterion.p * brought)
    beyond = (
        float(hypergeom.sf(FAKES, len(terms) - 1, len(fakes), BATCH - 1)) if len(terms) >= WAITING else 1.0
    )
    return Infiltrated(formed, beyond, exposed / members if members else 0.0)


def lower_bound(generation: Generation, draws: int = 100_000, source: RandomSource | None = None) -> float:
    """The ε of a generation's words that draws prove, at its δ, wrong once in 10^9.

    One person's only pair has the whole weight; the line that tells best is chosen on one half of the draws
    and judged on the other, by Clopper and Pearson's bounds.
    """
    source = source if source is not None else OperatingSystemRandomness()
    seen = [generation.noisy(np.full(draws, weight, np.int64), source) for weight in (UNIT, 0)]
    lines = np.quantile(seen[1][: draws // 2], [0.9, 0.97, 0.99, 0.997])

    def proved(line: float, half: slice, alpha: float) -> float:
        with_one, without = ((each[half] > line).sum() for each in seen)
        number = draws // 2
        low = beta.ppf(alpha, with_one, number - with_one + 1) - generation.delta
        high = beta.ppf(1 - alpha, without + 1, number - without)
        return math.log(max(low, 1e-12) / high)

    best = max(lines, key=lambda line: proved(line, slice(0, draws // 2), 0.025))
    return max(0.0, proved(best, slice(draws // 2, draws), 5e-10))
