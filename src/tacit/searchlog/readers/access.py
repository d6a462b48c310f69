"""Lines of a server's log: what web servers write (nginx, Apache, Solr's Jetty), or what a pattern finds.

A request is a search when its address has the parameter of the query. Who asked is the account the server
names, otherwise the network address, behind which there may be several people, or one of many.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import unquote_plus

import numpy as np
import pyarrow as pa

from tacit.searchlog.readers.protocol import (
    Block,
    Parsed,
    Reading,
    Reason,
    compiled_pattern,
    lines_in_blocks,
)
from tacit.searchlog.readers.records import Written, to_records
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.schema import COLUMNS

_REQUEST = re.compile(
    r"(?P<address>\S+) \S+ (?P<account>\S+) \[(?P<time>[^\]]+)\] \"[A-Z]+ (?P<target>\S+)[^\"]*\" \d{3} "
)
"""The beginning of a line in the common and the combined log format."""
_PARAMETERS = ("q", "query", "search_query", "search", "keywords", "keyword", "term", "text", "s", "p", "wd")
"""Names under which addresses usually hold a query, the surest first."""
_SAMPLE = 200

_Row = tuple[str | None, ...]


def _parameters(target: str) -> Iterator[tuple[str, str]]:
    """The parameters of an address, as they are written."""
    for part in target.partition("#")[0].partition("?")[2].split("&"):
        name, _, value = part.partition("=")
        yield name, value


class AccessReader:
    """The log of a web server, or lines that a regular expression takes apart."""

    name = "access"

    def __init__(self, reading: Reading) -> None:
        self._read_times = reading.read_times
        self._first_rank = reading.first_rank
        self._pattern = compiled_pattern(reading.pattern) if reading.pattern else None
        self._parameter = reading.query_parameter

    def placed(self, _opening: Opening) -> dict[str, int]:
        """Lines of a server's log have no columns."""
        return {}

    def recognises(self, opening: Opening) -> bool:
        """Most lines are requests as web servers write them, or a pattern was given."""
        if self._pattern is not None:
            return True
        lines = [line.decode("utf-8", "replace") for line in opening.lines[:_SAMPLE]]
        return sum(bool(_REQUEST.match(line)) for line in lines) * 2 > len(lines)

    def _usual_parameter(self, opening: Opening) -> str:
        """The parameter that holds the queries: the one named, or the most frequent of the usual ones."""
        if self._parameter is not None:
            return self._parameter
        counts: Counter[str] = Counter()
        for line in opening.lines:
            found = _REQUEST.match(line.decode("utf-8", "replace"))
            if found is not None:
                counts.update({name for name, value in _parameters(found["target"]) if value})
        return max(_PARAMETERS, key=lambda name: (counts[name], -_PARAMETERS.index(name)))

    def blocks(self, source: Source) -> Iterator[Block]:
        """Blocks of whole lines."""
        parameter = "" if self._pattern is not None else self._usual_parameter(source.opening())
        for block in lines_in_blocks(source):
            yield Block((block.content, parameter), block.first_line, block.lines)

    def parse(self, block: Block) -> Parsed:
        """The records of a block of lines."""
        content, parameter = block.content
        wrong: dict[Reason, list[int]] = {Reason.SYNTAX: [], Reason.ENCODING: []}
        lines: list[int] = []
        rows: list[_Row] = []
        blank = others = 0
        for number, line in enumerate(content.split(b"\n")[:-1], start=block.first_line):
            if not line.strip():
                blank += 1
                continue
            try:
                text = line.decode("utf-8").removesuffix("\r")
            except UnicodeError:
                wrong[Reason.ENCODING].append(number)
                continue
            row = self._found(text) if self._pattern is not None else _searched(text, parameter)
            if row is None:
                wrong[Reason.SYNTAX].append(number)
            elif not row:
                others += 1
            else:
                lines.append(number)
                rows.append(row)
        columns = tuple(
            pa.array([None if row[place] is None else row[place].encode() for row in rows], pa.binary())  # type: ignore[union-attr]
            for place in range(len(COLUMNS))
        )
        bad = [(reason, np.array(numbers, np.int64)) for reason, numbers in wrong.items()]
        passed_over = {"blank": blank, "lines that are no searches": others}
        written = Written(np.array(lines, np.int64), columns)
        return to_records(written, self._read_times, bad, passed_over, self._first_rank)

    def _found(self, text: str) -> _Row:
        """What the pattern finds in a line; nothing where it finds nothing."""
        assert self._pattern is not None
        match = self._pattern.search(text)
        if match is None:
            return ()
        found = match.groupdict()
        if "query" not in found:
            found["query"] = unquote_plus(found["encoded_query"] or "")
        return tuple(found.get(column) for column in COLUMNS)


def _searched(text: str, parameter: str) -> _Row | None:
    """The search that a request is; nothing for any other request, None for what is no request."""
    found = _REQUEST.match(text)
    if found is None:
        return None
    query = next((value for name, value in _parameters(found["target"]) if name == parameter and value), None)
    if query is None:
        return ()
    user = found["account"] if found["account"] != "-" else found["address"]
    return user, unquote_plus(query), found["time"], None, None
