"""A log with a canary, and a release of each of its weeks, for the tests of what others may read."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacit import Zealous
from tacit.privacy.ledger.ledger import default_ledger
from tacit.release.publication import publish
from tacit.searchlog import SCHEMA

__all__ = ["CANARY", "START", "USERS", "canary_log", "weekly"]

USERS = 1307
CANARY = {
    "user": "canary-user-7f3a",
    "query": "zanzibar canary secret phrase",
    "url": "http://canary.example/secret",
    "time": datetime(2006, 3, 9, 13, 37, 42),
}
START = datetime(2006, 3, 6)


def canary_log(path: Path) -> Path:
    """Half, a third and a quarter of all ask three queries in each of five weeks; one user asks another."""
    rows = [
        (f"person-{number:05d}", query, START + timedelta(days=7 * week, minutes=number + place), None, None)
        for number in range(USERS - 1)
        for week in range(5)
        for place, query in enumerate(("weather", "news today", "weather news"))
        if (number + week) % (place + 2) == 0
    ]
    rows.append((CANARY["user"], CANARY["query"], CANARY["time"], 1, CANARY["url"]))
    columns = [list(column) for column in zip(*rows, strict=True)]
    pq.write_table(
        pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA), path
    )
    return path


def weekly(log: Path, folder: Path, weeks: int) -> list[Path]:
    """A release for each of the first weeks."""
    made = []
    for week in range(weeks):
        begins = START + timedelta(days=7 * week)
        done = publish(
            log,
            Zealous(epsilon=0.2, delta=1e-8, per_user=3),
            to=folder / f"week-{week + 1}",
            ledger=default_ledger(log),
            budget_epsilon=5.0,
            budget_delta=1e-6,
            since=begins,
            until=begins + timedelta(days=7),
            data_set="Searches of <Example>",
        )
        made.append(done.folder)
    return made
