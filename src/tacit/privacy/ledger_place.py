"""Where the ledger of a data set lies: one ledger per data set, found without being told.

A second ledger for the same log is a second budget: what is promised holds for neither of them, but for
their sum. So a log that has its ledger beside it takes no other.
"""

from __future__ import annotations

from pathlib import Path

from tacit.errors import InputError

__all__ = ["default_ledger", "refuse_second_ledger"]


def default_ledger(log: str | Path) -> Path:
    """``LOG.ledger``, beside the log."""
    log = Path(log)
    return log.with_name(f"{log.name}.ledger")


def refuse_second_ledger(path: str | Path, log: str | Path) -> None:
    """Refuse ``path`` as the ledger of ``log`` where another one lies beside the log."""
    beside = default_ledger(log)
    if beside.exists() and beside.resolve() != Path(path).resolve():
        raise InputError(
            f"this log has its ledger already, {beside}; a second one would be a second budget.",
            f"Use that one. If {path} is the data set's ledger, move the other away; both together are "
            "what was spent.",
        )
