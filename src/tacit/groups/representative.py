"""What a group shows to the world: the terms it may release, with the weights of the group.

The representative is made of the members' **original** terms, not of the augmented ones. A term weighs the
**share** of members who hold it, n_t/n: then two terms of equal weight are two terms held by equally many,
and nothing more. The paper's centroids and unions of weights carry a few people's numbers, and equal numbers
betray who holds what.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.groups.criterion import Judge, JudgedGroup


@dataclass(frozen=True)
class Representative:
    """One group's released profile."""

    group: int
    members: int | None
    """How many people it counts; None for a cohort, which does not tell."""
    terms: dict[str, float]
    about: str = ""
    """What a cohort is about."""


@dataclass(frozen=True, eq=False)
class ReleasedTerms:
    """The released terms of all groups, compressed: group g holds ``offsets[g]`` up to ``offsets[g+1]``.

    Attributes:
        terms: columns of the vocabulary, ascending within a group.
        holders: n_t, how many members hold the term.
    """

    offsets: NDArray[np.int64]
    terms: NDArray[np.int32]
    holders: NDArray[np.int32]

    def __len__(self) -> int:
        return self.offsets.size - 1

    def held(self, group: int) -> slice:
        return slice(self.offsets[group], self.offsets[group + 1])


def release(
    groups: Sequence[NDArray[np.integer]], judge: Judge
) -> tuple[ReleasedTerms, list[NDArray[np.integer]], bool]:
    """Judge every group once more and make its representative; also give the groups, and whether all hold.

    What is released alone decides the groups' order: that in which they were formed would tell an attacker
    who knows the seed about the users that were picked first.
    """

    def content(pair: tuple[JudgedGroup, NDArray[np.integer]]) -> tuple[int, bytes, bytes]:
        return len(pair[1]), pair[0].terms.tobytes(), pair[0].holders.tobytes()

    ordered = sorted(((judge.judge(members), members) for members in groups), key=content)
    judged = [found for found, _ in ordered]
    released = ReleasedTerms(
        np.cumsum([0, *(found.terms.size for found in judged)]),
        np.concatenate([found.terms for found in judged]).astype(np.int32),
        np.concatenate([found.holders for found in judged]).astype(np.int32),
    )
    return released, [members for _, members in ordered], all(found.holds for found in judged)
