"""Ad-hoc search from a release alone, in the four ways of the thesis (002, section 3.4).

- ``random walk`` on the query-click graph with transitions between queries (eq. 3.5);
- ``random walk with page impact`` (eq. 3.6 and 3.7);
- ``implicit feedback``: the release's order by clicks, merged with the ranks at which **other** test users
  clicked (eq. 3.8). One half of the test users gives the feedback, the other half the truth, so it has
  fewer units;
- ``implicit feedback, as printed``: eq. 3.8 with feedback from the very clicks that are its truth. It sees
  the answers: shown for comparison with the thesis, not to be believed.

The graph's vertices are the queries and then the urls of a release (eq. 3.5 to 3.7 and 4.12). From a query
the walker stays with probability s, or goes to a url or to another query in proportion to the released
counts. In chapter 3 a url keeps the walker (no outbound link of it is defined there); in chapter 4, for
session search, it leads back to the queries it was clicked for. A query without links keeps the walker where
it is, so its walk ranks nothing. The walk goes a fixed number of steps. On a large graph, probabilities below
a limit are dropped after each step, which keeps its cost proportional to the number of walks; with the limit
0 it is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.evaluate.data import KINDS, CountedLog, LogPart, Numbers, ReleasedData, Weighted
from tacit.evaluate.task import Measured, Measures, Ranked, ranked_by
from tacit.evaluate.tasks.adhoc import Adhoc, AdhocTrial, JudgedClicks

FEEDBACK_WEIGHT = 0.6
"""λ of eq. 3.8."""
_LISTED = 10
STAY = 0.1
"""s of eq. 3.5 and λ of eq. 4.12: the walker stays (section 3.4)."""
STEPS = 5
"""How far a walk goes; the thesis does not say. After five steps of s = 0.1 next to nothing has not moved."""
NEGLIGIBLE = 1e-3
"""Probabilities below this are dropped after each step."""
_AT_ONCE = 4096


class ThesisAdhoc(Adhoc):
    """Ad-hoc search.

    Args:
        steps: how far the walks go.
        negligible: probabilities below which the walks stop.
    """

    name = "thesis-adhoc"
    reads = tuple(KINDS.values())

    def __init__(self, steps: int = STEPS, negligible: float = NEGLIGIBLE) -> None:
        self._steps, self._negligible = steps, negligible

    def against(self, original: CountedLog, test: LogPart) -> ThesisAdhocTrial:
        """Only the test part matters."""
        del original
        return ThesisAdhocTrial(test, self._steps, self._negligible)


class ThesisAdhocTrial(AdhocTrial):
    """Test queries with what was clicked for them."""

    def __init__(self, test: LogPart, steps: int, negligible: float) -> None:
        super().__init__(test)
        self._steps, self._negligible = steps, negligible
        # Users are numbered in the order of their names, so odd and even ones are two halves like any other.
        self._half = JudgedClicks(test.clicks, test.clicks.user % 2 == 1)

    def measure(self, released: ReleasedData) -> Measures:
        """The engine's lists reranked, and the four ways of the thesis."""
        known = released.queries.find(self._test.queries.texts)
        urls = released.urls.find_or_add(self._test.urls.texts)
        found: dict[str, Measured] = dict(super().measure(released))
        for way, impact in (("random walk", False), ("random walk with page impact", True)):
            matrix = transition_matrix(released, impact=impact)
            found |= _named(way, self._all.judge(self._walk(released, matrix, known), urls))
        even = self._test.clicks.user % 2 == 0
        for way, judged, which in (
            ("implicit feedback", self._half, even),
            ("implicit feedback, as printed", self._all, np.ones_like(even)),
        ):
            ranked = _feedback(released, judged, known, urls, self._test, which)
            found |= _named(way, judged.judge(ranked, urls))
        return found

    def _walk(self, released: ReleasedData, matrix: sparse.csr_array, known: Numbers) -> Ranked:
        starts = known[self._all.queries]
        units = np.flatnonzero(starts >= 0)
        steps, negligible = self._steps, self._negligible
        listed = rank_urls(released, matrix, starts[units], _LISTED, steps=steps, negligible=negligible)
        return Ranked(units[listed.unit], listed.item, listed.place)


def _feedback(
    released: ReleasedData,
    judged: JudgedClicks,
    known: Numbers,
    urls: Numbers,
    test: LogPart,
    which: NDArray[np.bool_],
) -> Ranked:
    """Eq. 3.8: S(d) = λ/(I_d + 1) + (1 - λ)/(O_d + 1) where there is feedback, else 1/(O_d + 1).

    O_d is the place of d in the release's order by clicks for the query, I_d the best rank at which a user
    clicked it. A url with feedback alone has O_d = ∞. A click whose rank nobody noted is no feedback.
    Queries for which the release has no click are not answered.
    """
    counts, clicks = released.clicks, test.clicks
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
    best = _best_ranks(heard[useful], urls[clicks.url[which][useful]], clicks.rank[which][useful])
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


def transition_matrix(
    released: ReleasedData,
    *,
    stay: float = STAY,
    queries: Literal["steps", "follows"] = "steps",
    impact: bool = False,
    back: bool = False,
) -> sparse.csr_array:
    """P(k | j) over queries, then urls.

    Args:
        released: whose counts.
        stay: the probability of staying.
        queries: which links among queries: right after each other, or anywhere later.
        impact: let popular pages attract the walker (eq. 3.6 and 3.7).
        back: let urls lead back to queries (chapter 4), rather than keep the walker.
    """
    known, pages = len(released.queries), len(released.urls)
    size = known + pages
    clicks, among = released.clicks, released.steps if queries == "steps" else released.follows
    links = [(clicks.row, clicks.column + known, clicks.weight), (among.row, among.column, among.weight)]
    if back:
        links.append((clicks.column + known, clicks.row, clicks.weight))
    row, column, weight = (np.concatenate(parts) for parts in zip(*links, strict=True))
    weights = sparse.coo_array((weight, (row, column)), shape=(size, size)).tocsr()
    out = weights.sum(axis=1)
    leads = out > 0
    scale = np.divide(1 - stay, out, out=np.zeros(size), where=leads)
    moving = sparse.diags_array(scale) @ weights
    staying = sparse.diags_array(np.where(leads, stay, 1.0))
    matrix = (moving + staying).tocsr()
    if impact:
        factor = np.ones(size)
        factor[known:] = impact_factors(clicks, pages)
        matrix = matrix @ sparse.diags_array(factor)
        matrix = (sparse.diags_array(1 / matrix.sum(axis=1)) @ matrix).tocsr()
    return sparse.csr_array(matrix)


def impact_factors(clicks: Weighted, pages: int) -> NDArray[np.float64]:
    """F of eq. 3.6: one plus the logarithm of one plus a page's clicks."""
    return 1 + np.log1p(np.bincount(clicks.column, clicks.weight, minlength=pages))


def walk(
    matrix: sparse.csr_array, starts: Numbers, steps: int = STEPS, negligible: float = NEGLIGIBLE
) -> sparse.csr_array:
    """Walk some steps from these vertices: a row of probabilities each."""
    here = sparse.csr_array(
        (np.ones(len(starts)), (np.arange(len(starts)), starts)), shape=(len(starts), matrix.shape[0])
    )
    for _ in range(steps):
        here = sparse.csr_array(here @ matrix)
        if negligible:
            here.data[here.data < negligible] = 0
            here.eliminate_zeros()
    return here


def rank_urls(
    released: ReleasedData,
    matrix: sparse.csr_array,
    starts: Numbers,
    most: int = 10,
    *,
    steps: int = STEPS,
    negligible: float = NEGLIGIBLE,
) -> Ranked:
    """Urls by the probability that a walk from each query ends there; the unit is the place in ``starts``.

    Args:
        released: the release that the matrix is of.
        matrix: from :func:`transition_matrix`.
        starts: queries of the release.
        most: how many to list.
    """
    known = len(released.queries)
    parts = []
    for begin in range(0, len(starts), _AT_ONCE):
        ended = walk(matrix, starts[begin : begin + _AT_ONCE], steps, negligible)
        found = best_of(sparse.csr_array(ended[:, known:]), most)
        parts.append((begin, found))
    return joined(parts)


def best_of(scores: sparse.csr_array, most: int) -> Ranked:
    """The best columns of each row of a sparse matrix; what scores 0 is not listed."""
    counts = np.diff(scores.indptr)
    unit = np.repeat(np.arange(scores.shape[0], dtype=np.int64), counts)
    item, score = scores.indices.astype(np.int64), scores.data
    positive = score > 0
    return ranked_by(unit[positive], item[positive], score[positive], most)


def joined(parts: Sequence[tuple[int, Ranked]]) -> Ranked:
    """One after another, the units of each numbered from the number beside it."""
    empty = np.empty(0, np.int64)
    return Ranked(
        np.concatenate([empty, *(part.unit + begin for begin, part in parts)]),
        np.concatenate([empty, *(part.item for _, part in parts)]),
        np.concatenate([empty, *(part.place for _, part in parts)]),
    )
