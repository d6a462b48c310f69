"""What was searched: the model of a search log, its readers, its sessions."""

from tacit.searchlog.schema import COLUMNS, SCHEMA, check_log

__all__ = ["COLUMNS", "SCHEMA", "check_log"]
