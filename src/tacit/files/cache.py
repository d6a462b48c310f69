"""Where Tacit keeps what it can rebuild from public data: the search index, never anything personal."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_directory"]


def cache_directory() -> Path:
    """``$TACIT_CACHE``, else ``$XDG_CACHE_HOME/tacit``, else ``~/.cache/tacit``; created when missing."""
    explicit = os.environ.get("TACIT_CACHE")
    if explicit:
        directory = Path(explicit)
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        directory = Path(base) / "tacit"
    directory.mkdir(parents=True, exist_ok=True)
    return directory
