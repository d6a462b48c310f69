"""The Open Directory's RDF dumps, read as a stream.

``content.rdf.u8`` lists pages with the topic each belongs to; ``structure.rdf.u8`` lists topics. The
dumps are gigabytes of XML with stray control characters and broken UTF-8, so they are cleaned on the
way into the parser and never held whole: memory grows with the number of topics only.
"""

from __future__ import annotations

import codecs
import gzip
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast
from xml.parsers import expat

from tacit.errors import TaxonomyError
from tacit.taxonomy.tree import TopicTree

__all__ = ["OdpPage", "load_odp", "odp_pages"]

_BLOCK = 1 << 20
# Characters that XML 1.0 does not allow, as the dumps contain them.
_FORBIDDEN = dict.fromkeys([*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0xFFFE, 0xFFFF])


@dataclass(frozen=True, slots=True)
class OdpPage:
    """A page that the directory's editors filed under a topic."""

    url: str
    title: str
    description: str
    topic: tuple[str, ...]


class _Reader:
    """Collects pages and topics as the parser meets them."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.pages: list[OdpPage] = []
        self.topics: list[tuple[str, ...]] = []
        self._text: list[str] = []
        self._page: dict[str, str] | None = None
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text.append
        self.parser.EntityDeclHandler = self._entity

    def _entity(self, *_: object) -> None:
        raise TaxonomyError(f"{self._file} declares XML entities.", "Dumps have none; this file is not one.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._text.clear()
        if name == "ExternalPage":
            self._page = {"url": attributes.get("about", "")}
        elif name == "Topic":
            self.topics.append(_topic_path(attributes.get("r:id", "")))

    def _end(self, name: str) -> None:
        if self._page is None:
            return
        if name == "ExternalPage":
            topic = _topic_path(self._page.get("topic", ""))
            if topic:
                self.pages.append(
                    OdpPage(
                        self._page["url"],
                        self._page.get("d:Title", ""),
                        self._page.get("d:Description", ""),
                        topic,
                    )
                )
            self._page = None
        else:
            self._page[name] = "".join(self._text).strip()

    def take(self) -> tuple[list[OdpPage], list[tuple[str, ...]]]:
        pages, topics = self.pages, self.topics
        self.pages, self.topics = [], []
        return pages, topics


def _topic_path(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.strip().split("/") if part)


def _blocks(file: Path) -> Iterator[tuple[list[OdpPage], list[tuple[str, ...]]]]:
    reader = _Reader(file)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with cast(BinaryIO, gzip.open(file) if file.suffix == ".gz" else file.open("rb")) as stream:
        while True:
            block = stream.read(_BLOCK)
            text = decode(block, final=not block).translate(_FORBIDDEN)
            try:
                reader.parser.Parse(text.encode("utf-8"), not block)
            except expat.ExpatError as error:
                raise TaxonomyError(f"{file}, line {error.lineno}: this is not well-formed XML.") from None
            yield reader.take()
            if not block:
                return


def odp_pages(file: str | Path) -> Iterator[OdpPage]:
    """The pages of a content dump (plain or .gz), one after another."""
    for pages, _ in _blocks(Path(file)):
        yield from pages


def load_odp(file: str | Path) -> TopicTree:
    """The topic tree of a dump (plain or .gz); a topic's count is the number of its pages.

    In a content dump, topics without pages below them carry no support and are left out. A structure
    dump has no pages: all its topics are kept, and every leaf weighs the same.
    """
    file = Path(file)
    counted: Counter[tuple[str, ...]] = Counter()
    listed: set[tuple[str, ...]] = set()
    for pages, topics in _blocks(file):
        counted.update(page.topic for page in pages)
        listed.update(topic for topic in topics if topic)
    paths = counted if counted else dict.fromkeys(listed, 0)
    if not paths:
        raise TaxonomyError(
            f"{file} holds no topics.", "Give the Open Directory's content or structure dump."
        )
    roots = {path[0] for path in paths}
    if roots == {"Top"}:
        return TopicTree.from_paths((path[1:], float(count)) for path, count in paths.items())
    return TopicTree.from_paths((path, float(count)) for path, count in paths.items())
