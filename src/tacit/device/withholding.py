"""The filter: documents that may be about a sensitive topic have no say in what is sent.

A document is **caught** if any of its ten nearest topics is sensitive, lies below a sensitive one, or is very
near to one (cosine of at least 0.8: taxonomies hold near-twins in different branches). The strict choice also
catches what has a cosine of at least 0.3 to any sensitive topic. A document without a known word, of which
nobody can tell what it is about, is caught too while anything is sensitive.

Whether a document is caught depends on that document, the requirements and public data, on nothing else of
the history. So what is computed from the others cannot depend on the caught ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tacit.device.seed import Flags
from tacit.retrieval.topic_vectors import TopicVectors

__all__ = ["STRICT_COSINE", "TWIN_COSINE", "Withholding"]

TWIN_COSINE = 0.8
"""A topic as near as this to a sensitive one counts as sensitive."""
STRICT_COSINE = 0.3
"""The strict filter catches a document as near as this to a sensitive topic or one below it."""

_CHUNK = 4_096


class Withholding:
    """Which documents are caught under some requirements.

    Args:
        vectors: the taxonomy's directions.
        sensitivity: the sensitive topics.
        strict: whether to catch whatever is at all near.
    """

    def __init__(self, vectors: TopicVectors, sensitivity: Mapping[int, float], *, strict: bool) -> None:
        self._any = bool(sensitivity)
        tree = vectors.tree
        self.topics: Flags = np.zeros(len(tree) + 1, np.bool_)  # the last stands for "no topic"
        self._protected = np.zeros(len(tree), np.bool_)
        for topic in sensitivity:
            self._protected[topic : tree.end[topic]] = True
            twins = vectors.matrix @ vectors.matrix[topic] >= TWIN_COSINE
            self.topics[:-1] |= twins
        self.topics[:-1] |= self._protected
        self._near = vectors.matrix[self._protected] if strict else None

    def caught(
        self, topics: npt.NDArray[np.int32], vectors: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.bool_]:
        """Whether each document is caught.

        Args:
            topics: the ten nearest topics of each, -1 where there are fewer.
            vectors: the direction of each.
        """
        if not self._any:
            return np.zeros(len(topics), np.bool_)
        found: npt.NDArray[np.bool_] = self.topics[topics].any(axis=1) | (topics[:, 0] < 0)
        if self._near is not None and len(self._near):
            for begin in range(0, len(topics), _CHUNK):
                part = slice(begin, begin + _CHUNK)
                found[part] |= (vectors[part] @ self._near.T).max(axis=1) >= STRICT_COSINE
        return found
