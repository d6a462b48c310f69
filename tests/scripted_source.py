"""Randomness written down beforehand, to force every decision of a sampler."""

from __future__ import annotations

import numpy as np

__all__ = ["ScriptedSource"]


class ScriptedSource:
    """A source that hands out the words written for it, then fails."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, n: int) -> np.ndarray:
        taken, self.left = self.left[:n], self.left[n:]
        assert len(taken) == n, "more randomness was drawn than the script holds"
        return np.array(taken, dtype=np.uint64)

    def bits(self, n_bytes: int) -> bytes:
        return self.words(-(-n_bytes // 8)).tobytes()[:n_bytes]
