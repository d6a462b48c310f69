"""JSON Lines with a column mapping: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.searchlog.bad_lines import Reason
from tacit.searchlog.readers.protocol import Block, Parsed
from tacit.searchlog.readers.reading import Reading
from tacit.searchlog.readers.records import Written, to_records
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.readers.text import lines_in_blocks
from tacit.searchlog.schema import COLUMNS

__all__ = ["JsonLinesReader"]


def _as_written(value: Any) -> bytes | None:
    """A string or number as bytes; anything else is no value of a log."""
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value).encode()
    return None


class JsonLinesReader:
    """One object per line, its keys named by the mapping."""

    name = "jsonl"

    def __init__(self, reading: Reading) -> None:
        self._keys = [reading.mapping.names.get(column) for column in COLUMNS]
        self._read_times = reading.read_times

    def placed(self, _opening: Opening) -> dict[str, int]:
        """Objects have names, not places."""
        return {}

    def recognises(self, opening: Opening) -> bool:
        """The first line begins an object."""
        return bool(opening.lines) and opening.lines[0].lstrip().startswith(b"{")

    def blocks(self, source: Source) -> Iterator[Block]:
        """Blocks of whole lines."""
        return lines_in_blocks(source)

    def parse(self, block: Block) -> Parsed:
        """The records of a block of lines."""
        wrong: dict[Reason, list[int]] = {Reason.SYNTAX: [], Reason.ENCODING: []}
        lines: list[int] = []
        rows: list[list[bytes | None]] = []
        blank = 0
        for number, line in enumerate(block.content.split(b"\n")[:-1], start=block.first_line):
            if not line.strip():
                blank += 1
                continue
            try:
                found = json.loads(line.decode("utf-8"))
                row = [_as_written(found.get(key)) for key in self._keys]
            except UnicodeError:
                wrong[Reason.ENCODING].append(number)
            except (ValueError, AttributeError, RecursionError):
                wrong[Reason.SYNTAX].append(number)
            else:
                lines.append(number)
                rows.append(row)
        columns = tuple(pa.array([row[place] for row in rows], pa.binary()) for place in range(len(COLUMNS)))
        bad = [(reason, np.array(numbers, np.int64)) for reason, numbers in wrong.items()]
        return to_records(
            Written(np.array(lines, np.int64), columns), self._read_times, bad, {"blank": blank}
        )
