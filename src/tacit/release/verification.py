"""A release, verified: every check with what it found, as one object that is true if all of them hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.release.verify import Check, verify_release
from tacit.terminal import shown_as_html, shown_as_text

if TYPE_CHECKING:
    from tacit.privacy.ledger import Ledger

__all__ = ["Verification", "verify"]


@dataclass(frozen=True)
class Verification:
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

    def _title(self) -> str:
        return f"{self.folder}: {'holds' if self.holds else 'does not hold'}"

    def _rows(self) -> list[tuple[str, str, str]]:
        return [("✓" if check.holds else "✗", check.what, check.found) for check in self.checks]

    def _notes(self) -> list[str]:
        if self.authenticity_checked:
            return []
        return ["Only consistency was checked; give the ledger to check that this release was charged to it."]

    def __repr__(self) -> str:
        return shown_as_text(self._title(), self._rows(), self._notes())

    def _repr_html_(self) -> str:
        return shown_as_html(self._title(), self._rows(), self._notes(), heading=("", "what", "found"))


def verify(folder: str | Path, ledger: Ledger | str | Path | None = None) -> Verification:
    """Check a release against its own statement, and against the ledger that was charged for it.

    Args:
        folder: the release.
        ledger: the data set's ledger, or its place.
    """
    place = ledger if ledger is None or isinstance(ledger, str | Path) else ledger.path
    return Verification(Path(folder), tuple(verify_release(folder, place)), place is not None)
