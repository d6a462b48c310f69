"""The bits that noise is drawn from while tests run: a stream that the name of a test or fixture fixes.

Under ``make fuzz`` they come from the operating system, as in use.
"""

from __future__ import annotations

import hashlib
import os

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.noise.randomness import OperatingSystemRandomness

FUZZING = os.environ.get("TACIT_TESTS") == "fuzz"


class SeededRandomness:
    """The same bits for the same seed (Philox): for tests only, never for a release."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(seed)

    def bits(self, n_bytes: int) -> bytes:
        """``n_bytes`` bytes of the stream (drawn as whole words; what is left of a word is dropped)."""
        return self.words(-(-n_bytes // 8)).tobytes()[:n_bytes]

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next ``n`` 64-bit words of the stream."""
        return self._generator.random_raw(n)


class Drawn:
    """What :class:`OperatingSystemRandomness` hands out, once :meth:`replace_the_system` was called."""

    stream = SeededRandomness(0)
    from_the_system = OperatingSystemRandomness.bits

    @classmethod
    def fix(cls, name: str) -> None:
        """Begin the stream of ``name``."""
        cls.stream = SeededRandomness(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]))

    @classmethod
    def replace_the_system(cls) -> None:
        """Let every source draw from the stream, in this process."""

        def bits(source: OperatingSystemRandomness, n_bytes: int) -> bytes:
            return cls.stream.bits(n_bytes) if n_bytes >= 0 else cls.from_the_system(source, n_bytes)

        OperatingSystemRandomness.bits = bits  # type: ignore[method-assign]
        OperatingSystemRandomness.unordered = False  # a stream has an order
