"""Where Tacit keeps what it can rebuild from public data: the search index, never anything personal."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

__all__ = ["cache_directory"]


def cache_directory() -> Path:
    """``$TACIT_CACHE``, else the platform's place (``$XDG_CACHE_HOME/tacit`` or ``~/.cache/tacit`` on Linux).

    Made when missing.
    """
    explicit = os.environ.get("TACIT_CACHE")
    directory = Path(explicit) if explicit else platformdirs.user_cache_path("tacit")
    directory.mkdir(parents=True, exist_ok=True)
    return directory
