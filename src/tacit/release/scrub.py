"""Scrubbing: nothing is published whose own text looks like it names somebody (:mod:`tacit.text.sensitive`).

What is plain to see is left out of the contributions: a record whose query holds an ``@`` and a dot
gives nothing, so that its user has room for something else. That depends on the record alone, so a user's
history is still a function of the user's own records and the sensitivity of every histogram is unchanged.

All patterns are looked for where it costs nothing, in the keys that are about to be published: dropping rows
of a table after selection is post-processing, which costs no ε whatever it looks at. So is dropping keys
longer than anybody types, and those with invisible characters, which a reader could not see
(:mod:`tacit.text.normalise`).

It is a second line behind the guarantee, grants no ε, and is no proof: names and streets written out pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.release.execution import Tables
from tacit.text import INVISIBLE, SUSPECT, sensitive_patterns, sensitive_url_patterns

__all__ = ["LONGEST_KEY", "LONGEST_URL", "plainly_harmless", "withheld"]

LONGEST_KEY = 200
"""Characters of a query, or of a keyword, that is published: AOL's log has few longer ones, and they are
pastes.
"""
LONGEST_URL = 1000
"""Characters of a url that is published."""


def plainly_harmless(log: Any) -> Any:
    """The log without records that plainly hold an address, as an Ibis expression."""
    query = log["query"]
    return log.filter(~(query.contains("@") & query.contains(".")))  # a url need not even be read for this


def withheld(tables: Tables, *, scrub: bool = True) -> Tables:
    """The tables without keys that are too long, hold what nobody sees or, with ``scrub``, name somebody."""
    kept = {}
    for name, table in tables.items():
        good = np.ones(table.num_rows, np.bool_)
        for field in table.schema:
            column = table.column(field.name).combine_chunks()
            if pa.types.is_list(field.type):
                bad = _bad(column.flatten(), field.name, scrub)
                good[np.asarray(pc.list_parent_indices(column))[bad]] = False
            elif pa.types.is_string(field.type):
                good &= ~_bad(column, field.name, scrub)
        kept[name] = table if good.all() else table.filter(pa.array(good))
    return kept


def _bad(texts: Any, column: str, scrub: bool) -> npt.NDArray[np.bool_]:
    """Which texts are not to be published."""
    longest = LONGEST_URL if column == "url" else LONGEST_KEY
    bad = np.array(pc.fill_null(pc.greater(pc.utf8_length(texts), longest), False))
    bad |= np.asarray(pc.fill_null(pc.match_substring_regex(texts, INVISIBLE), False))
    if not scrub:
        return bad
    suspect = SUSPECT if column != "url" else f"{SUSPECT}|%"
    names_somebody = sensitive_url_patterns if column == "url" else sensitive_patterns
    for place in np.flatnonzero(np.asarray(pc.fill_null(pc.match_substring_regex(texts, suspect), False))):
        if names_somebody(texts[int(place)].as_py()):
            bad[place] = True
    return bad
