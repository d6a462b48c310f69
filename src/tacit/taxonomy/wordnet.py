"""WordNet 3.0 nouns: topic tree, synonyms, hypernyms, glosses and senses, bundled with Tacit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from importlib import resources
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tacit.errors import InputError, TaxonomyError
from tacit.files import atomic_directory, cache_directory
from tacit.once import once
from tacit.taxonomy.tree import TopicTree

if TYPE_CHECKING:
    import pyarrow as pa


_FORMAT = "1"  # change it when what is kept, or how, changes
_ROWS = 4096  # read together: a part of a column, not all of it

_Array = npt.NDArray[Any]


class FlatColumns:
    """The columns of a Parquet file without nulls: numbers, texts, lists of numbers, lists of texts.

    Args:
        path: the file. What is kept of it in the cache goes by its content.
    """

    def __init__(self, path: Path) -> None:
        identity = hashlib.sha256(_FORMAT.encode() + path.read_bytes()).hexdigest()[:16]
        self._folder = cache_directory() / f"columns-{path.stem}-{identity}"
        if not self._folder.exists():
            try:
                with atomic_directory(self._folder) as temporary:
                    _write(path, temporary)
            except InputError:  # another process was faster
                if not self._folder.exists():
                    raise
        self._open: dict[str, _Array] = {}

    def array(self, name: str) -> _Array:
        """The values of a column of numbers, or those of all rows in a row for a column of lists."""
        if name not in self._open:
            self._open[name] = np.asarray(np.load(self._folder / f"{name}.npy", mmap_mode="r"))
        return self._open[name]

    def offsets(self, name: str) -> _Array:
        """The bounds of each row's values in a column of lists."""
        return self.array(f"{name}.rows")

    def numbers(self, name: str, row: int) -> tuple[int, ...]:
        begin, end = self.offsets(name)[row : row + 2].tolist()
        return tuple(self.array(name)[begin:end].tolist())

    def text(self, name: str, row: int) -> str:
        begin, end = self.array(f"{name}.texts")[row : row + 2].tolist()
        return self.array(name)[begin:end].tobytes().decode()

    def texts(self, name: str, row: int) -> tuple[str, ...]:
        begin, end = self.offsets(name)[row : row + 2].tolist()
        return tuple(self.text(name, place) for place in range(begin, end))

    def each_text(self, name: str) -> Iterator[str]:
        """Iterate over all rows of a column of texts, several times as fast as one by one."""
        bounds = self.array(f"{name}.texts")
        for first in range(0, len(bounds) - 1, _ROWS):
            part = bounds[first : first + _ROWS + 1]
            whole = self.array(name)[part[0] : part[-1]].tobytes()
            yield from (whole[begin:end].decode() for begin, end in pairwise((part - part[0]).tolist()))

    def each_texts(self, name: str) -> Iterator[tuple[str, ...]]:
        texts = self.each_text(name)
        return (tuple(islice(texts, count)) for count in np.diff(self.offsets(name)).tolist())


def _write(path: Path, folder: Path) -> None:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)  # read_table would load pandas
    for name in file.schema_arrow.names:  # one by one, or the peak of memory is that of all
        _write_column(file.read([name]).combine_chunks()[name].chunk(0), folder, name)


def _write_column(column: pa.Array, folder: Path, name: str) -> None:
    import pyarrow as pa

    if pa.types.is_list(column.type):
        np.save(folder / f"{name}.rows.npy", _buffer(column.offsets))
        column = column.values
    if pa.types.is_string(column.type):
        texts = _buffer(pa.Array.from_buffers(pa.int32(), len(column) + 1, [None, column.buffers()[1]]))
        np.save(folder / f"{name}.texts.npy", texts)
        np.save(folder / f"{name}.npy", np.frombuffer(column.buffers()[2], np.uint8)[: texts[-1]])
    else:
        np.save(folder / f"{name}.npy", _buffer(column))


def _buffer(array: pa.Array) -> _Array:
    """The values of an array of numbers. (Arrow's own way to numpy would load pandas.)"""
    kind = np.dtype(str(array.type).replace("double", "float64"))
    found: _Array = np.frombuffer(array.buffers()[1], kind)[array.offset : array.offset + len(array)]
    return found


# Regular plural endings of English nouns and what they stand for.
_ENDINGS = {"ies": "y", "ches": "ch", "shes": "sh", "ses": "s", "xes": "x", "zes": "z", "men": "man", "s": ""}


def _columns(name: str) -> FlatColumns:
    with resources.as_file(resources.files("tacit.data") / "wordnet" / name) as path:
        return FlatColumns(path)


class WordNet:
    """The noun part of WordNet; get it with :func:`load_wordnet`."""

    def __init__(self) -> None:
        self._nouns = _columns("nouns.parquet")
        self._names: list[str] = list(self._nouns.each_text("name"))
        self._parent: npt.NDArray[np.int32] = self._nouns.array("parent")

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"WordNet({len(self):,} noun synsets, {len(self._word_row):,} words)"

    @cached_property
    def _senses(self) -> FlatColumns:
        return _columns("senses.parquet")

    @cached_property
    def _word_row(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self._senses.each_text("word"))}

    @cached_property
    def tree(self) -> TopicTree:
        """The topic tree over first hypernyms; node t is synset t.

        Supports are the counts of the synset in Princeton's sense-tagged corpus, plus one at leaves.
        """
        counts = self.tag_counts.astype(np.float64)
        leaf = np.ones(len(self), bool)
        leaf[self._parent[1:]] = False
        counts[leaf] += 1
        return TopicTree(self._parent, self._names, counts)

    @cached_property
    def tag_counts(self) -> npt.NDArray[np.int64]:
        """Occurrences of each synset in Princeton's sense-tagged corpus."""
        offsets = self._nouns.offsets("counts")
        running = np.concatenate(([0], np.cumsum(self._nouns.array("counts"), dtype=np.int64)))
        totals: npt.NDArray[np.int64] = running[offsets[1:]] - running[offsets[:-1]]
        return totals

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: synset for synset, name in enumerate(self._names)}

    @cached_property
    def _irregular(self) -> dict[str, tuple[str, ...]]:
        table = _columns("inflections.parquet")
        return {form: table.texts("bases", row) for row, form in enumerate(table.each_text("form"))}

    # -- synsets -------------------------------------------------------------------------------------

    def synset(self, name: str) -> int:
        """The synset of that name, such as ``dog.n.01``."""
        found = self.find(name)
        if found is None:
            problem = "WordNet has no noun synset of that name."
            raise TaxonomyError(problem, "Names look like dog.n.01: word, n, sense.")
        return found

    def find(self, name: str) -> int | None:
        """The synset of that name, or None when there is none."""
        return self._number.get(name)

    def name(self, synset: int) -> str:
        """The name of a synset: its first lemma and which sense of it this is."""
        return self._names[synset]

    def lemmas(self, synset: int) -> tuple[str, ...]:
        """The synonyms, as written: ``('domestic dog', 'dog', 'Canis familiaris')``."""
        return self._nouns.texts("lemmas", synset)

    def entries(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Lemmas and gloss of every synset in order, several times as fast as asking for each."""
        return zip(self._nouns.each_texts("lemmas"), self._nouns.each_text("gloss"), strict=True)

    def lemma_counts(self, synset: int) -> tuple[int, ...]:
        """Count how often each lemma was tagged with this meaning, in the order of :meth:`lemmas`."""
        return self._nouns.numbers("counts", synset)

    def gloss(self, synset: int) -> str:
        """The definition, with examples."""
        return self._nouns.text("gloss", synset)

    def hypernyms(self, synset: int) -> tuple[int, ...]:
        """The more general synsets directly above; the first is the parent in the tree."""
        return self._nouns.numbers("hypernyms", synset)

    # -- words ---------------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> list[str]:
        """List all nouns and noun phrases, sorted."""
        return list(self._word_row)

    def lemma(self, word: str) -> str | None:
        """The base form of a noun, or None when WordNet does not know it.

        >>> load_wordnet().lemma("Geese"), load_wordnet().lemma("eagles"), load_wordnet().lemma("xyzzy")
        ('goose', 'eagle', None)
        """
        word = word.lower().replace("_", " ")
        if word in self._word_row:
            return word
        for base in self._irregular.get(word, ()):
            if base in self._word_row:
                return base
        for ending, stem in _ENDINGS.items():
            if word.endswith(ending):
                base = word.removesuffix(ending) + stem
                if base in self._word_row:
                    return base
        return None

    def senses(self, word: str) -> tuple[int, ...]:
        """The synsets a noun can mean, most frequent first; empty when unknown."""
        base = self.lemma(word)
        return () if base is None else self._senses.numbers("synsets", self._word_row[base])


@once
def load_wordnet() -> WordNet:
    """The bundled WordNet nouns, read once per process."""
    return WordNet()
