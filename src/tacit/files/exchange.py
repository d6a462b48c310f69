"""Two names that change places in one step, where the system can do it."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

__all__ = ["exchange"]

_HERE = -100
"""AT_FDCWD: paths are relative to the working directory."""
_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux's renameat2(2)."""


def exchange(one: Path, other: Path) -> bool:
    """Let two existing paths of one file system change places at once.

    Returns:
        False, with nothing changed, where the C library, the kernel or the file system cannot.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return False
    return bool(library.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
