"""Small search logs for the tests of releases."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.searchlog import SCHEMA

__all__ = ["CANARY_QUERY", "CANARY_USER", "write_log"]

CANARY_USER = "canary-user-7f3a"
CANARY_QUERY = "zanzibar canary secret phrase"
START = datetime(2006, 3, 1)


def write_log(path: Path, users: int = 300, *, canary: bool = True) -> Path:
    """Every user asks weather, news and a query of their own, and clicks once; one user is a canary."""
    rows = []
    for number in range(users):
        begun = START + timedelta(hours=number % 700)
        name = f"user-{number:05d}"
        rows.append((name, "weather", begun, 1, "http://weather.example/"))
        rows.append((name, "news", begun + timedelta(minutes=3), None, None))
        rows.append((name, f"own words {number}", begun + timedelta(minutes=5), None, None))
    if canary:
        rows.append((CANARY_USER, CANARY_QUERY, START, 1, "http://canary.example/secret"))
        rows.append((CANARY_USER, "weather", START + timedelta(minutes=1), None, None))
    columns = [list(column) for column in zip(*rows, strict=True)]
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
    pq.write_table(table, path)
    return path
