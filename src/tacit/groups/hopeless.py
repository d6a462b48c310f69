"""Which bounds no grouping can meet, found before any user is compared with another.

Against an attacker who knows h terms, a group withholds every term t of a member who holds a set B of at most
h other terms with n_{B+t} / n_B > p. The member holds both B and t, so n_{B+t} >= 1, and n_B is at most the
number of users of the **whole population** who hold B. If that number is below 1/p, then t is withheld in
whatever group the user is: B identifies too well. A user for whom this is so for every t adds nothing to any
release, and if it is so for everybody, no grouping releases anything.

B is looked for greedily, rarest terms first: what is found is a proof; what is not found decides nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InfeasibleError
from tacit.groups.criterion import Criterion
from tacit.groups.profiles import Profiles

__all__ = ["largest_known_terms", "refuse_hopeless"]


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
            held = profiles.terms[profiles.offsets[row] : profiles.offsets[row + 1]]
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
