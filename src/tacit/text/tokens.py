"""Normalise queries and cut texts into words, as every part of Tacit does."""

from __future__ import annotations

import re
from pkgutil import get_data
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


INVISIBLE = (
    r"[\x{00AD}\x{034F}\x{061C}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{200B}-\x{200F}\x{202A}-\x{202E}"
    r"\x{2060}-\x{206F}\x{3164}\x{FE00}-\x{FE0F}\x{FEFF}\x{FFA0}\x{FFF0}-\x{FFFB}\x{1BCA0}-\x{1BCA3}"
    r"\x{1D173}-\x{1D17A}\x{E0000}-\x{E0FFF}]"
)
"""The invisible characters, as a class for engines of regular expressions over columns."""

_SPACE = r"[\s\p{Z}\p{Cc}]+"


def normalise_column(queries: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Normalise a column of queries; nulls stay null."""
    import pyarrow.compute as pc

    visible = pc.replace_substring_regex(queries, pattern=INVISIBLE, replacement="")
    folded = pc.utf8_lower(pc.utf8_normalize(visible, form="NFKC"))
    # Lower-casing can leave a decomposed pair (İ becomes i + dot), so compose once more.
    composed = pc.utf8_normalize(folded, form="NFKC")
    return pc.utf8_trim(pc.replace_substring_regex(composed, pattern=_SPACE, replacement=" "), characters=" ")


def normalise(query: str) -> str:
    """Normalise one query.

    >>> normalise("  Ｋ-Anonymity\\t PRIVACY ")
    'k-anonymity privacy'
    """
    if query.isascii():
        return re.sub(r"[\x00-\x20\x7f]+", " ", query.lower()).strip(" ")
    import pyarrow as pa

    return str(normalise_column(pa.array([query], pa.string()))[0].as_py())


_WORD = re.compile(r"\w+(?:['’]\w+)*", re.UNICODE)

STOP_WORDS = frozenset((get_data("tacit.text", "stop_words.txt") or b"").decode().split())
"""English function words, and what is left of addresses when they are cut into words."""


def words(text: str) -> list[str]:
    """The words of ``text`` in lower case, in order.

    >>> words("Hypernyms: WordNet's java (coffee)")
    ['hypernyms', "wordnet's", 'java', 'coffee']
    """
    return _WORD.findall(text.lower().replace("’", "'"))
