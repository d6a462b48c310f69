"""Search logs: the model of a log and its file, readers of log formats, sessions, statistics."""

from tacit.searchlog.export import export_log
from tacit.searchlog.importing import ImportOptions, ImportReport, import_log
from tacit.searchlog.readers.protocol import Reason
from tacit.searchlog.schema import COLUMNS, SCHEMA, LogWriter, check_log
from tacit.searchlog.sessions import SESSION_GAP, SessionCut
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
    "SessionCut",
    "check_log",
    "export_log",
    "import_log",
    "opened_for_statistics",
]
