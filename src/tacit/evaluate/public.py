"""What anybody can do with no log at all, and what a release is given to fall back on.

The **engine's order** is known from a log that notes the rank of each click. Of a list that was shown, the
clicked pages are known with their places, and the others are known not to be relevant (nobody of those
tested clicked them), which is all that a measure asks. What scores how much:
docs/reference/evaluation/tasks.md.
"""

from functools import lru_cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from tacit.evaluate.data import LogPart, Numbers, ReleasedData, changes, rows_with
from tacit.evaluate.task import Ranked, places, ranked_by
from tacit.taxonomy import load_wordnet
from tacit.text import STOP_WORDS

BEHIND = 100.0
"""How many people's words the public list counts for beside released counts."""
TRUST = 20.0
"""How many people's clicks the engine's order counts for: at the first place half of it, at the second a
third."""
SHOWN = 10
"""Places of a list that the engine shows."""


@lru_cache(maxsize=1)
def word_shares() -> dict[str, float]:
    """The share of each common English word among all, from its place in the public list (Zipf's law)."""
    listed = (resources.files("tacit.data") / "glove" / "words.txt").read_text(encoding="utf-8").split()
    told = [word for word in listed if word.isalnum() and word not in STOP_WORDS]
    weights = 1 / (np.arange(len(told)) + 10.0)
    return dict(zip(told, (weights / weights.sum()).tolist(), strict=True))


def fewer_words(query: str) -> list[str]:
    """The query with one word less: the last, the first, then each other."""
    listed = query.split()
    if len(listed) < 2:
        return []
    places = dict.fromkeys([len(listed) - 1, 0, *range(1, len(listed) - 1)])
    return list(dict.fromkeys(" ".join(listed[:place] + listed[place + 1 :]) for place in places))


@lru_cache(maxsize=1 << 16)
def _synonyms_of(word: str) -> tuple[str, ...]:
    wordnet = load_wordnet()
    found = (lemma.replace("_", " ") for sense in wordnet.senses(word) for lemma in wordnet.lemmas(sense))
    return tuple(dict.fromkeys(lemma.lower() for lemma in found if lemma.lower() != word))


def with_synonyms(query: str, most: int) -> list[str]:
    """The query with one word replaced by a synonym, a word after another."""
    listed = query.split()
    found = (
        " ".join((*listed[:place], other, *listed[place + 1 :]))
        for place, word in enumerate(listed)
        for other in _synonyms_of(word)
    )
    return list(dict.fromkeys(found))[:most]


class EngineLists:
    """Lists that the engine showed to test users, to be reranked by released clicks.

    Args:
        test: whose queries and urls the numbers are.
        query: the query of each list.
        known: list, url and rank of the pages that were clicked, in any order; a rank of 0 is not known.
    """

    def __init__(self, test: LogPart, query: Numbers, known: tuple[Numbers, Numbers, Numbers]) -> None:
        self._test, self._query = test, query
        order = np.lexsort((known[2], known[1], known[0]))
        listed, url, rank = (column[order][known[2][order] > 0] for column in known)
        first = changes(listed, url)
        self._list, self._url, self._rank = listed[first], url[first], rank[first]
        free = np.ones((len(query), SHOWN), np.bool_)
        shown = self._rank <= SHOWN
        free[self._list[shown], self._rank[shown] - 1] = False
        self._free = free

    def touched(self, released: ReleasedData) -> Numbers:
        """The lists for whose query something was released; the others stay as the engine has them."""
        clicked = np.zeros(len(released.queries) + 1, np.bool_)  # the last place is of what is not known, -1
        clicked[released.clicks.row] = True
        asked = released.queries.find(self._test.queries.texts)
        return np.flatnonzero(clicked[asked[self._query]]) if len(asked) else np.empty(0, np.int64)

    def ranked(self, released: ReleasedData, lists: Numbers) -> tuple[Ranked, Numbers]:
        """Some lists by the engine's order and released clicks, and the number of each test url in them.

        A page scores as many people as clicked it for the query, and :data:`TRUST` over one plus its place.
        """
        urls = released.urls.find_or_add(self._test.urls.texts)
        beyond = len(released.urls) + len(urls)  # numbers from here on are pages that nobody clicked
        place_of = np.full(len(self._query), -1, np.int64)
        place_of[lists] = np.arange(len(lists))
        here = place_of[self._list] >= 0
        unit, item, rank = place_of[self._list[here]], urls[self._url[here]], self._rank[here]
        row, url, count = self._released(released, lists)
        width = beyond + SHOWN
        keys, wanted = unit * width + item, row * width + url
        own = np.zeros(len(keys))
        order = np.argsort(keys)
        at = np.searchsorted(keys[order], wanted)
        at = order[np.minimum(at, len(keys) - 1)] if len(keys) else np.zeros(len(wanted), np.int64)
        same = keys[at] == wanted if len(keys) else np.zeros(len(wanted), np.bool_)
        own[at[same]] = count[same]
        row, url, count = row[~same], url[~same], count[~same]
        order = np.lexsort((url, -count, row))
        order = order[places(row[order]) <= SHOWN]
        row, url, count = row[order], url[order], count[order]
        free_unit, free_place = np.nonzero(self._free[lists])
        begins = np.searchsorted(free_unit, np.arange(len(lists) + 1))
        slot = begins[row] + places(row) - 1
        there = slot < begins[row + 1]
        taken = np.zeros(len(free_unit), np.bool_)
        taken[slot[there]] = True
        extra_rank = np.full(len(slot), SHOWN + 1, np.int64)
        extra_rank[there] = free_place[slot[there]] + 1
        left_unit, left_place = free_unit[~taken], free_place[~taken]
        units = np.concatenate([unit, row, left_unit])
        items = np.concatenate([item, url, beyond + left_place])
        ranks = np.concatenate([rank, extra_rank, left_place + 1])
        counts = np.concatenate([own, count, np.zeros(len(left_unit))])
        return ranked_by(units, items, counts + TRUST / (ranks + 1), SHOWN), urls

    def _released(
        self, released: ReleasedData, lists: Numbers
    ) -> tuple[Numbers, Numbers, NDArray[np.float64]]:
        """The released clicks of each list's query: place of the list, url, count."""
        clicks = released.clicks
        asked = released.queries.find(self._test.queries.texts)
        numbers = asked[self._query[lists]] if len(asked) else np.empty(0, np.int64)
        row, source = rows_with(numbers, clicks.row)
        return row, clicks.column[source], clicks.weight[source]


def popular(released: ReleasedData, most: int) -> tuple[Numbers, NDArray[np.float64]]:
    """The queries with the largest counts, each with its share of all; ties by the query's number."""
    counts = released.query_counts
    order = np.lexsort((np.arange(len(counts)), -counts))[:most]
    kept = order[counts[order] > 0]
    return kept, counts[kept] / max(counts.sum(), 1.0)
