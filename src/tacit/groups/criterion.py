"""When a group is safe to release, by the paper's criterion or the strict one; and what it shows then.

Both criteria are in docs/guarantees/groups.md, "Groups of words", with what ``paper`` lets through. What a
group shows is made of the members' **original** terms, not of the augmented ones. A term weighs the **share**
of members who hold it, n_t/n: then two terms of equal weight are two terms held by equally many, and nothing
more. The paper's centroids and unions of weights carry a few people's numbers, and equal numbers betray who
holds what.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InfeasibleError, ParameterError
from tacit.groups.profiles import Profiles
from tacit.validation import real, whole

CRITERIA = ("strict", "paper")


@dataclass(frozen=True)
class Criterion:
    """The bound p and how it is enforced.

    Attributes:
        p: the largest probability with which a term may be linked to a member.
        kind: ``strict`` or ``paper``.
        fewest_holders: how many users of the population must hold a term for any group to release it. From 2
            on, what only one user has is never released, however well p is met (strict only).
        fewest_in_group: how many members of the group must hold a term for the group to release it (strict
            only).
    """

    p: float
    kind: str = "strict"
    fewest_holders: int = 2
    fewest_in_group: int = 3

    def __post_init__(self) -> None:
        for name in ("fewest_holders", "fewest_in_group"):
            object.__setattr__(self, name, whole(name, getattr(self, name), 1))
        object.__setattr__(self, "p", real("p", self.p))
        if not 0 < self.p < 1:
            raise ParameterError.outside("p", self.p, "greater than 0 and less than 1")
        if self.kind not in CRITERIA:
            raise ParameterError.outside("criterion", self.kind, f"one of {', '.join(CRITERIA)}")

    @property
    def fewest_members(self) -> int:
        """Return the least size of a group that can meet the criterion: h of n members are a share h/n."""
        if self.kind == "paper":
            return 1
        fewest = max(1, math.floor(self.fewest_in_group / self.p))
        return fewest if self.fewest_in_group / fewest <= self.p else fewest + 1


class JudgedGroup(NamedTuple):
    """A group under a criterion."""

    holds: bool
    terms: NDArray[np.intp]
    """What it may release, ascending."""
    holders: NDArray[np.intp]
    """n_t of each."""


class Judge:
    """Judges groups of a population by a criterion."""

    def __init__(self, criterion: Criterion, profiles: Profiles) -> None:
        self._criterion, self._profiles = criterion, profiles
        self._mean_profile = float(profiles.sizes.mean())
        holders = np.bincount(profiles.terms, minlength=len(profiles.vocabulary))
        self._common = holders >= criterion.fewest_holders

    def judge(self, members: NDArray[np.integer]) -> JudgedGroup:
        """Judge the group of these rows.

        n_t / n is compared as a quotient: it is the double nearest to the fraction, as the p a person
        writes is, so that 2 of 5 meets p = 0.4.
        """
        rule, profiles = self._criterion, self._profiles
        if len(members) < rule.fewest_members:
            return JudgedGroup(False, np.empty(0, np.intp), np.empty(0, np.intp))
        rows = [profiles.terms[profiles.held(member)] for member in members]
        holders = np.bincount(np.concatenate(rows), minlength=len(self._common))
        if rule.kind == "paper":
            terms = np.flatnonzero(holders)
            return JudgedGroup(self._mean_profile / terms.size <= rule.p, terms, holders[terms])
        kept = (holders >= rule.fewest_in_group) & (holders / len(members) <= rule.p) & self._common
        terms = np.flatnonzero(kept)
        holds = terms.size > 0 and all(np.count_nonzero(kept[row]) / terms.size <= rule.p for row in rows)
        return JudgedGroup(holds, terms, holders[terms])

    def refuse_hopeless(self) -> None:
        """Refuse what no grouping can meet."""
        rule, users, distinct = self._criterion, len(self._profiles), np.unique(self._profiles.terms).size
        needed = math.ceil((self._mean_profile if rule.kind == "paper" else 1) / rule.p)
        for what, least, have in (
            ("users", rule.fewest_members, users),
            ("distinct terms", needed, distinct),
        ):
            if have < least:
                problem = f"p = {rule.p:g} needs groups of at least {least} {what}; there are {have}."
                raise InfeasibleError(problem, f"Allow a larger p or bring more {what}.")


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
