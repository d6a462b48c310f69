"""``tacit stats``: the shape of a search log in figures."""

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from tacit.commands.options import LogFile, Memory, SessionGap, Since, Until
from tacit.commands.verbs import Panel, verb
from tacit.terminal import emit, progress, table

PANEL = Panel.LOG
_MEMORY = "2GB"


def stats(
    log: LogFile,
    frequent_queries: Annotated[
        int | None,
        typer.Option(help="Show the text of at most so many of the queries that most users issued."),
    ] = None,
    min_users: Annotated[int, typer.Option(help="Show no query of fewer users than this; at least 5.")] = 50,
    session_gap: SessionGap = None,
    since: Since = None,
    until: Until = None,
    memory: Memory = _MEMORY,
) -> None:
    """Count users, queries, clicks and sessions, and say how heavy the log's tails are.

    Shows no query's text unless --frequent-queries says so, and then only of those of enough users.
    """
    from tacit.searchlog.sessions import SessionCut
    from tacit.searchlog.statistics import StatisticsSource, check_frequent, opened_for_statistics

    cut = SessionCut.of(session_gap)
    check_frequent(1 if frequent_queries is None else frequent_queries, min_users, "frequent_queries")
    with opened_for_statistics(log, memory or _MEMORY, since, until) as source:
        with progress("Counting", total=StatisticsSource.STEPS, unit="passes") as bar:
            found = source.statistics(cut, bar.advance)
        result: dict[str, Any] = asdict(found) | {
            "first": found.first.isoformat(sep=" "),
            "last": found.last.isoformat(sep=" "),
            "queries_per_session": found.queries_per_session,
            "session_gap_minutes": cut.gap.total_seconds() / 60,
        }
        if frequent_queries is not None:
            shown_queries = source.frequent_queries(frequent_queries, min_users)
            result["min_users"] = min_users
            result["frequent_queries"] = [asdict(query) for query in shown_queries]
    shown: list[str | Table] = [table(("", ""), found.rows(), right=True)]
    if frequent_queries is not None:
        rows = [(each.query, f"{each.users:,}", f"{each.searches:,}") for each in shown_queries]
        few = f"\nno query was issued by at least {min_users:,} users"
        shown.append(f"\nqueries issued by at least {min_users:,} users:" if rows else few)
        shown += [table(("query", "users", "searches"), rows)] if rows else []
    emit(result, *shown)


register = verb(stats, "log.parquet --frequent-queries 20 --min-users 100")
