"""How much each mechanism publishes of a synthetic log, by its number of users and by ε: a table and a chart.

    python benchmarks/rows_by_size.py                  # the table of 1,000 and 10,000 users
    python benchmarks/rows_by_size.py --users 1000 10000 100000 657426 --write
                                                       # all of it, into docs/how-to/rows-by-size.*
    python benchmarks/rows_by_size.py --chart          # draws the table of docs/how-to again

Every mechanism has its defaults. *Rows* are those of all its tables; of topics, which are all published,
those significantly above zero (a count of at least twice its deviation). *Share* is the part of all
searches whose query can be read in the release, in whichever table; topics publish no queries. k-query
anonymity, which knows no ε and is not private, stands beside as a baseline. Counts are made once a log;
noise is drawn for every ε.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from charts.small_multiples import Panel, Series, draw_panels
from tacit.engines import Engine, memory_for, open_engine
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.contribution import searches_of
from tacit.release.registry import mechanism_class
from tacit.world.synth import SyntheticLog

_DELTA = 1e-6
_EPSILONS = (0.5, 1.0, 2.0, 4.0)
_MECHANISMS = ("adaptive", "zealous", "click", "session", "topics", "k-query")
_COLUMNS = ("users", "mechanism", "epsilon", "rows", "share", "draws")
_DOCS = Path(__file__).parent.parent / "docs" / "how-to"
_FEW = 20_000
"""Up to so many users, three releases are averaged; of more, one is taken."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--mechanisms", nargs="*", default=list(_MECHANISMS))
    parser.add_argument(
        "--write", action="store_true", help="into docs/how-to, in the place of these users' rows"
    )
    parser.add_argument(
        "--chart", action="store_true", help="draw docs/how-to/rows-by-size.csv, measure nothing"
    )
    asked = parser.parse_args()
    table = _DOCS / "rows-by-size.csv"
    if asked.chart:
        draw(read(table))
        return
    for users in asked.users:
        for found in measured(users, asked.mechanisms):
            if asked.write:  # as it comes: the largest log takes long
                told = {(row["users"], row["mechanism"]) for row in found}
                kept = [row for row in read(table) if (row["users"], row["mechanism"]) not in told]
                write(table, [*kept, *found])
    if asked.write:
        draw(read(table))


def measured(users: int, names: list[str]) -> Iterator[list[dict[str, Any]]]:
    """The rows of the table for one log, mechanism by mechanism."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        SyntheticLog(users, seed=1).write(path)
        with open_engine(memory=memory_for(path)) as engine:
            log = engine.log(path)
            searches = searches_of(log)
            volume = engine.keep(searches.group_by("query").aggregate(searches=searches.count()))
            whole = engine.table(volume.aggregate(total=volume.searches.sum()))["total"][0].as_py()
            for name in names:
                yield list(of_mechanism(engine, log, volume, int(whole), users, name))


def of_mechanism(
    engine: Engine, log: Any, volume: Any, whole: int, users: int, name: str
) -> Iterator[dict[str, Any]]:
    """What one mechanism publishes at every ε."""
    draws = 3 if users <= _FEW else 1
    begun, counting = time.monotonic(), None
    for epsilon in _EPSILONS:
        made = mechanism_class(name)(**options(name, epsilon))
        if counting is None:
            counting = made.plan().count(engine, log)
        if name != "k-query" or epsilon == _EPSILONS[0]:
            drawn = [made.plan().publish(engine, counting, OperatingSystemRandomness()) for _ in range(draws)]
            rows = statistics.fmean(sum(map(told_from_none, tables.values())) for tables in drawn)
            shares = [share_of(engine, tables, volume, whole) for tables in drawn]
        row = {
            "users": users,
            "mechanism": name,
            "epsilon": epsilon,
            "rows": round(rows, 1),
            "share": "" if name == "topics" else f"{statistics.fmean(shares):.4f}",
            "draws": draws,
        }
        print(*(row[column] for column in _COLUMNS), sep=",", flush=True)
        yield row
    for kept in counting.values():
        if hasattr(kept, "get_name"):
            engine.drop(kept)
    print(f"{name} of {users:,} users: {time.monotonic() - begun:.0f} s", file=sys.stderr)


def options(name: str, epsilon: float) -> dict[str, float]:
    """What is asked of a mechanism; the rest are its defaults."""
    if name == "k-query":
        return {}
    return {"epsilon": epsilon} if name == "topics" else {"epsilon": epsilon, "delta": _DELTA}


def told_from_none(table: pa.Table) -> int:
    """Rows; of a table that lists all keys, those that are more than noise."""
    if "topic" not in table.schema.names:
        return int(table.num_rows)
    twice = pc.multiply(table.column("deviation"), 2)
    return int(pc.sum(pc.greater_equal(table.column("count"), twice)).as_py() or 0)


def share_of(engine: Engine, tables: dict[str, pa.Table], volume: Any, whole: int) -> float:
    """The part of all searches whose query stands in some table."""
    texts = []
    for table in tables.values():
        for field in table.schema:
            if field.name in ("query", "next_query"):
                texts.append(table.column(field.name).combine_chunks())
            elif field.name == "queries":
                texts.append(table.column(field.name).combine_chunks().flatten())
    listed = pc.unique(pa.concat_arrays([text.cast(pa.string()) for text in texts])) if texts else []
    if not len(listed):
        return 0.0
    chosen = engine.load(pa.table({"query": listed}))
    found = volume.semi_join(chosen, "query")
    total = engine.table(found.aggregate(total=found.searches.sum()))["total"][0].as_py()
    engine.drop(chosen)
    return int(total or 0) / whole


def read(path: Path) -> list[dict[str, Any]]:
    """The table as it is on the disk."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            {
                **row,
                "users": int(row["users"]),
                "epsilon": float(row["epsilon"]),
                "rows": float(row["rows"]),
                "draws": int(row["draws"]),
            }
            for row in csv.DictReader(file)
        ]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """The table in order."""
    rows.sort(key=lambda row: (row["users"], _MECHANISMS.index(row["mechanism"]), row["epsilon"]))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def draw(rows: list[dict[str, Any]]) -> None:
    """The chart: a column an ε, above rows, below shares."""
    panels = []
    for measure, title, logarithmic in (("rows", "rows", True), ("share", "share of searches", False)):
        for epsilon in _EPSILONS:
            series = []
            for name in _MECHANISMS:
                points = [
                    (float(row["users"]), float(row[measure]))
                    for row in rows
                    if row["mechanism"] == name and row["epsilon"] == epsilon and row[measure] != ""
                ]
                if points:
                    said = "k-query (not private)" if name == "k-query" else name
                    series.append(Series(said, tuple(points), dashed=name == "k-query"))
            panels.append(Panel(f"{title}, ε = {epsilon:g}", tuple(series), logarithmic=logarithmic))
    (_DOCS / "rows-by-size.svg").write_text(
        draw_panels(
            panels,
            columns=len(_EPSILONS),
            across="users",
            title="What each mechanism publishes of a synthetic log, by its number of users and by ε",
        )
    )


if __name__ == "__main__":
    main()
