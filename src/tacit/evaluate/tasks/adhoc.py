"""Ad-hoc search: rank urls for a query from the release alone (thesis 002, section 3.4).

Units are the distinct test queries with a click; relevant is what test users clicked for them. Four ways:

- ``random walk`` on the query-click graph with transitions between queries (eq. 3.5);
- ``random walk with page impact`` (eq. 3.6 and 3.7);
- ``implicit feedback``: the release's order by clicks, merged with the ranks at which **other** test users
  clicked (eq. 3.8). One half of the test users gives the feedback, the other half the truth, so it has
  fewer units;
- ``implicit feedback, as printed``: eq. 3.8 with feedback from the very clicks that are its truth. It sees
  the answers: shown for comparison with the thesis, not to be believed.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from ir_measures import AP, P, nDCG
from numpy.typing import NDArray
from scipy import sparse

from tacit.evaluate.data import LoggedClicks, LogPart, Numbers, ReleasedData
from tacit.evaluate.task import Measured, Measures, Ranked, judge, ranked_by
from tacit.evaluate.walk import NEGLIGIBLE, STEPS, rank_urls, transition_matrix

FEEDBACK_WEIGHT = 0.6
"""λ of eq. 3.8."""
_LISTED = 10
_MEASURES = {"nDCG@10": nDCG @ 10, "MAP": AP @ 10, "P@5": P @ 5, "P@10": P @ 10}
"""MAP over the first ten, as eq. 4.11 has it; ir-measures divides by all that is relevant."""


class Adhoc:
    """The task.

    Args:
        steps: how far the walks go.
        negligible: probabilities that the walks let go.
    """

    name = "adhoc"
    headline = "random walk: nDCG@10"

    def __init__(self, steps: int = STEPS, negligible: float = NEGLIGIBLE) -> None:
        self._steps, self._negligible = steps, negligible

    def against(self, original: LogPart, test: LogPart) -> AdhocTrial:
        """Only the test part matters: the original is what a release competes with, not what it knows."""
        del original
        return AdhocTrial(test, self._steps, self._negligible)


class AdhocTrial:
    """Test queries with what was clicked for them."""

    def __init__(self, test: LogPart, steps: int, negligible: float) -> None:
        self._test, self._steps, self._negligible = test, steps, negligible
        clicks = test.clicks
        self._all = _Judged(clicks, np.ones(len(clicks.user), np.bool_))
        # Users are numbered in the order of their names, so odd and even ones are two halves like any other.
        self._half = _Judged(clicks, clicks.user % 2 == 1)

    def measure(self, released: ReleasedData) -> Measures:
        """All four ways."""
        found: dict[str, Measured] = {}
        for way, impact in (("random walk", False), ("random walk with page impact", True)):
            matrix = transition_matrix(released, impact=impact)
            found |= _named(way, self._walk(released, matrix))
        clicks, known = self._test.clicks, self._numbers(released)
        even = clicks.user % 2 == 0
        feedback = _feedback(released, self._half, known, clicks, even, self._test)
        found |= _named("implicit feedback", self._half.judge(feedback, self._urls(released)))
        everything = np.ones(len(even), np.bool_)
        leaking = _feedback(released, self._all, known, clicks, everything, self._test)
        return found | _named("implicit feedback, as printed", self._all.judge(leaking, self._urls(released)))

    def _numbers(self, released: ReleasedData) -> Numbers:
        """For each query of the test part its number in the release, or -1."""
        return released.queries.find(self._test.queries.texts)

    def _urls(self, released: ReleasedData) -> Numbers:
        """For each url of the test part its number in the release; unknown ones get numbers beyond."""
        return _beyond(released, self._test)

    def _walk(self, released: ReleasedData, matrix: sparse.csr_array) -> Mapping[str, Measured]:
        starts = self._numbers(released)[self._all.queries]
        units = np.flatnonzero(starts >= 0)
        listed = rank_urls(
            released,
            matrix,
            starts[units],
            _LISTED,
            steps=self._steps,
            negligible=self._negligible,
        )
        ranked = Ranked(units[listed.unit], listed.item, listed.place)
        return self._all.judge(ranked, self._urls(released))


class _Judged:
    """Distinct queries with a click among some of the clicks, and the urls clicked for each."""

    def __init__(self, clicks: LoggedClicks, which: NDArray[np.bool_]) -> None:
        pairs = np.unique(np.stack([clicks.query[which], clicks.url[which]]), axis=1)
        self.queries, unit = np.unique(pairs[0], return_inverse=True)
        self.unit, self.url = unit.astype(np.int64), pairs[1]

    def judge(self, ranked: Ranked, urls: Numbers) -> Mapping[str, Measured]:
        found = judge(ranked, (self.unit, urls[self.url]), len(self.queries), tuple(_MEASURES.values()))
        return {name: found[measure] for name, measure in _MEASURES.items()}


def _beyond(released: ReleasedData, test: LogPart) -> Numbers:
    numbers = released.urls.find(test.urls.texts)
    unknown = numbers < 0
    numbers[unknown] = len(released.urls) + np.arange(np.count_nonzero(unknown))
    return numbers


def _feedback(
    released: ReleasedData,
    judged: _Judged,
    known: Numbers,
    clicks: LoggedClicks,
    which: NDArray[np.bool_],
    test: LogPart,
) -> Ranked:
    """Eq. 3.8: S(d) = λ/(I_d + 1) + (1 - λ)/(O_d + 1) where there is feedback, else 1/(O_d + 1).

    O_d is the place of d in the release's order by clicks for the query, I_d the best rank at which a user
    clicked it. A url with feedback alone has O_d = ∞. A click whose rank nobody noted is no feedback.
    Queries for which the release has no click are not answered.
    """
    counts = released.clicks
    order = ranked_by(counts.row, counts.column, counts.weight, len(released.urls))
    unit_of = np.full(len(released.queries) + 1, -1, np.int64)  # the last place takes what is unknown
    unit_of[known[judged.queries]] = np.arange(len(judged.queries))
    unit_of[-1] = -1
    unit = unit_of[order.unit]
    kept = unit >= 0
    unit, item = unit[kept], order.item[kept]
    own = 1 / (order.place[kept] + 1)
    answered = np.zeros(len(judged.queries) + 1, np.bool_)  # the last place is nobody's
    answered[unit] = True
    # feedback on the same units
    to_unit = np.full(len(test.queries), -1, np.int64)
    to_unit[judged.queries] = np.arange(len(judged.queries))
    heard = to_unit[clicks.query[which]]
    useful = answered[heard] & (clicks.rank[which] > 0)
    best = _best_ranks(
        heard[useful], _beyond(released, test)[clicks.url[which][useful]], clicks.rank[which][useful]
    )
    score: dict[tuple[int, int], float] = dict(
        zip(zip(unit.tolist(), item.tolist(), strict=True), own.tolist(), strict=True)
    )
    for key, rank in best.items():
        score[key] = FEEDBACK_WEIGHT / (rank + 1) + (1 - FEEDBACK_WEIGHT) * score.get(key, 0.0)
    if not score:
        empty = np.empty(0, np.int64)
        return Ranked(empty, empty, empty)
    keys = np.array(list(score), np.int64)
    return ranked_by(keys[:, 0], keys[:, 1], np.array(list(score.values())), _LISTED)


def _best_ranks(unit: Numbers, item: Numbers, rank: Numbers) -> dict[tuple[int, int], int]:
    order = np.lexsort((rank, item, unit))
    found: dict[tuple[int, int], int] = {}
    for u, i, r in zip(unit[order].tolist(), item[order].tolist(), rank[order].tolist(), strict=True):
        found.setdefault((u, i), r)
    return found


def _named(way: str, measures: Mapping[str, Measured]) -> dict[str, Measured]:
    return {f"{way}: {name}": measured for name, measured in measures.items()}
