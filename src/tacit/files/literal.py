"""How an engine is told to read one log, and nothing else.

DuckDB takes a path for a pattern (``log[12].parquet`` would read ``log1.parquet``) and folders named
``user=…`` for columns. Either could put another log's records, or one user's name on all of them, into a
release: so a log is named literally.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["literal_path"]


def literal_path(path: str | Path) -> str:
    """``path`` as a pattern that matches exactly that file; read it with ``hive_partitioning=false``.

    >>> literal_path("weeks/log[12].parquet")
    'weeks/log[[]12].parquet'
    """
    return re.sub(r"([*?\[])", r"[\1]", str(path))
