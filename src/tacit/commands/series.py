"""``tacit series``: publish a growing log week after week under one charge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from tacit.commands.options import JsonFlag, LogFile, ScrubFlag, declared_command, json_flag
from tacit.commands.release import _said, _shared, _stages
from tacit.commands.verbs import Panel
from tacit.release.registry import SERIES, mechanism_class
from tacit.terminal import emit

if TYPE_CHECKING:
    from tacit.release.publication import Release
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
    made = mechanism_class(SERIES)(**asked)
    opened: OpenSeries = made.open(folder, **words)  # type: ignore[attr-defined]

    def render(console: Console) -> None:
        console.print(f"[bold]{escape(str(folder))}[/]: {opened.plan.guarantee}, all weeks together")
        console.print(f"charged once, as entry {opened.entry.number} of {opened.ledger.path}", soft_wrap=True)
        console.print(
            f"The state's key is {opened.about['key']}: back it up apart from the folder.",
            markup=False,
            soft_wrap=True,
        )

    emit(opened.to_dict(), as_json=as_json, render=render)


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
    found = series.to_dict()
    result = {**found, "week": int(week.folder.name.rpartition("-")[2]), "release": str(week.folder)}
    result["new"] = _new(week, result["week"])
    emit(result, as_json=as_json, render=lambda console: _draw(console, week, result))


def _new(week: Release, number: int) -> int:
    return int(week.tables["queries"].column("found").to_pylist().count(number))


def _draw(console: Console, week: Release, result: Mapping[str, Any]) -> None:
    console.print(f"[bold]{escape(str(week.folder))}[/]: week {result['week']} of {result['weeks']}")
    console.print(f"  {result['new']:,} new queries, {result['keys']:,} in all")
    for name in ("counts", "rising"):
        if name in week.tables:
            console.print(f"  {name}: {week.tables[name].num_rows:,} rows")
    console.print("No further charge. Read series.html; check with `tacit verify`.", style="dim")


def show(folder: _Folder, as_json: JsonFlag = False) -> None:
    """Say what a series has published so far, and write its page anew."""
    from tacit.release.series.folder import find_series, write_page

    series = find_series(folder)
    found = {**series.to_dict(), "page": str(write_page(series))}

    def render(console: Console) -> None:
        console.print(f"[bold]{escape(str(folder))}[/]: {series.plan.guarantee}, all weeks together")
        said = f"{found['keys']:,} queries in {found['published']} of {found['weeks']} weeks"
        console.print(said + ("; closed" if found["closed"] else ""))
        console.print(f"{found['page']} shows them over time.", soft_wrap=True, markup=False)

    emit(found, as_json=as_json, render=render)


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
    known = find_series(folder).erase(names)
    result = {"folder": str(folder), "given": len(names), "erased": known}
    emit(result, as_json=as_json, render=lambda console: console.print(f"{known} of {len(names)} were known"))


def close(folder: _Folder, as_json: JsonFlag = False) -> None:
    """End a series: its state and key are deleted. What was published stays, and so does the charge."""
    from tacit.release.series.folder import find_series

    find_series(folder).close()
    found = find_series(folder).to_dict()
    emit(found, as_json=as_json, render=lambda console: console.print(f"{folder} is closed", markup=False))
