"""Validation of what callers give: one rule for each kind of value, and one error for each rule.

A function of the public interface passes its parameters through these, so that a wrong type is refused by
name (``users must be a whole number, 1 or more; found 'many'.``) and not by whatever fails first.
Integers and numbers of numpy are integers and numbers.
"""

import math
import operator
import os
from contextlib import suppress
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tacit.errors import ParameterError

E = TypeVar("E", bound=Enum)

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_LONGEST_SHOWN = 60


def shown(value: object) -> str:
    """A value as an error may show it: short, and on one line."""
    found = repr(value) if isinstance(value, str | int | float) else type(value).__name__
    return found if len(found) <= _LONGEST_SHOWN else f"{found[:_LONGEST_SHOWN]}…"


def whole(name: str, value: Any, least: int = 0) -> int:
    """Return a whole number of at least ``least``.

    >>> whole("users", 5, 1)
    5
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        found = value if number is not None else shown(value)
        raise ParameterError.outside(name, found, f"a whole number, {least} or more")
    return number


def real(name: str, value: Any, rule: str = "a finite number") -> float:
    """Return a finite number; ``rule`` says in words which numbers are allowed."""
    try:
        number = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError.outside(name, shown(value), rule)
    return number


def flag(name: str, value: Any) -> bool:
    """Return True or False; numbers and words are neither."""
    if isinstance(value, bool) or type(value).__name__ == "bool":  # numpy's
        return bool(value)
    raise ParameterError.outside(name, shown(value), "True or False")


def member(name: str, kind: type[E], value: Any) -> E:
    """Return one of the members of an enumeration, given as itself or by its value."""
    try:
        return kind(value)
    except (ValueError, TypeError):
        listed = [str(each.value) for each in kind]
        rule = " or ".join(listed) if len(listed) < 3 else "one of " + ", ".join(listed)
        raise ParameterError.outside(name, shown(value), rule) from None


def text(name: str, value: Any, longest: int = 200) -> str:
    """Return one printable line."""
    if not isinstance(value, str):
        raise ParameterError.outside(name, shown(value), "text")
    if len(value) > longest or not value.isprintable():
        rule = f"one printable line of at most {longest} characters"
        raise ParameterError.outside(name, f"{len(value)} characters", rule)
    return value


def place(name: str, value: Any) -> Path:
    """Return the path of a file or folder, given as text or as a path."""
    found = os.fspath(value) if isinstance(value, str | os.PathLike) else ""
    parts = Path(found).parts if isinstance(found, str) and "\0" not in found else ()
    if found and parts and all(len(part.encode(errors="replace")) < 256 for part in parts):
        return Path(found)
    rule = "the path of a file or folder" + ", no name in it longer than 255 bytes" * bool(found)
    raise ParameterError.outside(name, shown(found or value), rule)


def socks(name: str, value: Any) -> str:
    """Return the address of a SOCKS proxy."""
    with suppress(ValueError, AttributeError, TypeError):
        parts = urlsplit(value)
        if (
            parts.scheme in ("socks5", "socks5h")
            and parts.hostname
            and parts.port
            and "@" not in parts.netloc
        ):
            return str(value)
    rule = "of the form socks5://HOST:PORT, without a password; for Tor, socks5://127.0.0.1:9050"
    raise ParameterError(f"the address of the `{name}` must be {rule}.")


def moment(name: str, value: Any) -> datetime | None:
    """Return a time in UTC and without a zone, as logs have it, from a datetime or as people write it.

    A bare number is refused: taken for seconds since 1970, ``2006`` would be half an hour after midnight.

    >>> moment("since", "2006-03-06"), moment("since", "2006-03-06 12:00+02:00")
    (datetime.datetime(2006, 3, 6, 0, 0), datetime.datetime(2006, 3, 6, 10, 0))
    """
    found = value
    if isinstance(value, str) and value.strip()[4:5] == "-":
        with suppress(ValueError):
            found = datetime.fromisoformat(value.strip())
    if found is None:
        return None
    if not isinstance(found, datetime):
        raise ParameterError.outside(
            name, shown(value), "a day or time such as 2006-03-06 or 2006-03-06T12:00"
        )
    return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)


def size(name: str, value: Any) -> int:
    """Return how many bytes a size is: a number of bytes, or text such as ``2GB``, ``500 MB`` or ``1.5GiB``.

    >>> size("memory", "1.5GB"), size("memory", 2_000_000)
    (1500000000, 2000000)
    """
    found = 0.0
    with suppress(KeyError, ValueError, TypeError):
        if isinstance(value, str):
            number = value.strip().rstrip("BbIiKkMmGgTt").strip()
            found = float(number) * _UNITS[value.strip()[len(number) :].strip().upper()]
        elif not isinstance(value, bool):
            found = operator.index(value)
    if not 1 <= found < 2**63:
        raise ParameterError.outside(name, shown(value), "a size such as 2GB or 500MB")
    return int(found)
