"""What a release says of queries, clicks, steps and sequences, whatever mechanism made it.

Tables are told apart by their columns. Counts below 1, which noise can give, say nothing and are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacit.errors import InfeasibleError, IntegrityError
from tacit.release.manifest import read_manifest
from tacit.release.registry import mechanism_class, parameters_class

__all__ = ["ReleasedClicks", "ReleasedCounts", "ReleasedSteps", "read_released", "released_counts"]

Whole = NDArray[np.int64]
_MEASURES = ("count", "deviation")


@dataclass(frozen=True, eq=False)
class ReleasedSteps:
    """How often one query follows another."""

    before: Whole
    after: Whole
    count: Whole


@dataclass(frozen=True, eq=False)
class ReleasedClicks:
    """How often a url is clicked for a query; ``rank`` is its place among the query's urls by count."""

    query: Whole
    url: NDArray[np.object_]
    rank: Whole
    count: Whole


@dataclass(frozen=True, eq=False)
class ReleasedCounts:
    """Released counts over a numbered list of queries.

    Attributes:
        queries: the texts.
        searches: how often each is searched.
        known: whether ``searches`` was released; otherwise it is what the other tables need.
        once: whether counts are of users: a user then has a query once at most.
        sequences: sessions by their queries, longest first. Counts are of sessions that have the sequence as
            an ordered part, or that begin with it.
        beginnings: which of the two.
    """

    queries: list[str]
    searches: Whole
    known: bool
    once: bool
    steps: ReleasedSteps
    clicks: ReleasedClicks
    sequences: list[tuple[tuple[int, ...], int]]
    beginnings: bool = False

    def parts(self, session: tuple[int, ...]) -> set[tuple[int, ...]]:
        """What of a session is counted, of two queries and more."""
        sizes = range(2, len(session) + 1)
        if self.beginnings:
            return {session[:size] for size in sizes}
        return {part for size in sizes for part in combinations(session, size)}


def read_released(folder: str | Path) -> ReleasedCounts:
    """The tables of a release's folder.

    Raises:
        InfeasibleError: where nothing was published that a log could be made of.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    tables = []
    for name in manifest["published"]:
        path = folder / f"{name}.parquet"
        if not path.is_file():
            raise IntegrityError(f"the table {name} is missing in {folder}.", "Run `tacit verify` on it.")
        tables.append(pq.read_table(path))
    return released_counts(tables, manifest["mechanism"], manifest.get("schedule") or [])


def released_counts(
    published: Iterable[pa.Table], mechanism: str, schedule: Sequence[Mapping[str, Any]]
) -> ReleasedCounts:
    """The same from tables in memory.

    Args:
        published: the tables of a release.
        mechanism: its name in the registry.
        schedule: of the release, as its manifest has it.
    """
    tables: dict[tuple[str, ...], pa.Table] = {}
    for table in published:
        if "count" not in table.column_names:
            raise InfeasibleError(
                "this release has keys without counts, so no log can follow it.",
                "Release with counts (without `keys_only`).",
            )
        tables[tuple(column for column in table.column_names if column not in _MEASURES)] = table
    if not parameters_class(mechanism).publishes_queries:
        raise InfeasibleError(
            f"a release by {mechanism} has no queries, so no log can follow it.",
            "Release queries too, by another mechanism.",
        )
    numbers: dict[str, int] = {}
    counted = _rows(tables, ("query",)) or _rows(tables, ("keyword",))
    asked = {_number(numbers, query): count for query, count in counted}
    steps = [
        (_number(numbers, a), _number(numbers, b), n) for a, b, n in _rows(tables, ("query", "next_query"))
    ]
    clicks = [(_number(numbers, query), url, n) for query, url, n in _rows(tables, ("query", "url"))]
    sequences = [
        (tuple(_number(numbers, query) for query in found), n) for found, n in _rows(tables, ("queries",))
    ]
    if not numbers:
        raise InfeasibleError(
            "nothing was published, so there is nothing to make a log of.",
            "A larger ε, or `tacit plan` with the log's size, shows what would publish more.",
        )
    sequences.sort(key=lambda found: (-len(found[0]), -found[1], found[0]))
    found_steps = _steps(steps)
    found_clicks = _clicks(clicks)
    searches = np.zeros(len(numbers), np.int64)
    if asked:
        searches[list(asked)] = list(asked.values())
    else:
        searches = _needed(len(numbers), found_steps, found_clicks, sequences)
    bounded = [part for part in schedule if isinstance(part.get("contribution"), dict)]
    once = all(part["contribution"]["once"] for part in bounded)
    beginnings = mechanism_class(mechanism).counts_beginnings
    return ReleasedCounts(
        list(numbers), searches, bool(asked), once, found_steps, found_clicks, sequences, beginnings
    )


def _rows(tables: dict[tuple[str, ...], pa.Table], columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    table = tables.get(columns)
    if table is None:
        return []
    values = [table.column(name).to_pylist() for name in (*columns, "count")]
    return [row for row in zip(*values, strict=True) if row[-1] >= 1]


def _number(numbers: dict[str, int], query: str) -> int:
    return numbers.setdefault(query, len(numbers))


def _steps(rows: list[tuple[int, int, int]]) -> ReleasedSteps:
    rows.sort(key=lambda row: (-row[2], row[0], row[1]))
    columns = np.array(rows, np.int64).reshape(-1, 3)
    return ReleasedSteps(columns[:, 0], columns[:, 1], columns[:, 2])


def _clicks(rows: list[tuple[int, str, int]]) -> ReleasedClicks:
    rows.sort(key=lambda row: (row[0], -row[2], row[1]))
    query = np.array([row[0] for row in rows], np.int64)
    first = np.flatnonzero(np.diff(query, prepend=-1))
    sizes = np.diff(np.append(first, query.size))
    rank = np.arange(query.size) - np.repeat(first, sizes) + 1
    url = np.array([row[1] for row in rows], np.object_)
    return ReleasedClicks(query, url, rank, np.array([row[2] for row in rows], np.int64))


def _needed(
    queries: int, steps: ReleasedSteps, clicks: ReleasedClicks, sequences: list[tuple[tuple[int, ...], int]]
) -> Whole:
    """The fewest searches of each query that the other tables need."""
    needed = np.zeros(queries, np.int64)
    for ends in (steps.before, steps.after):
        needed = np.maximum(needed, np.bincount(ends, steps.count, queries).astype(np.int64))
    np.maximum.at(needed, clicks.query, clicks.count)
    for found, count in sequences:
        for query in set(found):
            needed[query] = max(needed[query], count * found.count(query))
    return needed
