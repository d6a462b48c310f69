"""A search log as one object, for notebooks and programs: read it, look at it, publish it, bundle its users.

The commands do the same from a terminal.
"""

from tacit.log.reading import read_log, synthetic_log
from tacit.log.search_log import Log

__all__ = ["Log", "read_log", "synthetic_log"]
