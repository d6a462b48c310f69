"""Sessions by time and words: a history is cut where the user paused and turned to something else.

A pause alone says little: people come back to a task after lunch, and start another within a minute. A search
**begins a session** when it is the user's first; after a pause of more than ``gap`` (90 minutes unless said
otherwise); or after a pause of more than a minute, if it shares less than a quarter of its character
trigrams (overlap coefficient) with each of the user's last three different queries. Queries are compared in
lower case and without ``http://``, ``www.``, ``.com`` and the like, so that an address and the name typed
for it are close. A query without words (empty, or ``-`` as AOL's log writes it) begins no session before the
long pause, and is not compared with.

Only the one user's records are looked at. Those of the same time always share a session, and are taken in
the order of their texts, so that the order in which a log lists its records changes nothing.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.compiled import compiled
from tacit.searchlog.sessions import Column, microseconds, sensible_instants, user_codes
from tacit.searchlog.trigrams import overlap, trigrams_of

__all__ = [
    "LONG_PAUSE",
    "SHARED",
    "SHORT_PAUSE",
    "compared_text",
    "session_numbers_by_words",
    "session_starts_by_words",
]

SHORT_PAUSE = timedelta(minutes=1)
"""Up to this pause a search always goes on with the session."""
LONG_PAUSE = timedelta(minutes=90)
"""Beyond this pause it always begins one."""
SHARED = 0.25
"""The overlap coefficient from which on a search goes on with what was asked before."""
_REMEMBERED = 3

_ADDRESS_PARTS = r"https?://|\bwww\.|\.(?:com|net|org|edu|gov|mil|info|biz|us|ca|de|fr|it|es|nl|ru|jp|co\.[a-z]{2}|com\.[a-z]{2})\b"


def compared_text(queries: Any) -> Any:
    """A column of queries as they are compared with each other."""
    texts = pc.utf8_lower(queries)
    # Most queries hold no address and single spaces: only the others need a second look.
    addresses = pc.or_(pc.match_substring(texts, "."), pc.match_substring(texts, "://"))
    texts = _replaced(texts, addresses, _ADDRESS_PARTS, "")
    texts = _replaced(texts, pc.match_substring_regex(texts, r"[\t\r\n\v\f]|  "), r"\s+", " ")
    texts = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(texts, "-"), "", texts)


def _replaced(texts: Any, where: Any, pattern: str, replacement: str) -> Any:
    """``texts`` with ``pattern`` replaced, looked for only ``where`` it may be found."""
    some = pc.replace_substring_regex(texts.filter(where), pattern, replacement)
    return pc.replace_with_mask(texts, where, some)


@compiled
def _starts(
    user: npt.NDArray[np.int64],
    instants: npt.NDArray[np.int64],
    text: npt.NDArray[np.int64],
    short: int,
    long: int,
    shared: float,
    values: npt.NDArray[np.uint64],
    start: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Which records, user by user in order of time, begin a session."""
    begins = np.zeros(user.size, np.bool_)
    recent = np.full(_REMEMBERED, -1, np.int64)
    for n in range(user.size):
        if n == 0 or user[n] != user[n - 1]:
            begins[n] = True
            recent[:] = -1
        else:
            pause = instants[n] - instants[n - 1]
            if pause > long:
                begins[n] = True
            elif pause > short and size[text[n]] > 0:
                new = True
                for before in recent:
                    if before >= 0 and (
                        before == text[n] or overlap(int(text[n]), int(before), values, start, size) >= shared
                    ):
                        new = False
                        break
                begins[n] = new
        if size[text[n]] > 0 and recent[0] != text[n]:
            # The latest of the different queries first; one asked again moves to the front.
            place = _REMEMBERED - 1
            for at in range(_REMEMBERED):
                if recent[at] == text[n]:
                    place = at
                    break
            for at in range(place, 0, -1):
                recent[at] = recent[at - 1]
            recent[0] = text[n]
    return begins


def _cut(
    user: Column, time: Column, query: Column, gap: timedelta
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The order of the histories and, in that order, the users and where a session begins."""
    if isinstance(query, np.ndarray):
        query = pa.array(query, pa.string())
    if isinstance(query, pa.ChunkedArray):
        query = query.combine_chunks()
    if isinstance(query, pa.ChunkedArray):  # several chunks of an empty or very large column stay apart
        query = pa.concat_arrays(query.chunks) if query.num_chunks else pa.array([], pa.string())
    if not len(query):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    written = query if pa.types.is_dictionary(query.type) else pc.dictionary_encode(query)
    in_order = np.asarray(pc.rank(written.dictionary, tiebreaker="dense")).astype(np.int64)
    compared = pc.dictionary_encode(compared_text(written.dictionary))
    grams = trigrams_of(compared.dictionary)
    asked = np.asarray(written.indices).astype(np.int64)
    codes, instants = user_codes(user), sensible_instants(time)
    order = np.lexsort((in_order[asked], instants, codes))
    text = np.asarray(compared.indices).astype(np.int64)[asked]
    begins = _starts(
        codes[order].astype(np.int64),
        instants[order],
        text[order],
        microseconds(SHORT_PAUSE),
        microseconds(gap),
        SHARED,
        grams.values,
        grams.start,
        grams.size,
    )
    return order, codes[order], begins


def session_starts_by_words(
    user: Column, time: Column, query: Column, gap: timedelta = LONG_PAUSE
) -> npt.NDArray[np.bool_]:
    """Which records begin a session, in the order in which the log lists them.

    Args:
        user: who asked, a record each: an Arrow column, an array of strings or of whole numbers.
        time: when: an Arrow timestamp column or a ``datetime64`` array, in any order.
        query: what was asked: an Arrow column of strings, without nulls, or an array of them.
        gap: the pause beyond which a session ends, whatever is asked next.
    """
    order, _, begins = _cut(user, time, query, gap)
    listed = np.empty(len(order), np.bool_)
    listed[order] = begins
    return listed


def session_numbers_by_words(
    user: Column, time: Column, query: Column, gap: timedelta = LONG_PAUSE
) -> npt.NDArray[np.int64]:
    """The session of each record: 0, 1, 2, … within its user, in the order in which the log lists them.

    Takes what :func:`session_starts_by_words` takes.
    """
    order, codes, begins = _cut(user, time, query, gap)
    running = np.cumsum(begins) - 1
    first = np.ones(len(order), np.bool_)
    first[1:] = codes[1:] != codes[:-1]
    sizes = np.diff(np.append(np.flatnonzero(first), len(order)))
    listed = np.empty(len(order), np.int64)
    listed[order] = running - np.repeat(running[first], sizes)
    return listed
