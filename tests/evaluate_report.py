"""A small log on which private releases have something to say, and its report, made by the command."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from tacit.commands import application
from tacit.searchlog import SCHEMA

__all__ = ["CANARY_QUERY", "evaluate", "write_popular_log"]

CANARY_QUERY = "zanzibar canary secret phrase"
START = datetime(2006, 3, 1)
ASKED = ("weather", "news", "maps", "mail")


def write_popular_log(path: Path, users: int = 400) -> Path:
    """Everybody asks two of four queries one after the other, clicks, and asks something of their own."""
    rows: list[tuple[str, str, datetime, int | None, str | None]] = []
    for number in range(users):
        begun = START + timedelta(hours=number % 700)
        name = f"user-{number:05d}"
        first, second = ASKED[number % 4], ASKED[(number + 1 + number % 3) % 4]
        rows.append((name, first, begun, 1, f"http://{first}.example/"))
        if number % 3 == 0:
            rows.append((name, first, begun, 4, f"http://{first}.example/second"))
        rows.append((name, second, begun + timedelta(minutes=3), 1, f"http://{second}.example/"))
        own = CANARY_QUERY if number == 7 else f"own words {number}"
        rows.append((name, own, begun + timedelta(minutes=5), None, None))
    columns = [list(column) for column in zip(*rows, strict=True)]
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
    pq.write_table(table, path)
    return path


def evaluate(log: Path, output: Path, *options: str) -> dict[str, Any]:
    """Run ``tacit evaluate release`` in this process and give its JSON."""
    command = ["evaluate", "release", str(log), "-o", str(output), "--workers", "1", "--json", *options]
    done = CliRunner().invoke(application(), command)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found
