"""The filter: documents that may be about a sensitive topic have no influence on what is sent.

A document is **caught** if

- any of its ten nearest topics is sensitive, lies below a sensitive one, or is very near to one (cosine of
  at least 0.8: taxonomies hold near-twins in different branches);
- or it is **near** a sensitive topic: nearer to it, or to one below it, than to all but 3.5% of the topics
  of the taxonomy, by mean and deviation of its cosines to all of them, and with at least 0.6 of the cosine
  to its nearest topic. Of many topics below a sensitive one some are near to anything, so with n of them
  (itself included) the share is divided by the cube root of n;
- or, while anything is sensitive, it has no known word, so that nobody can tell what it is about.

The strict choice also catches what has a cosine of at least 0.3 to any sensitive topic or one below it.

Whether a document is caught depends on that document, the requirements and public data, on nothing else of
the history. What goes out is computed from an index of the others, filled document by document, so that
whatever is caught could be anything else without a trace in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tacit.device.profile.arrays import Bags, Growing
from tacit.device.profile.history import HistoryIndex
from tacit.device.profile.user import Flags
from tacit.retrieval.nearest import nearest_rows
from tacit.retrieval.topic_vectors import TopicVectors


class Sending(StrEnum):
    """Which documents may influence what is sent, and how a query is mapped to topics."""

    FILTERED = "filtered"
    """The default: documents that are near a sensitive topic, as few topics are near to them, have no say."""
    STRICT = "strict"
    """Nor have those with the least likeness to a sensitive topic."""
    UNFILTERED = "unfiltered"
    """Every document may influence it: what is sent depends on the sensitive ones, within the risk bound."""
    PAPER = "paper"
    """As in the paper: queries are mapped by the documents of the taxonomy that they retrieve, preferences
    are supports, and every document counts. What is sent depends on the sensitive ones."""

    @property
    def withholds(self) -> bool:
        """Whether documents that may be about sensitive topics are left out."""
        return self in (Sending.FILTERED, Sending.STRICT)


TWIN_COSINE = 0.8
"""A topic as near as this to a sensitive one counts as sensitive."""
STRICT_COSINE = 0.3
"""The strict filter catches a document as near as this to a sensitive topic or one below it."""
NEAR_SHARE = 0.035
"""A document is near a topic if at most this share of all topics is nearer; chosen on half of the queries of
``benchmarks/device_attention.py``."""

NEAR_PART = 0.6
"""And its cosine to it is at least this part of that to its nearest topic; chosen with the share."""

_SIZE_POWER = 1 / 3
_CHUNK = 256


class Withholding:
    """Which documents are caught under some requirements.

    Args:
        vectors: the taxonomy's directions.
        sensitivity: the sensitive topics.
        strict: whether to catch whatever is at all near.
        near: the share of topics of which a document's nearest are near to it; 0 for the ten nearest alone.
    """

    def __init__(
        self,
        vectors: TopicVectors,
        sensitivity: Mapping[int, float],
        *,
        strict: bool,
        near: float = NEAR_SHARE,
    ) -> None:
        tree = vectors.tree
        self._vectors = vectors
        self._strict = strict
        self.topics: Flags = np.zeros(len(tree) + 1, np.bool_)  # the last stands for "no topic"
        self._ranges: list[tuple[int, int, float | None]] = []
        for topic in sensitivity:
            begin, end = topic, int(tree.end[topic])
            self.topics[begin:end] = True
            self.topics[:-1] |= vectors.matrix @ vectors.matrix[topic] >= TWIN_COSINE
            share = near / (end - begin) ** _SIZE_POWER
            self._ranges.append((begin, end, NormalDist().inv_cdf(1 - share) if near > 0 else None))

    def caught(
        self, topics: npt.NDArray[np.int32], vectors: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.bool_]:
        """Whether each document is caught.

        Args:
            topics: the ten nearest topics of each, -1 where there are fewer.
            vectors: the direction of each.
        """
        if not self._ranges:
            return np.zeros(len(topics), np.bool_)
        found: npt.NDArray[np.bool_] = self.topics[topics].any(axis=1) | (topics[:, 0] < 0)
        for begin in range(0, len(topics), _CHUNK):
            part = np.arange(begin, min(begin + _CHUNK, len(topics)))
            for limits in self._ranges:
                left = part[~found[part]]
                if len(left):
                    found[left] = self._is_near(topics[left], vectors[left], *limits)
        return found

    def _is_near(
        self,
        topics: npt.NDArray[np.int32],
        vectors: npt.NDArray[np.float32],
        low: int,
        high: int,
        deviations: float | None,
    ) -> npt.NDArray[np.bool_]:
        """Whether each document is near to a topic of a range."""
        nearest = nearest_rows(self._vectors.matrix[low:high], vectors, 1)[1][:, 0]
        near: npt.NDArray[np.bool_] = nearest >= (STRICT_COSINE if self._strict else np.inf)
        if deviations is not None:
            middle, spread = self._vectors.spread(vectors)
            best = np.einsum("ik,ijk->ij", vectors, self._vectors.matrix[topics]).max(axis=1)
            near |= (nearest >= middle + deviations * spread) & (nearest >= NEAR_PART * best)
        return near


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
