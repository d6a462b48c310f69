"""The manifest of a release: what was promised, how, and what the files are.

It is published with the tables, so it says nothing that the tables do not: parameters are public constants,
the guarantee follows from them, and sizes are those of the published tables. Nothing in it is computed from
the raw log: no count of records, users or queries, no share that was kept, no hash or name of the file.
"""

import hashlib
import json
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import IntegrityError
from tacit.privacy import Guarantee
from tacit.release import prose
from tacit.release.document.words import A_USER, ReleaseVerdict, verdict_on
from tacit.release.mechanism import Plan
from tacit.release.registry import mechanism_class

MANIFEST = "manifest.json"
FORMAT = 4
"""The version of the manifest's form, and of the analysis from which its figures are."""

FIELDS = frozenset(
    {"format", "mechanism", "guarantee", "parts", "paper", "parameters", "schedule", "preparation"}
    | {"published", "columns", "files", "ledger", "released", "versions"}
    | {"strength", "strength_alone", "users", "about", "budget", "deployment"}
)
"""What a manifest states; it has no other field."""

_LARGEST = 64 << 20


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


def require_plain(path: Path) -> None:
    """Refuse what is not a plain file: a link leads elsewhere, and a pipe would never end."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise IntegrityError(
            f"{path} is not a plain file.", "Do not rely on this copy; get the release again."
        )


def file_hash(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def is_hash(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def verdict_of(mechanism: Plan[Any], manifest: Mapping[str, Any]) -> ReleaseVerdict:
    """The verdict on a release, from what its manifest says of the data set's budget."""
    budget = manifest["budget"]
    return verdict_on(
        mechanism.guarantee,
        Guarantee.from_dict(budget["used"]),
        exact=budget["exact_counts"],
        users=manifest["users"],
    )


def following(mechanism: Plan[Any], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Derive from the rest of a manifest the verdict and the fields of registries of deployments."""
    verdict, promise = verdict_of(mechanism, manifest), mechanism.guarantee
    about, budget = manifest["about"], manifest["budget"]
    private = mechanism.mechanism.private
    deployment = {
        "name": about["data_set"],
        "curator": about["controller"],
        "contact": about["contact"],
        "intended_use": about["purpose"],
        "recipients": about["recipients"],
        "data_product": {name: each["rows"] for name, each in manifest["published"].items()},
        "published": manifest["released"],
        "model": "central: the curator holds the log, and adds noise before anything leaves",
        "flavor": promise.kind.value,
        "neighbours": promise.neighbours.value,
        "unit": A_USER if private else "none",
        "user_id": about["user_id"],
        "epsilon": promise.to_dict()["epsilon"],
        "delta": promise.delta if private else None,
        "domain": {part.table: part.keys.value for part in mechanism.schedule},
        "unprotected": [
            "parameters, public lists, and what the curator states",
            *(["the number of users"] if promise.neighbours.users_changed > 1 else []),
            *([] if private else ["all that is published"]),
        ],
        "composition": budget["composition"],
        "budget": budget["total"],
        "spent_so_far": budget["used"],
        "post_processing": "rows withheld, sorted and rounded from noisy numbers alone",
        "noise": sorted({noise.kind.value for noise in mechanism.schedule.noises()}),
        "implementation": f"tacit {manifest['versions']['tacit']}",
        "rationale": about["rationale"],
    }
    strengths = {"strength": verdict.strength.value, "strength_alone": verdict.alone.value}
    return {**strengths, "deployment": deployment}


def release_digest(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of all that the manifest says but for the page, which shows it."""
    others = {name: each for name, each in manifest["files"].items() if name != "release.html"}
    return hashlib.sha256(manifest_text({**manifest, "files": others}).encode()).hexdigest()


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
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise IntegrityError(f"there is no {MANIFEST} in {folder}.", "Give the folder of a release.")
    require_plain(path)
    if path.stat().st_size > _LARGEST:
        raise IntegrityError(f"{path} is too large to be a manifest of a release.")
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
