"""Verifying a release: the guarantee follows from its parameters, the files are those it names.

Whoever has the folder can do this. Whoever has the ledger too can check that the release was paid for.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tacit.errors import IntegrityError
from tacit.privacy import Guarantee, Kind
from tacit.privacy.ledger import Ledger
from tacit.release.manifest import MANIFEST, file_hash, mechanism_from_dict, read_manifest
from tacit.release.pool import BUNDLED, bundled_domain

__all__ = ["Check", "verify_release"]


@dataclass(frozen=True)
class Check:
    """One thing that was checked, and what was found."""

    what: str
    holds: bool
    found: str = ""


def verify_release(folder: str | Path, ledger: str | Path | None = None) -> tuple[Check, ...]:
    """Check a release; every check is made, whether earlier ones hold or not."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    checks = [
        _guarantee(manifest),
        *_domain(manifest),
        *_files(folder, manifest),
        *_tables(folder, manifest),
    ]
    if ledger is not None:
        checks += _ledger(folder, manifest, ledger)
    return tuple(checks)


def _guarantee(manifest: dict[str, Any]) -> Check:
    """What the parameters provably give is what the manifest states."""
    mechanism = mechanism_from_dict(manifest["mechanism"], manifest["parameters"])
    found = mechanism.guarantee()
    return Check(
        "the guarantee follows from the parameters",
        found.to_dict() == manifest["guarantee"],
        str(found),
    )


def _domain(manifest: dict[str, Any]) -> list[Check]:
    """A pure guarantee holds over a public domain: the bundled one can be made again and compared."""
    stated = manifest["parameters"].get("domain")
    if not stated or stated["name"] != BUNDLED:
        return []
    same = bundled_domain().digest == stated["sha256"]
    return [Check("the public domain is the bundled one", same, f"{stated['queries']:,} queries")]


def _files(folder: Path, manifest: dict[str, Any]) -> list[Check]:
    named = manifest["files"]
    checks = []
    for name, stated in named.items():
        path = folder / name
        there = Path(name).name == name and path.is_file()
        same = there and file_hash(path) == stated["sha256"]
        found = "as stated" if same else "changed" if there else "missing"
        checks.append(Check(f"{name} is the file that was released", same, found))
    strays = sorted(path.name for path in folder.iterdir() if path.name not in {*named, MANIFEST})
    checks.append(Check("nothing else is in the folder", not strays, f"{len(strays)} files not named"))
    return checks


def _tables(folder: Path, manifest: dict[str, Any]) -> list[Check]:
    checks = []
    for name, stated in manifest["published"].items():
        try:
            rows = pq.ParquetFile(folder / f"{name}.parquet").metadata.num_rows
        except (OSError, ValueError):
            checks.append(Check(f"{name} has the rows stated", False, "not readable"))
            continue
        checks.append(Check(f"{name} has the rows stated", rows == stated["rows"], f"{rows:,} rows"))
    return checks


def _ledger(folder: Path, manifest: dict[str, Any], path: str | Path) -> list[Check]:
    stated = manifest["ledger"]
    ledger = Ledger(path)
    try:
        state = ledger.verify(stated["hash"])
    except IntegrityError as error:
        return [Check("the charge is in the ledger", False, error.problem)]
    entry = {known.number: known for known in state.entries}.get(stated["entry"])
    charged = entry is not None and entry.hash == stated["hash"]
    checks = [Check("the charge is in the ledger", charged, f"entry {stated['entry']}")]
    if entry is not None and charged:
        covered = _covers(entry.guarantee, Guarantee.from_dict(manifest["guarantee"]))
        checks.append(Check("the charge covers the guarantee of the release", covered, str(entry.guarantee)))
        if entry.manifest is None:
            # Stopped between rename and note: paid for and published, only the note is missing.
            checks.append(Check("the ledger notes no other release for the charge", True, "none noted"))
        else:
            bound = entry.manifest == file_hash(folder / MANIFEST)
            checks.append(Check("the ledger notes this very manifest", bound))
    return checks


def _covers(charge: Guarantee, promise: Guarantee) -> bool:
    """Whether as much was charged as the release costs, but for the last digits of a sum."""
    if Kind.K_QUERY in (charge.kind, promise.kind):
        return charge == promise
    return (
        charge.neighbours is promise.neighbours
        and charge.epsilon >= promise.epsilon * (1 - 1e-12)
        and charge.delta >= promise.delta * (1 - 1e-12)
    )
