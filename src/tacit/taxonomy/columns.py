"""Columns of a bundled table, kept in the cache folder as flat arrays and read from the disk as needed.

A process that looks up a few glosses should not hold all of them in memory, nor the library that reads
the bundled format: only the process that fills the cache loads it.
"""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tacit.errors import InputError
from tacit.files import atomic_directory, cache_directory

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FlatColumns"]

_FORMAT = "1"  # change it when what is kept, or how, changes

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
        """Where each row's values begin in a column of lists, and where the last one's end."""
        return self.array(f"{name}.rows")

    def numbers(self, name: str, row: int) -> tuple[int, ...]:
        """One row of a column of lists of numbers."""
        begin, end = self.offsets(name)[row : row + 2].tolist()
        return tuple(self.array(name)[begin:end].tolist())

    def text(self, name: str, row: int) -> str:
        """One row of a column of texts."""
        begin, end = self.array(f"{name}.texts")[row : row + 2].tolist()
        return self.array(name)[begin:end].tobytes().decode()

    def texts(self, name: str, row: int) -> tuple[str, ...]:
        """One row of a column of lists of texts."""
        begin, end = self.offsets(name)[row : row + 2].tolist()
        return tuple(self.text(name, place) for place in range(begin, end))

    def all_texts(self, name: str) -> list[str]:
        """A whole column of texts."""
        whole = self.array(name).tobytes()
        ends = self.array(f"{name}.texts").tolist()
        return [whole[begin:end].decode() for begin, end in pairwise(ends)]


def _write(path: Path, folder: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.ParquetFile(path).read().combine_chunks()  # read_table would load pandas
    for name in table.column_names:
        _write_column(table[name].chunk(0), folder, name)


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
