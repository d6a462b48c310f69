"""Bundling cell by cell: every cell is grouped on its own, cells that cannot be are joined to another."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.groups.criterion import CompiledCriterion, Scratch
from tacit.groups.greedy import grow_groups
from tacit.groups.leftovers import place_leftovers
from tacit.groups.profiles import Profiles
from tacit.groups.similarity import UnitVectors, pairwise_similarity

__all__ = ["LARGEST_CELL", "bundle_cells"]

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
        scratch, rows = Scratch.of(self.profiles, self.stop), self.profiles.rows
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
    task = _Task(profiles, vectors, rule, _ranks(cells, len(profiles)), np.zeros(1, np.bool_))
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


def _ranks(cells: list[Cell], count: int) -> NDArray[np.int64]:
    """Where each user stands: within a cell in canonical order, cells one after another."""
    rank = np.empty(count, np.int64)
    rank[np.concatenate(cells)] = np.arange(count)
    return rank


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
