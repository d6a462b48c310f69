"""Scrubbing: drop records whose own text looks like it names somebody.

E-mail addresses, telephone numbers, payment card numbers (with a valid check digit), US social security
numbers and long runs of digits. Whether a record is dropped depends on that record alone, so a user's
history is still a function of the user's own records and the sensitivity of every histogram is unchanged:
scrubbing costs no ε and grants none. It is a second line behind the guarantee, and no proof: a name written
out passes.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

import pyarrow as pa

from tacit.release.engines import Engine

__all__ = ["LONG_RUN", "Sensitive", "scrubbed", "sensitive_patterns"]

LONG_RUN = 8
"""A run of this many digits, or more, is dropped."""


class Sensitive(StrEnum):
    """What a text may contain that names somebody."""

    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    SOCIAL_SECURITY = "social-security"
    LONG_DIGITS = "long-digits"


# Digits are 0 to 9 and letters those of ASCII here, as for the engine, so that both agree on every text.
_EMAIL = re.compile(
    r"[\w.+%-]+\s?(?:@|\(at\)|\[at\])\s?[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}", re.IGNORECASE | re.ASCII
)
_SOCIAL = re.compile(r"(?<!\d)(?!000|666|9\d\d)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?!\d)", re.ASCII)
_PHONE = re.compile(
    r"(?<!\d)(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)\s?|\d{2,4}[ .-])\d{3,4}[ .-]\d{3,4}(?!\d)"
    r"|(?<!\d)\d{3}[.-]\d{4}(?!\d)|\+\d{7,15}(?!\d)",
    re.ASCII,
)
_CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)", re.ASCII)
_LONG = re.compile(rf"\d{{{LONG_RUN},}}", re.ASCII)

_SUSPECT = r"[0-9][ -]?[0-9][ -]?[0-9]|@|[(\[][aA][tT][)\]]"
"""What the engine looks for in queries: every pattern above implies it, and only its matches are looked at
closely."""
_SUSPECT_URL = r"@|%40|[(\[][aA][tT][)\]]"
"""The same for urls, where only addresses count."""


def _luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit)
        if place % 2:
            value = value * 2 - 9 if value > 4 else value * 2
        total += value
    return total % 10 == 0


def sensitive_patterns(text: str) -> frozenset[Sensitive]:
    """Which patterns a text contains.

    >>> sorted(sensitive_patterns("call 555-867-5309"))
    [<Sensitive.PHONE: 'phone'>]
    """
    found = set()
    if _EMAIL.search(text):
        found.add(Sensitive.EMAIL)
    if _SOCIAL.search(text):
        found.add(Sensitive.SOCIAL_SECURITY)
    if _PHONE.search(text):
        found.add(Sensitive.PHONE)
    if any(_luhn(re.sub(r"\D", "", match.group())) for match in _CARD.finditer(text)):
        found.add(Sensitive.CARD)
    if _LONG.search(text):
        found.add(Sensitive.LONG_DIGITS)
    return frozenset(found)


def scrubbed(engine: Engine, log: Any) -> Any:
    """The log without records whose query has a sensitive pattern, or whose url has an e-mail address.

    Urls are full of long numbers that name articles and products; only addresses are looked for there.
    """
    for column, suspect, names_somebody in (
        ("query", _SUSPECT, sensitive_patterns),
        ("url", _SUSPECT_URL, _addressed),
    ):
        # The verdict on a text must not depend on the records it stands in: one user could otherwise have
        # the records of others dropped. So a column is searched, judged and filtered by itself.
        texts = log[column]
        found = engine.batches(log.filter(texts.re_search(suspect)).select(column).distinct())
        bad = [text for batch in found for text in batch.column(0).to_pylist() if names_somebody(text)]
        if bad:
            log = log.anti_join(engine.load(pa.table({column: pa.array(bad, pa.string())})), column)
    return log


def _addressed(url: str) -> bool:
    return Sensitive.EMAIL in sensitive_patterns(url.replace("%40", "@"))
