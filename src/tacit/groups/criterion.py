"""When a group is safe to release: the paper's criterion and the strict one.

A group of n members releases a set R of terms; n_t members hold term t.

``paper`` (section 3.2): the group has at least |U|_avg / p distinct terms, all of which are released. This
bounds an average only; see the guarantee page for what it lets through.

``strict``: R is every term t with n_t / n <= p that enough people hold (``fewest_holders`` in the whole
population, ``fewest_in_group`` in the group); the others are withheld; R is not empty, and no member holds
more than a share p of R. With ``known_terms = h`` a term is released only if for **every** set B of at most h
other terms that some member holds, n_{B+t} / n_B <= p: an attacker who knows B about a member, and every
count of the group, is at most p sure of t. B ranges over all terms members hold, withheld ones too, so which
terms are released does not depend on what else is withheld: one pass is the fixed point.

Some bounds no grouping can meet, which is found before any user is compared with another: a term t of a
member is withheld in every group if fewer than 1/p users of the whole population hold some set B of at most h
of the member's other terms. B is looked for greedily, rarest terms first: what is found is a proof; what is
not found decides nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InfeasibleError, ParameterError
from tacit.groups.loops.knowledge import CompiledCriterion
from tacit.groups.profiles import Profiles
from tacit.validation import real, whole

CRITERIA = ("strict", "paper")


@dataclass(frozen=True)
class Criterion:
    """The bound p and how it is enforced.

    Attributes:
        p: the largest probability with which a term may be linked to a member.
        kind: ``strict`` or ``paper``.
        known_terms: h, how many of the victim's terms the attacker may know already (strict only).
        fewest_holders: how many users of the population must hold a term for any group to release it. From 2
            on, what only one user has is never released, however well p is met (strict only).
        fewest_in_group: how many members of the group must hold a term for the group to release it (strict
            only).
    """

    p: float
    kind: str = "strict"
    known_terms: int = 0
    fewest_holders: int = 2
    fewest_in_group: int = 1

    def __post_init__(self) -> None:
        for name, least in (("known_terms", 0), ("fewest_holders", 1), ("fewest_in_group", 1)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        object.__setattr__(self, "p", real("p", self.p))
        if not 0 < self.p < 1:
            raise ParameterError.outside("p", self.p, "greater than 0 and less than 1")
        if self.kind not in CRITERIA:
            raise ParameterError.outside("criterion", self.kind, f"one of {', '.join(CRITERIA)}")
        if self.kind == "paper" and self.known_terms:
            raise ParameterError(
                "`known_terms` is no part of the paper's criterion.",
                "Leave it out, or say `criterion=strict`.",
            )

    @property
    def fewest_members(self) -> int:
        """No smaller group can meet the criterion: h holders among n members are a share h/n."""
        if self.kind == "paper":
            return 1
        fewest = max(1, math.floor(self.fewest_in_group / self.p))
        return fewest if self.fewest_in_group / fewest <= self.p else fewest + 1

    def rule(self, profiles: Profiles) -> CompiledCriterion:
        """The criterion with the figures of a population, for compiled loops."""
        holders = np.bincount(profiles.terms, minlength=len(profiles.vocabulary))
        return self.compiled(float(profiles.sizes.mean()), holders)

    def compiled(self, mean_profile: float, holders: NDArray[np.int64]) -> CompiledCriterion:
        """The same from |U|_avg and how many users of the population hold each term."""
        return CompiledCriterion(
            self.kind == "paper",
            self.p,
            self.fewest_members,
            mean_profile,
            self.known_terms,
            self.fewest_in_group,
            holders >= self.fewest_holders,
        )


def refuse_hopeless(profiles: Profiles, criterion: Criterion) -> None:
    """Refuse what no grouping can meet."""
    users, distinct = len(profiles), np.unique(profiles.terms).size
    if users < criterion.fewest_members:
        raise InfeasibleError(
            f"p = {criterion.p:g} needs groups of at least {criterion.fewest_members} users; "
            f"there are {users}.",
            "Allow a larger p or bring more users.",
        )
    needed = float(profiles.sizes.mean()) / criterion.p if criterion.kind == "paper" else 1 / criterion.p
    if distinct < needed:
        raise InfeasibleError(
            f"p = {criterion.p:g} needs groups of at least {int(np.ceil(needed))} distinct terms; "
            f"all profiles together have {distinct}.",
            "Allow a larger p or bring more varied profiles.",
        )
    if criterion.kind == "strict" and not criterion.rule(profiles).common.any():
        raise InfeasibleError(
            f"no term is held by fewest_holders = {criterion.fewest_holders} users of these {users}.",
            "Allow fewer holders or bring more users.",
        )
    if criterion.known_terms:
        possible = largest_known_terms(profiles, criterion)
        if possible < criterion.known_terms:
            raise InfeasibleError(
                f"known_terms = {criterion.known_terms} leaves nothing to release in any group of these "
                f"users at p = {criterion.p:g}: so many known terms single everybody out.",
                f"The largest value that can leave something is {possible}.",
            )


def largest_known_terms(profiles: Profiles, criterion: Criterion) -> int:
    """The largest number of known terms, up to the criterion's, that is not proved to leave nothing."""
    holders = sparse.csc_array(profiles.matrix())
    counts = np.diff(holders.indptr)
    rarely = math.ceil(1 / criterion.p) - 1  # the largest n_B below 1/p
    for known in range(criterion.known_terms, 0, -1):
        for row in range(len(profiles)):
            held = profiles.terms[profiles.held(row)]
            rarest = held[np.argsort(counts[held], kind="stable")]
            if not _singled_out(rarest, holders, rarely, known):
                return known
    return 0


def _singled_out(rarest: NDArray[np.int32], holders: sparse.csc_array, rarely: int, known: int) -> bool:
    """Is every term of this user linked by some rare set of the user's other terms?"""
    first = _rare_set(rarest, holders, rarely, known)
    if first is None:
        return False
    return all(_rare_set(rarest[rarest != term], holders, rarely, known) is not None for term in first)


def _rare_set(
    rarest: NDArray[np.int32], holders: sparse.csc_array, rarely: int, known: int
) -> list[int] | None:
    """At most ``known`` of these terms that at most ``rarely`` users hold together."""
    together: NDArray[np.int32] | None = None
    chosen: list[int] = []
    for term in rarest[: 4 * known].tolist():
        who = holders.indices[holders.indptr[term] : holders.indptr[term + 1]]
        both = who if together is None else np.intersect1d(together, who, assume_unique=True)
        if together is not None and both.size == together.size:
            continue  # adds nothing
        together = both
        chosen.append(term)
        if together.size <= rarely:
            return chosen
        if len(chosen) == known:
            return None
    return None
