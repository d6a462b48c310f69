"""The filter: documents that may be about a sensitive topic have no say in what is sent.

A document is **caught** if

- any of its ten nearest topics is sensitive, lies below a sensitive one, or is very near to one (cosine of at
  least 0.8: taxonomies hold near-twins in different branches);
- or it is **near** a sensitive topic: nearer to it, or to one below it, than to all but 3.5% of the topics
  of the taxonomy, by mean and deviation of its cosines to all of them, and with at least 0.6 of the cosine to
  its nearest topic. Of many topics below a sensitive one some are near to anything, so with n of them (itself
  included) the share is divided by the cube root of n;
- or, while anything is sensitive, it has no known word, so that nobody can tell what it is about.

The strict choice also catches what has a cosine of at least 0.3 to any sensitive topic or one below it.

Whether a document is caught depends on that document, the requirements and public data, on nothing else of
the history. So what is computed from the others cannot depend on the caught ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tacit.device.seed import Flags
from tacit.retrieval.nearest import nearest_rows
from tacit.retrieval.topic_vectors import TopicVectors

__all__ = ["NEAR_PART", "NEAR_SHARE", "STRICT_COSINE", "TWIN_COSINE", "Withholding"]

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
