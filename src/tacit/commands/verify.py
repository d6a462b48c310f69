"""``tacit verify``: check a release against its own statement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from tacit.commands.options import JsonFlag
from tacit.commands.verbs import Panel
from tacit.errors import IntegrityError
from tacit.terminal import emit

PANEL = Panel.RELEASE


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("verify", epilog="Example: tacit verify week-01 --ledger log.parquet.ledger")(verify)


def verify(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.")],
    ledger: Annotated[Path | None, typer.Option(help="Check the charge in this ledger too.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check a release: its statement follows from its parameters and fits its tables; it was charged.

    Without --ledger this shows that a release is consistent, not that it is authentic: whoever rewrites the
    whole manifest consistently passes. The ledger knows the very manifest.
    """
    from dataclasses import asdict

    from tacit.release.document.manifest import read_manifest
    from tacit.release.verify import verify as verified

    found, manifest = verified(folder, ledger), read_manifest(folder)
    checks, holds = found.checks, found.holds
    result = {
        "holds": holds,
        "authenticity_checked": found.authenticity_checked,
        "mechanism": manifest.get("mechanism"),
        "guarantee": manifest.get("guarantee"),
        "checks": [asdict(check) for check in checks],
    }

    def render(console: Console) -> None:
        for check in checks:
            mark = "[green]holds[/]" if check.holds else "[bold red]FAILS[/]"
            found = f" [dim]({escape(check.found)})[/]" if check.found else ""
            console.print(f"{mark}  {check.what}{found}", soft_wrap=True)
        if ledger is None:
            console.print(
                "Consistency only: whether this is the release that was charged shows with --ledger.",
                style="dim",
                soft_wrap=True,
            )

    emit(result, as_json=as_json, render=render)
    if not holds:
        failed = sum(not check.holds for check in checks)
        raise IntegrityError(
            f"{failed} of {len(checks)} checks failed.", "Do not rely on this copy; get the release again."
        )
