"""Logs of JSON objects, one a line or in one array: under names of their own, or exported by Google
Analytics 4, Matomo or OpenSearch's User Behavior Insights.

A name with dots (``user.id``) leads into objects within objects, unless an object has that very name.
"""

import codecs
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tacit.errors import LogError
from tacit.searchlog.readers.protocol import REQUIRED, Block, Parsed, Reader, Reading
from tacit.searchlog.readers.records import Row, collected
from tacit.searchlog.readers.source import Opening, Source
from tacit.searchlog.schema import COLUMNS

Extraction = Callable[[Mapping[str, Any]], Sequence[Row]]
"""The records that an object holds: none, if it tells of something else than a search."""

_SAMPLE = 200
_OBJECTS = 20_000
"""Objects of an array that are parsed at a time."""


def _within(found: Any, name: str) -> Any:
    """The value under ``name`` in an object; None where there is none."""
    if not isinstance(found, Mapping):
        return None
    if name in found or "." not in name:
        return found.get(name)
    first, _, rest = name.partition(".")
    return _within(found.get(first), rest)


def _of_ga4(event: Mapping[str, Any]) -> Sequence[Row]:
    """The search of an event as Google Analytics 4 exports it."""
    if event.get("event_name") not in ("view_search_results", "search"):
        return ()
    parameters = event.get("event_params") or ()
    terms = [each.get("value") for each in parameters if each.get("key") == "search_term"]
    query = _within(terms[0], "string_value") if terms else None
    user = event.get("user_id") or event.get("user_pseudo_id")
    return ([user, query, event.get("event_timestamp"), None, None],)


def _of_matomo(visit: Mapping[str, Any]) -> Sequence[Row]:
    """The searches of a visit as Matomo's ``Live.getLastVisitsDetails`` gives it."""
    user = visit.get("userId") or visit.get("visitorId")
    return [
        [user, action.get("siteSearchKeyword"), action.get("timestamp"), None, None]
        for action in visit.get("actionDetails") or ()
        if action.get("type") == "search"
    ]


def _of_ubi(document: Mapping[str, Any]) -> Sequence[Row]:
    """The query, or the click with its query, of a document of User Behavior Insights."""
    found = document.get("_source", document)
    if not isinstance(found, Mapping) or not found.get("user_query"):
        return ()
    user, query, time = found.get("client_id"), found.get("user_query"), found.get("timestamp")
    if found.get("action_name") in (None, "on_search", "search"):
        return ([user, query, time, None, None],)
    if found.get("action_name") not in ("click", "result_click", "item_click"):
        return ()
    place = _within(found, "event_attributes.position.ordinal")
    return ([user, query, time, place, _within(found, "event_attributes.object.object_id")],)


_EXPORTS: Mapping[str, tuple[Extraction, Callable[[Mapping[str, Any]], bool]]] = {
    "ga4": (_of_ga4, lambda found: {"event_name", "user_pseudo_id"} <= {*found}),
    "matomo": (_of_matomo, lambda found: {"actionDetails", "visitorId"} <= {*found}),
    "ubi": (_of_ubi, lambda found: {"client_id", "query_id"} <= {*found.get("_source", found)}),
}
"""What an export is called: its searches, and how it is known."""

_TAKEN_IN_EXPORTS = {
    **dict.fromkeys(("user_id", "user_pseudo_id", "userId", "visitorId", "client_id"), "user"),
    **dict.fromkeys(("event_timestamp", "timestamp"), "time"),
    **dict.fromkeys(("event_params", "user_query"), "query"),
    "actionDetails": "query, time",
    "event_attributes.position.ordinal": "rank",
    "event_attributes.object.object_id": "url",
}
"""Names in exports, and what the log has from there."""

EXPORTS = tuple(_EXPORTS)


def _beginning(opening: Opening) -> list[Mapping[str, Any]]:
    """The first objects of a file, as many as its opening holds whole."""
    found: list[Any] = []
    if opening.head.lstrip().startswith(b"["):
        text = opening.head.decode("utf-8", "ignore")
        found = [each for each, _ in zip(_elements(iter((text,))), range(_SAMPLE), strict=False)]
    else:
        for line in opening.lines[:_SAMPLE]:
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError):
                continue
    return [each for each in found if isinstance(each, Mapping)]


def _elements(pieces: Iterator[str]) -> Iterator[Any]:
    """The elements of one JSON array that comes in pieces; it may end early."""
    decoder = json.JSONDecoder()
    held, place = next(pieces, "").lstrip().removeprefix("["), 0
    tried = 0
    while True:
        while place < len(held) and held[place] in " \t\r\n,":
            place += 1
        if held[place : place + 1] == "]":
            return
        try:
            # An element that is not whole yet is tried again only when much more of it has come.
            if len(held) - place <= tried:
                raise ValueError
            element, place = decoder.raw_decode(held, place)
            tried = 0
            yield element
        except (ValueError, RecursionError):
            tried = max(tried, len(held) - place)
            piece = next(pieces, None)
            if piece is None:
                if held[place:].strip():
                    yield None  # cut short, or no JSON
                return
            held, place = held[place:] + piece, 0


def usual_names(opening: Opening) -> list[str]:
    """The names that at least half of the objects have: a name that few have could be somebody's."""
    counts: Counter[str] = Counter()
    found = _beginning(opening)
    for each in found:
        counts.update(_names(each))
    return [name for name, count in counts.items() if count * 2 >= len(found)]


def _names(found: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _names(value, f"{before}{name}.")
        else:
            yield f"{before}{name}"


class ObjectsReader(Reader):
    """Objects in lines or in an array: ``jsonl``, under names of their own, or an export by its name."""

    def __init__(self, name: str, reading: Reading) -> None:
        super().__init__(reading)
        self.name = name
        self._export = _EXPORTS.get(name)

    def recognises(self, opening: Opening) -> bool:
        head = opening.head.lstrip()
        if not head.startswith(b"{") and not (
            head.startswith(b"[") and head[1:].lstrip()[:1] in (b"{", b"]")
        ):
            return False
        if self._export is None:
            return True
        found = _beginning(opening)
        return bool(found) and sum(map(self._export[1], found)) * 2 > len(found)

    def _keys(self, source: Source) -> Mapping[str, str]:
        """The name of each column of the log in the objects of the file."""
        names, mapping = usual_names(source.opening), self.reading.mapping
        keys = dict(mapping.names)
        if not mapping.given:
            keys |= {column: names[place] for column, place in mapping.found_in(names).items()}
        needed = mapping.names if mapping.given else REQUIRED
        begun = _beginning(source.opening)
        if not begun and len(source.opening.lines) > 1:
            raise LogError(
                f"no line at the beginning of {source.name} is a whole object, nor is it one array of them.",
                "Write one object a line, such as jq -c '.hits[]' does where `hits` is the list's name.",
            )
        some = {name for each in begun for name in (*_names(each), *each)}
        if some and (missing := [keys[column] for column in needed if keys[column] not in some]):
            raise LogError(
                f"no object at the beginning of {source.name} has {', '.join(missing)}; most have"
                f" {', '.join(names)}.",
                "Say which are which with `columns`; a name within another is written with a dot, such as"
                " user.id.",
            )
        return keys

    def seen(self, source: Source) -> Iterator[tuple[str, str, str | None]]:
        """List each name of the file, what it holds, and which column of the log it becomes."""
        taken = _TAKEN_IN_EXPORTS
        if self._export is None:
            taken = {key: column for column, key in self._keys(source).items()}
        for name in usual_names(source.opening):
            yield name, "values of objects", taken.get(name.removeprefix("_source."), taken.get(name))

    def blocks(self, source: Source) -> Iterator[Block]:
        extract = self._export[0] if self._export is not None else _under(self._keys(source))
        if not source.opening.head.lstrip().startswith(b"["):
            for block in super().blocks(source):
                yield Block((block.content, extract), block.first_line, block.lines)
            return
        held: list[Any] = []
        first = 1
        for element in _elements(codecs.iterdecode(source.text(), "utf-8", "replace")):
            held.append(element)
            if len(held) == _OBJECTS:
                yield Block((held, extract), first, len(held))
                first, held = first + len(held), []
        if held:
            yield Block((held, extract), first, len(held))

    def parse(self, block: Block) -> Parsed:
        content, extract = block.content
        elements = content if isinstance(content, list) else content.split(b"\n")[:-1]

        def read(element: Any) -> Any:
            return extract(json.loads(element.decode("utf-8")) if isinstance(element, bytes) else element)

        return collected(self.reading, elements, block.first_line, read, "events that are no searches")


def _under(keys: Mapping[str, str]) -> Extraction:
    """The one record of an object with the values under ``keys``."""
    names = [keys.get(column) for column in COLUMNS]

    def extract(found: Mapping[str, Any]) -> Sequence[Row]:
        if not isinstance(found, Mapping):
            raise TypeError
        return ([None if name is None else _within(found, name) for name in names],)

    return extract
