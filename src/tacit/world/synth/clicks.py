"""Which results people click: high ranks and what fits their interests.

The results are those of the embedded engine for the query's noun (a query with more words, or a
mistyped one, shows the results of its noun); the rank is the real rank in that list. A user looks at a
result with a probability that falls with its rank, and clicks it the rather the better it fits: best
when it is the meaning that the user had in mind, next when it lies within the interest behind the
query. So users with different interests click different results of the same ambiguous word.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.retrieval import SearchEngine
from tacit.world.synth.compiled import compiled
from tacit.world.synth.kinds import Kind
from tacit.world.synth.queries import BASE, CLICKS, INTEREST, MEANING, PAGE
from tacit.world.synth.randomness import State, stream, uniform

__all__ = ["DEPTH", "Results", "choose_clicks", "clicks_of"]

DEPTH = 20
"""Results shown for a query: two pages of ten."""
_PAGE = 10
_ERRAND, _NEXT = int(Kind.ERRAND), int(Kind.NEXT_PAGE)

_ATTENTION = np.array([42.0, 12.0, 8.5, 6.0, 4.9, 4.0, 3.4, 3.0, 2.8, 3.0])
"""How often each place of a page is clicked, per cent: steep, flat below, with a small rise at the end."""
_MEANT, _OF_INTEREST = 12.0, 4.0
_MOST_CLICKS = 8
_CLICKS_ERRAND, _CLICKS_SLIP, _CLICKS_NEXT, _CLICKS_OTHER = 0.60, 0.22, 0.355, 0.427
_CLICKS_ON = 0.39
_WHERE = 4


class Results:
    """The engine's answers, asked once a noun and kept."""

    def __init__(self, engine: SearchEngine, phrases: list[str], nouns: int) -> None:
        self._engine = engine
        self._phrases = phrases
        self.documents = np.full((nouns, DEPTH), -1, np.int32)
        """The results of each noun, best first; -1 fills the row."""
        self._known = np.zeros(nouns, np.bool_)

    def ask(self, nouns: npt.NDArray[np.int32]) -> None:
        """Make sure the results of ``nouns`` are known; several threads may ask at once."""
        wanted = np.unique(nouns)
        for noun in wanted[~self._known[wanted]]:
            hits = self._engine.search(self._phrases[noun], DEPTH)
            self.documents[noun, : len(hits)] = [hit.document for hit in hits]
            self._known[noun] = True


@compiled
def clicks_of(state: State, kind: int, slip: int) -> int:
    """How many results of a submission are clicked."""
    if kind == _ERRAND:
        chance = _CLICKS_ERRAND
    elif slip:
        chance = _CLICKS_SLIP
    elif kind == _NEXT:
        chance = _CLICKS_NEXT
    else:
        chance = _CLICKS_OTHER
    if uniform(state) >= chance:
        return 0
    clicks = 1
    while clicks < _MOST_CLICKS and uniform(state) < _CLICKS_ON:
        clicks += 1
    return clicks


@compiled
def _weigh(
    weight: npt.NDArray[np.float64],
    found: npt.NDArray[np.int32],
    start: int,
    meaning: int,
    low: int,
    high: int,
) -> int:
    """Fill ``weight`` with attention times fit for the page from ``start``; gives the page's length."""
    shown = 0
    while shown < _PAGE and start + shown < DEPTH and found[start + shown] >= 0:
        document = found[start + shown]
        fit = 1.0
        if document == meaning:
            fit = _MEANT
        elif low <= document < high:
            fit = _OF_INTEREST
        weight[shown] = _ATTENTION[shown] * fit
        shown += 1
    return shown


@compiled
def _draw(state: State, weight: npt.NDArray[np.float64], shown: int) -> int:
    """A place by weight, which is then used up; all places are fresh again when none is left."""
    total = 0.0
    for place in range(shown):
        total += weight[place]
    if total <= 0.0:
        return int(uniform(state) * shown)
    target = uniform(state) * total
    for place in range(shown):
        target -= weight[place]
        if target < 0.0:
            weight[place] = 0.0
            return place
    return shown - 1


@compiled
def choose_clicks(
    seed: int,
    first_user: int,
    rows: npt.NDArray[np.int32],
    bounds: npt.NDArray[np.int64],
    base: npt.NDArray[np.int32],
    documents: npt.NDArray[np.int32],
    end: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The records of some users: which submission each belongs to, the clicked rank (0: none), the document.

    Args:
        base: the noun that each phrase is searched as.
        documents: the results of each noun.
        end: one past the last topic of each topic's subtree.
    """
    records = np.maximum(rows[:, CLICKS], 1).sum()
    of_row = np.empty(records, np.int64)
    rank = np.zeros(records, np.int32)
    document = np.full(records, -1, np.int32)
    state = np.empty(1, np.uint64)
    weight = np.empty(_PAGE, np.float64)
    at = 0
    for user in range(len(bounds) - 1):
        stream(state, seed, first_user + user, _WHERE)
        for row in range(bounds[user], bounds[user + 1]):
            found = documents[base[rows[row, BASE]]]
            topic = rows[row, INTEREST]
            high = end[topic] if topic >= 0 else 0
            start = _PAGE * min(rows[row, PAGE], DEPTH // _PAGE - 1)
            shown = _weigh(weight, found, start, rows[row, MEANING], topic, high)
            if not shown:  # there is no further page: the first is looked at again
                start = 0
                shown = _weigh(weight, found, start, rows[row, MEANING], topic, high)
            for _ in range(max(1, rows[row, CLICKS])):
                of_row[at] = row
                if rows[row, CLICKS] and shown:
                    place = start + _draw(state, weight, shown)
                    rank[at] = place + 1
                    document[at] = found[place]
                at += 1
    return of_row, rank, document
