"""Load a taxonomy by its name or from a file.

Files that list topics by path are read in three shapes, recognised by their content:

- **path lines**: ``Top/Arts/Music<TAB>206``, the count optional (Open Directory extracts);
- **Markdown tables** with a column of paths: ``| 23 | /Arts & Entertainment/Music & Audio |`` (Chrome's
  Topics taxonomy);
- **tier tables**, tab- or comma-separated with columns ``Tier 1``, ``Tier 2``, … (IAB's content taxonomy).

The Open Directory's RDF dumps are read as a stream: ``content.rdf.u8`` lists pages with the topic each
belongs to; ``structure.rdf.u8`` lists topics. The dumps are gigabytes of XML with stray control characters
and broken UTF-8, so they are cleaned on the way into the parser and never held whole: memory grows with the
number of topics only.
"""

import codecs
import csv
import gzip
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast
from xml.parsers import expat

from tacit.errors import InputError, TaxonomyError
from tacit.taxonomy.people import PEOPLE, people_taxonomy
from tacit.taxonomy.tree import TopicTree
from tacit.taxonomy.wordnet import load_wordnet

_Paths = Iterator[tuple[tuple[str, ...], float]]


def load_path_file(file: str | Path) -> TopicTree:
    """The topic tree in ``file``.

    If every path begins with the same topic, that is the root; otherwise all hang below ``Top``. A topic
    without a count weighs nothing by itself; if no topic has one, every leaf weighs the same.

    Raises:
        TaxonomyError: a line cannot be read; its number is said.
    """
    file = Path(file)
    # Old directory extracts hold a few bytes that are not UTF-8; a topic is worth more than its accent.
    lines = file.read_text("utf-8-sig", errors="replace").split("\n")
    content = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not content:
        raise TaxonomyError(f"{file} holds no topics.")
    rows = _markdown_paths if content[0][1].lstrip().startswith("|") else _line_paths
    found = _tier_paths(file, content) or list(rows(file, content))
    if not found:
        raise TaxonomyError(f"{file} holds no topics.")
    root, shared = "Top", {path[0] for path, _ in found}
    if len(shared) == 1 and any(len(path) > 1 for path, _ in found):
        (root,) = shared
        found = [(path[1:], count) for path, count in found]
    return TopicTree.from_paths(found, root=root)


def _split(file: Path, number: int, text: str) -> tuple[str, ...]:
    path = tuple(part.strip() for part in text.strip().strip("/").split("/"))
    if not all(path):
        raise TaxonomyError(f"{file}, line {number}: a path has an empty part.", "Write Top/Arts/Music.")
    return path


def _line_paths(file: Path, content: list[tuple[int, str]]) -> _Paths:
    for number, line in content:
        text, _, count = line.partition("\t")
        try:
            weight = float(count) if count.strip() else 0.0
        except ValueError:
            raise TaxonomyError(f"{file}, line {number}: what follows the tab is not a count.") from None
        yield _split(file, number, text), weight


def _markdown_paths(file: Path, content: list[tuple[int, str]]) -> _Paths:
    for number, line in content:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        paths = [cell for cell in cells if cell.startswith("/")]
        if len(paths) > 1:
            raise TaxonomyError(f"{file}, line {number}: a row has {len(paths)} paths; one is expected.")
        if paths:
            yield _split(file, number, paths[0]), 0.0


def _tier_paths(file: Path, content: list[tuple[int, str]]) -> list[tuple[tuple[str, ...], float]]:
    """The paths of a table whose header names tiers; none if there is no such header."""
    rest, tiers, delimiter = content[:5], list[int](), ","
    while rest and not tiers:
        (_, line), *rest = rest
        delimiter = "\t" if "\t" in line else ","
        header = [cell.strip().lower() for cell in line.split(delimiter)]
        tiers = [column for column, cell in enumerate(header) if cell.startswith("tier ")]
    rest = [*rest, *content[5:]] if tiers else []
    rows, found = csv.reader((line for _, line in rest), delimiter=delimiter), []
    for (number, _), row in zip(rest, rows, strict=False):
        cells = [row[column].strip() if column < len(row) else "" for column in tiers]
        path = tuple(filter(None, cells))
        if not path or path != tuple(cells[: len(path)]):
            raise TaxonomyError(f"{file}, line {number}: a tier is missing above another, or all are.")
        found.append((path, 0.0))
    return found


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
                title, description = (self._page.get(f"d:{name}", "") for name in ("Title", "Description"))
                self.pages.append(OdpPage(self._page["url"], title, description, topic))
            self._page = None
        else:
            self._page[name] = "".join(self._text).strip()


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
            yield reader.pages, reader.topics
            reader.pages, reader.topics = [], []
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
        problem = f"{file} holds no topics."
        raise TaxonomyError(problem, "Give the Open Directory's content or structure dump.")
    begin = 1 if {path[0] for path in paths} == {"Top"} else 0
    return TopicTree.from_paths((path[begin:], float(count)) for path, count in paths.items())


WORDNET = "wordnet"
"""The name of the bundled taxonomy of all of WordNet's nouns."""


def load_taxonomy(name: str) -> TopicTree:
    """The taxonomy of that name: ``people``, ``wordnet``, or a file (paths, tiers, Topics table, dump)."""
    if name == PEOPLE:
        return people_taxonomy()
    if name == WORDNET:
        return load_wordnet().tree
    if not Path(name).is_file():
        raise InputError(f"there is no taxonomy at {name}.", f"Give a file, {PEOPLE} or {WORDNET}.")
    return load_odp(name) if is_dump(name) else load_path_file(name)


def is_dump(name: str) -> bool:
    """Whether a file is a dump of the Open Directory, by its name."""
    return bool({".rdf", ".u8"} & set(Path(name).suffixes))
