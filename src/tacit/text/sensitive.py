"""Patterns in a text that name somebody.

E-mail addresses (also with ``%40`` or ``(at)``), telephone numbers, payment card numbers (with a valid check
digit), US social security numbers (with dashes, dots or spaces), addresses of computers, names with
passwords in addresses of pages (``user:pass@``) and long runs of digits. The verdict depends on the text
alone. It is no proof: a name or a street written out passes, and no pattern can find those.
"""

import re
from enum import StrEnum
from urllib.parse import unquote

LONG_RUN = 8
"""A run of this many digits, or more, is dropped."""


class Sensitive(StrEnum):
    """What a text may contain that names somebody."""

    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    SOCIAL_SECURITY = "social-security"
    LONG_DIGITS = "long-digits"
    COMPUTER = "computer"
    """The address of a computer: IPv4 or IPv6."""
    PASSWORD = "password"
    """A name and a password in the address of a page."""


# Digits are 0 to 9 and letters those of ASCII here, as for the engines, so that all agree on every text.
_EMAIL = re.compile(
    r"[\w.+%-]+\s?(?:@|%40|\(at\)|\[at\])\s?[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}", re.IGNORECASE | re.ASCII
)
_SOCIAL = re.compile(r"(?<!\d)(?!000|666|9\d\d)\d{3}([-. ])(?!00)\d{2}\1(?!0000)\d{4}(?!\d)", re.ASCII)
_PHONE = re.compile(
    r"(?<!\d)(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)\s?|\d{2,4}[ .-])\d{3,4}[ .-]\d{3,4}(?!\d)"
    r"|(?<!\d)\d{3}[.-]\d{4}(?!\d)|\+\d{7,15}(?!\d)",
    re.ASCII,
)
_CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)", re.ASCII)
_LONG = re.compile(rf"\d{{{LONG_RUN},}}", re.ASCII)
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_COMPUTER = re.compile(
    rf"(?<![\d.]){_BYTE}(?:\.{_BYTE}){{3}}(?!\d|\.\d)"
    r"|(?<![0-9a-f:])(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}(?![0-9a-f:])"
    r"|(?<![0-9a-f:])(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}(?![0-9a-f:])",
    re.IGNORECASE | re.ASCII,
)
_PASSWORD = re.compile(r"[^\s/@:?#]+:[^\s/@?#]+@[\w.-]+", re.ASCII)

SUSPECT = r"[0-9][ .-]?[0-9][ .-]?[0-9]|@|%40|[(\[][aA][tT][)\]]|[0-9a-fA-F]:[0-9a-fA-F]{0,4}:"
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


_PATTERNS = {
    Sensitive.EMAIL: _EMAIL,
    Sensitive.SOCIAL_SECURITY: _SOCIAL,
    Sensitive.PHONE: _PHONE,
    Sensitive.LONG_DIGITS: _LONG,
    Sensitive.COMPUTER: _COMPUTER,
    Sensitive.PASSWORD: _PASSWORD,
}


def sensitive_patterns(text: str) -> frozenset[Sensitive]:
    """Find the patterns that a text contains.

    >>> sorted(sensitive_patterns("call 555-867-5309"))
    [<Sensitive.PHONE: 'phone'>]
    """
    found = {kind for kind, pattern in _PATTERNS.items() if pattern.search(text)}
    if any(_luhn(re.sub(r"\D", "", match.group())) for match in _CARD.finditer(text)):
        found.add(Sensitive.CARD)
    return frozenset(found)


def sensitive_url_patterns(url: str) -> frozenset[Sensitive]:
    """Find the patterns of a page's address, as it stands and with its ``%40`` and the like spelt
    out.

    >>> sorted(sensitive_url_patterns("http://x.example/?m=joe%40mail.example"))
    [<Sensitive.EMAIL: 'email'>]
    """
    return sensitive_patterns(url) | (sensitive_patterns(unquote(url)) if "%" in url else frozenset())
