"""Verifying a release: what its manifest says follows from its parameters and fits its tables.

Without the ledger this is **consistency**: whoever writes a whole new manifest, with other parameters that
fit the tables, passes. With the ledger it is **authenticity** too: the ledger holds the hash of the very
manifest, noted before the release was put in its place, and the charge.

A malformed manifest fails checks; it never ends them with another error.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit import __version__
from tacit.display import Displayed
from tacit.errors import IntegrityError
from tacit.privacy import Guarantee
from tacit.privacy.accounting.composition import Account, CompositionRule, decimal, parts_of_events
from tacit.privacy.ledger.ledger import Ledger
from tacit.release import prose
from tacit.release.document import manifest as manifests
from tacit.release.document.about import About
from tacit.release.document.page import PAGE, render_page
from tacit.release.document.tables import expected_files, read_table, table_checks
from tacit.release.mechanism import Plan
from tacit.release.preparation import Preparation
from tacit.release.prose import Finding
from tacit.validation import place

_MOST_COUNTS = 10**6
"""More than any release lets a user move; lattices of losses grow with it."""


@dataclass(frozen=True)
class Check:
    """One thing that was checked, and what was found."""

    what: str
    holds: bool
    found: str = ""


def verify_release(folder: str | Path, ledger: Ledger | str | Path | None = None) -> tuple[Check, ...]:
    """Check a release; every check is made, whether earlier ones hold or not.

    Raises IntegrityError if there is no manifest to check, or no JSON in it.
    """
    folder = Path(folder)
    manifest = manifests.read_manifest(folder)
    well_formed = "the manifest is well-formed and has no other fields"
    checks = [_made(well_formed, lambda: _form(folder, manifest))]
    try:
        mechanism = manifests.mechanism_of(manifest)
        schedule = mechanism.schedule
    except (KeyError, IntegrityError) as error:
        problem = getattr(error, "problem", "it names none")
        return (*checks, Check("the manifest describes a mechanism", False, problem))
    checks += _promise(manifest, mechanism)
    checks += _files(folder, manifest, expected_files(schedule))
    own = prose.table_checks(mechanism, lambda name: read_table(folder / f"{name}.parquet"))
    for what, test in (*table_checks(folder, manifest, mechanism), *own, _page(folder, manifest, mechanism)):
        checks.append(_made(what, test))
    if ledger is not None:
        checks += _ledger(folder, manifest, mechanism, ledger)
    return tuple(checks)


def _made(what: str, test: Callable[[], Finding]) -> Check:
    """Make the check, or record its failure if what is checked is too broken to be looked at."""
    try:
        return Check(what, *test())
    except Exception as error:  # whatever a forged manifest or file makes go wrong
        return Check(what, False, f"not readable ({type(error).__name__})")


def _same(one: object, other: object) -> bool:
    """Compare as JSON, to the last digit: True is not 1, and 5 is not 5.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _form(folder: Path, manifest: dict[str, Any]) -> Finding:
    whole = set(manifest) == manifests.FIELDS and (folder / manifests.MANIFEST).read_text(
        "utf-8"
    ) == manifests.manifest_text(manifest)
    entry, versions = manifest["ledger"], manifest["versions"]
    released, users = manifest["released"], manifest["users"]
    return (
        whole
        and datetime.fromisoformat(released).isoformat(timespec="seconds") == released
        and (users is None or (type(users) is int and users > 0))
        and set(entry) == {"entry", "hash"}
        and type(entry["entry"]) is int
        and manifests.is_hash(entry["hash"])
        and all(re.fullmatch(r"[\w.+!-]{1,40}", number) for number in versions.values()),
        "",
    )


def _promise(manifest: dict[str, Any], mechanism: Plan[Any]) -> Iterator[Check]:
    """Check that the manifest states what the parameters provably give."""
    stated = manifest["parameters"]

    def verdict() -> Finding:
        about, follows = About(**manifest["about"]).to_dict(), manifests.following(mechanism, manifest)
        same = _same(follows, {name: manifest[name] for name in follows})
        return same and _same(about, manifest["about"]), str(follows["strength"])

    def parameters() -> Finding:
        prepared = Preparation.from_dict(manifest["preparation"]).to_dict()
        found = [mechanism.to_dict(), prepared, type(prepared["scrub"]) is bool]
        return _same(found, [stated, manifest["preparation"], True]), ""

    def costs() -> Finding:
        cost = [mechanism.parts(), manifests.paper_of(mechanism)]
        return _same(cost, [manifest["parts"], manifest["paper"]]), ""

    def as_stated(name: str, follows: Callable[[], object], said: str = "") -> Callable[[], Finding]:
        return lambda: (_same(follows(), manifest[name]), said)

    found = mechanism.guarantee
    tests: prose.Checks = (
        ("the guarantee follows from the parameters", as_stated("guarantee", found.to_dict, str(found))),
        ("the stated strength follows from all that was spent", verdict),
        ("the budget stated adds up, and holds this release", lambda: _budget(manifest, mechanism)),
        ("what the columns mean is what is counted", as_stated("columns", lambda: prose.columns(mechanism))),
        ("the cost of each part follows from the parameters", costs),
        ("the parameters are those of the mechanism, and no others", parameters),
        ("noise and thresholds match the parameters", as_stated("schedule", mechanism.schedule.to_dict)),
    )
    for what, test in (*tests, *prose.checks(mechanism, stated)):
        yield _made(what, test)


def _budget(manifest: dict[str, Any], mechanism: Plan[Any]) -> Finding:
    """Check that what was used covers this release, is within the whole, and leaves what is stated."""
    stated = manifest["budget"]
    total, used, left = (Guarantee.from_dict(stated[name]) for name in ("total", "used", "left"))
    exact, rule = stated["exact_counts"], CompositionRule(stated["composition"])
    form = {
        "total": total.to_dict(),
        "used": used.to_dict(),
        "left": left.to_dict(),
        "composition": rule.value,
        "exact_counts": exact,
    }
    private = mechanism.mechanism.private
    least = Account(total, rule, (mechanism.event,) if private else ())
    if sum(step * number for (_, step), number in parts_of_events(least.charged).counts) > _MOST_COUNTS:
        return False, "no release moves so many counts"
    holds_this = (
        least.within_budget()
        and used.neighbours is total.neighbours
        and used.epsilon >= least.spent().epsilon * (1 - 1e-9)
        and used.delta >= least.spent().delta * (1 - 1e-9)
        and type(exact) is int
        and exact >= (0 if private else 1)
    )
    rest = [
        max(Fraction(0), decimal(getattr(total, n)) - decimal(getattr(used, n))) for n in ("epsilon", "delta")
    ]
    adds_up = [float(each) for each in rest] == [left.epsilon, left.delta]
    within = used.epsilon <= total.epsilon * (1 + 1e-9) and used.delta <= total.delta * (1 + 1e-9)
    found = f"exact counts went out in {exact} release(s) of this data set" if exact else ""
    return _same(form, stated) and holds_this and adds_up and within, found


def _page(folder: Path, manifest: dict[str, Any], mechanism: Plan[Any]) -> tuple[str, Callable[[], Finding]]:
    """Check that the page is, to the letter, what this version makes of the manifest and the tables."""

    def same() -> Finding:
        manifests.require_plain(folder / PAGE)
        made_by = manifest["versions"]["tacit"]
        if made_by != __version__:
            return False, f"made by Tacit {made_by}, which alone can compare it; this is {__version__}"
        tables = {part.table: read_table(folder / f"{part.table}.parquet") for part in mechanism.schedule}
        return render_page(mechanism, manifest, tables) == (folder / PAGE).read_text("utf-8"), ""

    return "release.html says what manifest and tables say", same


def _files(folder: Path, manifest: dict[str, Any], expected: set[str]) -> Iterator[Check]:
    def names() -> Finding:
        return set(manifest["files"]) == expected, "" if set(manifest["files"]) == expected else "others"

    yield _made("the files are those that the mechanism publishes", names)
    for name in sorted(expected):
        path = folder / name

        def unchanged(name: str = name, path: Path = path) -> Finding:
            if not path.is_file() or path.is_symlink():
                return False, "missing, or not a plain file"
            found = {"sha256": manifests.file_hash(path), "bytes": path.stat().st_size}
            same = _same(found, manifest["files"][name])
            return same, "as stated" if same else "changed"

        yield _made(f"{name} is the file that was released", unchanged)
    strays = {path.name for path in folder.iterdir()} - expected - {manifests.MANIFEST}
    yield Check("nothing else is in the folder", not strays, f"{len(strays)} others" if strays else "")


def _ledger(
    folder: Path, manifest: dict[str, Any], mechanism: Plan[Any], path: Ledger | str | Path
) -> Iterator[Check]:
    stated = manifest.get("ledger")
    try:
        ledger = path if isinstance(path, Ledger) else Ledger(path)
        entries = {entry.number: entry for entry in ledger.state().entries}
    except IntegrityError as error:
        yield Check("the ledger is sound", False, error.problem)
        return
    number = stated.get("entry") if isinstance(stated, dict) else None
    entry = entries.get(number) if type(number) is int else None
    if entry is None or not isinstance(stated, dict) or entry.hash != stated.get("hash"):
        yield Check("the charge is in the ledger", False, "another ledger, or it was rewritten")
        return
    yield Check("the charge is in the ledger", True, f"entry {entry.number}")
    yield _made(
        "the charge is that of the release",
        lambda: (_same(mechanism.event.to_dict(), entry.event.to_dict()), str(entry.guarantee)),
    )
    noted = (*entry.issued, *([entry.manifest] if entry.manifest else []))
    bound = manifests.file_hash(folder / manifests.MANIFEST) in noted
    found = "" if noted else "not confirmed: the ledger notes no release for this charge"
    yield Check("the ledger notes this very manifest", bound, found)


@dataclass(frozen=True, repr=False)
class Verification(Displayed):
    """What was checked of a release. ``if tacit.verify(folder):`` asks whether all of it holds."""

    folder: Path
    checks: tuple[Check, ...]
    authenticity_checked: bool
    """Whether a ledger was asked if this very release was charged; without one only consistency is shown."""

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    def __bool__(self) -> bool:
        return self.holds

    def _summary(self) -> str:
        return f"{self.folder}: {'holds' if self.holds else 'does not hold'}"

    def _rows(self) -> list[tuple[str, str, str]]:
        return [("✓" if check.holds else "✗", check.what, check.found) for check in self.checks]

    def _notes(self) -> list[str]:
        if self.authenticity_checked:
            return []
        return ["Only consistency was checked; give the ledger to check that this release was charged to it."]

    def _heading(self) -> tuple[str, ...]:
        return ("", "what", "found")


def verify(folder: str | Path, ledger: Ledger | str | Path | None = None) -> Verification:
    """Check a release against its own statement, and against the ledger that was charged for it.

    Args:
        folder: the release.
        ledger: the data set's ledger, or its place.
    """
    book = ledger if isinstance(ledger, Ledger | None) else Ledger(place("ledger", ledger))
    path = place("folder", folder)
    return Verification(path, verify_release(path, book), book is not None)
