"""Query normalising: Unicode NFKC, lower case, white space collapsed.

Two spellings of the same query must count as one, or counts (and thresholds on them) scatter. The
column form and the scalar form agree on every string.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["normalise", "normalise_column"]

_SPACE = r"[\s\p{Z}\p{Cc}]+"


def normalise_column(queries: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Normalise a column of queries; nulls stay null."""
    folded = pc.utf8_lower(pc.utf8_normalize(queries, form="NFKC"))
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
    return str(normalise_column(pa.array([query], pa.string()))[0].as_py())
