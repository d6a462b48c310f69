"""Times as they are stored."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["utc_text"]


def utc_text(time: datetime) -> str:
    """UTC in one fixed form, so that text order is time order."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")
