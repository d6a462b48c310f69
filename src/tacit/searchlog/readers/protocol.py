"""What a reader of a log format is: it cuts a file into blocks, and turns a block into records.

Cutting runs in order and does as little as possible; turning a block into records is a pure function,
so blocks are parsed side by side. Only a few blocks are in memory at a time, whatever the file's size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.searchlog.bad_lines import Reason
from tacit.searchlog.readers.source import Opening, Source

__all__ = ["Block", "Parsed", "Reader"]


@dataclass(frozen=True)
class Block:
    """A piece of a file that can be parsed alone."""

    content: Any
    """Bytes that end with a line end, or whatever else the reader's own ``parse`` takes."""
    first_line: int
    """The number of the block's first line in its file, from 1."""
    lines: int
    """How many lines the block holds."""


@dataclass(frozen=True)
class Parsed:
    """What a block held: records, and lines that gave none."""

    records: pa.RecordBatch
    """In the log's schema, queries as written."""
    normalised: pa.StringArray
    """The queries of the records, normalised. None is empty: such a line has no query."""
    bad: tuple[tuple[Reason, npt.NDArray[np.int64]], ...] = ()
    """Reason and ascending numbers of the lines that are no records."""
    passed_over: dict[str, int] = field(default_factory=dict)
    """Lines that are no records by rights: ``headers`` and ``blank`` ones."""


class Reader(Protocol):
    """A log format: how to know it, cut it and parse it."""

    name: str
    """What ``--format`` calls it."""

    def recognises(self, opening: Opening) -> bool:
        """Whether a file that opens like this can only sensibly be in this format."""

    def placed(self, opening: Opening, /) -> dict[str, int]:
        """Where a file that opens like this keeps which column of the log, from 0; empty where columns
        have names.
        """

    def blocks(self, source: Source) -> Iterator[Block]:
        """The file in blocks, in order."""

    def parse(self, block: Block) -> Parsed:
        """The records of a block. Pure: blocks may be parsed in any order, and side by side."""
