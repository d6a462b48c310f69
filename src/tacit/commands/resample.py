"""``tacit resample``: a synthetic search log from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tacit.commands.options import ForceFlag, JsonFlag
from tacit.commands.verbs import Panel
from tacit.terminal import emit

PANEL = Panel.RELEASE


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("resample", epilog="Example: tacit resample released --users 20000 -o synthetic.parquet")(
        resample
    )


def resample(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The log to make (Parquet).")],
    users: Annotated[
        int | None,
        typer.Option(min=1, help="How many users (default: a fifth of the searches, or as a query needs)."),
    ] = None,
    days: Annotated[int, typer.Option(min=1, help="Over how many days.")] = 90,
    seed: Annotated[int | None, typer.Option(min=0, help="The same seed gives the same log.")] = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Make a synthetic search log that follows a release, for tools that read logs.

    It is computed from the release alone, so it costs nothing and tells nothing that the release does not.
    """
    from dataclasses import asdict

    from tacit.release.resampling import resample as make

    made = make(release, output, users=users, days=days, seed=seed, force=force)
    result = {**asdict(made), "path": str(made.path)}

    def render(console: Console) -> None:
        from rich.table import Table

        console.print(
            f"{made.path}: {made.records:,} records of {made.users:,} users, {made.searches:,} searches in "
            f"{made.sessions:,} sessions",
            markup=False,
            soft_wrap=True,
        )
        table = Table(*made._heading())
        for row in made._rows():
            table.add_row(*row)
        console.print(table)

    emit(result, as_json=as_json, render=render)
