"""``tacit verify``: check a release against its own statement."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

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
    result = {name: manifest.get(name) for name in ("mechanism", "guarantee")}
    result |= {"holds": found.holds, "authenticity_checked": found.authenticity_checked}
    emit(result | {"checks": [asdict(check) for check in found.checks]}, str(found))
    if not found:
        failed = sum(not check.holds for check in found.checks)
        problem = f"{failed} of {len(found.checks)} checks failed."
        raise IntegrityError(problem, "Do not rely on this copy; get the release again.")


register = verb(verify, "week-01 --ledger log.parquet.ledger")
