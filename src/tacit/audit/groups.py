"""An attacker who compares what groups show before and after one person comes or goes.

The observer sees every representative after each step and knows whose step it was. Whatever moved is laid
to that person: a term that is new, gone or of another weight is guessed to be one that the person holds.
Against groups whose profiles are computed anew at each step this is nearly always right;
:mod:`tacit.groups.service` is made so that it finds next to nothing, and this measures it.

A group that vanishes when somebody leaves is remembered: terms of it that no group formed since shows are
guessed to be the leaver's, for those who stayed would have brought theirs into a new group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tacit.groups.service import Groups

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
