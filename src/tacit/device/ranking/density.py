"""Help beyond known words: similarity to the dense part of the history, against its average.

A history that never used the query's words may still show which meaning is meant, where several of its pages
are alike and some of the results are like them. Vectors here are sums of words' directions
(:meth:`tacit.text.vectors.WordTable.units`) weighted by ``(1 + ln tf) idf``, without the query's words; C is
their cosine. For results d and pages h::

    density[h] = (mean of the 8 largest C[h, other pages] - lowest tenth of C[h, :])+       (kept a page)
    r[h]       = mean of the 8 largest C[:, h]+
    u[h]       = (density[h] / largest density)^10 r[h]^2;         w = u over its 15 largest, normalised
    g[d]       = sum of w[h] C[d, h] - mean of C[d, :]
    lift       = gate * 15 (1 + A + A^2 + ... + A^8)(g - mean g),  gate = clip((z - 0.25) / 0.08, 0, 1)
    z          = ln(sum of w[h] r[h] / mean r);    no lift where the sum of w[h] density[h] is below 0.6

A page that is somewhat like everything has many near ones by chance: what it has in common with nine tenths
of the history (of one or two hundred of its pages, evenly spread) is its background rate; an interest that
fills half of a history is not. A joins each result to the 5 most like it by vectors and by words (cosines
added, both ways), divided by the roots of what either end is joined to in all: results of one meaning rise
together, also those that say little. The gate keeps a history quiet that has nothing dense near the results:
similarity to single pages finds something for any query, and moves it for nothing. The pages that speak must
be a quarter nearer to these results than the history is as a whole, and there must be several of a kind: in a
short history few are. Titles that end as many do (*Official Site*), which any results are near to, are not.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.device.profile.arrays import Bags
from tacit.retrieval.people_topics import unit_rows

_Float32 = npt.NDArray[np.float32]

WINDOW = 2_048
"""So many of the latest pages are asked: their number bounds the time of a search."""
_LIKE, _RESULTS, _PAGES = 8, 8, 15
_SPREAD = 128
_POWER, _STRENGTH = 10, 15.0
_GATE, _WIDTH, _DENSE = 0.25, 0.08, 0.6
_ALIKE, _HANDED = 5, 8
_CHUNK = 128


@dataclass(frozen=True, eq=False)
class Lift:
    """How far the dense part of the history moves each result, and why."""

    values: _Float32
    """To be added to what results are ordered by; all 0 where the gate is shut."""
    pages: npt.NDArray[np.int64]
    """The places in the history of the pages that speak."""
    weights: _Float32


class Density:
    """How dense the history is around each of its pages. Only pages given to it may influence it."""

    def __init__(self) -> None:
        self.begin = 0
        """The place in the history of the first page that counts."""
        self._top: _Float32 = np.empty((0, _LIKE), np.float32)
        self._background: _Float32 = np.empty(0, np.float32)
        """How like each page is to nine tenths of all, at least."""

    def __len__(self) -> int:
        return self.begin + len(self._top)

    def refresh(self, history: Bags) -> None:
        """Take in pages that were added; start anew where the list was, or has outgrown the window twice."""
        if len(self._top) == 0 or len(history) < len(self) or len(history) - self.begin > 2 * WINDOW:
            self.begin = max(0, len(history) - WINDOW)
            self._top = np.empty((0, _LIKE), np.float32)
        if len(self) < len(history):
            rows = unit_rows(history.senses[self.begin :])
            while len(self) < len(history):
                self._extend(rows[: len(self._top) + _CHUNK])
            alike = rows @ rows[:: max(1, len(rows) // _SPREAD)].T
            tenth = alike.shape[1] // 10
            self._background = np.partition(alike, tenth, axis=1)[:, tenth]

    def _extend(self, rows: _Float32) -> None:
        known = len(self._top)
        new = rows[known:]
        alike = new @ rows.T
        alike[np.arange(len(new)), known + np.arange(len(new))] = 0  # a page is no company for itself
        if known:
            merged = np.hstack((self._top, alike[:, :known].T))
            self._top = np.partition(merged, -_LIKE, axis=1)[:, -_LIKE:]
        padded = np.hstack((alike, np.zeros((len(new), _LIKE), np.float32)))
        self._top = np.concatenate((self._top, np.partition(padded, -_LIKE, axis=1)[:, -_LIKE:]))

    @property
    def values(self) -> _Float32:
        """density[h] of each page that counts."""
        near: _Float32 = np.maximum(0, self._top).mean(axis=1)
        above: _Float32 = np.maximum(0, near - self._background)
        return above


def lift(shown: _Float32, read: _Float32, density: Density, likeness: _Float32) -> Lift:
    """Compute how far the results shown move, from their directions and those of the pages read, without the
    query's words, and from how alike the results are."""
    nothing = Lift(np.zeros(len(shown), np.float32), np.empty(0, np.int64), np.empty(0, np.float32))
    if len(shown) < 2 or len(read) < 2:
        return nothing
    alike = shown @ read.T
    most = min(_RESULTS, len(shown))
    relevance = np.maximum(0, np.partition(alike, -most, axis=0)[-most:]).mean(axis=0)
    dense = density.values
    score = (dense / max(float(dense.max()), 1e-6)) ** _POWER * relevance**2
    best = np.sort(np.argsort(-score, kind="stable")[:_PAGES])
    if not score[best].sum() > 0:
        return nothing
    weights = (score[best] / score[best].sum()).astype(np.float32)
    if weights @ dense[best] < _DENSE:
        return nothing
    towards = (weights @ read[best] - read.mean(axis=0)).astype(np.float32)
    near = shown @ towards
    z = float(np.log(weights @ relevance[best] / max(float(relevance.mean()), 1e-6)))
    gate = min(1.0, max(0.0, (z - _GATE) / _WIDTH))
    if gate == 0:
        return nothing
    values = gate * _STRENGTH * handed_on(near, likeness)
    return Lift((values - values.mean()).astype(np.float32), density.begin + best, weights)


def handed_on(values: _Float32, likeness: _Float32, kept: float = 1.0) -> _Float32:
    """Values against their mean, with what the results most like each one have, of which a share is kept
    whenever it is handed on to the next."""
    alike = likeness.copy()
    np.fill_diagonal(alike, 0)
    least = np.partition(alike, -min(_ALIKE, len(alike)), axis=1)[:, -min(_ALIKE, len(alike)), None]
    alike = np.where(alike >= least, alike, 0)
    alike += alike.T
    joined = np.sqrt(np.maximum(1e-6, alike.sum(axis=1)))
    alike *= np.float32(kept) / (joined[:, None] * joined)
    total: _Float32 = values - values.mean()
    handed = total
    for _ in range(_HANDED):
        handed = alike @ handed
        total = total + handed
    return total
