"""Compose and reformulate queries, and write them out as text.

A query is a row of numbers: a phrase before, the noun, up to two phrases after, and a typing error. So
queries are compared, changed and repeated without any text, and the long tail of queries that are asked once
needs no dictionary. Reformulations are those by which chapter 4 of the thesis describes a session: a user
narrows down (adds a word, or names a kind of the thing), widens (drops a word, or names what the thing is a
kind of), or drifts to a neighbouring topic.

A typing error is one number, so that the same error in the same query gives the same string. Only letters
change, and only inside words of four letters or more: white space never appears, so a mistyped query stays
normalised.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled
from tacit.world.loops.randomness import GOLDEN, State, Wide, below, mix, pick, uniform

Floats = npt.NDArray[np.float64]
BEFORE_IT, AFTER_IT, PLACE, ERRAND = range(4)
"""The four lists of usual phrases."""


class Lexicon(NamedTuple):
    """Meanings, phrases and how they go together: what queries are composed from.

    Lists of lists are flat: ``xs[x_bounds[i]:x_bounds[i + 1]]`` is the i-th. Weights are cumulative over
    the whole flat list, so that one binary search draws from any part of it.
    """

    parent: Wide
    end: Wide
    child_bounds: Wide
    children: Wide
    popularity: Floats
    """How often each meaning is looked for, cumulative."""
    lemma_bounds: Wide
    lemmas: Wide
    """The names of each meaning."""
    lemma_weight: Floats
    context_bounds: Wide
    context: Wide
    """Words from each meaning's definition and the meanings above it."""
    usual_bounds: Wide
    usual: Wide
    """Four lists for any meaning: what stands before and after it, places, errands."""
    usual_weight: Floats
    errand_meaning: Wide
    base: Wide
    """The noun that a phrase is searched as; -1 for words that only stand beside a topic."""
    length: Wide
    """Bytes of each phrase."""
    text: npt.NDArray[np.uint8]
    """All phrases in UTF-8, one after the other."""
    text_bounds: Wide
    keys: npt.NDArray[np.uint8]
    """The keyboard: the letters beside each."""


class RecordKind(IntEnum):
    """What led to a submission."""

    NEED = 0
    """A new need out of an interest, or a curiosity."""
    ERRAND = 1
    """Where everybody goes."""
    AGAIN = 2
    """A query of the user's past, asked again."""
    NEXT_PAGE = 3
    """The same query, for further results."""
    SPECIALISE = 4
    """One more word, or a kind of the thing."""
    GENERALISE = 5
    """One word less, or what the thing is a kind of."""
    DRIFT = 6
    """A neighbouring topic."""
    CORRECT = 7
    """The same without the slip of the keyboard."""


Row = npt.NDArray[np.int32]
"""One submission, or one a row: the numbers below, in order."""
BEFORE, BASE, FIRST, SECOND, SLIP, MEANING, INTEREST, KIND, PAGE, CLICKS, PAUSE, ROW = range(12)
NO_SLIP = 0
_SHORTEST = 4
_A, _Z = 97, 122  # letters as bytes
_NONE = -1

# How many words stand beside the noun, where they come from, and how often fingers slip. Set so that
# the log meets its targets (see calibration).
_ONE_WORD, _TWO_WORDS = 0.32, 0.51
_FROM_CONTEXT, _FROM_RELATED, _FROM_PLACES, _FROM_ANYWHERE = 0.27, 0.26, 0.14, 0.19
_RELATED_BY = 3
_AT_HOME = 0.6
_IN_FRONT = 0.16
_SLIPS = 0.07
_SLIP_CODES = 512
_LONG = 16  # bytes of a noun beside which one word is enough


@compiled
def _meaning_within(state: State, lexicon: Lexicon, topic: int) -> int:
    """A meaning in the subtree of ``topic``, by popularity."""
    return pick(lexicon.popularity, topic, int(lexicon.end[topic]), uniform(state))


@compiled
def _name(state: State, lexicon: Lexicon, meaning: int) -> int:
    """Draw one of the meaning's names, by how often it is used."""
    start, stop = int(lexicon.lemma_bounds[meaning]), int(lexicon.lemma_bounds[meaning + 1])
    return int(lexicon.lemmas[pick(lexicon.lemma_weight, start, stop, uniform(state))])


@compiled
def _usual(state: State, lexicon: Lexicon, which: int) -> int:
    """The place of a phrase drawn from one of the usual lists."""
    start, stop = lexicon.usual_bounds[which], lexicon.usual_bounds[which + 1]
    return pick(lexicon.usual_weight, start, stop, uniform(state))


@compiled
def _word_beside(state: State, lexicon: Lexicon, meaning: int, home: int) -> int:
    """A word to stand after the noun: of its context, a related topic, a place, any noun, a usual one."""
    source = uniform(state)
    start, stop = int(lexicon.context_bounds[meaning]), int(lexicon.context_bounds[meaning + 1])
    if source < _FROM_CONTEXT and stop > start:
        # Words nearer the beginning of the definition come first to mind.
        place = uniform(state)
        return int(lexicon.context[start + int(place * place * (stop - start))])
    source -= _FROM_CONTEXT
    if source < _FROM_RELATED:
        for _ in range(_RELATED_BY):
            if lexicon.parent[meaning] > 0:
                meaning = int(lexicon.parent[meaning])
        return _name(state, lexicon, _meaning_within(state, lexicon, meaning))
    source -= _FROM_RELATED
    if source < _FROM_PLACES:
        if uniform(state) < _AT_HOME:
            return home
        return int(lexicon.usual[_usual(state, lexicon, PLACE)])
    source -= _FROM_PLACES
    if source < _FROM_ANYWHERE:
        return _name(state, lexicon, _meaning_within(state, lexicon, 0))
    return int(lexicon.usual[_usual(state, lexicon, AFTER_IT)])


@compiled
def _plain(row: Row, noun: int, meaning: int) -> None:
    row[BEFORE] = row[FIRST] = row[SECOND] = _NONE
    row[BASE] = noun
    row[SLIP] = NO_SLIP
    row[MEANING] = meaning


@compiled
def compose(state: State, lexicon: Lexicon, row: Row, home: int) -> None:
    """Write a query into ``row``, for its interest (-1: for any topic) and near its meaning (-1: none)."""
    near, topic = np.int64(row[MEANING]), np.int64(row[INTEREST])
    if near > 0 and (topic < 0 or uniform(state) < 0.5):  # a sibling
        above = lexicon.parent[near]
        start, stop = lexicon.child_bounds[above], lexicon.child_bounds[above + 1]
        meaning = int(lexicon.children[start + below(state, stop - start)])
    else:
        meaning = _meaning_within(state, lexicon, int(max(topic, np.int64(0))))
    _plain(row, _name(state, lexicon, meaning), meaning)
    beside = uniform(state)
    if beside < _TWO_WORDS and lexicon.length[row[BASE]] <= _LONG:
        beside_it = 2
    else:
        beside_it = 1 if beside < _ONE_WORD + _TWO_WORDS else 0
    for place in range(beside_it):
        word = _word_beside(state, lexicon, meaning, home)
        if word != row[BASE] and word != row[FIRST]:
            row[FIRST + place] = word
    if uniform(state) < _IN_FRONT:
        row[BEFORE] = lexicon.usual[_usual(state, lexicon, BEFORE_IT)]
    if uniform(state) < _SLIPS:
        row[SLIP] = 1 + below(state, _SLIP_CODES)


@compiled
def errand(state: State, lexicon: Lexicon, row: Row) -> None:
    """Write one of everybody's queries into ``row``."""
    chosen = _usual(state, lexicon, ERRAND)
    meaning = lexicon.errand_meaning[chosen - lexicon.usual_bounds[ERRAND]]
    _plain(row, int(lexicon.usual[chosen]), int(meaning))
    row[INTEREST] = -1


@compiled
def specialise(state: State, lexicon: Lexicon, row: Row, home: int) -> None:
    """Narrow down: one more word, or a kind of the thing."""
    meaning = int(np.int64(row[MEANING]))
    start, stop = int(lexicon.child_bounds[meaning]), int(lexicon.child_bounds[meaning + 1])
    if stop > start and uniform(state) < 0.35:
        kind = int(lexicon.children[start + below(state, stop - start)])
        _plain(row, _name(state, lexicon, kind), kind)
        return
    row[SLIP] = NO_SLIP
    row[BASE] = lexicon.base[row[BASE]]  # an address becomes the name it stands for
    word = _word_beside(state, lexicon, meaning, home)
    if word == row[BASE] or word == row[FIRST]:
        word = home
    if row[FIRST] == _NONE:
        row[FIRST] = word
    elif row[SECOND] == _NONE:
        row[SECOND] = word
    elif row[BEFORE] == _NONE:
        row[BEFORE] = lexicon.usual[_usual(state, lexicon, BEFORE_IT)]
    else:
        row[SECOND] = word


@compiled
def generalise(state: State, lexicon: Lexicon, row: Row) -> None:
    """Widen: one word less, or what the thing is a kind of."""
    row[SLIP] = NO_SLIP
    for part in (SECOND, FIRST, BEFORE):
        if row[part] != _NONE:
            row[part] = _NONE
            return
    if lexicon.parent[row[MEANING]] > 0:
        above = int(lexicon.parent[row[MEANING]])
        _plain(row, _name(state, lexicon, above), above)


@compiled
def _place(text: npt.NDArray[np.uint8], length: int, choice: int) -> int:
    """A letter that has a letter on both sides, within a word of four or more; -1 if there is none."""
    for attempt in range(length):
        place = (choice + attempt) % length
        first, last = place, place
        if not _A <= text[place] <= _Z:
            continue
        while first > 0 and _A <= text[first - 1] <= _Z:
            first -= 1
        while last + 1 < length and _A <= text[last + 1] <= _Z:
            last += 1
        if last - first + 1 >= _SHORTEST and first < place < last:
            return place
    return -1


@compiled
def mistype(text: npt.NDArray[np.uint8], length: int, slip: int, keys: npt.NDArray[np.uint8]) -> int:
    """Apply ``slip`` to the first ``length`` bytes of ``text`` in place; gives the new length.

    ``text`` must have room for one byte more.
    """
    kind = slip & 3
    place = _place(text, length, slip >> 3)
    if place < 0:
        return length
    if kind == 0:
        text[place], text[place + 1] = text[place + 1], text[place]
    elif kind == 1:
        for byte in range(place, length - 1):
            text[byte] = text[byte + 1]
        return length - 1
    elif kind == 2:
        for byte in range(length, place, -1):
            text[byte] = text[byte - 1]
        return length + 1
    else:
        text[place] = keys[text[place] - 97, (slip >> 2) & 1]
    return length


@compiled
def spell(
    rows: Row, lexicon: Lexicon, room: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32], npt.NDArray[np.uint64]]:
    """The text of each row: bytes, where each begins (and the last ends), and a 64-bit hash of each.

    Args:
        room: bytes that suffice for all rows, a separator after each phrase and a doubled letter included.
    """
    text, bounds = lexicon.text, lexicon.text_bounds
    written = np.empty(room, np.uint8)
    begins = np.zeros(len(rows) + 1, np.int32)
    hashes = np.empty(len(rows), np.uint64)
    at = 0
    for row in range(len(rows)):
        start = at
        for part in (BEFORE, BASE, FIRST, SECOND):
            phrase = rows[row, part]
            if phrase < 0:
                continue
            if at > start:
                written[at] = 32  # a space
                at += 1
            for byte in range(bounds[phrase], bounds[phrase + 1]):
                written[at] = text[byte]
                at += 1
        if rows[row, SLIP] != NO_SLIP:
            at = start + mistype(written[start:], at - start, rows[row, SLIP], lexicon.keys)
        digest = np.uint64(0)
        for byte in range(start, at):
            digest = (digest ^ np.uint64(written[byte])) * GOLDEN
            digest ^= digest >> np.uint64(29)
        hashes[row] = mix(digest + np.uint64(at - start))
        begins[row + 1] = at
    return written[:at], begins, hashes
