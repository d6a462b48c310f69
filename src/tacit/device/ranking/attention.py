"""Reranking on the device: attention over the person's history, conditioned on the query.

Similarity to everything a person ever read says little: in a long history something is similar to any
result. What counts is the part of the history that is about the query. For results d, history documents h
and a query q::

    C[d, h] = cos of their word weights + b max(0, cos of their vectors)    both without the query's words
    r[h]    = mean of the m largest C[:, h] + g cov(q, h)
    w[h]    = exp(r[h] / tau) / (sum of exp(r / tau) + n exp(rho / tau))
    s[d]    = sum of w[h] C[d, h];   order by  lam s[d] - ln(rank in the engine's order + kappa)

cov(q, h) is the weighted share of the query's words that occur in h. The second term of the denominator is
a
*null document*, the gate that keeps a history without evidence quiet. It weighs as much as n documents, for
the largest of n similarities that mean nothing grows with ln n: so a longer history is no reason to
believe more. Nothing here leaves the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.device.loops.likeness import postings, promise, to_results, without_query
from tacit.device.profile.arrays import Bags
from tacit.text.vectors import BUCKETS, WordTable, plural_forms

_Float32 = npt.NDArray[np.float32]
_Int32 = npt.NDArray[np.int32]
_Int8 = npt.NDArray[np.int8]
_Wide = npt.NDArray[np.int64]

_LARGEST_TO_MEAN = 3.0
"""About how much larger the largest similarities to a document are than the mean over all results."""


@dataclass(frozen=True)
class AttentionParameters:
    """Chosen by cross-validation over the queries of ``benchmarks/device_attention.py``."""

    vector: float = 0.3
    """b: how much vectors count beside words."""
    coverage: float = 0.7
    """g: how much it counts that a document contains the query's words."""
    temperature: float = 0.06
    """tau."""
    null: float = 0.45
    """rho: the evidence that a single document must bring."""
    largest: int = 10
    """m: the number of results that speak for a document."""
    strength: float = 30.0
    """lam: how far interest moves a result."""
    steadiness: float = 25.0
    """kappa: how little the first ranks of the engine's order differ."""
    candidates: int = 2_048
    """At most so many documents of the history are compared with every result."""


class QueryWords:
    """The words of a query, told apart in the texts at hand: each with its plural and singular forms."""

    def __init__(self, table: WordTable, query: str) -> None:
        found = list(table.content(query))[:120]
        weights = np.array([table.weight[table.number(word)] for word in found], np.float32)
        self.shares: _Float32 = weights / weights.sum() if weights.sum() > 0 else weights
        self.forms: dict[int, int] = {}
        for place, word in enumerate(found, start=1):
            for form in plural_forms(word):
                self.forms.setdefault(table.number(form), place)

    def marks(self, scratch: _Int8) -> None:
        """Write each query word's place (from 1) into a table by word number."""
        for number, place in self.forms.items():
            scratch[number] = place


@dataclass(frozen=True, eq=False)
class Attended:
    """What the history says about a query and its results."""

    documents: _Wide
    """The places in the history of the documents compared."""
    similarity: _Float32
    """C, a row a document and a column a result."""
    attention: _Float32
    """w[h]; less than 1 in sum: the rest goes to the null document."""
    scores: _Float32
    """s[d] of every result."""

    @property
    def evidence(self) -> float:
        """How much of the attention the history holds, in [0, 1]."""
        return float(self.attention.sum())


class Attention:
    """Attention over a history. Not for several threads at once: it keeps scratch tables.

    Args:
        table: the word table.
        parameters: how much each part counts.
    """

    def __init__(self, table: WordTable, parameters: AttentionParameters | None = None) -> None:
        self.table = table
        self.parameters = parameters or AttentionParameters()
        self._vectors = np.asarray(table.vectors)
        self._mark = np.zeros(len(table) + BUCKETS, np.int8)
        self._slot = np.zeros(len(table) + BUCKETS, np.int32)
        self._average = np.zeros(len(table) + BUCKETS, np.float32)

    def attend(
        self, query: str | QueryWords, results: Bags, history: Bags, allowed: _Wide | None = None
    ) -> Attended:
        """What the history (or the ``allowed`` places of it) says about the results of a query."""
        with self.marked(query) as (words, _):
            try:
                return self._attend(words, results, history, allowed)
            finally:
                self._slot[results.words] = 0
                self._average[results.words] = 0

    @contextmanager
    def marked(self, query: str | QueryWords) -> Iterator[tuple[QueryWords, _Int8]]:
        """The query's words, and a table that marks them by number for as long as the block lasts."""
        words = query if isinstance(query, QueryWords) else QueryWords(self.table, query)
        words.marks(self._mark)
        try:
            yield words, self._mark
        finally:
            self._mark[list(words.forms)] = 0

    def directions(self, query: str | QueryWords, bags: Bags, places: _Wide) -> _Float32:
        """The directions of some texts, the query's words left out."""
        with self.marked(query):
            return self._cleaned(bags, np.asarray(places, np.int64))[1]

    def order(self, attended: Attended) -> npt.NDArray[np.intp]:
        """The personal order of the results, as places in the engine's order."""
        ranks = np.arange(1, len(attended.scores) + 1)
        value = self.parameters.strength * attended.scores - np.log(ranks + self.parameters.steadiness)
        return np.argsort(-value, kind="stable")

    def _attend(self, words: QueryWords, results: Bags, history: Bags, allowed: _Wide | None) -> Attended:
        chosen = self.parameters
        everything = np.arange(len(results), dtype=np.int64)
        lengths, units = self._cleaned(results, everything)
        distinct, begins, holders, held = postings(
            results.offsets, results.words, results.weights, lengths, self._mark, self._slot
        )
        spread = (distinct, begins, held)
        places = self._candidates(words, history, len(results), spread, units, allowed)
        size = len(history) if allowed is None else len(allowed)
        if len(places) == 0 or len(results) == 0:
            empty = np.zeros((len(places), len(results)), np.float32)
            return Attended(places, empty, empty[:, :1].sum(axis=1), np.zeros(len(results), np.float32))
        axes = np.ascontiguousarray(units.T)
        similarity = (history.sums if len(places) == len(history) else history.sums[places]) @ axes
        coverage = to_results(
            places, history.offsets, history.words, history.times, history.weights, history.squares,
            history.sums, history.norms, self._mark, words.shares, self._vectors, self.table.scale,
            self._slot, begins, holders, held, axes, similarity, np.float32(chosen.vector),
        )  # fmt: skip
        largest = min(chosen.largest, len(results))
        support = np.partition(similarity, -largest, axis=1)[:, -largest:].mean(axis=1)
        relevance = support + chosen.coverage * coverage
        # Relative to the null document, in doubles: exp of a large ratio must not overflow.
        excess = np.exp(np.minimum(700, (relevance.astype(np.float64) - chosen.null) / chosen.temperature))
        attention = (excess / (excess.sum() + size)).astype(np.float32)
        return Attended(places, similarity, attention, attention @ similarity)

    def _cleaned(self, bags: Bags, places: _Wide) -> tuple[_Float32, _Float32]:
        return without_query(
            places, bags.offsets, bags.words, bags.times, bags.weights, bags.squares, bags.sums,
            self._mark, self._vectors, self.table.scale,
        )  # fmt: skip

    def _candidates(
        self,
        words: QueryWords,
        history: Bags,
        results: int,
        spread: tuple[_Int32, _Int32, _Float32],
        units: _Float32,
        allowed: _Wide | None,
    ) -> _Wide:
        """The documents worth comparing with every result: all of a short history, the best of a long one."""
        chosen = self.parameters
        size = len(history) if allowed is None else len(allowed)
        if size <= chosen.candidates:
            return np.arange(size, dtype=np.int64) if allowed is None else allowed
        distinct, begins, held = spread
        self._average[distinct] = _LARGEST_TO_MEAN * np.add.reduceat(held, begins[:-1]) / max(1, results)
        promised = promise(
            history.offsets, history.words, history.weights, history.squares,
            self._mark, words.shares, self._average, chosen.coverage,
        )  # fmt: skip
        towards = units.mean(axis=0)
        promised += chosen.vector * np.maximum(0, history.sums @ towards / np.maximum(1e-6, history.norms))
        if allowed is not None:
            promised = promised[allowed]
        best = np.sort(np.argpartition(-promised, chosen.candidates)[: chosen.candidates])
        return best.astype(np.int64) if allowed is None else allowed[best]
