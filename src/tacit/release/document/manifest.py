"""The manifest of a release: what was promised, how, and what the files are.

It is published with the tables, so it says nothing that the tables do not: parameters are public constants,
the guarantee follows from them, and sizes are those of the published tables. Nothing in it is computed from
the raw log: no count of records, users or queries, no share that was kept, no hash or name of the file.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tacit import __version__
from tacit.errors import IntegrityError, ParameterError
from tacit.privacy.accounting.composition import Account
from tacit.privacy.ledger.entries import Entry
from tacit.release import prose
from tacit.release.analysis import parts_document
from tacit.release.document.words import verdict_on
from tacit.release.execution import Tables
from tacit.release.mechanism import Plan
from tacit.release.preparation import Preparation
from tacit.release.registry import mechanism_class

_LONGEST = 200


@dataclass(frozen=True)
class About:
    """Said by the owner, kept in the manifest and shown on the page; nothing follows from it.

    Args:
        data_set: what people call the data set.
        controller: who is responsible for it.
        purpose: what the release is for.
    """

    data_set: str = ""
    controller: str = ""
    purpose: str = ""

    def __post_init__(self) -> None:
        for name, text in asdict(self).items():
            if not isinstance(text, str) or len(text) > _LONGEST or not text.isprintable():
                raise ParameterError.outside(
                    name,
                    f"{len(str(text))} characters",
                    f"one printable line of at most {_LONGEST} characters",
                )

    def to_dict(self) -> dict[str, str]:
        """For the manifest."""
        return asdict(self)

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> About:
        """What ``to_dict`` wrote."""
        return cls(**form)


MANIFEST = "manifest.json"
FORMAT = 3
"""The version of the manifest's form, and of the analysis from which its figures are."""

FIELDS = frozenset(
    {"format", "mechanism", "guarantee", "parts", "paper", "parameters", "schedule", "preparation"}
    | {"published", "files", "ledger", "released", "versions"}
    | {"strength", "about", "budget"}
)
"""What a manifest states; it has no other field."""

_HEXADECIMAL = frozenset("0123456789abcdef")
_LIBRARIES = ("duckdb", "ibis-framework", "numpy", "pyarrow")


def mechanism_of(manifest: Mapping[str, Any]) -> Plan[Any]:
    """The plan that a manifest describes (for its guarantee; public sets are named in it, not held)."""
    try:
        return mechanism_class(manifest["mechanism"]).from_dict(manifest["parameters"]).plan()
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


def is_hash(value: object) -> bool:
    """Whether this is a SHA-256 as hexadecimal text."""
    return isinstance(value, str) and len(value) == 64 and set(value) <= _HEXADECIMAL


def make_manifest(
    mechanism: Plan[Any],
    preparation: Preparation,
    tables: Tables,
    files: Mapping[str, Path],
    entry: Entry,
    about: About,
    account: Account,
) -> dict[str, Any]:
    """All that is to be said about a release, from public constants and from what is published."""
    return {
        "format": FORMAT,
        "mechanism": mechanism.name,
        "guarantee": mechanism.guarantee.to_dict(),
        "strength": verdict_on(mechanism.guarantee).strength.value,
        "about": about.to_dict(),
        "budget": {
            "total": account.budget.to_dict(),
            "used": account.spent().to_dict(),
            "left": account.remaining().to_dict(),
        },
        "parts": parts_of(mechanism),
        "paper": paper_of(mechanism),
        "parameters": mechanism.to_dict(),
        "schedule": mechanism.schedule.to_dict(),
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


def parts_of(mechanism: Plan[Any]) -> list[dict[str, Any]]:
    """What each published thing costs, under the mechanism's neighbour relation."""
    return parts_document(mechanism.charges, mechanism.neighbours)


def paper_of(mechanism: Plan[Any]) -> dict[str, Any] | None:
    """The paper's figure, labelled as such: what is promised and charged is the guarantee above it."""
    figure = prose.paper_figure(mechanism)
    return None if figure is None else figure.to_dict()


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """A manifest as its file holds it, the one form there is."""
    return json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def describe_table(table: pa.Table) -> dict[str, Any]:
    """A published table in numbers that it shows itself."""
    described = {"rows": table.num_rows, "columns": table.schema.names}
    if "count" in table.schema.names:
        described["sum_of_counts"] = pc.sum(table.column("count")).as_py() or 0
    return described


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
        raise IntegrityError(
            f"{path} has a form that this version of Tacit does not know.",
            "Its page says with which version it was made; a newer Tacit than this one can verify it.",
        )
    return dict(manifest)
