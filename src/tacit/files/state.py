"""Where Tacit keeps what it must not forget: which ledgers belong to which data sets."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["state_directory"]


def state_directory() -> Path:
    """``$TACIT_STATE``, else ``$XDG_STATE_HOME/tacit``, else ``~/.local/state/tacit``.

    Made when missing, for its owner alone (mode 700).
    """
    explicit = os.environ.get("TACIT_STATE")
    if explicit:
        directory = Path(explicit)
    else:
        base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
        directory = Path(base) / "tacit"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory
