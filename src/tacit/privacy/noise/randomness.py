"""Where random bits come from.

Whatever protects a person draws from :class:`OperatingSystemRandomness`, or, where work may be computed a
second time, from :class:`KeyedRandomness` under a key of it (docs/guarantees/keyed-noise.md). Noise that
can be repeated protects nobody: a source with a seed is in the tests alone.

A sampler draws for several items at once through :func:`halves`, :func:`coins` and ``words``, and for some of
them through :func:`at`: a source that serves all items from one stream does not care, and one that has a
stream for each serves each from its own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError


class RandomSource(Protocol):
    """Independent, uniformly distributed bits; no bit is ever handed out twice."""

    def bits(self, n_bytes: int) -> bytes:
        """``n_bytes`` bytes of fresh random bits."""
        ...

    def words(self, n: int) -> NDArray[np.uint64]:
        """``n`` fresh random 64-bit words."""
        return np.frombuffer(self.bits(8 * n), dtype=np.uint64)


class OperatingSystemRandomness(RandomSource):
    """The kernel's cryptographic generator (``getrandom``), asked each time.

    Nothing is kept that a second thread, or the child of a fork, could hand out again.
    """

    unordered = True
    """Whether it may be asked by several threads at once: no order of its bits means anything."""

    def bits(self, n_bytes: int) -> bytes:
        """``n_bytes`` bytes of fresh random bits."""
        if n_bytes < 0:
            raise ParameterError.outside("the number of random bytes", n_bytes, "at least 0")
        return os.urandom(n_bytes)


_KEY_BYTES = 32
_BLOCK_WORDS = 8


class KeyedRandomness(RandomSource):
    """Bits that are a function of a key, of what they are for, and of a counter: the same at every attempt.

    F is keyed BLAKE2b. Each table and each purpose has a key of its own, F(key, name); an item's bits are
    F(key of the purpose, counter and item). As a plain source it is a stream by a counter alone.

    Args:
        key: 256 bits, drawn by the operating system after the charge, and never stored.
        entry: the hash of the ledger's entry that paid for the noise.
    """

    def __init__(self, key: bytes, entry: str) -> None:
        if len(key) != _KEY_BYTES:
            raise ParameterError.outside("the key of the noise", f"{8 * len(key)} bits", "256 bits")
        self._key = key
        self._entry = entry
        self._taken = 0

    @classmethod
    def drawn(cls, entry: str) -> KeyedRandomness:
        """With a new key."""
        return cls(OperatingSystemRandomness().bits(_KEY_BYTES), entry)

    def within(self, table: str) -> KeyedRandomness:
        """The source of one table: whoever has its key has no other's."""
        return KeyedRandomness(self._derived("table", table), self._entry)

    def addressed(self, purpose: str, items: Sequence[bytes]) -> AddressedRandomness:
        """The bits of these items for this purpose."""
        return AddressedRandomness(self._derived("items", purpose), items)

    def _derived(self, kind: str, name: str) -> bytes:
        said = parted([self._entry.encode(), kind.encode(), name.encode()])
        return hashlib.blake2b(said, key=self._key, digest_size=_KEY_BYTES).digest()

    def bits(self, n_bytes: int) -> bytes:
        """The next bytes of the plain stream, in whole blocks."""
        key, first = self._derived("stream", ""), self._taken
        self._taken += -(-n_bytes // (8 * _BLOCK_WORDS))
        counters = (counter.to_bytes(8, "little") for counter in range(first, self._taken))
        return b"".join(hashlib.blake2b(counter, key=key).digest() for counter in counters)[:n_bytes]

    def __repr__(self) -> str:  # the key must be in no message
        return f"KeyedRandomness(entry={self._entry!r})"


def parted(texts: Sequence[bytes]) -> bytes:
    """Several texts as one, from which each can be told: with its length before it."""
    return b"".join(len(text).to_bytes(8, "little") + text for text in texts)


class AddressedRandomness:
    """A stream of bits for each of several items, by the item's own bytes alone.

    Neither where an item stands nor which others are there plays a part.
    """

    def __init__(self, key: bytes, items: Sequence[bytes]) -> None:
        self._key = key
        self._items = items
        self._used = np.zeros(len(items), np.int64)
        self._blocks = np.zeros((len(items), _BLOCK_WORDS), np.uint64)
        self._places: NDArray[np.int64] = np.arange(len(items))

    def at(self, places: NDArray[np.int64]) -> AddressedRandomness:
        """The same streams, of some of the items."""
        some = AddressedRandomness.__new__(AddressedRandomness)
        some.__dict__ |= self.__dict__ | {"_places": self._places[places]}
        return some

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next 64-bit word of each item."""
        if n != self._places.size:
            raise ParameterError(
                f"{n} words were asked for {self._places.size} items, each of which has one."
            )
        used = self._used[self._places]
        for place in self._places[used % _BLOCK_WORDS == 0].tolist():
            said = int(self._used[place]).to_bytes(8, "little") + self._items[place]
            self._blocks[place] = np.frombuffer(hashlib.blake2b(said, key=self._key).digest(), np.uint64)
        self._used[self._places] += 1
        return np.asarray(self._blocks[self._places, used % _BLOCK_WORDS])

    def bits(self, n_bytes: int) -> bytes:
        """The next bytes of the one item there is, as whole words."""
        return b"".join(self.words(1).tobytes() for _ in range(-(-n_bytes // 8)))[:n_bytes]


def at(source: RandomSource, places: NDArray[np.int64]) -> RandomSource:
    """The source for some of the items that a sampler draws for."""
    return source.at(places) if isinstance(source, AddressedRandomness) else source


def halves(source: RandomSource, n: int) -> NDArray[np.uint16]:
    """16 bits for each of ``n`` items."""
    if isinstance(source, AddressedRandomness):
        return (source.words(n) & np.uint64(0xFFFF)).astype(np.uint16)
    return source.words(-(-n // 4)).view(np.uint16)[:n]


def coins(source: RandomSource, n: int) -> NDArray[np.int64]:
    """A fair bit for each of ``n`` items."""
    if isinstance(source, AddressedRandomness):
        return (source.words(n) & np.uint64(1)).astype(np.int64)
    return np.unpackbits(np.frombuffer(source.bits(-(-n // 8)), np.uint8), count=n).astype(np.int64)
