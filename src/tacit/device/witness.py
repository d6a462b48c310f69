"""A witness outside the profile file: how many entries its exposure ledger has held at most.

A profile put back from a backup has forgotten what was sent since. Beside the file, in the user's folder for
program state, stands one number for each profile, written before every exposure. A ledger that holds fewer
entries than its witness saw is an older copy. On another machine, or where that folder was put back too,
there is no witness: that cannot be noticed.
"""

from __future__ import annotations

import os
from pathlib import Path

from tacit.files import state_directory

__all__ = ["Witness"]

_WIDTH = 20


class Witness:
    """The witness of one profile.

    Args:
        identity: the profile's own name, random and without meaning.
    """

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self._known: Path | None = None

    @property
    def path(self) -> Path:
        """Where the number stands."""
        if self._known is None:
            self._known = state_directory() / "exposures" / self._identity
        return self._known

    def seen(self) -> int:
        """How many entries were seen; 0 where nothing is known."""
        try:
            handle = os.open(self.path, os.O_RDONLY)
            try:
                return int(os.read(handle, 2 * _WIDTH))
            finally:
                os.close(handle)
        except (OSError, ValueError):
            return 0

    def see(self, entries: int) -> None:
        """Note that so many entries were made. Where nothing can be written, nothing is noticed later."""
        try:
            try:
                self._write(entries)
            except FileNotFoundError:  # the first time, or its folder was removed
                self._known = None
                self.path.parent.mkdir(exist_ok=True, mode=0o700)
                self._write(entries)
        except OSError:
            return

    def _write(self, entries: int) -> None:
        # In place: a file renamed over another makes the file system wait for the disk, and every query
        # that is sent would wait with it. A number of fixed width is never half overwritten.
        handle = os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.pwrite(handle, f"{entries:0{_WIDTH}}".encode(), 0)
        finally:
            os.close(handle)

    def forget(self) -> None:
        """Remove the witness, as when its profile is erased."""
        self.path.unlink(missing_ok=True)
