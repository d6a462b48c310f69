"""What a group shows to the world: the terms it may release, with the weights of the group.

The representative is made of the members' **original** terms, not of the augmented ones. A term weighs the
**share** of members who hold it, n_t/n: then two terms of equal weight are two terms held by equally many,
and nothing more. The paper's centroids and unions of weights carry a few people's numbers, and equal numbers
betray who holds what.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.groups.criterion import Judge


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

    def in_order(self, order: NDArray[np.int64]) -> ReleasedTerms:
        """The same groups, renumbered so that the old group ``order[g]`` becomes g."""
        sizes = np.diff(self.offsets)[order]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        at = np.repeat(self.offsets[order] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return ReleasedTerms(offsets, self.terms[at], self.holders[at])

    def order_by_content(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """An order of the groups that only what is released decides.

        The order in which groups were formed would tell an attacker who knows the seed about the users
        that were picked first; this one tells nothing that the representatives do not.
        """
        digests = []
        for group in range(len(self)):
            held = self.held(group)
            content = hashlib.blake2b(int(members[group]).to_bytes(8, "little"), digest_size=16)
            content.update(self.terms[held].tobytes())
            content.update(self.holders[held].tobytes())
            digests.append(content.digest())
        return np.array(sorted(range(len(self)), key=digests.__getitem__), dtype=np.int64)


def release(groups: Sequence[NDArray[np.integer]], judge: Judge) -> tuple[ReleasedTerms, bool]:
    """Judge every group once more and make its representative; also say whether all hold."""
    judged = [judge.judge(members) for members in groups]
    released = ReleasedTerms(
        np.cumsum([0, *(found.terms.size for found in judged)]),
        np.concatenate([found.terms for found in judged]).astype(np.int32),
        np.concatenate([found.holders for found in judged]).astype(np.int32),
    )
    return released, all(found.holds for found in judged)
