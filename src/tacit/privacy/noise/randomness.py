"""Where random bits come from.

Whatever protects a person draws from :class:`OperatingSystemRandomness`. Noise that can be repeated
protects nobody: a source with a seed is in the tests alone.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError

_BLOCK = 1 << 16
_LARGEST_READ = 1 << 22

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class RandomSource(Protocol):
    """Independent, uniformly distributed bits; no bit is ever handed out twice."""

    def bits(self, n_bytes: int) -> bytes:
        """``n_bytes`` bytes of fresh random bits."""
        ...

    def words(self, n: int) -> NDArray[np.uint64]:
        """``n`` fresh random 64-bit words."""
        ...


class OperatingSystemRandomness:
    """The kernel's cryptographic generator (``getrandom``), read in blocks.

    Small requests share a block of 64 KiB, so that a request for eight bytes is no system call. After
    a fork, parent and child would hold the same unread rest of a block: the child drops it (told by
    the process id, and by a count of forks in case an id is used again). One object may be shared
    by threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._block = b""
        self._used = 0
        self._owner = (os.getpid(), _forks)

    def bits(self, n_bytes: int) -> bytes:
        """``n_bytes`` bytes of fresh random bits."""
        if n_bytes < 0:
            raise ParameterError.outside("the number of random bytes", n_bytes, "at least 0")
        if n_bytes >= _BLOCK:
            return b"".join(
                os.urandom(min(_LARGEST_READ, n_bytes - start)) for start in range(0, n_bytes, _LARGEST_READ)
            )
        owner = (os.getpid(), _forks)
        if owner != self._owner:
            # A thread of the parent may have held the lock at the fork; the child needs one of its own.
            self._lock = threading.Lock()
            self._block, self._used, self._owner = b"", 0, owner
        with self._lock:
            if self._used + n_bytes > len(self._block):
                self._block, self._used = os.urandom(_BLOCK), 0
            taken = self._block[self._used : self._used + n_bytes]
            self._used += n_bytes
        return taken

    def words(self, n: int) -> NDArray[np.uint64]:
        """``n`` fresh random 64-bit words."""
        return np.frombuffer(self.bits(8 * n), dtype=np.uint64)
