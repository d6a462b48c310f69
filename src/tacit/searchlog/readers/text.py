"""What the readers of line-based formats share."""

from __future__ import annotations

from collections.abc import Iterator

from tacit.searchlog.readers.protocol import Block
from tacit.searchlog.readers.source import Source

__all__ = ["lines_in_blocks"]


def lines_in_blocks(source: Source) -> Iterator[Block]:
    """The lines of ``source`` in numbered blocks."""
    line = 1
    for content in source.blocks_of_lines():
        lines = content.count(b"\n")
        yield Block(content, line, lines)
        line += lines
