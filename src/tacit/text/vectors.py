"""Static word vectors: a bundled, quantised table of GloVe, and the words of a text as numbers into it.

50,000 English words in the order of their frequency. A word's place in it is its number and says how
telling it is (:attr:`WordTable.weight`): an inverse document frequency from public data alone, the same for
everyone, so that it can say nothing about anybody. Words outside the table have a number too, from a hash,
and the highest weight, but no vector.
"""

import zlib
from collections import Counter
from collections.abc import Iterable
from importlib import resources
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tacit.errors import IntegrityError
from tacit.once import once
from tacit.text.tokens import words

COMMONEST = 150
"""So many of the commonest words say nothing about what a text is about, and are passed over."""

FAMILIAR = 20_000
"""So many of the commonest words say what vectors have in common."""

BUCKETS = 1 << 18
"""Numbers for words outside the table."""

_MUTE = -1
"""Stands for the number of a word that can say nothing about what a text is about."""

_CHUNK = 2_000

_Float32 = npt.NDArray[np.float32]


class WordTable:
    """Words with their vectors; get it with :func:`load_word_table`.

    Attributes:
        vectors: one row per word, in 8-bit steps; read from the disk as needed.
        rest: the dimensions of less variance, which only :meth:`units` reads.
        scale: the size of a step of ``vectors``, by dimension.
        words: by number.
        weight: how telling each number's word is: ``ln((rank + 10) / 50)``, 0 for the commonest.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self.vectors: npt.NDArray[np.int8] = np.load(folder / "vectors.npy", mmap_mode="r")
            self.rest: npt.NDArray[np.int8] = np.load(folder / "rest.npy", mmap_mode="r")
            self.scale: _Float32 = np.load(folder / "scale.npy")
            self._middle, self._step = np.load(folder / "evening.npy")
            listed = (folder / "words.txt").read_text(encoding="utf-8").split()
        except (OSError, ValueError) as error:
            problem = f"the word vectors at {folder} cannot be read."
            raise IntegrityError(problem, "Install Tacit again.") from error
        if not self.vectors.shape == (len(listed), len(self.scale)) == self.rest.shape:
            problem = f"the word vectors at {folder} do not fit their words."
            raise IntegrityError(problem, "Install Tacit again.")
        self.words: tuple[str, ...] = tuple(listed)
        self._number = dict(zip(listed, range(len(listed)), strict=True))
        self._telling = {
            word: number if _can_tell(word, number) else _MUTE
            for word, number in self._number.items()
            if not word.endswith("'s")
        }
        """The number of each word as it stands in a text, for :meth:`bag`, which reads many."""
        rank = np.minimum(np.arange(len(listed) + BUCKETS), len(listed))
        self.weight: _Float32 = np.maximum(0, np.log((rank + 10) / 50)).astype(np.float32)
        self.weight[:COMMONEST] = 0

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dimensions(self) -> int:
        return len(self.scale)

    def units(self, numbers: npt.NDArray[np.integer]) -> _Float32:
        """The directions of words in all dimensions, the mean of familiar ones removed and dimensions of
        great variance held down, at length 1; zero for words outside the table."""
        known = numbers < len(self)
        places = np.where(known, numbers, 0)
        rows: _Float32 = np.hstack((self.vectors[places], self.rest[places])) - self._middle
        rows *= self._step
        lengths = np.linalg.norm(rows, axis=1)
        rows *= (known / np.maximum(lengths, 1e-6)).astype(np.float32)[:, None]
        return rows

    def number(self, word: str) -> int:
        """The number of a word in lower case: its rank, or a bucket beyond the table."""
        found = self._number.get(word)
        return len(self) + zlib.crc32(word.encode()) % BUCKETS if found is None else found

    def content(self, text: str) -> Counter[str]:
        """The words of a text that can say what it is about, with their frequencies.

        Numbers, single letters and the commonest words cannot; a possessive counts as its word.
        """
        found: Counter[str] = Counter()
        for word in words(text):
            bare = word.removesuffix("'s")
            if _can_tell(bare, self._number.get(bare, COMMONEST)):
                found[bare] += 1
        return found

    def bag(self, text: str) -> dict[int, int]:
        """The telling words of a text as numbers, with their frequencies, in order of appearance."""
        found: dict[int, int] = {}
        for word in words(text):
            number = self._telling.get(word)
            if number is None:
                bare = word.removesuffix("'s")
                number = self.number(bare)
                if not _can_tell(bare, number):
                    continue
            elif number == _MUTE:
                continue
            found[number] = found.get(number, 0) + 1
        return found

    def directions(self, texts: Iterable[str]) -> _Float32:
        """The direction of each text: the sum of its words' vectors at length 1; zero where none is known."""
        rows: list[_Float32] = []
        remaining = iter(texts)
        while chunk := list(islice(remaining, _CHUNK)):
            known: list[int] = []
            ends: list[int] = []
            for text in chunk:
                for word in words(text):
                    found = self._number.get(word.removesuffix("'s"), -1)
                    if found >= COMMONEST:
                        known.append(found)
                ends.append(len(known))
            running = np.zeros((len(known) + 1, self.dimensions), np.int32)
            np.cumsum(self.vectors[known], axis=0, dtype=np.int32, out=running[1:])
            begins = np.array([0, *ends[:-1]], np.intp)
            sums = (running[ends] - running[begins]).astype(np.float32) * self.scale
            lengths = np.linalg.norm(sums, axis=1, keepdims=True)
            rows.append(np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0))
        return np.concatenate(rows) if rows else np.zeros((0, self.dimensions), np.float32)


def _can_tell(word: str, number: int) -> bool:
    """Whether a word can say what a text is about: numbers, single letters and the commonest cannot."""
    return number >= COMMONEST and len(word) > 1 and not word.isdigit()


def plural_forms(word: str) -> set[str]:
    """A word with the forms that count as the same in a query: plural and singular.

    >>> sorted(plural_forms("beagles"))
    ['beagle', 'beagles', 'beagleses', 'beagless']
    """
    forms = {word, word + "s", word + "es"}
    if word.endswith("y"):
        forms.add(word[:-1] + "ies")
    if len(word) > 3:
        if word.endswith("ies"):
            forms.add(word[:-3] + "y")
        elif word.endswith("s") and not word.endswith("ss"):
            forms.add(word[:-1])
    return forms


@once
def load_word_table() -> WordTable:
    """The bundled table, opened once per process."""
    with resources.as_file(resources.files("tacit.data") / "glove") as folder:
        return WordTable(folder)
