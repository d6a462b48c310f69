"""Where a log is from, noted in its file: ``synthetic`` and ``resampled`` logs hold nobody's records."""

from __future__ import annotations

__all__ = ["ORIGIN"]

ORIGIN = "tacit.origin"
"""The key of the note in the file's metadata; an imported log has none."""
