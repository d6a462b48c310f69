"""The part of the history that may shape what is sent: an index that has never seen a caught document.

What goes out is computed from this index, the requirements and public data. It is filled document by
document, each judged by itself, so that whatever is caught could be anything else without a trace in it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.device.bags import Bags
from tacit.device.growing import Growing
from tacit.device.history_index import HistoryIndex
from tacit.device.sending import Sending
from tacit.device.withholding import Withholding
from tacit.retrieval.topic_vectors import TopicVectors

__all__ = ["SendableHistory"]


class SendableHistory:
    """The documents of a history that the filter lets pass, kept in step with it.

    Attributes:
        bags: their words and vectors.
    """

    def __init__(self, index: HistoryIndex, vectors: TopicVectors, sending: Sending) -> None:
        self._index = index
        self._vectors = vectors
        self._sending = sending
        self._filter: Withholding | None = None
        self._made_for: tuple[int, dict[int, float]] | None = None
        self._clear()

    def _clear(self) -> None:
        self.bags = Bags(self._vectors.table)
        self._caught = Growing(np.bool_)

    @property
    def caught(self) -> npt.NDArray[np.bool_]:
        """Whether each document of the whole history is caught."""
        return self._caught.rows

    def refresh(self, sensitivity: dict[int, float]) -> None:
        """Judge what is new in the history; all of it, where the requirements changed."""
        wanted = (self._index.generation, sensitivity)
        if wanted != self._made_for:
            self._clear()
            self._filter = (
                Withholding(self._vectors, sensitivity, strict=self._sending is Sending.STRICT)
                if self._sending.withholds
                else None
            )
            self._made_for = wanted
        begin = len(self._caught)
        if begin == len(self._index):
            return
        topics = self._index.topics[begin:]
        if self._filter is None:
            caught = np.zeros(len(topics), np.bool_)
        else:
            whole = self._index.bags
            directions = whole.sums[begin:] / np.maximum(1e-6, whole.norms[begin:, None])
            caught = self._filter.caught(topics, directions.astype(np.float32))
        self._caught.extend(caught)
        self.bags.extend(*self._index.bags.select(begin + np.flatnonzero(~caught)))
