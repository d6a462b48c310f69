"""Help beyond known words: similarity to the dense part of the history, against its average.

A history that never used the query's words may still show which meaning is meant, where several of its pages
are alike and some of the results are like them. Vectors here are sums of words' vectors (the public mean
removed, each at length 1) weighted by ``(1 + ln tf) idf``, without the query's words; C is their cosine. For
results d and pages h::

    density[h] = mean of the 10 largest C[h, other pages]          (kept a page, updated as pages come)
    r[h]       = mean of the 20 largest C[:, h]+
    u[h]       = (density[h] / largest density)^12 r[h]^2;         w = u over its 20 largest, normalised
    g[d]       = sum of w[h] C[d, h] - mean of C[d, :]
    lift[d]    = gate * 30 (g[d] - mean g),    gate = clip((z - 0.19) / 0.04, 0, 1)
    z          = mean of the five largest g - mean g + 0.2 ln(sum of w[h] r[h] / mean r)

The gate keeps a history quiet that has nothing dense near the results: similarity to single pages finds
something for any query, and moves it for nothing. It asks two things: do the results part into near and far,
and are the pages that say so nearer to these results than the history is as a whole?
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.device.profile.arrays import Bags

_Float32 = npt.NDArray[np.float32]

WINDOW = 2_048
"""So many of the latest pages are asked: their number bounds the time of a search."""
_LIKE, _RESULTS, _PAGES = 10, 20, 20
_POWER, _STRENGTH = 12, 30.0
_GATE, _WIDTH, _NEARER = 0.19, 0.04, 0.2
_CHUNK = 512


@dataclass(frozen=True, eq=False)
class Lift:
    """How far the dense part of the history moves each result, and why."""

    values: _Float32
    """To be added to what results are ordered by; all 0 where the gate is shut."""
    pages: npt.NDArray[np.int64]
    """The places in the history of the pages that speak."""
    weights: _Float32
    """How much each of them says."""
    towards: _Float32
    """Where they point, against the average of the history."""


class Density:
    """How dense the history is around each of its pages. Only pages given to it may influence it."""

    def __init__(self) -> None:
        self.begin = 0
        """The place in the history of the first page that counts."""
        self._rows: _Float32 = np.empty((0, 0), np.float32)
        self._top: _Float32 = np.empty((0, _LIKE), np.float32)

    def __len__(self) -> int:
        return self.begin + len(self._top)

    def refresh(self, history: Bags) -> None:
        """Take in pages that were added; start anew where the list was, or has outgrown the window twice."""
        if len(self._top) == 0 or len(history) < len(self) or len(history) - self.begin > 2 * WINDOW:
            self.begin = max(0, len(history) - WINDOW)
            self._rows = np.empty((0, history.table.dimensions), np.float32)
            self._top = np.empty((0, _LIKE), np.float32)
        while len(self) < len(history):
            self._extend(_unit(history.senses[len(self) : len(self) + _CHUNK]))

    def _extend(self, new: _Float32) -> None:
        known = len(self._top)
        self._rows = np.concatenate((self._rows, new))
        alike = new @ self._rows.T
        alike[np.arange(len(new)), known + np.arange(len(new))] = 0  # a page is no company for itself
        if known:
            merged = np.hstack((self._top, alike[:, :known].T))
            self._top = np.partition(merged, -_LIKE, axis=1)[:, -_LIKE:]
        padded = np.hstack((alike, np.zeros((len(new), _LIKE), np.float32)))
        self._top = np.concatenate((self._top, np.partition(padded, -_LIKE, axis=1)[:, -_LIKE:]))

    @property
    def values(self) -> _Float32:
        """density[h] of each page that counts."""
        means: _Float32 = np.maximum(0, self._top).mean(axis=1)
        return means


def lift(results: _Float32, pages: _Float32, density: Density) -> Lift:
    """Say how far results move, from their vectors and those of pages, without the query's words."""
    nothing = Lift(
        np.zeros(len(results), np.float32),
        np.empty(0, np.int64),
        np.empty(0, np.float32),
        np.zeros(results.shape[1], np.float32),
    )
    if len(results) < 2 or len(pages) < 2:
        return nothing
    shown, read = _unit(results), _unit(pages)
    alike = shown @ read.T
    most = min(_RESULTS, len(results))
    relevance = np.maximum(0, np.partition(alike, -most, axis=0)[-most:]).mean(axis=0)
    dense = density.values
    score = (dense / max(float(dense.max()), 1e-6)) ** _POWER * relevance**2
    best = np.sort(np.argsort(-score, kind="stable")[:_PAGES])
    if not score[best].sum() > 0:
        return nothing
    weights = (score[best] / score[best].sum()).astype(np.float32)
    towards = (weights @ read[best] - read.mean(axis=0)).astype(np.float32)
    near = shown @ towards
    few = min(5, len(near))
    z = float(np.partition(near, -few)[-few:].mean() - near.mean())
    z += _NEARER * float(np.log(weights @ relevance[best] / max(float(relevance.mean()), 1e-6)))
    gate = min(1.0, max(0.0, (z - _GATE) / _WIDTH))
    if gate == 0:
        return nothing
    values = (gate * _STRENGTH * (near - near.mean())).astype(np.float32)
    return Lift(values, density.begin + best, weights, towards)


def _unit(rows: _Float32) -> _Float32:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: _Float32 = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-4)
    return scaled
