"""A resampled log beside the log behind it and the release it was made from, in figures.

    python benchmarks/resampled_statistics.py                      # 20,000 synthetic users, adaptive, ε = 4
    python benchmarks/resampled_statistics.py --users 2000 --epsilon 8 --mechanism click

Claim: what was released comes out of the resampled log as it was released; what was not (how many people
there are, how active they are, the long tail) does not, and the table says so. Counts of the release are of
people who have a query, click or step; so are the frequencies below.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from tacit.privacy.ledger.ledger import Ledger
from tacit.release.publication import publish
from tacit.release.registry import mechanism_class
from tacit.release.resampling import resample
from tacit.world.synth import SyntheticLog

_RANKS = (1, 10, 100)
_TOP = 100

Counted = dict[tuple[str, ...], int]


@dataclass(frozen=True)
class Figures:
    """What is compared; None where a release does not tell."""

    users: int | None
    sessions: int | None
    searches: int
    searches_per_session: float | None
    clicked: float
    queries: Counted
    steps: Counted


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--mechanism", default="adaptive", choices=("adaptive", "zealous", "click"))
    asked = parser.parse_args()
    options = {} if asked.mechanism == "click" else {"items": ("queries", "clicks", "pairs")}
    if asked.mechanism == "click":
        options = {"queries_per_user": 2, "once_per_user": True}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TACIT_STATE"] = str(folder / "state")  # the log may have a ledger elsewhere
        log, out, made = folder / "log.parquet", folder / "release", folder / "resampled.parquet"
        SyntheticLog(asked.users, seed=1).write(log)
        mechanism = mechanism_class(asked.mechanism)(epsilon=asked.epsilon, delta=1e-6, **options)
        ledger = Ledger.open_or_create(folder / "ledger", epsilon=asked.epsilon, delta=1e-5)
        release = publish(log, mechanism, to=out, ledger=ledger)
        kept = resample(out, made, users=asked.users, seed=1).kept
        columns = {"original": of_log(log), "release": of_release(release.tables), "resampled": of_log(made)}
    print(f"{asked.users:,} synthetic users, {asked.mechanism}, ε = {asked.epsilon:g}, δ = 1e-6\n")
    print("| | " + " | ".join(columns) + " |\n|---|" + "---:|" * len(columns))
    for title, cells in rows(columns).items():
        print(f"| {title} | " + " | ".join(cells) + " |")
    print(
        "\nreleased counts in the resampled log: "
        + "; ".join(
            f"{table}: {found.kept:,} of {found.released:,}, no row off by more than {found.off:,}"
            for table, found in kept.items()
        )
    )
    if kept["queries"].off:
        sys.exit("a query's count is not the released one")


def of_log(path: Path) -> Figures:
    """The figures of a log: a search is a query at a time, a session ends with a pause of half an hour."""
    con = duckdb.connect()
    con.execute("SET threads = 1")
    con.execute(
        """CREATE TEMP TABLE searches AS
        SELECT "user", time, query, count(url) > 0 AS clicked,
            lag(time) OVER history AS before, lead(time) OVER history AS later,
            lead(query) OVER history AS following
        FROM read_parquet(?) GROUP BY "user", time, query
        WINDOW history AS (PARTITION BY "user" ORDER BY time, query)""",
        [str(path)],
    )
    users, searches, clicked, sessions = con.execute(
        """SELECT count(DISTINCT "user"), count(*), avg(clicked::INT),
        count(*) FILTER (before IS NULL OR time > before + INTERVAL 30 MINUTE) FROM searches"""
    ).fetchone()
    queries = con.execute('SELECT query, count(DISTINCT "user") FROM searches GROUP BY query').fetchall()
    steps = con.execute(
        """SELECT query, following, count(DISTINCT "user") FROM searches
        WHERE following != query AND later <= time + INTERVAL 30 MINUTE GROUP BY query, following"""
    ).fetchall()
    return Figures(
        users,
        sessions,
        searches,
        searches / sessions,
        clicked,
        {(query,): count for query, count in queries},
        {(one, two): count for one, two, count in steps},
    )


def of_release(tables: Mapping[str, pa.Table]) -> Figures:
    """What a release tells of the same."""
    found: dict[tuple[str, ...], Counted] = {}
    for table in tables.values():
        names = tuple(name for name in table.column_names if name not in ("count", "deviation"))
        keys = zip(*(table.column(name).to_pylist() for name in names), strict=True)
        found[names] = dict(zip(keys, table.column("count").to_pylist(), strict=True))
    queries = found.get(("query",), {})
    clicks, total = sum(found.get(("query", "url"), {}).values()), sum(queries.values())
    return Figures(
        None,
        None,
        total,
        None,
        clicks / total if total else 0.0,
        queries,
        found.get(("query", "next_query"), {}),
    )


def rows(columns: Mapping[str, Figures]) -> dict[str, list[str]]:
    """The table's rows: a title, and a cell per column."""
    original = columns["original"]
    common = top(original.queries)
    made = {
        "users": [whole(f.users) for f in columns.values()],
        "sessions": [whole(f.sessions) for f in columns.values()],
        "searches (release: sum of counts)": [whole(f.searches) for f in columns.values()],
        "searches per session": [
            "–" if f.searches_per_session is None else f"{f.searches_per_session:.2f}"
            for f in columns.values()
        ],
        "searches with a click (release: clicks per count)": [f"{f.clicked:.0%}" for f in columns.values()],
        "different queries": [whole(len(f.queries)) for f in columns.values()],
        f"of the original's {_TOP} commonest": [
            f"{len(common & f.queries.keys())}" for f in columns.values()
        ],
    }
    for rank in _RANKS:
        made[f"people who ask the query of rank {rank}"] = [
            at_rank(f.queries, rank) for f in columns.values()
        ]
    steps = top(original.steps)
    made["different steps"] = [whole(len(f.steps)) for f in columns.values()]
    made[f"of the original's {_TOP} commonest steps"] = [
        f"{len(steps & f.steps.keys())}" for f in columns.values()
    ]
    return made


def top(counted: Counted) -> set[tuple[str, ...]]:
    """The commonest keys; ties by text."""
    return set(sorted(counted, key=lambda key: (-counted[key], key))[:_TOP])


def at_rank(counted: Counted, rank: int) -> str:
    falling = sorted(counted.values(), reverse=True)
    return f"{falling[rank - 1]:,}" if len(falling) >= rank else "–"


def whole(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


if __name__ == "__main__":
    main()
