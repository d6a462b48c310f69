"""The manifest of a release: what was promised, how, and what the files are.

It is published with the tables, so it says nothing that the tables do not: parameters are public constants,
the guarantee follows from them, and sizes are those of the published tables. Nothing in it is computed from
the raw log: no count of records, users or queries, no share that was kept, no hash or name of the file.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tacit import __version__
from tacit.errors import IntegrityError
from tacit.privacy import Neighbours
from tacit.privacy.ledger import Entry
from tacit.release.analysis.statement import figure_document
from tacit.release.click import Click
from tacit.release.k_query import KQuery
from tacit.release.mechanism import Mechanism, Tables
from tacit.release.preparation import Preparation
from tacit.release.session import Session
from tacit.release.zealous import Zealous

__all__ = [
    "FIELDS",
    "FORMAT",
    "MANIFEST",
    "describe_table",
    "file_hash",
    "make_manifest",
    "manifest_text",
    "mechanism_from_dict",
    "paper_of",
    "parts_of",
    "read_manifest",
]

MANIFEST = "manifest.json"
FORMAT = 1
"""The version of the manifest's form."""

FIELDS = frozenset(
    {"format", "mechanism", "guarantee", "parts", "paper", "parameters", "preparation"}
    | {"published", "files", "ledger", "released", "versions"}
)
"""What a manifest states; it has no other field."""

_LIBRARIES = ("duckdb", "ibis-framework", "numpy", "pyarrow")
_FORMS: Mapping[str, Callable[[Mapping[str, Any]], Mechanism]] = {
    "zealous": Zealous.from_dict,
    "click": Click.from_dict,
    "session": Session.from_dict,
    "k-query": KQuery.from_dict,
}


def mechanism_from_dict(name: str, form: Mapping[str, Any]) -> Mechanism:
    """The mechanism that a manifest describes (for its guarantee; a public domain is not in it)."""
    try:
        return _FORMS[name](form)
    except IntegrityError:
        raise
    except Exception as error:  # a forged manifest can make anything of its parameters go wrong
        raise IntegrityError(
            f"the manifest describes no known mechanism ({type(error).__name__})."
        ) from error


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def make_manifest(
    mechanism: Mechanism,
    preparation: Preparation,
    tables: Tables,
    files: Mapping[str, Path],
    entry: Entry,
) -> dict[str, Any]:
    """All that is to be said about a release, from public constants and from what is published."""
    return {
        "format": FORMAT,
        "mechanism": mechanism.name,
        "guarantee": mechanism.guarantee().to_dict(),
        "parts": parts_of(mechanism),
        "paper": paper_of(mechanism),
        "parameters": mechanism.to_dict(),
        "preparation": preparation.to_dict(),
        "published": {name: describe_table(table) for name, table in tables.items()},
        "files": {
            name: {"sha256": file_hash(path), "bytes": path.stat().st_size}
            for name, path in sorted(files.items())
        },
        "ledger": {"entry": entry.number, "hash": entry.hash},
        "released": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "tacit": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in _LIBRARIES},
        },
    }


def parts_of(mechanism: Mechanism) -> list[dict[str, Any]]:
    """What each published thing costs, under the mechanism's neighbour relation."""
    factor = 2 if mechanism.neighbours is Neighbours.REPLACE else 1
    return [
        {"part": charge.what, "epsilon": factor * charge.epsilon, "delta": charge.delta}
        for charge in mechanism.charges()
    ]


def paper_of(mechanism: Mechanism) -> dict[str, Any] | None:
    """The paper's figure, labelled as such: what is promised and charged is the guarantee above it."""
    figure = mechanism.paper()
    return None if figure is None else figure_document(figure)


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """A manifest as its file holds it, the one form there is."""
    return json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def describe_table(table: pa.Table) -> dict[str, Any]:
    """A published table in numbers that it shows itself."""
    return {
        "rows": table.num_rows,
        "columns": table.schema.names,
        "sum_of_counts": pc.sum(table.column("count")).as_py() or 0,
    }


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of a release."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise IntegrityError(f"there is no {MANIFEST} in {folder}.", "Give the folder of a release.")
    try:
        manifest = json.loads(path.read_bytes())
        form = manifest["format"] if isinstance(manifest, dict) else None
        known = type(form) is int and form == FORMAT
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise IntegrityError(f"{path} is not a manifest of a release.") from error
    if not known:
        raise IntegrityError(f"{path} has a form that this version of Tacit does not know.")
    return dict(manifest)
