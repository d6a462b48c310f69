"""Who may see a report: whoever may see the log, unless nobody real is in it.

Evaluating a log is its owner's own look at it. Nothing in the report is protected by noise: curves and tables
are exact functions of the log. So the report is as sensitive as the log. A synthetic log has nobody in it,
and a resampled one is published itself; reports on them may go anywhere.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import pyarrow.parquet as pq

from tacit.searchlog.origin import ORIGIN

__all__ = ["Sensitivity", "sensitivity_of"]


class Sensitivity(StrEnum):
    """How far a report may go."""

    AS_THE_LOG = "as sensitive as the log"
    SHAREABLE = "free to share"

    @property
    def mode(self) -> int:
        """Permission bits of its files."""
        return 0o600 if self is Sensitivity.AS_THE_LOG else 0o644

    @property
    def banner(self) -> str:
        """What the page says first."""
        if self is Sensitivity.AS_THE_LOG:
            return (
                "As sensitive as the log itself. These figures are the owner's own look at a private log: "
                "exact, outside any guarantee. Do not publish this page; no ledger was charged for it."
            )
        return "Free to share: the log is synthetic or resampled, and holds nobody's records."


def sensitivity_of(log: str | Path, *, declared_synthetic: bool = False) -> Sensitivity:
    """By what the log's file says of its origin, or by its owner's word."""
    metadata = pq.read_schema(log).metadata or {}
    marked = metadata.get(ORIGIN.encode()) in (b"synthetic", b"resampled")
    return Sensitivity.SHAREABLE if declared_synthetic or marked else Sensitivity.AS_THE_LOG
