"""Texts as bags of words with vectors, in flat arrays that grow at their end.

A text's words weigh ``(1 + ln tf) * idf``, its vector is the sum of its words' vectors. Both leave out the
words of the query at hand, which all results share and which tell no meaning from another. In the profile
file, a document's words are numbers into the word table with their frequencies, packed.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.text.vectors import WordTable


class Growing:
    """Rows of one type, appended at amortised constant cost."""

    def __init__(self, kind: npt.DTypeLike, width: int | None = None) -> None:
        self._rows = np.empty((64,) if width is None else (64, width), kind)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> npt.NDArray[Any]:
        """What was appended so far (a view: valid until the next change)."""
        return self._rows[: self._size]

    def extend(self, more: npt.NDArray[Any]) -> None:
        """Append rows."""
        needed = self._size + len(more)
        if needed > len(self._rows):
            grown = np.empty((max(needed, 2 * len(self._rows)), *self._rows.shape[1:]), self._rows.dtype)
            grown[: self._size] = self.rows
            self._rows = grown
        self._rows[self._size : needed] = more
        self._size = needed


LONGEST = 400
"""How many distinct words of a document are kept, from its beginning."""

_NUMBER = np.uint32((1 << 24) - 1)


def packed_words(table: WordTable, text: str) -> list[int]:
    """The telling words of a text, each with its frequency in one number."""
    bag = islice(table.bag(text).items(), LONGEST)
    return [number | min(times, 255) << 24 for number, times in bag]


def pack(table: WordTable, text: str) -> bytes:
    """The telling words of a text, as they are kept."""
    return np.array(packed_words(table, text), "<u4").tobytes()


def unpack(packed: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Numbers and frequencies of the words of one document, or of several in a row."""
    return (packed & _NUMBER).astype(np.int32), (packed >> np.uint32(24)).astype(np.uint8)


def fits(table: WordTable, features: bytes) -> bool:
    """Whether what was kept can be words of this table, each with a frequency."""
    if len(features) % 4:
        return False
    words, times = unpack(np.frombuffer(features, "<u4"))
    return int(words.max(initial=0)) < len(table.weight) and bool(times.all())


_Float32 = npt.NDArray[np.float32]
_Int32 = npt.NDArray[np.int32]
_Wide = npt.NDArray[np.int64]


_AT_ONCE = 1_000
"""Texts whose words' vectors are added up together: a few megabytes."""


def _sums(rows: _Float32, bounds: _Wide) -> _Float32:
    """The sum of each range of rows between two bounds; zero for an empty one."""
    sums = np.zeros((len(bounds) - 1, *rows.shape[1:]), np.float32)
    filled = bounds[1:] > bounds[:-1]  # reduceat gives the next row for an empty range
    if filled.any():
        sums[filled] = np.add.reduceat(rows, bounds[:-1][filled])
    return sums


class Bags:
    """A growing list of texts as bags of words."""

    def __init__(self, table: WordTable) -> None:
        self.table = table
        self._offsets = Growing(np.int64)
        self._offsets.extend(np.zeros(1, np.int64))
        self._words = Growing(np.int32)
        self._times = Growing(np.uint8)
        self._weights = Growing(np.float32)
        self._squares = Growing(np.float32)
        self._sums = Growing(np.float32, table.dimensions)
        self._norms = Growing(np.float32)
        self._senses = Growing(np.float32, table.dimensions)
        self._vectors = np.asarray(table.vectors)

    def __len__(self) -> int:
        return len(self._squares)

    def extend(self, lengths: npt.NDArray[np.int64], words: _Int32, times: npt.NDArray[np.uint8]) -> None:
        """Append texts: how many distinct words each has, and all their words in a row."""
        offsets = int(self._offsets.rows[-1]) + np.concatenate(([0], np.cumsum(lengths)))
        weights = (1 + np.log(times, dtype=np.float32)) * self.table.weight[words]
        bounds = offsets - offsets[0]
        self._offsets.extend(offsets[1:])
        self._words.extend(words)
        self._times.extend(times)
        self._weights.extend(weights)
        for begin in range(0, len(lengths), _AT_ONCE):
            part = bounds[begin : begin + _AT_ONCE + 1]
            within = slice(part[0], part[-1])
            self._squares.extend(_sums(weights[within] ** 2, part - part[0]))
            known = words[within] < len(self._vectors)
            counted = (self._vectors[np.where(known, words[within], 0)] * np.float32(1)) * (
                known * times[within]
            ).astype(np.float32)[:, None]
            sums = _sums(counted, part - part[0]) * self.table.scale
            self._sums.extend(sums)
            self._norms.extend(np.linalg.norm(sums, axis=1))
            weighed = self.table.units(words[within]) * weights[within][:, None]
            self._senses.extend(_sums(weighed, part - part[0]))

    def select(
        self, places: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.int64], _Int32, npt.NDArray[np.uint8]]:
        """Lengths, words and frequencies of some of the texts, for :meth:`extend` of another list."""
        lengths, spots = self.spots(places)
        return lengths, self.words[spots], self.times[spots]

    def spots(self, places: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """How many distinct words some of the texts have, and where these stand among all words, in a row."""
        begins, ends = self.offsets[places], self.offsets[places + 1]
        lengths = ends - begins
        # The positions begins[i], begins[i] + 1, …, ends[i] - 1 for all i in a row.
        return lengths, np.arange(lengths.sum()) + np.repeat(begins - np.cumsum(lengths) + lengths, lengths)

    @property
    def offsets(self) -> _Wide:
        """Where the words of each text begin."""
        return self._offsets.rows

    @property
    def words(self) -> _Int32:
        """The numbers of all words."""
        return self._words.rows

    @property
    def times(self) -> npt.NDArray[np.uint8]:
        """How often each occurs in its text."""
        return self._times.rows

    @property
    def weights(self) -> _Float32:
        """How much each tells in its text."""
        return self._weights.rows

    @property
    def squares(self) -> _Float32:
        """The squared length of each text's weights."""
        return self._squares.rows

    @property
    def sums(self) -> _Float32:
        """The sum of each text's word vectors."""
        return self._sums.rows

    @property
    def norms(self) -> _Float32:
        """The length of each of those sums."""
        return self._norms.rows

    @property
    def senses(self) -> _Float32:
        """The sum of each text's word vectors without their mean, each weighted by how telling it is."""
        return self._senses.rows

    @classmethod
    def of_texts(cls, table: WordTable, texts: Iterable[str]) -> Bags:
        """Bags of the given texts."""
        bags = cls(table)
        packed = [packed_words(table, text) for text in texts]
        lengths = np.array([len(one) for one in packed], np.int64)
        bags.extend(lengths, *unpack(np.array(list(chain.from_iterable(packed)), "<u4")))
        return bags
