"""``tacit verify``: check a release against its own statement."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tacit.commands.verbs import Panel, verb
from tacit.errors import IntegrityError
from tacit.terminal import emit

PANEL = Panel.RELEASE


def verify(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.")],
    ledger: Annotated[Path | None, typer.Option(help="Check the charge in this ledger too.")] = None,
) -> None:
    """Check a release: its statement follows from its parameters and fits its tables; it was charged.

    Without --ledger this shows that a release is consistent, not that it is authentic: whoever rewrites the
    whole manifest consistently passes. The ledger knows the very manifest.
    """
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

    shown = [
        Text.assemble(
            ("holds", "green") if check.holds else ("FAILS", "bold red"),
            f"  {check.what}",
            (f" ({check.found})" if check.found else "", "dim"),
        )
        for check in checks
    ]
    if holds:
        asked = "" if ledger else " Whether this is the release that was charged shows with --ledger alone."
        shown.append(Text(f"All {len(checks)} checks hold.{asked}"))
    emit(result, *shown)
    if not holds:
        failed = sum(not check.holds for check in checks)
        raise IntegrityError(
            f"{failed} of {len(checks)} checks failed.", "Do not rely on this copy; get the release again."
        )


register = verb(verify, "week-01 --ledger log.parquet.ledger")
