"""``tacit evaluate``: what privacy costs in search quality (release, groups, device, pool)."""

from __future__ import annotations

import typer

from tacit.commands.evaluate.guards import device, groups, personalised, pool
from tacit.commands.evaluate.release import release
from tacit.commands.verbs import Panel

__all__ = ["PANEL", "register"]

PANEL = Panel.EVALUATE


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    verbs = typer.Typer(
        help="Measure what privacy costs in search quality.",
        epilog="Example: tacit evaluate release log.parquet -o report",
        no_args_is_help=True,
    )
    verbs.command("release", epilog="Example: tacit evaluate release log.parquet -o report")(release)
    verbs.command("groups", epilog="Example: tacit evaluate groups -o experiments")(groups)
    verbs.command("device", epilog="Example: tacit evaluate device -o device-quality --users 12")(device)
    verbs.command("pool", epilog="Example: tacit evaluate pool --k 5 --k 30 --windows 20")(pool)
    verbs.command("personalised", epilog="Example: tacit evaluate personalised -o ways --users 12")(
        personalised
    )
    app.add_typer(verbs, name="evaluate")
