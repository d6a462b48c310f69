"""What the search page keeps about queries in the same file, and how it goes with what it belongs to.

The page writes the bytes of each request and the queries it may suggest into tables of its own. Whoever
forgets an exposure, an upstream, a period or everything means these too, by whatever way they do it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from tacit.device.profile.store import utc_text

_REQUESTS, _QUERIES = "page_sent", "page_query"


def _tables(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN (?, ?)", (_REQUESTS, _QUERIES)
    )
    return {str(name) for (name,) in rows}


def forget_with_entries(connection: sqlite3.Connection, queries: Iterable[str]) -> None:
    """Forget the requests whose entries of the ledger are gone, and queries that no other entry has.

    Part of the transaction that removed the entries.

    Args:
        connection: to the profile file.
        queries: those of the entries that were removed.
    """
    present = _tables(connection)
    if _REQUESTS in present:
        connection.execute(f"DELETE FROM {_REQUESTS} WHERE exposure NOT IN (SELECT number FROM exposure)")
    if _QUERIES in present:
        left = {query for (query,) in connection.execute("SELECT DISTINCT query FROM exposure")}
        gone = [(query,) for query in set(queries) - left]
        connection.executemany(f"DELETE FROM {_QUERIES} WHERE query = ?", gone)


def forget_period_of_page(
    connection: sqlite3.Connection, since: datetime | None = None, until: datetime | None = None
) -> None:
    """Forget all requests and queries of a period, of all time where no end of it is given."""
    first = utc_text(since) if since is not None else ""
    last = utc_text(until) if until is not None else "~"
    for table in _tables(connection):
        connection.execute(f"DELETE FROM {table} WHERE time >= ? AND time <= ?", (first, last))
