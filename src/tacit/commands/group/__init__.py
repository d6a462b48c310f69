"""``tacit group``: profiles bundled until no released term links to a person, and groups for a service.

``tacit group LOG -o DIR`` makes groups (in full: ``tacit group bundle``); the other verbs run on the folder.
"""

from __future__ import annotations

import typer
from typer.core import TyperGroup

from tacit.commands.group import bundle, service
from tacit.commands.verbs import Panel

__all__ = ["PANEL", "register"]

PANEL = Panel.GROUPS


class _BundleUnlessNamed(TyperGroup):
    """What is no verb of ``tacit group`` is a file to bundle."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["bundle", *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add ``group`` with its verbs."""
    group = typer.Typer(
        cls=_BundleUnlessNamed,
        no_args_is_help=True,
        help="Bundle user profiles into groups, and run a service on them.",
        epilog="Example: tacit group log.parquet --p 0.4 -o groups",
    )
    bundle.register(group)
    service.register(group)
    app.add_typer(group, name="group")
