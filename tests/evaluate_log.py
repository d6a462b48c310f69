"""Tiny logs and releases for the tests of evaluation, small enough to work out by hand."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from tacit.evaluate import LogPart, ReleasedData, tasks
from tacit.searchlog import SCHEMA

__all__ = ["part", "release", "with_thesis_tasks"]

START = datetime(2006, 3, 1)


def part(*records: tuple[str, int, str, int | None, str | None]) -> LogPart:
    """User, minute, query, rank, url."""
    rows = [(user, query, START + timedelta(minutes=m), rank, url) for user, m, query, rank, url in records]
    columns = [[row[place] for row in rows] for place in range(len(SCHEMA))]
    return LogPart(
        pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
    )


def release(
    *,
    queries: dict[str, int] | None = None,
    clicks: dict[tuple[str, str], int] | None = None,
    steps: dict[tuple[str, str], int] | None = None,
    sequences: Iterable[tuple[list[str], int]] | None = None,
    keywords: dict[str, int] | None = None,
) -> ReleasedData:
    """Released tables from counts."""
    tables = []
    if queries is not None:
        tables.append(pa.table({"query": [*queries], "count": [*queries.values()]}))
    if keywords is not None:
        tables.append(pa.table({"keyword": [*keywords], "count": [*keywords.values()]}))
    for found, second in ((clicks, "url"), (steps, "next_query")):
        if found is not None:
            keys = [key[0] for key in found], [key[1] for key in found]
            tables.append(
                pa.table(
                    {
                        "query": pa.array(keys[0], pa.string()),
                        second: pa.array(keys[1], pa.string()),
                        "count": pa.array([*found.values()], pa.int64()),
                    }
                )
            )
    if sequences is not None:
        listed = list(sequences)
        tables.append(
            pa.table(
                {
                    "queries": pa.array([queries for queries, _ in listed], pa.list_(pa.string())),
                    "count": [count for _, count in listed],
                }
            )
        )
    return ReleasedData.from_tables(tables)


def with_thesis_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sweeps find the thesis' own ways, which are no tasks of the product."""
    folder = Path(__file__).parent.parent / "benchmarks" / "thesis"
    monkeypatch.setattr(tasks, "__path__", [*tasks.__path__, str(folder)])
