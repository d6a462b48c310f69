"""How a file is to be read: what the user said about it, and what was told from its beginning."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tacit.errors import ParameterError
from tacit.searchlog.readers.mapping import ColumnMapping
from tacit.searchlog.readers.source import Opening
from tacit.searchlog.readers.time_formats import TIME_FORMATS, TimeReader, order_of_dates, time_reader
from tacit.searchlog.readers.time_zone import Clock

__all__ = ["DELIMITER_NAMES", "Reading", "delimiter_from"]

DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


def delimiter_from(text: str | None) -> str | None:
    """The character that ``--delimiter`` names, by itself or in words; None for none."""
    if text is None:
        return None
    found = DELIMITER_NAMES.get(text, text)
    if len(found) != 1 or not found.isascii() or found in '"\r\n\0' or found.isalnum():
        raise ParameterError.outside(
            "delimiter", repr(text), "one character such as ';', or tab, comma, semicolon, pipe or space"
        )
    return found


@dataclass(frozen=True)
class Reading:
    """How a file is to be read."""

    mapping: ColumnMapping = field(default_factory=ColumnMapping)
    time_format: str = "auto"
    """One of :data:`~tacit.searchlog.readers.time_formats.TIME_FORMATS`."""
    time_zone: str | None = None
    """Where the clock stood that times without a zone were read from; as they stand when absent."""
    delimiter: str | None = None
    """What stands between fields, when it was said."""

    def __post_init__(self) -> None:
        if self.time_format not in TIME_FORMATS:
            raise ParameterError.outside(
                "time_format", repr(self.time_format), f"one of {', '.join(TIME_FORMATS)}"
            )
        Clock(self.time_zone)

    @property
    def clock(self) -> Clock:
        """The clock that times without a zone were read from."""
        return Clock(self.time_zone)

    @property
    def read_times(self) -> TimeReader:
        """How a column of times is read."""
        return time_reader(self.time_format, self.clock)

    def told_from(self, opening: Opening) -> Reading:
        """The same, with the order of day and month where the file's beginning leaves only one."""
        order = order_of_dates(opening.head) if self.time_format == "auto" else None
        return replace(self, time_format=order) if order else self
