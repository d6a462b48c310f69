"""The clock that a log's times were read from, when somebody states its zone.

Most logs write the time of a clock on a wall and do not say where the wall stood. Sessions and orders are
the same in every zone (but for the hour that a clock is set back); periods and comparisons with other logs
are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import ParameterError

__all__ = ["Clock"]

_EARLIEST = int(np.datetime64("0001-01-03", "us").astype(np.int64))
_LATEST = int(np.datetime64("9999-12-29", "us").astype(np.int64))
"""Zones are at most a day and a bit from UTC: within these bounds no shift leaves the calendar."""


@dataclass(frozen=True)
class Clock:
    """A clock in a zone (``Europe/Berlin``), or one of which nobody said where it stood."""

    zone: str | None = None

    def __post_init__(self) -> None:
        if self.zone is None:
            return
        try:
            ZoneInfo(self.zone)
        except (ValueError, OSError, LookupError) as error:
            raise ParameterError.outside(
                "time_zone", repr(self.zone), "a zone of the tz database", "Examples: UTC, Europe/Berlin."
            ) from error

    def to_utc(self, instants: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What the clock showed, in microseconds since 1970, as UTC.

        An hour that comes twice, when a clock is set back, is taken as its first coming; one that never
        comes, when it is set forward, as the moment of the change.
        """
        if self.zone is None or not len(instants):
            return instants
        shown = pa.array(np.clip(instants, _EARLIEST, _LATEST)).view(pa.timestamp("us"))
        zoned = pc.assume_timezone(shown, self.zone, ambiguous="earliest", nonexistent="latest")
        found: npt.NDArray[np.int64] = np.array(zoned.cast(pa.int64()))  # a copy, to be written to
        return found

    def set(
        self, read: tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Times as read and which could be read; the times in UTC."""
        values, good = read
        return self.to_utc(values), good

    def set_one(self, instant: int) -> int:
        """One time in UTC."""
        return int(self.to_utc(np.array([instant], np.int64))[0])
