"""Lines of a server's log: what web servers write (nginx, Apache, Solr's Jetty), or what a pattern finds.

A request is a search when its address has the parameter of the query. Who asked is the account the server
names, otherwise the network address, behind which there may be several people, or one of many.
"""

import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import unquote_plus

from tacit.searchlog.readers.protocol import Block, Parsed, Reader, compiled_pattern
from tacit.searchlog.readers.records import Row, collected
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.schema import COLUMNS

_REQUEST = re.compile(
    r"(?:\S+:\d+ )?(?P<address>\S+) \S+ (?P<account>\S+) \[(?P<time>[^\]]+)\]"
    r" \"[A-Z]+ (?P<target>\S+)[^\"]*\" \d{3} "
)
"""The beginning of a line in the common and the combined log format, after a server's name or not."""
_PARAMETERS = ("q", "query", "search_query", "search", "keywords", "keyword", "term", "text", "s", "p", "wd")
"""Names under which addresses usually hold a query, the surest first."""
_SAMPLE = 200


def _parameters(target: str) -> Iterator[tuple[str, str]]:
    """The parameters of an address, as they are written."""
    for part in target.partition("#")[0].partition("?")[2].split("&"):
        name, _, value = part.partition("=")
        yield name, value


class AccessReader(Reader):
    """The log of a web server, or lines that a regular expression takes apart."""

    name = "access"

    def recognises(self, opening: Opening) -> bool:
        lines = [line.decode("utf-8", "replace") for line in opening.lines[:_SAMPLE]]
        requests = sum(bool(_REQUEST.match(line)) for line in lines)
        return self.reading.pattern is not None or requests * 2 > len(lines)

    def _usual_parameter(self, opening: Opening) -> str:
        """The parameter that holds the queries: the one named, or the most frequent of the usual ones."""
        if self.reading.query_parameter is not None:
            return self.reading.query_parameter
        counts: Counter[str] = Counter()
        for line in opening.lines:
            found = _REQUEST.match(line.decode("utf-8", "replace"))
            if found is not None:
                counts.update({name for name, value in _parameters(found["target"]) if value})
        return max(_PARAMETERS, key=lambda name: (counts[name], -_PARAMETERS.index(name)))

    def blocks(self, source: Source) -> Iterator[Block]:
        parameter = "" if self.reading.pattern is not None else self._usual_parameter(source.opening)
        for block in super().blocks(source):
            yield Block((block.content, parameter), block.first_line, block.lines)

    def parse(self, block: Block) -> Parsed:
        content, parameter = block.content
        pattern = compiled_pattern(self.reading.pattern) if self.reading.pattern is not None else None

        def read(line: bytes) -> list[Row]:
            text = line.decode("utf-8").removesuffix("\r")
            return _searched(text, parameter) if pattern is None else _found(text, pattern)

        lines = content.split(b"\n")[:-1]
        return collected(
            self.reading, lines, block.first_line, read, "lines that are no searches", typed=False
        )


def _found(text: str, pattern: re.Pattern[str]) -> list[Row]:
    """Return what the pattern finds in a line."""
    match = pattern.search(text)
    if match is None:
        return []
    found = match.groupdict()
    if "query" not in found:
        found["query"] = unquote_plus(found["encoded_query"] or "")
    return [[found.get(column) for column in COLUMNS]]


def _searched(text: str, parameter: str) -> list[Row]:
    """The search that a request is; nothing for any other request."""
    found = _REQUEST.match(text)
    if found is None:
        raise ValueError("no request")
    query = next((value for name, value in _parameters(found["target"]) if name == parameter and value), None)
    if query is None:
        return []
    user = found["account"] if found["account"] != "-" else found["address"]
    return [[user, unquote_plus(query), found["time"], None, None]]
