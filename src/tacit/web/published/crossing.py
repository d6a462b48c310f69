"""What crosses from the owner's zone to where others read: releases that verify against the ledger, whole.

Each folder is copied first and the copy is what is verified, so that nothing can change in between. A release
crosses if its files are plain and no others, everything in its manifest follows and fits, the ledger was
charged for it and notes this very manifest, and, where that is demanded, the named approvers signed it. One
that does not is refused by name, and nothing is written.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit import __version__
from tacit.errors import InputError, IntegrityError, TacitError
from tacit.privacy import Guarantee
from tacit.privacy.ledger import Ledger
from tacit.release.document.manifest import MANIFEST, file_hash, mechanism_of, read_manifest, verdict_of
from tacit.release.document.page import PAGE
from tacit.release.document.tables import read_table
from tacit.release.document.words import ReleaseVerdict
from tacit.release.mechanism import Plan
from tacit.release.verify import verify_release
from tacit.web.published.approvals import Approval, approvals_file, read_approvals

RESERVED = frozenset({"assets", "reports", "approvals", "index", "explore", "budget", "check", "site"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_LARGEST_REPORT = 64 << 20
_WHOLE = 1 << 20
_POLICY = re.compile(r"<meta http-equiv=\"Content-Security-Policy\"\s+content=\"default-src 'none';")


@dataclass(frozen=True)
class Crossed:
    """A release that may be read by others, as it was copied and verified."""

    name: str
    folder: Path
    manifest: dict[str, Any]
    approvals: tuple[Approval, ...]

    @cached_property
    def plan(self) -> Plan[Any]:
        return mechanism_of(self.manifest)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the manifest, which names all other files by theirs."""
        return file_hash(self.folder / MANIFEST)

    @cached_property
    def verdict(self) -> ReleaseVerdict:
        """How strong the protection is, of everything released up to this one."""
        return verdict_of(self.plan, self.manifest)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.from_dict(self.manifest["guarantee"])

    @property
    def total(self) -> Guarantee:
        """What everything charged up to this release costs together."""
        return Guarantee.from_dict(self.manifest["budget"]["used"])

    @property
    def released(self) -> datetime:
        return datetime.fromisoformat(self.manifest["released"])

    @property
    def begins(self) -> datetime | None:
        """From when on records took part, where that is stated."""
        since = self.manifest["preparation"]["since"]
        return datetime.fromisoformat(since) if since else None

    @property
    def ends(self) -> datetime | None:
        """Before when records took part, where that is stated."""
        until = self.manifest["preparation"]["until"]
        return datetime.fromisoformat(until) if until else None

    @property
    def period(self) -> str:
        """The records that took part, in words; else when it was released."""
        if self.begins and self.ends:
            return f"{_day(self.begins)} to {_day(self.ends)}"
        if self.begins or self.ends:
            return f"from {_day(self.begins)}" if self.begins else f"until {_day(self.ends)}"
        return f"all records, as of {self.released:%Y-%m-%d}"

    def tables(self) -> dict[str, Any]:
        return {part.table: read_table(self.folder / f"{part.table}.parquet") for part in self.plan.schedule}


def _day(moment: datetime | None) -> str:
    assert moment is not None
    return f"{moment:%Y-%m-%d}" if moment.time() == datetime.min.time() else f"{moment:%Y-%m-%d %H:%M}"


def cross(
    folders: Sequence[Path],
    to: Path,
    ledger: Ledger,
    demanded: Iterable[str] = (),
    report: Callable[[str], None] = lambda _stage: None,
) -> list[Crossed]:
    """Copy releases into ``to`` and verify the copies; in the order in which they were charged.

    Args:
        folders: the releases.
        to: an empty folder, which is thrown away if this raises.
        ledger: the data set's ledger.
        demanded: public keys, each of which must have signed every release.
        report: is told what is under way.

    Raises:
        IntegrityError: some may not cross; all of them are named, each with what is wrong.
    """
    made: list[Crossed] = []
    refused: dict[str, str] = {}
    wanted, seen = set(demanded), set()
    for number, folder in enumerate(folders, 1):
        name = Path(os.path.abspath(folder)).name  # noqa: PTH100 - a link is to be seen, not followed
        report(f"verifying {name} ({number} of {len(folders)})")
        try:
            if name in seen:
                raise IntegrityError("another release has the same name")
            seen.add(name)
            made.append(_crossed(folder, name, to, ledger, wanted))
        except (TacitError, OSError) as error:
            refused[name] = getattr(error, "problem", None) or str(getattr(error, "strerror", error))
    if refused:
        said = "; ".join(f"{name}: {problem.rstrip('.')}" for name, problem in refused.items())
        raise IntegrityError(
            f"{len(refused)} of {len(folders)} may not be published, and nothing was written. {said}.",
            "Leave them out, or see tacit verify FOLDER --ledger LEDGER for every check.",
        )
    return sorted(made, key=lambda each: int(each.manifest["ledger"]["entry"]))


def _crossed(folder: Path, name: str, to: Path, ledger: Ledger, demanded: set[str]) -> Crossed:
    if not _NAME.fullmatch(name) or name in RESERVED:
        raise IntegrityError("its name cannot be a page's: use letters, digits, points, - and _")
    if folder.is_symlink():
        raise IntegrityError("it is a link; name the folder itself")
    if not folder.is_dir():
        raise IntegrityError("there is no such folder")
    copy = to / name
    copy.mkdir()
    for entry in sorted(os.scandir(folder), key=lambda each: each.name):
        _copy(Path(entry.path), copy / entry.name)
    failed = unverified(copy, ledger)
    if failed:
        raise IntegrityError(", ".join(failed))
    if approvals_file(folder).exists() or approvals_file(folder).is_symlink():
        _copy(approvals_file(folder), approvals_file(copy))
    approvals = read_approvals(copy)
    approvals_file(copy).unlink(missing_ok=True)
    lacking = demanded - {each.key for each in approvals}
    if lacking:
        raise IntegrityError(f"not approved by the key {min(lacking)[:16]}…")
    return Crossed(name, copy, read_manifest(copy), approvals)


def unverified(folder: Path, ledger: Ledger) -> list[str]:
    """The checks of a release that fail, against the ledger too.

    A page that another version of Tacit made cannot be made again here. Its hash is in the manifest, and the
    manifest's in the ledger, so it is the page that was released.
    """
    failed = [check for check in verify_release(folder, ledger) if not check.holds]
    versions = read_manifest(folder).get("versions")
    if isinstance(versions, dict) and versions.get("tacit") != __version__:
        failed = [check for check in failed if not check.what.startswith(f"{PAGE} says")]
    return [f"{check.what}: {check.found or 'no'}" for check in failed]


def _copy(path: Path, to: Path) -> None:
    """Copy a plain file without following a link at its end; refuse whatever else there is."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise IntegrityError(f"{path.name} in it is not a plain file")
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as source, to.open("xb") as copied:
        if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
            raise IntegrityError(f"{path.name} in it is not a plain file")
        while piece := source.read(_WHOLE):
            copied.write(piece)


def cross_report(path: Path, to: Path) -> str:
    """Copy a report of evaluate or audit that its owner names; its title.

    Refused is what says itself that it is as sensitive as the log, and what may load from elsewhere.
    """
    from html import unescape

    if not path.is_file() or path.is_symlink() or path.suffix != ".html":
        problem = f"the report {path} is no plain HTML file."
        raise InputError(problem, "Name report.html or audit.html itself.")
    if path.stat().st_size > _LARGEST_REPORT:
        raise InputError(f"the report {path} is too large.", "Name a page that evaluate or audit made.")
    page = path.read_text("utf-8", errors="replace")
    if "banner sensitive" in page.replace("banner.sensitive", "") or "As sensitive as the log" in page:
        raise IntegrityError(
            f"the report {path} is as sensitive as the log: nothing was charged for it.",
            "Publish one of a synthetic or resampled log, or of an audit that was charged.",
        )
    if not _POLICY.search(page):
        problem = f"{path} is no report that Tacit made: it does not forbid itself to load from elsewhere."
        raise IntegrityError(problem, "Name a page that tacit evaluate or tacit audit made.")
    _copy(path, to)
    found = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
    return unescape(" ".join(found[1].split())) if found else path.stem
