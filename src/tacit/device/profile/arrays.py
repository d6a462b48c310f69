"""Texts as bags of words with vectors, in flat arrays.

A text's words weigh ``(1 + ln tf) * idf``, its vector is the sum of its words' vectors. Both leave out the
words of the query at hand, which all results share and which tell no meaning from another. In the profile
file, a document's words are numbers into the word table with their frequencies, packed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from tacit.text.vectors import WordTable

LONGEST = 400
"""How many distinct words of a document are kept, from its beginning."""

_NUMBER = np.uint32((1 << 24) - 1)


def pack(table: WordTable, text: str) -> bytes:
    """The telling words of a text as they are kept: each with its frequency in one number."""
    bag = islice(table.bag(text).items(), LONGEST)
    return np.array([number | min(times, 255) << 24 for number, times in bag], "<u4").tobytes()


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


_AT_ONCE = 100
"""Texts whose words' vectors are added up together: a few megabytes."""


def row_sums(rows: _Float32, bounds: _Wide) -> _Float32:
    """The sum of each range of rows between two bounds; zero for an empty one."""
    sums = np.zeros((len(bounds) - 1, *rows.shape[1:]), np.float32)
    filled = bounds[1:] > bounds[:-1]  # reduceat gives the next row for an empty range
    if filled.any():
        sums[filled] = np.add.reduceat(rows, bounds[:-1][filled])
    return sums


class Bags:
    """A list of texts as bags of words.

    Attributes:
        offsets: where the words of each text begin.
        words: the numbers of all words.
        times: how often each occurs in its text.
        weights: how much each tells in its text.
        squares: the squared length of each text's weights.
        senses: the sum of the directions of each text's words, each weighted by how telling it is.
    """

    def __init__(self, table: WordTable) -> None:
        self.table = table
        self.offsets: _Wide = np.zeros(1, np.int64)
        self.words: _Int32 = np.empty(0, np.int32)
        self.times: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
        self.weights: _Float32 = np.empty(0, np.float32)
        self.squares: _Float32 = np.empty(0, np.float32)
        self.senses: _Float32 = table.units(self.words)

    def __len__(self) -> int:
        return len(self.squares)

    def extend_packed(self, packed: Sequence[bytes]) -> None:
        lengths = np.array([len(one) // 4 for one in packed], np.int64)
        self.extend(lengths, *unpack(np.frombuffer(b"".join(packed), "<u4")))

    def extend(self, lengths: _Wide, words: _Int32, times: npt.NDArray[np.uint8]) -> None:
        """Append texts: how many distinct words each has, and all their words in a row."""
        bounds = np.concatenate(([0], np.cumsum(lengths)))
        weights = (1 + np.log(times, dtype=np.float32)) * self.table.weight[words]
        squares, senses = [self.squares], [self.senses]
        for begin in range(0, len(lengths), _AT_ONCE):
            part = bounds[begin : begin + _AT_ONCE + 1]
            within, part = slice(part[0], part[-1]), part - part[0]
            some, weight = words[within], weights[within]
            squares.append(row_sums(weight**2, part))
            senses.append(row_sums(self.table.units(some) * weight[:, None], part))
        self.offsets = np.concatenate((self.offsets, self.offsets[-1] + bounds[1:]))
        self.words = np.concatenate((self.words, words))
        self.times = np.concatenate((self.times, times))
        self.weights = np.concatenate((self.weights, weights))
        self.squares, self.senses = map(np.concatenate, (squares, senses))

    def select(self, places: npt.NDArray[np.intp]) -> tuple[_Wide, _Int32, npt.NDArray[np.uint8]]:
        """Copy lengths, words and frequencies of some of the texts, for :meth:`extend` of another list."""
        lengths, spots = self.spots(places)
        return lengths, self.words[spots], self.times[spots]

    def spots(self, places: npt.NDArray[np.intp]) -> tuple[_Wide, _Wide]:
        """Count the distinct words of some of the texts, and say where these stand among all words."""
        begins, ends = self.offsets[places], self.offsets[places + 1]
        lengths = ends - begins
        # The positions begins[i], begins[i] + 1, …, ends[i] - 1 for all i in a row.
        return lengths, np.arange(lengths.sum()) + np.repeat(begins - np.cumsum(lengths) + lengths, lengths)

    @classmethod
    def of_texts(cls, table: WordTable, texts: Iterable[str]) -> Bags:
        bags = cls(table)
        bags.extend_packed([pack(table, text) for text in texts])
        return bags
