"""When a group is safe to release: the paper's criterion and the strict one.

A group of n members releases a set R of terms; n_t members hold term t.

``paper`` (section 3.2): the group has at least |U|_avg / p distinct terms, all of which are released. This
bounds an average only; see the guarantee page for what it lets through.

``strict``: R is every term t with n_t / n <= p that enough people hold (``fewest_holders`` in the whole
population, ``fewest_in_group`` in the group); the others are withheld; R is not empty, and no member holds
more than a share p of R.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InfeasibleError, ParameterError
from tacit.groups.loops.judging import CompiledCriterion
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
        for name, least in (("fewest_holders", 1), ("fewest_in_group", 1)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        object.__setattr__(self, "p", real("p", self.p))
        if not 0 < self.p < 1:
            raise ParameterError.outside("p", self.p, "greater than 0 and less than 1")
        if self.kind not in CRITERIA:
            raise ParameterError.outside("criterion", self.kind, f"one of {', '.join(CRITERIA)}")

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
