"""``tacit verify``: check a release against its own statement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tacit.errors import IntegrityError
from tacit.terminal import JsonFlag, emit

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("verify", epilog="Example: tacit verify week-01 --ledger log.parquet.ledger")(verify)


def verify(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.")],
    ledger: Annotated[Path | None, typer.Option(help="Check the charge in this ledger too.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check a release: its guarantee follows from its parameters, its files are unchanged, it was charged."""
    from dataclasses import asdict

    from tacit.release.manifest import read_manifest
    from tacit.release.verify import verify_release

    checks = verify_release(folder, ledger)
    holds = all(check.holds for check in checks)
    result = {
        "holds": holds,
        "mechanism": read_manifest(folder)["mechanism"],
        "guarantee": read_manifest(folder)["guarantee"],
        "checks": [asdict(check) for check in checks],
    }

    def render(console: Console) -> None:
        for check in checks:
            mark = "[green]holds[/]" if check.holds else "[bold red]FAILS[/]"
            console.print(f"{mark}  {check.what}" + (f" [dim]({check.found})[/]" if check.found else ""))

    emit(result, as_json=as_json, render=render)
    if not holds:
        failed = sum(not check.holds for check in checks)
        raise IntegrityError(
            f"{failed} of {len(checks)} checks failed.", "Do not rely on this copy; get the release again."
        )
