"""Patterns in a text that name somebody.

E-mail addresses, telephone numbers, payment card numbers (with a valid check digit), US social security
numbers and long runs of digits. The verdict depends on the text alone. It is no proof: a name written out
passes.
"""

from __future__ import annotations

import re
from enum import StrEnum

__all__ = ["LONG_RUN", "SUSPECT", "Sensitive", "sensitive_patterns"]

LONG_RUN = 8
"""A run of this many digits, or more, is dropped."""


class Sensitive(StrEnum):
    """What a text may contain that names somebody."""

    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    SOCIAL_SECURITY = "social-security"
    LONG_DIGITS = "long-digits"


# Digits are 0 to 9 and letters those of ASCII here, as for the engines, so that all agree on every text.
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

SUSPECT = r"[0-9][ -]?[0-9][ -]?[0-9]|@|[(\[][aA][tT][)\]]"
"""A simpler pattern, for engines that search whole columns: every pattern above implies it, so that only its
matches need a close look."""


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
