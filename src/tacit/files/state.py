"""Where Tacit keeps what it must not forget: which ledgers belong to which data sets."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

__all__ = ["state_directory"]


def state_directory() -> Path:
    """``$TACIT_STATE``, else the platform's place, made when missing for its owner alone (mode 700).

    On Linux that is ``$XDG_STATE_HOME/tacit``, or ``~/.local/state/tacit``.
    """
    explicit = os.environ.get("TACIT_STATE")
    directory = Path(explicit) if explicit else platformdirs.user_state_path("tacit")
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory
