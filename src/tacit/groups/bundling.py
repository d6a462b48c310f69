"""Bundling: groups of similar users that meet their criterion (Algorithm 1), and what they may show.

>>> from tacit.groups import Bundler, Profiles
>>> people = {"a": {"kitten": 1.0}, "b": {"pup": 1.0}, "c": {"java": 1.0}, "d": {"riding": 1.0}}
>>> bundling = Bundler(p=0.5).fit(Profiles.from_mappings(people))
>>> sorted(bundling.sizes.tolist())
[2, 2]

**Greedy** (Algorithm 1): start at a user, take the furthest as the first seed; add the user closest to the
group so far until the group meets its criterion; take the user furthest from that seed as the next one.
"Closest" is the largest sum of similarities to the members. Ties go to the user who is first in the canonical
order, so the result depends on the population and the seed alone. Cost: one similarity matrix of n users,
then O(n) for each user added.

**Leftovers** join the closest group that still meets its criterion with them; the paper assigns them to the
closest group and stops, which can break a criterion that held. If no group can take a user in, groups merge
around the user, the closest first. If even everybody together does not meet the criterion, there is no
grouping to give.

**Cells**: a large population is first partitioned into cells of similar users. Each profile is sketched (a
count sketch, which keeps dot products on average); the sketches are clustered around at most sixteen centres
(k-means by cosine, learnt on a sample), and the parts again, until every part is small enough. Users in
different cells are never bundled together, which is what this loses against the greedy algorithm on everybody
(``benchmarks/bundling.py``).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InfeasibleError, ParameterError
from tacit.groups.criterion import Criterion, refuse_hopeless
from tacit.groups.loops.judging import CompiledCriterion, Rows, Scratch, grow_groups, judge
from tacit.groups.profiles import Profiles
from tacit.groups.representative import ReleasedTerms, Representative, release
from tacit.groups.semantics import MOST_STEPS, Semantics, plain_vectors
from tacit.groups.similarity import UnitVectors, pairwise_similarity
from tacit.validation import whole

_COORDINATES = 256
_CENTRES = 16
_ROUNDS = 8
_SAMPLE = 8192
_BLOCK = 65_536
_SMALLEST_SHARE = 0.25
"""A part smaller than this share of a full cell is dissolved: few users make poor groups."""


def cells_of_similar_users(
    vectors: UnitVectors, order: NDArray[np.int64], largest: int, seed: int
) -> list[NDArray[np.int64]]:
    """Part the users into cells of at most ``largest``; cells made one after another are alike.

    Args:
        order: the users in canonical order; cells list them in that order.
    """
    randomness = np.random.default_rng(seed)
    sketches = _sketch(vectors, order, randomness)
    cells = []
    waiting = [np.arange(order.size)]
    while waiting:
        places = waiting.pop()
        if places.size <= largest:
            cells.append(order[places])
        else:
            waiting += _part(sketches, places, largest, randomness)
    return cells


def _part(
    sketches: NDArray[np.float32], places: NDArray[np.int64], largest: int, randomness: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Part these users around centres, each user to the closest one."""
    centres = min(_CENTRES, 2 * math.ceil(places.size / largest))
    sample = sketches[places[:: max(1, places.size // _SAMPLE)]]
    found = _centres(sample, centres, randomness)
    fewest = min(_SMALLEST_SHARE * largest, places.size / 4)
    while True:
        closest = _closest(sketches, places, found)
        sizes = np.bincount(closest, minlength=len(found))
        if sizes.min() >= fewest or len(found) == 1:
            break
        found = np.delete(found, sizes.argmin(), axis=0)
    parts = [places[closest == centre] for centre in range(len(found))]
    # Users who are all alike cannot be told apart: any two halves are as good.
    return parts if len(parts) > 1 else [places[::2], places[1::2]]


def _centres(sample: NDArray[np.float32], count: int, randomness: np.random.Generator) -> NDArray[np.float32]:
    """Lloyd's rounds on a sample, by cosine."""
    centres = sample[np.sort(randomness.choice(len(sample), min(count, len(sample)), replace=False))]
    for _ in range(_ROUNDS):
        closest = np.argmax(sample @ centres.T, axis=1)
        for centre in range(len(centres)):
            total = sample[closest == centre].sum(axis=0)
            length = np.linalg.norm(total)
            if length > 0:
                centres[centre] = total / length
    return centres


def _closest(
    sketches: NDArray[np.float32], places: NDArray[np.int64], centres: NDArray[np.float32]
) -> NDArray[np.int64]:
    """The closest centre of each user, block by block so that no copy of all sketches is made."""
    blocks = [places[begin : begin + _BLOCK] for begin in range(0, places.size, _BLOCK)]
    return np.concatenate([np.argmax(sketches[block] @ centres.T, axis=1) for block in blocks])


def _sketch(
    vectors: UnitVectors, order: NDArray[np.int64], randomness: np.random.Generator
) -> NDArray[np.float32]:
    common = np.bincount(vectors.features, minlength=vectors.width)
    rarity = np.log(len(vectors) / np.maximum(common, 1)).astype(np.float32)
    sign = randomness.integers(0, 2, vectors.width).astype(np.float32) * 2 - 1
    coordinate = randomness.integers(0, _COORDINATES, vectors.width).astype(np.int32)
    projection = sparse.csr_array(
        (sign * rarity, coordinate, np.arange(vectors.width + 1)), shape=(vectors.width, _COORDINATES)
    )
    matrix, sketches = vectors.matrix(), np.empty((order.size, _COORDINATES), np.float32)
    for begin in range(0, order.size, _BLOCK):
        part = (matrix[order[begin : begin + _BLOCK]] @ projection).toarray()
        length = np.linalg.norm(part, axis=1, keepdims=True)
        sketches[begin : begin + _BLOCK] = part / np.where(length > 0, length, 1)
    return sketches


def place_leftovers(
    labels: NDArray[np.int32],
    similarities: NDArray[np.float32],
    users: NDArray[np.int64],
    rows: Rows,
    rule: CompiledCriterion,
    scratch: Scratch,
) -> NDArray[np.int32] | None:
    """Give every user a group (labels from 0, without gaps), or None where that cannot be done."""
    labels = labels.copy()
    for place in np.flatnonzero(labels < 0).tolist():
        ranked = _groups_by_closeness(labels, similarities[place])
        # The closest group that can take the user in; failing that, the closest ones merged around the user.
        alone = (ranked[at : at + 1] for at in range(ranked.size))
        merged = (ranked[:taken] for taken in range(2, ranked.size + 1))
        for groups in chain(alone, merged):
            together = np.isin(labels, groups)
            together[place] = True
            if judge(users[together], rows, rule, scratch):
                labels[together] = groups[0]
                break
        else:
            return None
    _, dense = np.unique(labels, return_inverse=True)
    return dense.astype(np.int32)


def _groups_by_closeness(labels: NDArray[np.int32], closeness: NDArray[np.float32]) -> NDArray[np.int64]:
    """The groups, the one with the largest mean similarity first."""
    placed = labels >= 0
    if not placed.any():
        return np.empty(0, np.int64)
    sizes = np.bincount(labels[placed])
    sums = np.bincount(labels[placed], weights=closeness[placed])
    present = np.flatnonzero(sizes)
    return present[np.argsort(-sums[present] / sizes[present], kind="stable")]


LARGEST_CELL = 20_000
"""The most users whose similarity matrix is made at once (1.6 GB)."""

Labels = NDArray[np.int32]
Cell = NDArray[np.int64]


@dataclass(frozen=True)
class _Task:
    profiles: Profiles
    vectors: UnitVectors
    rule: CompiledCriterion
    rank: NDArray[np.int64]
    stop: NDArray[np.bool_]

    def bundle(self, cell: Cell) -> Labels | None:
        """Algorithm 1 inside one cell, or None where its users cannot meet the rule among themselves."""
        if cell.size < self.rule.fewest_members or cell.size > LARGEST_CELL:
            return None
        scratch, rows = Scratch.of(len(self.profiles.vocabulary), self.stop), self.profiles.rows
        similarities = pairwise_similarity(self.vectors, cell)
        grown = grow_groups(similarities, cell, rows, self.rule, scratch)
        if self.stop[0]:
            return None
        return place_leftovers(grown, similarities, cell, rows, self.rule, scratch)

    def join(self, left: Cell, right: Cell) -> Cell:
        """Two cells as one, in canonical order."""
        both = np.concatenate((left, right))
        return both[np.argsort(self.rank[both])]


def bundle_cells(
    cells: list[Cell],
    profiles: Profiles,
    vectors: UnitVectors,
    rule: CompiledCriterion,
    advance: Callable[[int], None],
) -> NDArray[np.int32] | None:
    """A group for every user, or None where no grouping was found.

    Cells are independent, so they run on all processors; the result does not depend on how many.
    """
    rank = np.argsort(np.concatenate(cells))  # within a cell in canonical order, cells one after another
    task = _Task(profiles, vectors, rule, rank, np.zeros(1, np.bool_))
    grouped: list[tuple[Cell, Labels | None]] = []
    pool = ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, len(cells)))
    try:
        for cell, labels in zip(cells, pool.map(task.bundle, cells), strict=True):
            grouped.append((cell, labels))
            advance(cell.size)
    except BaseException:
        task.stop[0] = True
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    done = _join_ungrouped(grouped, task)
    if done is None:
        return None
    result = np.full(len(profiles), -1, np.int32)
    groups = 0
    for cell, labels in done:
        result[cell] = labels + groups
        groups += int(labels.max()) + 1
    return result


def _join_ungrouped(
    grouped: list[tuple[Cell, Labels | None]], task: _Task
) -> list[tuple[Cell, Labels]] | None:
    """Join each ungrouped cell with its neighbours, which are the most alike, until it can be grouped."""
    done: list[tuple[Cell, Labels]] = []
    waiting: Cell | None = None
    for cell, labels in grouped:
        if waiting is not None:
            cell = task.join(waiting, cell)
            labels = task.bundle(cell)
        waiting = cell if labels is None else None
        if labels is not None:
            done.append((cell, labels))
    while waiting is not None and done:
        neighbour, _ = done.pop()
        waiting = task.join(neighbour, waiting)
        labels = task.bundle(waiting)
        if labels is not None:
            done.append((waiting, labels))
            waiting = None
    return done if waiting is None else None


METHODS = ("auto", "greedy", "cells")
_GREEDY_UP_TO = 4000


@dataclass(frozen=True, eq=False, repr=False)
class Bundling:
    """Users in groups, each of which meets the criterion.

    Attributes:
        labels: the group of each user, in the order of ``profiles.users``.
        released: what each group shows; group numbers follow from it alone.
        vectors: the (augmented) profiles by which users were compared.
    """

    criterion: Criterion
    profiles: Profiles
    vectors: UnitVectors
    labels: NDArray[np.int32]
    released: ReleasedTerms

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

    @cached_property
    def representatives(self) -> list[Representative]:
        """What each group releases: its number of members and weighted terms, no user ids."""
        released, vocabulary = self.released, self.profiles.vocabulary
        found = []
        for group, size in enumerate(self.sizes.tolist()):
            held = released.held(group)
            pairs = zip(released.terms[held], released.weights[held], strict=True)
            found.append(Representative(group, size, {vocabulary[t]: float(f"{w:.6g}") for t, w in pairs}))
        return found


@dataclass(frozen=True)
class Bundler:
    """Groups user profiles until no released term links to a member with more than probability p.

    Args:
        p: the bound, in (0, 1).
        criterion: ``strict`` (every term, every member) or ``paper`` (an average; see the guarantee page).
        augment: steps of hypernyms added before users are compared; None compares words as they are.
        fewest_holders: how many users of the population must hold a term for it to be released (strict
            only).
        fewest_in_group: how many members of a group must hold a term for the group to release it (strict
            only).
        method: ``greedy`` on everybody at once, ``cells`` (partition first; for large populations), or
            ``auto``: greedy up to 4,000 users.
        cell_size: the most users of a cell.
        seed: makes the run reproducible. The result depends on it and the population, not on the order
            in which users come.
    """

    p: float = 0.4
    criterion: str = "strict"
    augment: int | None = 1
    fewest_holders: int = 2
    fewest_in_group: int = 3
    method: str = "auto"
    cell_size: int = 3000
    seed: int = 0

    def __post_init__(self) -> None:
        self.rule_of_release  # noqa: B018  (refuses a wrong parameter now, not after hours)
        object.__setattr__(self, "seed", whole("seed", self.seed))
        object.__setattr__(self, "cell_size", whole("cell_size", self.cell_size, 2))
        if self.augment is not None and whole("augment", self.augment) > MOST_STEPS:
            raise ParameterError.outside("augment", self.augment, f"from 0 to {MOST_STEPS}")
        if self.method not in METHODS:
            raise ParameterError.outside("method", repr(self.method), f"one of {', '.join(METHODS)}")
        if self.cell_size > LARGEST_CELL:
            raise ParameterError.outside("cell_size", self.cell_size, f"between 2 and {LARGEST_CELL}")

    @property
    def rule_of_release(self) -> Criterion:
        """The criterion these parameters ask for."""
        return Criterion(self.p, self.criterion, self.fewest_holders, self.fewest_in_group)

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
                f"({criterion.kind} criterion).",
                "Allow a larger p or fewer holders in a group, or bring more users.",
            )
        # Weights add up in canonical order, whatever the input's.
        members = np.lexsort((np.argsort(order), labels))
        offsets = np.concatenate(([0], np.cumsum(np.bincount(labels))))
        released, holds = release(profiles, offsets, members, rule)
        if not holds.all():  # the recheck after leftovers; unreachable unless the bundling is wrong
            raise InfeasibleError(f"{int((~holds).sum())} groups fail the final check.", "Report this.")
        numbering = released.order_by_content(np.diff(offsets))
        numbered = np.argsort(numbering).astype(np.int32)[labels]
        return Bundling(criterion, profiles, vectors, numbered, released.in_order(numbering))

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
