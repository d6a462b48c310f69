"""``tacit series``: publish a growing log week after week under one charge."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.commands import options as o
from tacit.commands.release import stages
from tacit.commands.verbs import Panel, verb, verb_group
from tacit.errors import InputError
from tacit.head_start import at_work_on
from tacit.release.registry import SERIES, mechanism_class
from tacit.terminal import emit

PANEL = Panel.RELEASE

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the series.", show_default=False)]


def _open(
    asked: Mapping[str, Any],
    *,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.", show_default=False)],
    ledger: Path | None = None,
    budget_epsilon: float | None = None,
    budget_delta: float = 0.0,
    key: Path | None = None,
    after: Path | None = None,
    history: Path | None = None,
    purpose: str = "",
    scrub: o.ScrubFlag = True,
) -> None:
    options = {name: value for name, value in locals().items() if name not in ("asked", "folder")}
    from tacit.release.series.folder import open_series

    made: Any = mechanism_class(SERIES)(**asked)
    opened = open_series(made, folder, **options)
    result = opened.to_dict()
    said = f"charged once, as entry {opened.entry.number} of {opened.ledger.path}"
    if history is not None:
        said += f"; {result['opening']:,} queries of the past are in {folder / 'opening'}"
    key_at = f"The state's key is {opened.about['key']}: back it up apart from the folder."
    emit(result, f"{folder}: {opened.plan.guarantee}, all weeks together", said, key_at)


def publish_next(
    folder: _Folder,
    log: o.LogFile,
    since: o.Since = None,
    until: o.Until = None,
    restart: Annotated[bool, typer.Option("--restart")] = False,
) -> None:
    """Publish the next week: what was found, every few weeks counts, and what is rising.

    LOG has the week's records, and late ones of weeks before; of a log that holds earlier weeks too, --since
    says where this one begins. Run again after an interruption, it finishes
    the week; once that is published, the same log gives what is there and draws nothing.
    """
    with at_work_on(log), stages() as report:
        from tacit.release.series.folder import find_series

        series = find_series(folder)
        week = series.next(log, since=since, until=until, restart=restart, report=report)
    number = int(week.folder.name.rpartition("-")[2])
    new = week.tables["queries"].column("found").to_pylist().count(number)
    result = {**series.to_dict(), "week": number, "release": str(week.folder), "new": new}
    rows = ", ".join(f"{name} {table.num_rows:,}" for name, table in week.tables.items())
    said = f"{week.folder}: week {number} of {result['weeks']}, {new:,} new queries; rows: {rows}"
    emit(result, said, "No further charge. Read series.html; check with `tacit verify`.")


def show(folder: _Folder) -> None:
    """Show what a series has published so far, and write its page anew."""
    from tacit.release.series.folder import find_series, write_page

    series = find_series(folder)
    found = {**series.to_dict(), "page": str(write_page(series))}
    closed = "; closed" if found["closed"] else ""
    said = f"{found['keys']:,} queries in {found['published']} of {found['weeks']} weeks{closed}"
    promise = f"{folder}: {series.plan.guarantee}, all weeks together"
    emit(found, promise, said, f"{found['page']} shows them over time.")


def erase(
    folder: _Folder,
    users: Annotated[Path, typer.Argument(metavar="USERS", help="A file of user ids, one a line.")],
) -> None:
    """Forget what some users hold, for all weeks to come. What was published stays.

    Their balances stay too, as keyed hashes, and so do texts of queries, encrypted, until the series is
    closed: if they vanished, later weeks would show whose they were.
    """
    from tacit.release.series.folder import find_series

    try:
        names = [line for line in users.read_text("utf-8").splitlines() if line]
    except UnicodeDecodeError:
        raise InputError(f"{users} is no text in UTF-8.", "Write one user id a line.") from None
    result = {"folder": str(folder), "given": len(names), "erased": find_series(folder).erase(names)}
    emit(result, f"{result['erased']} of {len(names)} users were known, and are erased.")


def close(folder: _Folder) -> None:
    """End a series: its state and key are deleted. What was published stays, and so does the charge."""
    from tacit.release.series.folder import find_series

    find_series(folder).close()
    emit(find_series(folder).to_dict(), f"{folder} is closed; state and key are deleted")


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    meaning = "Publish a growing log week after week under one charge: new queries, counts, what is rising."
    opening = "Open a series: charge the ledger once for all weeks, and make its folder."
    mechanism = mechanism_class(SERIES)
    opened = verb(
        o.declared_command(mechanism, _open, opening),
        f"year {mechanism.example}",
        "open",
        by="tacit.release.series.folder:open_series",
        headings={"The ledger": "ledger budget_epsilon budget_delta key after history purpose"},
    )
    following = verb(
        publish_next, "year week-07.parquet", "next", by="tacit.release.series.folder:OpenSeries.next"
    )
    others = verb(show, "year"), verb(erase, "year users.txt"), verb(close, "year")
    verb_group("series", meaning, [opened, following, *others])(app)
