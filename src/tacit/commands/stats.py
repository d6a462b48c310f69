"""``tacit stats``: the shape of a search log in figures."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit.commands.options import JsonFlag, LogFile, Memory, SessionGap, Sessions, Since, Until
from tacit.commands.verbs import Panel
from tacit.terminal import emit, progress

if TYPE_CHECKING:
    from tacit.searchlog.statistics import LogStatistics


PANEL = Panel.LOG
_MEMORY = "2GB"


def register(app: typer.Typer) -> None:
    """Add ``stats``."""
    app.command("stats", epilog="Example: tacit stats log.parquet --frequent-queries 20 --min-users 100")(
        stats
    )


def stats(
    log: LogFile,
    frequent_queries: Annotated[
        int | None,
        typer.Option(help="Show the text of at most so many of the queries that most users issued."),
    ] = None,
    min_users: Annotated[int, typer.Option(help="Show no query of fewer users than this; at least 5.")] = 50,
    sessions: Sessions = "time",
    session_gap: SessionGap = None,
    since: Since = None,
    until: Until = None,
    memory: Memory = _MEMORY,
    as_json: JsonFlag = False,
) -> None:
    """Count users, queries, clicks and sessions, and say how heavy the log's tails are.

    Shows no query's text unless --frequent-queries says so, and then only of those of enough users.
    """
    from tacit.searchlog.sessions import SessionCut
    from tacit.searchlog.statistics import StatisticsSource, check_frequent, opened_for_statistics

    cut = SessionCut.of(sessions, session_gap)
    check_frequent(1 if frequent_queries is None else frequent_queries, min_users, "frequent_queries")
    with opened_for_statistics(log, memory or _MEMORY, since, until) as source:
        with progress("Counting", total=StatisticsSource.STEPS, unit="passes") as shown:
            found = source.statistics(cut, shown.advance)
        result: dict[str, Any] = asdict(found) | {
            "first": found.first.isoformat(sep=" "),
            "last": found.last.isoformat(sep=" "),
            "queries_per_session": found.queries_per_session,
            "session_method": str(cut.method),
            "session_gap_minutes": cut.longest_pause.total_seconds() / 60,
        }
        if frequent_queries is not None:
            shown_queries = source.frequent_queries(frequent_queries, min_users)
            result["min_users"] = min_users
            result["frequent_queries"] = [asdict(query) for query in shown_queries]
    emit(result, as_json=as_json, render=lambda console: _render(console, found, result))


def _render(console: Console, found: LogStatistics, result: dict[str, Any]) -> None:
    figures = Table("figure", "value", box=None, pad_edge=False, show_header=False)
    figures.columns[1].justify = "right"
    for name, value in found.rows():
        figures.add_row(name, value)
    console.print(figures)
    if "frequent_queries" in result:
        if not result["frequent_queries"]:
            console.print(f"\nno query was issued by at least {result['min_users']:,} users")
            return
        frequent = Table("query", "users", "searches", box=None, pad_edge=False)
        for query in result["frequent_queries"]:
            frequent.add_row(escape(query["query"]), f"{query['users']:,}", f"{query['searches']:,}")
        console.print(f"\nqueries issued by at least {result['min_users']:,} users:")
        console.print(frequent)
