"""Random walks on the graph of queries and the urls clicked for them (thesis 002, eq. 3.5 to 3.7 and 4.12).

Vertices are the queries and then the urls of a release. From a query the walker stays with probability s,
or goes to a url or to another query in proportion to the released counts. In chapter 3 a url keeps the
walker (no outbound link of it is defined there); in chapter 4 it leads back to the queries it was clicked
for. A query without links keeps the walker where it is, so its walk ranks nothing.

The walk goes a fixed number of steps. On a large graph, probabilities below a limit are let go after each
step, which keeps its cost proportional to the number of walks; with the limit 0 it is exact.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.evaluate.data import Numbers, ReleasedData, Weighted
from tacit.evaluate.task import Ranked, best_of

STAY = 0.1
"""s of eq. 3.5 and λ of eq. 4.12: the walker stays (section 3.4)."""
STEPS = 5
"""How far a walk goes; the thesis does not say. After five steps of s = 0.1 next to nothing has not moved."""
NEGLIGIBLE = 1e-3
"""Probabilities below this are let go after each step."""
_AT_ONCE = 4096


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
    """Where walkers from these vertices are after some steps: a row each."""
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
        parts.append((found.unit + begin, found.item, found.place))
    if not parts:
        empty = np.empty(0, np.int64)
        return Ranked(empty, empty, empty)
    return Ranked(*(np.concatenate(column) for column in zip(*parts, strict=True)))
