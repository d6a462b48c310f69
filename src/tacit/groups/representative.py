"""What a group shows to the world: the terms it may release, with the weights of the group.

The representative is made of the members' **original** terms, not of the augmented ones. By default a term
weighs the **share** of members who hold it, n_t/n: then two terms of equal weight are two terms held by
equally many, and nothing more. The paper's weights are kept as options: the **centroid** (mean weight over
all members, a term one does not hold counting 0) and the **union** (the largest weight any member gives the
term). Both carry a few people's numbers, and equal numbers betray who holds what
(:mod:`tacit.groups.report`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.groups.criterion import CompiledCriterion, Scratch, released_terms
from tacit.groups.profiles import Profiles, Rows

REPRESENTATIVES = ("share", "centroid", "union")
_KIND = {name: number for number, name in enumerate(REPRESENTATIVES)}
_SHARE, _CENTROID, _UNION = 0, 1, 2


@dataclass(frozen=True)
class Representative:
    """One group's released profile."""

    group: int
    members: int
    terms: dict[str, float]


@dataclass(frozen=True, eq=False)
class ReleasedTerms:
    """The released terms of all groups, compressed: group g holds ``offsets[g]`` up to ``offsets[g+1]``.

    Attributes:
        terms: columns of the vocabulary, ascending within a group.
        holders: n_t, how many members hold the term.
        weights: the representative's weight of the term.
        distinct: for each group, how many distinct terms its members hold, released or not.
    """

    offsets: NDArray[np.int64]
    terms: NDArray[np.int32]
    holders: NDArray[np.int32]
    weights: NDArray[np.float32]
    distinct: NDArray[np.int64]

    def __len__(self) -> int:
        return self.offsets.size - 1

    def in_order(self, order: NDArray[np.int64]) -> ReleasedTerms:
        """The same groups, renumbered so that the old group ``order[g]`` becomes g."""
        sizes = np.diff(self.offsets)[order]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        at = np.repeat(self.offsets[order] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return ReleasedTerms(
            offsets, self.terms[at], self.holders[at], self.weights[at], self.distinct[order]
        )

    def order_by_content(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """An order of the groups that only what is released decides.

        The order in which groups were formed would tell an attacker who knows the seed about the users
        that were picked first; this one tells nothing that the representatives do not.
        """
        digests = []
        for group in range(len(self)):
            held = slice(self.offsets[group], self.offsets[group + 1])
            content = hashlib.blake2b(int(members[group]).to_bytes(8, "little"), digest_size=16)
            content.update(self.terms[held].tobytes())
            content.update(self.weights[held].tobytes())
            digests.append(content.digest())
        return np.array(sorted(range(len(self)), key=digests.__getitem__), dtype=np.int64)


class Representatives(Sequence[Representative]):
    """The representatives of all groups, each made when it is asked for."""

    def __init__(
        self, released: ReleasedTerms, members: NDArray[np.int64], vocabulary: Sequence[str]
    ) -> None:
        self._released, self._members, self._vocabulary = released, members, vocabulary

    def __len__(self) -> int:
        return len(self._released)

    @overload
    def __getitem__(self, group: int) -> Representative: ...
    @overload
    def __getitem__(self, group: slice) -> list[Representative]: ...
    def __getitem__(self, group: int | slice) -> Representative | list[Representative]:
        if isinstance(group, slice):
            return [self[index] for index in range(*group.indices(len(self)))]
        index = range(len(self))[group]
        held = slice(self._released.offsets[index], self._released.offsets[index + 1])
        terms, weights = self._released.terms[held], self._released.weights[held]
        named = {self._vocabulary[t]: float(f"{w:.6g}") for t, w in zip(terms, weights, strict=True)}
        return Representative(index, int(self._members[index]), named)

    def __iter__(self) -> Iterator[Representative]:
        return (self[group] for group in range(len(self)))


def release(
    profiles: Profiles,
    member_offsets: NDArray[np.int64],
    members: NDArray[np.int64],
    rule: CompiledCriterion,
    kind: str,
) -> tuple[ReleasedTerms, NDArray[np.bool_]]:
    """Judge every group once more and make its representative; also say which groups hold."""
    offsets, terms, holders, weights, distinct, holds = _release(
        member_offsets,
        members,
        profiles.rows,
        profiles.weights,
        rule,
        Scratch.of(profiles),
        np.zeros(len(profiles.vocabulary), np.float64),
        _KIND[kind],
    )
    return ReleasedTerms(offsets, terms, holders, weights, distinct), holds


@compiled
def _gather(
    group: NDArray[np.int64],
    rows: Rows,
    weights: NDArray[np.float32],
    holders: NDArray[np.int32],
    gathered: NDArray[np.float64],
    kind: int,
) -> int:
    """Count holders and gather weights of a group's terms; give the number of distinct terms."""
    distinct = 0
    for member in group:
        for at in range(rows.offsets[member], rows.offsets[member + 1]):
            term = rows.terms[at]
            if holders[term] == 0:
                distinct += 1
            holders[term] += 1
            if kind == _UNION:
                gathered[term] = max(gathered[term], np.float64(weights[at]))
            else:
                gathered[term] += weights[at] if kind == _CENTROID else 1.0
    return distinct


@compiled
def _release(
    member_offsets: NDArray[np.int64],
    members: NDArray[np.int64],
    rows: Rows,
    weights: NDArray[np.float32],
    rule: CompiledCriterion,
    scratch: Scratch,
    gathered: NDArray[np.float64],
    kind: int,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.float32],
    NDArray[np.int64],
    NDArray[np.bool_],
]:
    groups = member_offsets.size - 1
    offsets = np.zeros(groups + 1, np.int64)
    all_terms = np.empty(rows.terms.size, np.int32)  # a group has at most its members' postings
    all_holders = np.empty(rows.terms.size, np.int32)
    all_weights = np.empty(rows.terms.size, np.float32)
    distinct = np.empty(groups, np.int64)
    holds = np.empty(groups, np.bool_)
    for number in range(groups):
        group = members[member_offsets[number] : member_offsets[number + 1]]
        holds[number], found = released_terms(group, rows, rule, scratch)
        found = np.sort(found)
        distinct[number] = _gather(group, rows, weights, scratch.holders, gathered, kind)
        end = offsets[number]
        for term in found:
            all_terms[end] = term
            all_holders[end] = scratch.holders[term]
            all_weights[end] = gathered[term] if kind == _UNION else gathered[term] / group.size
            end += 1
        offsets[number + 1] = end
        for member in group:
            for at in range(rows.offsets[member], rows.offsets[member + 1]):
                scratch.holders[rows.terms[at]] = 0
                gathered[rows.terms[at]] = 0
    end = offsets[groups]
    return (
        offsets,
        all_terms[:end].copy(),
        all_holders[:end].copy(),
        all_weights[:end].copy(),
        distinct,
        holds,
    )
