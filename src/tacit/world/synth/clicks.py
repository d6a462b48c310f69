"""What the embedded engine answers to each noun, and which results people click.

Clicks go to high ranks and to what fits a person's interests. The engine is asked once for each noun; its
answers are kept in the cache folder.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled
from tacit.files import atomic_file, cache_directory
from tacit.taxonomy import load_wordnet
from tacit.world.corpus import index_folder, wordnet_engine
from tacit.world.loops.randomness import State, stream, uniform
from tacit.world.synth.queries import BASE, CLICKS, INTEREST, KIND, MEANING, PAGE, SLIP, RecordKind, Row

PAGE_SIZE = 10
DEPTH = 2 * PAGE_SIZE
"""Results kept for a noun: two pages."""


def _ask() -> npt.NDArray[np.int32]:
    nouns, engine = load_wordnet().vocabulary, wordnet_engine()
    results = np.full((len(nouns), DEPTH), -1, np.int32)
    for number, noun in enumerate(nouns):
        hits = engine.search(noun, DEPTH)
        results[number, : len(hits)] = [hit.document for hit in hits]
    return results


@cache
def load_results() -> npt.NDArray[np.int32]:
    """The results of every noun, best first; -1 fills the row. The first call ever takes seconds."""
    # The name of the index folder tells the corpus and the engine apart.
    path = cache_directory() / f"{index_folder().name}-results-{DEPTH}.npy"
    try:
        loaded: npt.NDArray[np.int32] = np.load(path)
    except (OSError, ValueError, EOFError):  # absent, or damaged
        loaded = _ask()
        with atomic_file(path) as temporary, temporary.open("wb") as file:
            np.save(file, loaded)
    return loaded


@compiled
def page_length(results: npt.NDArray[np.int32], noun: int, page: int) -> int:
    """How many results a page (from 0) of a noun's results has."""
    start = page * PAGE_SIZE
    length = 0
    while length < PAGE_SIZE and start + length < DEPTH and results[noun, start + length] >= 0:
        length += 1
    return length


_ERRAND = int(RecordKind.ERRAND)

_ATTENTION = np.array([42.0, 12.0, 8.5, 6.0, 4.9, 4.0, 3.4, 3.0, 2.8, 3.0])
"""How often each place of a page is clicked, per cent: steep, flat below, with a small rise at the end."""
_MEANT, _OF_INTEREST = 12.0, 4.0
_CLICKS_ERRAND, _CLICKS_SLIP, _CLICKS_FOUND, _CLICKS_BESIDE = 0.56, 0.20, 0.435, 0.325
_CLICKS_ON = 0.43
_WHERE = 4


@compiled
def clicks_of(state: State, row: Row, noun: int, results: npt.NDArray[np.int32]) -> int:
    """How many results of a submission are clicked: no more than its page shows."""
    shown = page_length(results, noun, int(row[PAGE]))
    if row[KIND] == _ERRAND:
        chance = _CLICKS_ERRAND
    elif row[SLIP]:
        chance = _CLICKS_SLIP
    else:
        chance = _CLICKS_BESIDE
        for place in range(row[PAGE] * PAGE_SIZE, row[PAGE] * PAGE_SIZE + shown):
            if results[noun, place] == row[MEANING]:
                chance = _CLICKS_FOUND
    if not shown or uniform(state) >= chance:
        return 0
    clicks = 1
    while clicks < shown and uniform(state) < _CLICKS_ON:
        clicks += 1
    return clicks


@compiled
def _weigh(
    weight: npt.NDArray[np.float64],
    found: npt.NDArray[np.int32],
    meaning: int,
    low: int,
    high: int,
) -> None:
    """Fill ``weight`` with attention times fit for the results ``found`` of one page."""
    for place in range(len(found)):
        document = found[place]
        fit = 1.0
        if document == meaning:
            fit = _MEANT
        elif low <= document < high:
            fit = _OF_INTEREST
        weight[place] = _ATTENTION[place] * fit


@compiled
def _draw(state: State, weight: npt.NDArray[np.float64], shown: int) -> int:
    """A place by weight, which is then used up."""
    target = uniform(state) * weight[:shown].sum()
    last = -1
    for place in range(shown):
        if weight[place] > 0.0:
            last = place
            target -= weight[place]
            if target < 0.0:
                break
    weight[last] = 0.0
    return last


@compiled
def choose_clicks(
    seed: int,
    first_user: int,
    rows: npt.NDArray[np.int32],
    bounds: npt.NDArray[np.int64],
    base: npt.NDArray[np.int64],
    results: npt.NDArray[np.int32],
    end: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The records of some users: which submission each belongs to, the clicked rank (0: none), the document.

    Args:
        base: the noun that each phrase is searched as.
        results: the results of each noun.
        end: one past the last topic of each topic's subtree.
    """
    records = np.maximum(rows[:, CLICKS], 1).sum()
    of_row = np.empty(records, np.int64)
    rank = np.zeros(records, np.int32)
    document = np.full(records, -1, np.int32)
    state = np.empty(1, np.uint64)
    weight = np.empty(PAGE_SIZE, np.float64)
    at = 0
    for user in range(len(bounds) - 1):
        stream(state, seed, first_user + user, _WHERE)
        for row in range(bounds[user], bounds[user + 1]):
            noun, topic = int(base[rows[row, BASE]]), int(rows[row, INTEREST])
            start = int(rows[row, PAGE]) * PAGE_SIZE
            found = results[noun, start : start + page_length(results, noun, int(rows[row, PAGE]))]
            _weigh(weight, found, rows[row, MEANING], topic, end[topic] if topic >= 0 else 0)
            for _ in range(max(1, rows[row, CLICKS])):
                of_row[at] = row
                if rows[row, CLICKS]:
                    place = _draw(state, weight, len(found))
                    rank[at] = start + place + 1
                    document[at] = found[place]
                at += 1
    return of_row, rank, document
