"""``tacit series``: publish a growing log week after week under one charge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tacit.commands.options import JsonFlag, LogFile, ScrubFlag, declared_command, json_flag
from tacit.commands.release import _said, _shared, _stages
from tacit.commands.verbs import Panel
from tacit.release.registry import SERIES, mechanism_class
from tacit.terminal import emit

if TYPE_CHECKING:
    from tacit.release.series.folder import OpenSeries

PANEL = Panel.RELEASE

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the series.", show_default=False)]
_NewFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.", show_default=False)]
_AFTER = (
    _said("ledger", Path | None, None, "The data set's ledger (default: one of its own, in DIR)."),
    _said("budget_epsilon", float | None, None, "Open that ledger, if there is none, with this ε in all."),
    _said("budget_delta", float, 0.0, "δ of the budget, with --budget-epsilon."),
    _said("key", Path | None, None, "Where the state's key is to lie (default: Tacit's state folder)."),
    _said("after", Path | None, None, "An earlier series whose queries are known from the start."),
    _said("purpose", str, "", "What the series is for, in the ledger."),
    _shared("scrub", ScrubFlag, True),
    json_flag(),
)


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    group = typer.Typer(
        help="Publish a growing log week after week under one charge: new queries, counts, what is rising.",
        epilog="Example: tacit series open year --weeks 52 --epsilon 4 --delta 1e-6",
        no_args_is_help=True,
    )
    opened = declared_command(
        mechanism_class(SERIES), _open, before=(_shared("folder", _NewFolder),), after=_AFTER
    )
    group.command(
        "open",
        help="Open a series: charge the ledger once for all weeks, and make its folder.",
        epilog="Example: tacit series open year --weeks 52 --epsilon 4 --delta 1e-6",
    )(opened)
    group.command("next", epilog="Example: tacit series next year week-07.parquet")(publish_next)
    group.command("show", epilog="Example: tacit series show year --json")(show)
    group.command("erase", epilog="Example: tacit series erase year users.txt")(erase)
    group.command("close", epilog="Example: tacit series close year")(close)
    app.add_typer(group, name="series")


def _open(asked: Mapping[str, Any], *, folder: Path, as_json: bool, **words: Any) -> None:
    opened: OpenSeries = mechanism_class(SERIES)(**asked).open(folder, **words)  # type: ignore[attr-defined]
    _say(
        opened,
        opened.to_dict(),
        as_json,
        f"charged once, as entry {opened.entry.number} of {opened.ledger.path}",
        f"The state's key is {opened.about['key']}: back it up apart from the folder.",
    )


def _say(series: OpenSeries, result: Mapping[str, Any], as_json: bool, *lines: str) -> None:
    def render(console: Console) -> None:
        for line in (f"{series.folder}: {series.plan.guarantee}, all weeks together", *lines):
            console.print(line, markup=False, soft_wrap=True)

    emit(result, as_json=as_json, render=render)


def publish_next(
    folder: _Folder,
    log: LogFile,
    restart: Annotated[
        bool, typer.Option("--restart", help="The state is lost: go on with empty standings.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Publish the next week: what was found, every few weeks counts, and what is rising.

    LOG has the week's records, and late ones of weeks before. Run again after an interruption, it finishes
    the week; once that is published, the same log gives what is there and draws nothing.
    """
    from tacit.release.series.folder import find_series

    series = find_series(folder)
    with _stages() as report:
        week = series.next(log, restart=restart, report=report)
    number = int(week.folder.name.rpartition("-")[2])
    new = week.tables["queries"].column("found").to_pylist().count(number)
    result = {**series.to_dict(), "week": number, "release": str(week.folder), "new": new}
    tables = ", ".join(f"{name} {table.num_rows:,}" for name, table in week.tables.items())
    said = f"{week.folder}: week {number} of {result['weeks']}, {new:,} new queries; rows: {tables}"
    _say(series, result, as_json, said, "No further charge. Read series.html; check with `tacit verify`.")


def show(folder: _Folder, as_json: JsonFlag = False) -> None:
    """Say what a series has published so far, and write its page anew."""
    from tacit.release.series.folder import find_series, write_page

    series = find_series(folder)
    found = {**series.to_dict(), "page": str(write_page(series))}
    closed = "; closed" if found["closed"] else ""
    said = f"{found['keys']:,} queries in {found['published']} of {found['weeks']} weeks{closed}"
    _say(series, found, as_json, said, f"{found['page']} shows them over time.")


def erase(
    folder: _Folder,
    users: Annotated[Path, typer.Argument(metavar="USERS", help="A file of user ids, one a line.")],
    as_json: JsonFlag = False,
) -> None:
    """Forget what some users hold, for all weeks to come. What was published stays.

    Their balances stay too, as keyed hashes, and so do texts of queries, encrypted, until the series is
    closed: if they vanished, later weeks would show whose they were.
    """
    from tacit.release.series.folder import find_series

    names = [line for line in users.read_text("utf-8").splitlines() if line]
    series = find_series(folder)
    result = {"folder": str(folder), "given": len(names), "erased": series.erase(names)}
    _say(series, result, as_json, f"{result['erased']} of {len(names)} users were known, and are erased.")


def close(folder: _Folder, as_json: JsonFlag = False) -> None:
    """End a series: its state and key are deleted. What was published stays, and so does the charge."""
    from tacit.release.series.folder import find_series

    find_series(folder).close()
    series = find_series(folder)
    _say(series, series.to_dict(), as_json, "closed; its state and key are deleted")
