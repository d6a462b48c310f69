"""Search logs: the model of a log and its file, readers of log formats, sessions, statistics."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.searchlog.schema import COLUMNS, SCHEMA, LogWriter, check_log
from tacit.searchlog.sessions import SESSION_GAP, SessionCut

if TYPE_CHECKING:
    from tacit.searchlog.export import export_log
    from tacit.searchlog.importing import ImportOptions, ImportReport, import_log
    from tacit.searchlog.readers.protocol import Reason
    from tacit.searchlog.statistics import LogStatistics, opened_for_statistics

__all__ = [
    "COLUMNS", "SCHEMA", "SESSION_GAP", "ImportOptions", "ImportReport", "LogStatistics", "LogWriter",
    "Reason", "SessionCut", "check_log", "export_log", "import_log", "opened_for_statistics",
]  # fmt: skip

_ROOMS = {
    "export": "export_log",
    "importing": "ImportOptions ImportReport import_log",
    "readers.protocol": "Reason",
    "statistics": "LogStatistics opened_for_statistics",
}


def __getattr__(name: str) -> Any:
    for room, names in _ROOMS.items():  # what a release does without is loaded when it is asked for
        if name in names.split():
            return getattr(import_module(f"{__name__}.{room}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
