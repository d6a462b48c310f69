"""``tacit resample``: a synthetic search log from a release."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tacit.commands.options import ForceFlag
from tacit.commands.verbs import Panel, verb
from tacit.terminal import emit, table

PANEL = Panel.RELEASE


def resample(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The log to make (Parquet).")],
    users: Annotated[int | None, typer.Option(min=1)] = None,
    days: Annotated[int, typer.Option(min=1)] = 90,
    seed: Annotated[int | None, typer.Option(min=0)] = None,
    force: ForceFlag = False,
) -> None:
    """Make a synthetic search log that follows a release, for tools that read logs.

    It is computed from the release alone, so it costs nothing and tells nothing that the release does not.
    """
    from tacit.release.resampling import resample as make

    made = make(release, output, users=users, days=days, seed=seed, force=force)
    result = {**asdict(made), "path": str(made.path)}
    said = (
        f"{made.path}: {made.records:,} records of {made.users:,} users, {made.searches:,} searches in "
        f"{made.sessions:,} sessions"
    )
    emit(result, said, table(made._heading(), made._rows()))


register = verb(
    resample, "released --users 20000 -o synthetic.parquet", by="tacit.release.resampling:resample"
)
