"""The estimator: fit profiles, get groups that meet their criterion and what they may show.

>>> from tacit.groups import Bundler, Profiles
>>> people = {"a": {"kitten": 1.0}, "b": {"pup": 1.0}, "c": {"java": 1.0}, "d": {"riding": 1.0}}
>>> bundling = Bundler(p=0.5).fit(Profiles.from_mappings(people))
>>> sorted(bundling.sizes.tolist())
[2, 2]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InfeasibleError, ParameterError
from tacit.groups.cells import cells_of_similar_users
from tacit.groups.criterion import Criterion
from tacit.groups.hopeless import refuse_hopeless
from tacit.groups.partition import LARGEST_CELL, bundle_cells
from tacit.groups.profiles import Profiles
from tacit.groups.representative import REPRESENTATIVES, ReleasedTerms, Representatives, release
from tacit.groups.semantics import MOST_STEPS, Semantics, plain_vectors
from tacit.groups.similarity import UnitVectors

__all__ = ["METHODS", "Bundler", "Bundling"]

METHODS = ("auto", "greedy", "cells")
_GREEDY_UP_TO = 4000


@dataclass(frozen=True, eq=False, repr=False)
class Bundling:
    """Users in groups, each of which meets the criterion.

    Attributes:
        labels: the group of each user, in the order of ``profiles.users``.
        released: what each group shows; group numbers follow from it alone.
        representative: how released terms are weighed.
        vectors: the (augmented) profiles by which users were compared.
    """

    criterion: Criterion
    profiles: Profiles
    vectors: UnitVectors
    labels: NDArray[np.int32]
    released: ReleasedTerms
    representative: str = "share"

    def __repr__(self) -> str:
        return f"Bundling({len(self.profiles)} users in {len(self.released)} groups, {self.criterion})"

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of members of each group."""
        return np.bincount(self.labels, minlength=len(self.released))

    @cached_property
    def members(self) -> list[NDArray[np.int64]]:
        """The rows of each group's members."""
        return np.split(np.argsort(self.labels, kind="stable"), np.cumsum(self.sizes)[:-1])

    @property
    def representatives(self) -> Representatives:
        """What each group releases: its number of members and weighted terms, no user ids."""
        return Representatives(self.released, self.sizes, self.profiles.vocabulary)


@dataclass(frozen=True)
class Bundler:
    """Groups user profiles until no released term links to a member with more than probability p.

    Args:
        p: the bound, in (0, 1).
        criterion: ``strict`` (every term, every member) or ``paper`` (an average; see the guarantee page).
        known_terms: how many of a member's terms the attacker may know (strict only).
        keep: least share of the members' terms that a group must release (strict only).
        augment: steps of hypernyms added before users are compared; None compares words as they are.
        fewest_holders: how many users of the population must hold a term for it to be released (strict
            only).
        fewest_in_group: how many members of a group must hold a term for the group to release it (strict
            only).
        representative: the weights of released terms: ``share``, or the paper's ``centroid`` or ``union``.
        method: ``greedy`` on everybody at once, ``cells`` (partition first; for large populations), or
            ``auto``: greedy up to 4,000 users.
        cell_size: the most users of a cell.
        seed: makes the run reproducible. The result depends on it and the population, not on the order
            in which users come.
    """

    p: float = 0.4
    criterion: str = "strict"
    known_terms: int = 0
    keep: float = 0.0
    augment: int | None = 1
    fewest_holders: int = 2
    fewest_in_group: int = 1
    representative: str = "share"
    method: str = "auto"
    cell_size: int = 3000
    seed: int = 0

    def __post_init__(self) -> None:
        self.rule_of_release  # noqa: B018  (refuses a wrong parameter now, not after hours)
        if self.augment is not None and not 0 <= self.augment <= MOST_STEPS:
            raise ParameterError.outside("augment", self.augment, f"from 0 to {MOST_STEPS}")
        if self.representative not in REPRESENTATIVES:
            raise ParameterError.outside(
                "representative", self.representative, f"one of {', '.join(REPRESENTATIVES)}"
            )
        if self.method not in METHODS:
            raise ParameterError.outside("method", self.method, f"one of {', '.join(METHODS)}")
        if self.seed < 0:
            raise ParameterError.outside("seed", self.seed, "0 or more")
        if not 2 <= self.cell_size <= LARGEST_CELL:
            raise ParameterError.outside("cell_size", self.cell_size, f"between 2 and {LARGEST_CELL}")

    @property
    def rule_of_release(self) -> Criterion:
        """The criterion these parameters ask for."""
        return Criterion(
            self.p, self.criterion, self.known_terms, self.keep, self.fewest_holders, self.fewest_in_group
        )

    def fit(self, profiles: Profiles, advance: Callable[[int], None] = lambda _users: None) -> Bundling:
        """Group the users.

        Args:
            advance: called with the number of users grouped since the last call.

        Raises:
            InfeasibleError: where no grouping that meets the criterion was found.
        """
        criterion = self.rule_of_release
        refuse_hopeless(profiles, criterion)
        rule = criterion.rule(profiles)
        vectors = (
            plain_vectors(profiles) if self.augment is None else Semantics(self.augment).augment(profiles)
        )
        order = profiles.canonical_order(self.seed)
        labels = bundle_cells(self._cells(vectors, order), profiles, vectors, rule, advance)
        if labels is None:
            raise InfeasibleError(
                f"no grouping of these {len(profiles)} users was found that meets p = {self.p:g} "
                f"({criterion.kind} criterion, known_terms = {criterion.known_terms}, "
                f"keep = {criterion.keep:g}).",
                "Allow a larger p, fewer known terms or a smaller keep, or bring more users.",
            )
        rank = np.empty(order.size, np.int64)
        rank[order] = np.arange(order.size)
        members = np.lexsort((rank, labels))  # weights add up in canonical order, whatever the input's
        offsets = np.concatenate(([0], np.cumsum(np.bincount(labels))))
        released, holds = release(profiles, offsets, members, rule, self.representative)
        if not holds.all():  # the recheck after leftovers; unreachable unless the bundling is wrong
            raise InfeasibleError(f"{int((~holds).sum())} groups fail the final check.", "Report this.")
        numbering = released.order_by_content(np.diff(offsets))
        number = np.empty(numbering.size, np.int32)
        number[numbering] = np.arange(numbering.size)
        return Bundling(
            criterion, profiles, vectors, number[labels], released.in_order(numbering), self.representative
        )

    def _cells(self, vectors: UnitVectors, order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        greedy = self.method == "greedy" or (self.method == "auto" and order.size <= _GREEDY_UP_TO)
        if not greedy:
            return cells_of_similar_users(vectors, order, self.cell_size, self.seed)
        if order.size > LARGEST_CELL:
            raise InfeasibleError(
                f"the greedy method takes at most {LARGEST_CELL:,} users; found {order.size:,}.",
                "Use `method=cells` (the default for large populations).",
            )
        return [order]
