"""Reranking on the device: attention over the person's history, conditioned on the query.

Similarity to everything a person ever read says little: in a long history something is similar to any
result. What counts is the part of the history that is about the query. For results d, history documents h
and a query q::

    C[d, h] = cos of their word weights + b max(0, cos of their vectors - c)    both without the query's words
    r[h]    = mean of the m largest C[:, h] + g cov(q, h)
    w[h]    = exp(r[h] / tau) / (sum of exp(r / tau) + n exp(rho / tau))
    s[d]    = sum of w[h] C[d, h];   order by  lam s[d] - ln(rank in the engine's order + kappa)

s is handed on to the results most like d, half of it each time (A of :mod:`tacit.device.ranking.density`).

A text's vector is the sum of its words' directions as they weigh; a faint likeness of
two vectors says nothing (c). cov(q, h) is the weighted share of the query's words that occur in h. The second
term of the denominator is a *null document*, the gate that keeps a history without evidence from moving
anything. It weighs as much as n documents, for the largest of n similarities that mean nothing grows with
ln n: so a longer history is no reason to believe more. Nothing here leaves the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tacit.device.loops.kernels import add_overlap
from tacit.device.profile.arrays import Bags, row_sums
from tacit.device.profile.history import ClickedPage
from tacit.device.profile.store import ProfileStore
from tacit.device.ranking.density import Density, Lift, handed_on, lift
from tacit.errors import InputError
from tacit.retrieval.people_topics import unit_rows
from tacit.text.vectors import BUCKETS, WordTable, plural_forms

_Float32 = npt.NDArray[np.float32]
_Int64 = npt.NDArray[np.int64]

_LARGEST_TO_MEAN = 3.0
"""About how much larger the largest similarities to a document are than the mean over all results."""
_KEPT = 0.5
"""The share of its score that a result hands on to those most like it."""
_HEARD = 0.01
"""The share of the attention below which a history is not heard: nothing moves that no page explains."""


@dataclass(frozen=True)
class AttentionParameters:
    """Chosen by cross-validation over the queries of ``benchmarks/device_attention.py``."""

    vector: float = 0.4
    """b: how much vectors count beside words."""
    faint: float = 0.2
    """c: the cosine from which they do."""
    coverage: float = 0.7
    """g: how much it counts that a document contains the query's words."""
    temperature: float = 0.06
    """tau."""
    null: float = 0.45
    """rho: the evidence that a single document must bring."""
    largest: int = 10
    """m: the number of results that a document's relevance is averaged over."""
    strength: float = 30.0
    """lam: how far interest moves a result."""
    steadiness: float = 25.0
    """kappa: how little the first ranks of the engine's order differ."""
    candidates: int = 2_048
    """At most so many documents of the history are compared with every result."""


class QueryWords:
    """The words of a query, each with its plural and singular forms."""

    def __init__(self, table: WordTable, query: str) -> None:
        found = list(table.content(query))[:120]
        weights = np.array([table.weight[table.number(word)] for word in found], np.float32)
        self.shares: _Float32 = weights / weights.sum() if weights.sum() > 0 else weights
        self.forms: dict[int, int] = {}
        for place, word in enumerate(found, start=1):
            for form in plural_forms(word):
                self.forms.setdefault(table.number(form), place)


@dataclass(frozen=True, eq=False)
class Attended:
    """What the history says about a query and its results."""

    documents: _Int64
    """The places in the history of the documents compared."""
    similarity: _Float32
    """C, a row a document and a column a result."""
    attention: _Float32
    """w[h]; less than 1 in sum: the rest goes to the null document."""
    scores: _Float32
    """s[d] of every result."""
    lift: Lift | None = None
    """What the dense part of the history adds, where it was asked."""

    @property
    def evidence(self) -> float:
        """The share of the attention that the history holds, in [0, 1]."""
        return float(self.attention.sum())

    @property
    def speaks(self) -> bool:
        """Whether the history says enough about the results to move any."""
        return self.evidence >= _HEARD or (self.lift is not None and bool(self.lift.values.any()))


class Attention:
    """Attention over a history. Not for several threads at once: it keeps scratch tables."""

    def __init__(self, table: WordTable, parameters: AttentionParameters | None = None) -> None:
        self.table = table
        self.parameters = parameters or AttentionParameters()
        self._mark = np.zeros(len(table) + BUCKETS, np.int8)
        self._slot = np.zeros(len(table) + BUCKETS, np.int32)
        self._average = np.zeros(len(table) + BUCKETS, np.float32)

    def attend(
        self, query: str | QueryWords, results: Bags, history: Bags, density: Density | None = None
    ) -> Attended:
        """Weigh the history by the query and its results; with ``density``, its dense part helps too, and
        results of one meaning rise together."""
        with self._marked(query) as words:
            try:
                attended = self._attend(words, results, history)
                if density is None:
                    return attended
                density.refresh(history)
                shown, likeness = self._compared(results)
                read = self._directions(history, density.begin)
                scores = handed_on(attended.scores, likeness, _KEPT) if len(results) else attended.scores
                return replace(attended, scores=scores, lift=lift(shown, read, density, likeness))
            finally:
                self._slot[results.words] = 0
                self._average[results.words] = 0

    @contextmanager
    def _marked(self, query: str | QueryWords) -> Iterator[QueryWords]:
        """The query's words, marked in a table by number for as long as the block lasts."""
        words = query if isinstance(query, QueryWords) else QueryWords(self.table, query)
        for number, place in words.forms.items():
            self._mark[number] = place
        try:
            yield words
        finally:
            self._mark[list(words.forms)] = 0

    def coverage(self, query: str | QueryWords, bags: Bags) -> _Float32:
        """cov(q, h) of every text: the weighted share of the query's words that it holds."""
        with self._marked(query) as words:
            return self._coverage(words, bags, *self._found(bags, np.arange(len(bags))), len(bags))

    def order(self, attended: Attended) -> npt.NDArray[np.intp]:
        """The personal order of the results, as places in the engine's order."""
        ranks = np.arange(1, len(attended.scores) + 1)
        if not attended.speaks:
            return ranks - 1
        value = self.parameters.strength * attended.scores - np.log(ranks + self.parameters.steadiness)
        if attended.lift is not None:
            value = value + (1 - attended.evidence) * attended.lift.values
        return np.argsort(-value, kind="stable")

    def _directions(self, bags: Bags, begin: int) -> _Float32:
        places = np.arange(begin, len(bags))
        return self._without_query(bags, places, *self._found(bags, places))[1]

    def _compared(self, results: Bags) -> tuple[_Float32, _Float32]:
        """Directions of the results, and how alike each two are: cos of vectors, if positive, + of words."""
        every = np.arange(len(results))
        lengths, shown = self._without_query(results, every, *self._found(results, every))
        likeness = np.maximum(0, shown @ shown.T)
        add_overlap(
            results.offsets[:-1], results.offsets[1:], results.words, results.weights,
            lengths, self._slot, *self._postings(results, lengths), likeness,
        )  # fmt: skip
        return shown, likeness

    def _attend(self, words: QueryWords, results: Bags, history: Bags) -> Attended:
        chosen = self.parameters
        every = np.arange(len(results))
        result_lengths, shown = self._without_query(results, every, *self._found(results, every))
        posted, holders, held = self._postings(results, result_lengths)
        places = self._candidates(words, history, posted, held, shown)
        if len(places) == 0 or len(results) == 0:
            empty = np.zeros((len(places), len(results)), np.float32)
            return Attended(places, empty, empty[:, :1].sum(axis=1), np.zeros(len(results), np.float32))
        rows, spots = self._found(history, places)
        lengths, read = self._without_query(history, places, rows, spots)
        similarity = np.float32(chosen.vector) * np.maximum(0, read @ shown.T - np.float32(chosen.faint))
        add_overlap(
            history.offsets[places], history.offsets[places + 1], history.words, history.weights,
            lengths, self._slot, posted, holders, held, similarity,
        )  # fmt: skip
        largest = min(chosen.largest, len(results))
        support = np.partition(similarity, -largest, axis=1)[:, -largest:].mean(axis=1)
        coverage = self._coverage(words, history, rows, spots, len(places))
        relevance = support + chosen.coverage * coverage
        # Relative to the null document, in doubles: exp of a large ratio must not overflow.
        excess = np.exp(np.minimum(700, (relevance.astype(np.float64) - chosen.null) / chosen.temperature))
        attention = (excess / (excess.sum() + len(history))).astype(np.float32)
        return Attended(places, similarity, attention, attention @ similarity)

    def _found(self, bags: Bags, places: _Int64) -> tuple[_Int64, _Int64]:
        """Find the query's words in some texts: which of the texts, and the spot among all words."""
        lengths, spots = bags.spots(places)
        marked = np.flatnonzero(self._mark[bags.words[spots]])
        return np.searchsorted(np.cumsum(lengths), marked, side="right"), spots[marked]

    def _coverage(self, words: QueryWords, bags: Bags, rows: _Int64, spots: _Int64, texts: int) -> _Float32:
        # Another form of the same word may stand in the same text: each counts once.
        row, mark = np.divmod(np.unique(rows * 128 + self._mark[bags.words[spots]]), 128)
        return np.bincount(row, words.shares[mark - 1], texts).astype(np.float32)

    def _without_query(
        self, bags: Bags, places: _Int64, rows: _Int64, spots: _Int64
    ) -> tuple[_Float32, _Float32]:
        """Lengths of the word weights and directions of some texts without the query's words, which all
        results share; ``rows`` and ``spots`` are where :meth:`_found` found these."""
        lengths, senses = np.sqrt(bags.squares[places]), bags.senses[places]
        if len(spots):
            touched, begins = np.unique(rows, return_index=True)
            weights = bags.weights[spots]
            lost = np.add.reduceat(weights**2, begins)
            lengths[touched] = np.sqrt(np.maximum(0, bags.squares[places][touched] - lost))
            lengths[lengths < 1e-3] = 0  # what subtraction leaves of nothing
            senses[touched] -= np.add.reduceat(self.table.units(bags.words[spots]) * weights[:, None], begins)
            senses[lengths == 0] = 0
        return lengths, unit_rows(senses)

    def _postings(self, results: Bags, lengths: _Float32) -> tuple[_Int64, _Int64, _Float32]:
        """List the results that hold each word, the query's left out, and its weight there at length 1.

        Numbers the words from 1 in ``self._slot``; gives where the entries of each begin, and result and
        weight of each entry.
        """
        result = np.repeat(np.arange(len(results)), np.diff(results.offsets))
        kept = np.flatnonzero((self._mark[results.words] == 0) & (lengths[result] > 0))
        kept = kept[np.argsort(results.words[kept], kind="stable")]
        distinct, begins = np.unique(results.words[kept], return_index=True)
        self._slot[distinct] = np.arange(1, len(distinct) + 1)
        return np.append(begins, len(kept)), result[kept], results.weights[kept] / lengths[result[kept]]

    def _candidates(
        self, words: QueryWords, history: Bags, posted: _Int64, held: _Float32, directions: _Float32
    ) -> _Int64:
        """The documents worth comparing with every result: all of a short history, the best of a long one."""
        chosen = self.parameters
        if len(history) <= chosen.candidates:
            return np.arange(len(history))
        if len(held):
            numbered = np.flatnonzero(self._slot)
            spread = np.add.reduceat(held, posted[:-1]) / max(1, len(directions))
            self._average[numbered] = _LARGEST_TO_MEAN * spread[self._slot[numbered] - 1]
        overlap = row_sums(history.weights * self._average[history.words], history.offsets)
        everything = self._found(history, np.arange(len(history)))
        promised = overlap / np.sqrt(np.maximum(1e-6, history.squares))
        promised += chosen.coverage * self._coverage(words, history, *everything, len(history))
        towards = directions.mean(axis=0)
        promised += chosen.vector * np.maximum(0, unit_rows(history.senses) @ towards)
        return np.sort(np.argpartition(-promised, chosen.candidates)[: chosen.candidates])


_SHOWN = 3
"""How many documents of the history are named for a result."""
_FELT = 1e-3
"""What the strongest document must bring for any to be named."""
_TELLING = 0.2
"""A document is named if it brings at least this share of what the strongest one brings."""


def text_of(result: Mapping[str, Any], place: int = 0) -> str:
    """Title and snippet of a result.

    Raises:
        InputError: it is no mapping, or one of the two is neither text nor missing.
    """
    if not isinstance(result, Mapping):
        raise InputError(f"result {place + 1} is no mapping with url, title and snippet.")
    parts = []
    for name in ("title", "snippet"):
        value = result.get(name)
        if value is not None and not isinstance(value, str):
            raise InputError(f"the {name} of result {place + 1} is not text.")
        parts.append(value or "")
    return " ".join(parts)


class Pages(Protocol):
    """The pages of a history that order results."""

    bags: Bags
    pages: npt.NDArray[np.void]
    """Rows of type :data:`tacit.device.profile.history.PAGE`."""


class PersonalOrder:
    def __init__(self, store: ProfileStore, pages: Pages, attention: Attention) -> None:
        self._store = store
        self._pages = pages
        self._attention = attention
        self._density = Density()
        self._counted: Bags | None = None

    def order(self, query: str, results: Sequence[Mapping[str, Any]]) -> tuple[list[int], Attended]:
        """The places of the results in personal order, and what the history says about them."""
        texts = [text_of(result, place) for place, result in enumerate(results)]
        bags = Bags.of_texts(self._attention.table, texts)
        if self._counted is not self._pages.bags:  # something was forgotten or marked
            self._counted, self._density = self._pages.bags, Density()
        attended = self._attention.attend(query, bags, self._pages.bags, self._density)
        return self._attention.order(attended).tolist(), attended

    def placements(self, query: str, results: Sequence[dict[str, Any]]) -> list[Placement]:
        """The results in personal order, each with the documents that raise it most."""
        order, attended = self.order(query, results)
        median = float(np.median(attended.scores)) if len(results) else 0.0
        strongest = _strongest(attended, np.flatnonzero(attended.scores > median))
        known = self._pages.pages["number"]
        because = {
            place: [int(known[attended.documents[row]]) for row in rows] for place, rows in strongest.items()
        }
        lifted = attended.lift
        if lifted is not None and lifted.values.any():
            best = lifted.pages[np.argsort(-lifted.weights, kind="stable")[:_SHOWN]]
            for place in np.flatnonzero(lifted.values > 0).tolist():
                because[place] = because.get(place) or [int(known[page]) for page in best]
        clicks = self._clicks({number for numbers in because.values() for number in numbers})
        return [
            Placement(
                results[place], rank, place + 1, _reason(rank, place + 1, pages, attended.speaks), pages
            )
            for rank, place in enumerate(order, 1)
            for pages in [tuple(clicks[number] for number in because.get(place, ()))]
        ]

    def _clicks(self, numbers: set[int]) -> dict[int, ClickedPage]:
        marks = ",".join("?" * len(numbers))
        rows = self._store.connection.execute(
            f"SELECT number, time, query, url, title FROM document WHERE number IN ({marks})", list(numbers)
        )
        return {
            number: ClickedPage(number, datetime.fromisoformat(time), query, url, title)
            for number, time, query, url, title in rows
        }


def _strongest(attended: Attended, places: npt.NDArray[np.intp]) -> dict[int, tuple[int, ...]]:
    """The rows that bring most to each of some results, if any brings something that can be felt."""
    brings = attended.similarity[:, places] * attended.attention[:, None]
    columns = np.arange(len(places))
    found: dict[int, tuple[int, ...]] = dict.fromkeys(places.tolist(), ())
    most = None
    for _ in range(min(_SHOWN, len(brings))):
        rows = brings.argmax(axis=0)  # of equal rows the first
        best = brings[rows, columns]
        brings[rows, columns] = -np.inf
        most = best if most is None else most
        telling = (best >= _TELLING * most) & (most >= _FELT)
        for column in np.flatnonzero(telling).tolist():
            found[int(places[column])] += (int(rows[column]),)
    return found


def _reason(rank: int, was: int, because: Sequence[ClickedPage], speaks: bool) -> str:
    """Explain to its owner why a result stands where it does, in agreement with its move."""
    if not speaks:
        return "Your history says nothing about this query: the engine's order stays."
    pages = " and ".join(f"“{_short(click.title or click.url)}”" for click in because[:2])
    like = f"like {pages}, which you opened" if pages else ""
    if rank < was:
        return f"Up from place {was}: {like}." if like else f"Up from place {was}."
    if rank > was:
        return f"Down from place {was}: others are nearer to what you opened."
    return f"Where the engine put it; {like}." if like else "Where the engine put it."


def _short(title: str) -> str:
    return title if len(title) <= 60 else title[:59].rstrip() + "…"


@dataclass(frozen=True)
class Placement:
    """Where a result was put, and why."""

    result: dict[str, Any]
    rank: int
    was: int
    """Its place in the engine's order, from 1."""
    reason: str
    because: tuple[ClickedPage, ...] = ()
    """The documents of the history that say most for it, the strongest first."""
