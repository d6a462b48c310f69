"""The bits that noise is drawn from while tests run: a stream that the name of a test or fixture fixes.

Under ``make fuzz`` they come from the operating system, as in use.
"""

from __future__ import annotations

import hashlib
import os

from tacit.privacy.noise.randomness import OperatingSystemRandomness, SeededRandomness

FUZZING = os.environ.get("TACIT_TESTS") == "fuzz"


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
