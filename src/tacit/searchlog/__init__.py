"""What was searched: the model of a search log, its readers, its sessions, its figures."""

from tacit.searchlog.export import export_log
from tacit.searchlog.importing import ImportOptions, ImportReport, import_log
from tacit.searchlog.readers.protocol import Reason
from tacit.searchlog.schema import COLUMNS, SCHEMA, LogWriter, check_log
from tacit.searchlog.sessions import (
    SESSION_GAP,
    history_order,
    session_numbers,
    session_starts,
    with_pauses,
    with_sessions,
)
from tacit.searchlog.statistics import LogStatistics, opened_for_statistics

__all__ = [
    "COLUMNS",
    "SCHEMA",
    "SESSION_GAP",
    "ImportOptions",
    "ImportReport",
    "LogStatistics",
    "LogWriter",
    "Reason",
    "check_log",
    "export_log",
    "history_order",
    "import_log",
    "opened_for_statistics",
    "session_numbers",
    "session_starts",
    "with_pauses",
    "with_sessions",
]
