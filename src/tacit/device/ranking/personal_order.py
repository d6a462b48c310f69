"""Results in personal order, each with the reason why it stands where it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.device.profile.arrays import Bags
from tacit.device.profile.history import HistoryIndex
from tacit.device.profile.store import ProfileStore
from tacit.device.ranking.attention import Attended, Attention
from tacit.device.sending.protection import ClickedPage, Placement
from tacit.errors import InputError

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


class PersonalOrder:
    """Orders results by a person's history."""

    def __init__(self, store: ProfileStore, index: HistoryIndex, attention: Attention) -> None:
        self._store = store
        self._index = index
        self._attention = attention

    def order(self, query: str, results: Sequence[Mapping[str, Any]]) -> tuple[list[int], Attended]:
        """The places of the results in personal order, and what the history says about them."""
        texts = [text_of(result, place) for place, result in enumerate(results)]
        bags = Bags.of_texts(self._attention.table, texts)
        attended = self._attention.attend(query, bags, self._index.bags)
        return self._attention.order(attended).tolist(), attended

    def warm_up(self, query: str, read: Bags) -> None:
        """Load the loops that ordering and explaining need, by texts that stand for history and results."""
        _strongest(self._attention.attend(query, read, read), np.arange(len(read)))

    def placements(self, query: str, results: Sequence[dict[str, Any]]) -> list[Placement]:
        """The results in personal order with the documents that speak for each."""
        order, attended = self.order(query, results)
        median = float(np.median(attended.scores)) if len(results) else 0.0
        strongest = _strongest(attended, np.flatnonzero(attended.scores > median))
        numbers = {
            int(self._index.numbers[attended.documents[row]]) for rows in strongest.values() for row in rows
        }
        clicks = self._clicks(numbers)
        placed = []
        for rank, place in enumerate(order, start=1):
            because = tuple(
                clicks[int(self._index.numbers[attended.documents[row]])] for row in strongest.get(place, ())
            )
            reason = _reason(rank, place + 1, because, attended.evidence)
            placed.append(Placement(results[place], rank, place + 1, reason, because))
        return placed

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


def _reason(rank: int, was: int, because: Sequence[ClickedPage], evidence: float) -> str:
    """Why a result stands where it does, for its owner."""
    if evidence < 0.01:
        return "Your history says nothing about this query: the engine's order stays."
    pages = " and ".join(f"“{_short(click.title or click.url)}”" for click in because[:2])
    if rank < was:
        return f"Up from place {was}: like {pages}, which you opened." if because else f"Up from place {was}."
    if rank > was:
        return f"Down from place {was}: others are nearer to what you opened."
    return (
        f"Where the engine put it; like {pages}, which you opened." if because else "Where the engine put it."
    )


def _short(title: str) -> str:
    return title if len(title) <= 60 else title[:59].rstrip() + "…"
