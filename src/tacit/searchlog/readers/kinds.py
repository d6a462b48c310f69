"""What a column of somebody's file seems to hold, told from a sample and said without any of its content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

import pyarrow as pa

from tacit.searchlog.readers.instants import compact_instants, iso_instants

__all__ = ["ADDRESS", "DATES", "NUMBER", "ColumnKind", "kind_of"]

NUMBER = r"^-?[0-9]+(\.[0-9]*)?$"
"""What a rank looks like, sound or not."""
ADDRESS = r"[./:]"
"""What every address of a web page holds."""

_WHOLE = re.compile(rb"\d+")
_WHOLE_DECIMAL = re.compile(rb"\d+\.0*")
_DECIMAL = re.compile(rb"-?\d*\.\d+(e[+-]?\d+)?")
_SLASHED = re.compile(rb"(\d{1,2})([/.-])(\d{1,2})\2\d{4}(?:[ T,].*)?", re.DOTALL)
_ADDRESS = re.compile(rb"(?:[a-z]+://\S+|(?:[\w-]+\.)+[a-z]{2,}(?:[:/]\S*)?)", re.IGNORECASE)


class ColumnKind(StrEnum):
    """What the values of a column look like; its text is how a message says so."""

    NOTHING = "nothing"
    DATES = "times such as 2006-03-01 07:17:12"
    DAY_FIRST = "dates with the day first, such as 31/12/2006"
    MONTH_FIRST = "dates with the month first, such as 12/31/2006"
    EITHER_ORDER = "dates such as 03/04/2006, of which day and month cannot be told apart"
    COMPACT = "times of twelve digits such as 970916105432"
    SECONDS = "seconds since 1970 such as 1141197432, or other long numbers"
    MILLISECONDS = "milliseconds since 1970 such as 1141197432000, or other long numbers"
    WHOLE = "whole numbers"
    WHOLE_DECIMALS = "decimals such as 1.0"
    DECIMALS = "decimals such as 1.5"
    ADDRESSES = "web addresses"
    TEXT = "text"


DATES = (ColumnKind.DATES, ColumnKind.DAY_FIRST, ColumnKind.MONTH_FIRST, ColumnKind.EITHER_ORDER)
"""What can only be times."""


def _slashed(values: Sequence[bytes]) -> ColumnKind | None:
    found = [match for value in values if (match := _SLASHED.fullmatch(value))]
    if len(found) * 2 <= len(values):
        return None
    day_first = any(int(match[1]) > 12 for match in found)
    month_first = any(int(match[3]) > 12 for match in found)
    if day_first == month_first:
        return ColumnKind.EITHER_ORDER
    return ColumnKind.DAY_FIRST if day_first else ColumnKind.MONTH_FIRST


def _numbers(values: Sequence[bytes]) -> ColumnKind | None:
    whole = [value for value in values if _WHOLE.fullmatch(value)]
    decimals = [value for value in values if _WHOLE_DECIMAL.fullmatch(value)]
    if len(whole) * 2 > len(values):
        if all(len(value) == 10 for value in whole):
            return ColumnKind.SECONDS
        if all(len(value) == 13 for value in whole):
            return ColumnKind.MILLISECONDS
        compact = compact_instants(pa.array(whole, pa.binary()))[1]
        return ColumnKind.COMPACT if compact.all() else ColumnKind.WHOLE
    if (len(whole) + len(decimals)) * 2 > len(values):
        return ColumnKind.WHOLE_DECIMALS
    fractions = sum(bool(_DECIMAL.fullmatch(value)) for value in values)
    return ColumnKind.DECIMALS if (len(whole) + fractions) * 2 > len(values) else None


def kind_of(sample: Sequence[bytes]) -> ColumnKind:
    """What most of the values that are not empty look like."""
    values = [stripped for value in sample if (stripped := value.strip().strip(b'"'))]
    if not values:
        return ColumnKind.NOTHING
    if found := _numbers(values) or _slashed(values):
        return found
    if int(iso_instants(pa.array(values, pa.binary()))[1].sum()) * 2 > len(values):
        return ColumnKind.DATES
    if sum(bool(_ADDRESS.fullmatch(value)) for value in values) * 2 > len(values):
        return ColumnKind.ADDRESSES
    return ColumnKind.TEXT
