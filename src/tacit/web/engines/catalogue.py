"""The kinds of engines, and engines written as text: ``searxng=http://127.0.0.1:8888``.

Most engines are described by data: an address with ``{query}`` in it, and paths to the list of results and,
within each, to the address, the title and the snippet. A path is names and numbers with dots between them;
the address of a result may also be a template: ``https://host/wiki/?curid={pageid}``. ``{offset}`` or
``{page}`` ask for results beyond the first. SearXNG, which says more, and Tacit search servers have
classes of their own.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, urlencode, urlsplit

from tacit.errors import InputError
from tacit.web.addresses import leaf_names
from tacit.web.engines import interface
from tacit.web.engines.client import names_local_address

_MEDIAWIKI = json.loads((resources.files("tacit.web.engines") / "mediawiki.json").read_text("utf-8"))
"""MediaWiki's search, under the address of its script path (for Wikipedia: https://en.wikipedia.org/w)."""

_KNOWN = {"path", "body", "headers", "results", "title", "link", "snippet"}
_PLACE = re.compile(r"\{([A-Za-z0-9_.]+)\}")


def _refuse_unknown(what: str, given: Mapping[str, Any], fields: set[str]) -> None:
    for name in sorted(set(given) - fields):
        problem = f"{what} has no field {name[:40]!r}."
        raise InputError(problem, f"The fields are {', '.join(sorted(fields))}.")


def _at(tree: object, path: str) -> object:
    """The value at a dotted path in decoded JSON; None where there is none."""
    for step in path.split(".") if path else ():
        if isinstance(tree, dict):
            tree = tree.get(step)
        elif isinstance(tree, list) and step.isdigit() and int(step) < len(tree):
            tree = tree[int(step)]
        else:
            return None
    return tree


def expanded(query: str, topics: Sequence[str], carriage: interface.Carriage) -> str:
    """Add the names of exposed topics to the query where the engine carries those."""
    if carriage is not interface.Carriage.EXPANSION:
        return query
    present = query.casefold()
    return " ".join([query, *(name for name in leaf_names(topics) if name.casefold() not in present)])


@dataclass(frozen=True)
class DescribedEngine(interface.Upstream):
    """An engine that answers in JSON."""

    description: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _refuse_unknown("a description", self.description, _KNOWN)
        for name in ("results", "title", "link", "snippet", "path"):
            if not isinstance(self.description.get(name, ""), str):
                raise InputError(f"{name} of a description must be text.", "Give a path such as hits.hits.")
        if not self.description.get("link"):
            raise InputError("a description must say where the address of a result stands.", "Give link.")
        if "{query}" not in self._template and "{query}" not in json.dumps(self.description.get("body", "")):
            problem = "neither the address nor the body has {query} in it."
            raise InputError(problem, "Put it where the words go.")

    @property
    def _template(self) -> str:
        return self.address + str(self.description.get("path", ""))

    def request(
        self, query: str, topics: Sequence[str] = (), wanted: interface.Wanted = interface.FIRST_PAGE
    ) -> interface.Outgoing:
        """Put the query in its place in the address, or the body."""
        words = expanded(query, topics, self.carriage)
        count = interface.RESULTS_ASKED
        numbers = {"{count}": count, "{page}": wanted.page, "{offset}": count * (wanted.page - 1)}
        url = self._template.replace("{query}", quote_plus(words))
        for name, number in numbers.items():
            url = url.replace(name, str(number))
        headers = self.description.get("headers", {})
        if "body" not in self.description:
            return interface.outgoing_request("GET", url, headers)
        body = json.dumps(_filled(self.description["body"], words, numbers), ensure_ascii=False).encode()
        return interface.outgoing_request("POST", url, headers, body, "application/json")

    def takes(self, wanted: interface.Wanted) -> bool:
        """The whole web, and further pages where the description has a place for their number."""
        written = self._template + json.dumps(self.description.get("body", ""))
        further = "{offset}" in written or "{page}" in written
        return super().takes(replace(wanted, page=1)) and (wanted.page == 1 or further)

    def read(self, told: Any) -> tuple[list[interface.SearchResult], interface.Aside]:
        """Read the results; those without a usable address are left out."""
        found = _at(told, self.description.get("results", ""))
        if not isinstance(found, list):
            raise ValueError("no list of results where the description says")
        title, snippet = (self.description.get(name, name) for name in ("title", "snippet"))
        rows = ((self._link(one), _at(one, title), _at(one, snippet)) for one in found)
        return interface.clean_results(rows), interface.Aside()

    def _link(self, item: object) -> object:
        link = str(self.description["link"])
        if "{" not in link:
            return _at(item, link)

        def fill(match: re.Match[str]) -> str:
            if match[1] == "base":
                return self.address.rstrip("/")
            value = _at(item, match[1])
            return quote(str(value), safe="") if isinstance(value, str | int) else ""

        return _PLACE.sub(fill, link)


def _filled(template: object, query: str, numbers: Mapping[str, int]) -> object:
    if isinstance(template, dict):
        return {name: _filled(value, query, numbers) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, query, numbers) for value in template]
    if isinstance(template, str):
        return numbers.get(template, template.replace("{query}", query))
    return template


class SearXNG(interface.Upstream):
    """SearXNG, by its JSON interface: also pictures, news and films, filters, answers and boxes.

    Its settings must list ``json`` among ``search.formats``.
    """

    def request(
        self, query: str, topics: Sequence[str] = (), wanted: interface.Wanted = interface.FIRST_PAGE
    ) -> interface.Outgoing:
        """Write the address with the query and whatever of the filters was chosen."""
        asked = {
            "q": expanded(query, topics, self.carriage),
            "format": "json",
            "categories": "" if wanted.category == "general" else wanted.category,
            "time_range": wanted.time,
            "language": wanted.language,
            "safesearch": wanted.safe,
            "pageno": str(wanted.page) if wanted.page > 1 else "",
        }
        given = urlencode({name: value for name, value in asked.items() if value})
        return interface.outgoing_request("GET", f"{self.address}/search?{given}")

    def takes(self, wanted: interface.Wanted) -> bool:
        del wanted
        return True

    def suggestions_request(self, typed: str) -> interface.Outgoing:
        return interface.outgoing_request("GET", f"{self.address}/autocompleter?q={quote_plus(typed)}")

    def read(self, told: Any) -> tuple[list[interface.SearchResult], interface.Aside]:
        """Read the results with their dates, pictures and engines; and all that stands beside them."""
        rows = told.get("results") if isinstance(told, dict) else None
        if not isinstance(rows, list):
            raise ValueError("no list of results")
        found = []
        for row in rows[: 4 * interface.RESULTS_ASKED]:
            fields = row if isinstance(row, dict) else {}
            one = interface.clean_result(fields.get("url"), fields.get("title"), fields.get("content"))
            if one is not None:
                found.append(_enriched(one, fields))
        aside = interface.Aside(
            answers=tuple(filter(None, map(_answer, _listed(told, "answers")))),
            corrections=_lines(told, "corrections"),
            suggestions=_lines(told, "suggestions"),
            boxes=tuple(filter(None, map(_box, _listed(told, "infoboxes", 3)))),
            silent=tuple(
                interface.plain_text(one[0], 60)
                for one in _listed(told, "unresponsive_engines")
                if isinstance(one, list) and one and isinstance(one[0], str)
            ),
        )
        return found, aside


_LONGEST_PICTURE = 200_000
"""Characters of a picture that an answer carries itself."""


def _listed(told: object, name: str, most: int = 8) -> list[Any]:
    found = told.get(name) if isinstance(told, dict) else None
    return found[:most] if isinstance(found, list) else []


def _lines(told: object, name: str) -> tuple[str, ...]:
    found = (interface.plain_text(one, 200) for one in _listed(told, name))
    return tuple(dict.fromkeys(line for line in found if line))


def _enriched(one: interface.SearchResult, row: Mapping[str, Any]) -> interface.SearchResult:
    """A result with what else SearXNG says of it."""
    date = row.get("publishedDate")
    try:
        moment = datetime.fromisoformat(date).date().isoformat() if isinstance(date, str) else ""
    except ValueError:
        moment = ""
    pictures = (row.get(name) for name in ("thumbnail_src", "thumbnail", "img_src"))
    picture = next((text for text in pictures if isinstance(text, str) and text), "")
    if picture.startswith("//"):
        picture = f"https:{picture}"
    inside = picture.startswith("data:image/") and len(picture) <= _LONGEST_PICTURE
    if not inside and interface.clean_result(picture, "", "") is None:
        picture = ""
    notes = (interface.plain_text(str(row.get(key) or ""), 60) for key in ("length", "resolution", "source"))
    return replace(
        one,
        date=moment,
        found_by=_lines(row, "engines"),
        picture=picture,
        note=" · ".join(note for note in notes if note),
    )


def _answer(told: object) -> tuple[str, str] | None:
    """A direct answer and the address of its source; older versions give the text alone."""
    fields = told if isinstance(told, dict) else {"answer": told}
    text = interface.plain_text(fields.get("answer"), 600)
    source = interface.clean_result(fields.get("url"), "", "")
    return (text, source.url if source else "") if text else None


def _box(told: object) -> interface.InfoBox | None:
    title = interface.plain_text(told.get("infobox"), 200) if isinstance(told, dict) else ""
    if not isinstance(told, dict) or not title:
        return None
    facts = [
        (interface.plain_text(one.get("label"), 80), interface.plain_text(str(one.get("value") or ""), 200))
        for one in _listed(told, "attributes")
        if isinstance(one, dict)
    ]
    rows = [one for one in _listed(told, "urls") if isinstance(one, dict)]
    links = interface.clean_results((one.get("url"), one.get("title"), "") for one in rows)
    return interface.InfoBox(
        title,
        interface.plain_text(told.get("content"), 800),
        tuple(fact for fact in facts if all(fact)),
        tuple(links),
    )


class TacitServer(interface.Upstream):
    """A server of this project, by its address."""

    def request(
        self, query: str, topics: Sequence[str] = (), wanted: interface.Wanted = interface.FIRST_PAGE
    ) -> interface.Outgoing:
        """Write query and profile into the body, where they do not end up in a server's log of addresses."""
        del wanted
        message: dict[str, Any] = {"query": query, "count": interface.RESULTS_ASKED}
        if self.carriage is interface.Carriage.PROFILE and topics:
            message["topics"] = list(topics)
        body = json.dumps(message, ensure_ascii=False).encode()
        url = self.address.rstrip("/") + "/search"
        return interface.outgoing_request("POST", url, None, body, "application/json")

    def read(self, told: Any) -> tuple[list[interface.SearchResult], interface.Aside]:
        """Read the results in the server's order, with their places before it personalised."""
        try:
            fields = ("title", "content", "plain_place")
            rows = [(row["url"], *(row.get(name) for name in fields)) for row in told["results"]]
            person, shared = told.get("person"), told.get("k", 0)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("not the answer of a Tacit search server") from error
        if not isinstance(person, dict) or not isinstance(shared, int):
            return interface.clean_results(rows), interface.Aside()
        words = [tuple(interface.plain_text(one, 80) for one in pair) for pair in person.items()]
        region = tuple((name.replace("-", " "), value) for name, value in words)
        return interface.clean_results(rows), interface.Aside(region=region, shared=shared)


EMBEDDED = "embedded"


@dataclass(frozen=True)
class EngineKind:
    """A kind of engine, for the person to choose."""

    title: str
    carriages: tuple[interface.Carriage, ...] = (interface.Carriage.NOTHING, interface.Carriage.EXPANSION)
    """How it can carry a profile, the default first."""
    description: Mapping[str, Any] = field(default_factory=dict)
    """How its JSON interface is asked and read, where that is known."""
    suffix: str = ""
    """What people may leave at the end of its address."""
    short: str = ""
    """What one on this machine or beside it is called, with its address, if it has one."""


KINDS: Mapping[str, EngineKind] = {
    EMBEDDED: EngineKind(
        "The dictionary inside Tacit (82,115 entries)", (interface.Carriage.HERE,), short="dictionary"
    ),
    "tacit": EngineKind(
        "A Tacit search server",
        (interface.Carriage.PROFILE, interface.Carriage.NOTHING),
        short="Tacit server",
    ),
    "pool": EngineKind(
        "A pool: a query goes out only under a region of yours that k people share, and waits for them",
        (interface.Carriage.PROFILE, interface.Carriage.NOTHING),
    ),
    "searxng": EngineKind("SearXNG", suffix="/search", short="SearXNG"),
    "mediawiki": EngineKind("MediaWiki", description=_MEDIAWIKI, suffix="/api.php", short="Wiki"),
    "json": EngineKind("Any JSON search API"),
}

_NAME = re.compile(r"[\w.][\w .:@-]{0,59}")
_FIELDS = {"name", "kind", "address", "carries", "local", "timeout", "description"}


def _kind(name: str) -> EngineKind:
    if name not in KINDS:
        raise InputError(f"there is no kind of engine {name[:40]!r}.", f"Choose from {', '.join(KINDS)}.")
    return KINDS[name]


def upstream_of(engine: interface.EngineDescription) -> interface.Upstream:
    """The upstream that writes requests to the engine and reads its answers."""
    kind = _kind(engine.kind)
    match engine.kind:
        case "tacit" | "pool":
            return TacitServer(engine.address, engine.carriage)
        case "json":
            return DescribedEngine(engine.address, engine.carriage, engine.description)
    address = engine.address.rstrip("/").removesuffix(kind.suffix)
    if engine.kind == "searxng":
        return SearXNG(address, engine.carriage)
    return DescribedEngine(address, engine.carriage, kind.description)


def check_engine(engine: interface.EngineDescription) -> interface.EngineDescription:
    """Refuse an engine that cannot be used; the same one otherwise."""
    kind = _kind(engine.kind)
    if not _NAME.fullmatch(engine.name):
        raise InputError("an engine's name must be 1 to 60 letters, digits, spaces or . _ : @ -.")
    if engine.carriage not in kind.carriages:
        problem = f"an engine of the kind {engine.kind} cannot carry a profile as {engine.carriage}."
        raise InputError(problem, f"Choose from {', '.join(kind.carriages)}.")
    if not 0.1 <= engine.timeout <= 60:
        raise InputError(f"timeout must be in [0.1, 60] seconds; found {engine.timeout:g}.")
    if engine.kind != EMBEDDED:
        if urlsplit(engine.address).username is not None:
            problem = "the address must not hold a name or password."
            raise InputError(problem, "Use a header in a JSON description.")
        upstream_of(engine).request("words")
    return engine


def engine_from_data(data: Mapping[str, Any]) -> interface.EngineDescription:
    """An engine from decoded JSON, as :func:`parse_engine` reads it from a file."""
    _refuse_unknown("an engine", data, _FIELDS)
    name, address = str(data.get("kind", "json")), str(data.get("address", ""))
    kind = _kind(name)
    try:
        return check_engine(
            interface.EngineDescription(
                name=str(data.get("name") or _usual_name(kind, address) or name),
                kind=name,
                address=address,
                carriage=interface.Carriage(data.get("carries", kind.carriages[0])),
                local=bool(data.get("local", False)),
                timeout=float(data.get("timeout", 30.0 if name == "pool" else 4.0)),
                description=dict(data.get("description", {})),
            )
        )
    except (TypeError, ValueError) as error:
        problem = "a field of the engine has the wrong form."
        raise InputError(problem, "See the reference of `tacit serve`.") from error


def _usual_name(kind: EngineKind, address: str) -> str:
    """Tell engines apart by their addresses; what has no name of its own also by what it is."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if not host:
        return kind.short
    told = host if parts.port is None else f"{host}:{parts.port}"
    return f"{kind.short} at {told}" if kind.short and names_local_address(host) else told


def named_apart(
    engine: interface.EngineDescription, others: Iterable[interface.EngineDescription]
) -> interface.EngineDescription:
    """The engine under a name that no other one has: ``name 2``, if another address has its own."""
    taken = {one.name: one.address for one in others}
    names = (engine.name, *(f"{engine.name[:55]} {number}" for number in range(2, len(taken) + 3)))
    free = (name for name in names if taken.get(name, engine.address) == engine.address)
    return replace(engine, name=next(free))


def parse_engine(text: str) -> interface.EngineDescription:
    """An engine as ``embedded``, as ``KIND=ADDRESS``, or as a file of JSON that describes it."""
    kind, equals, address = text.partition("=")
    if text == EMBEDDED:
        return engine_from_data({"kind": EMBEDDED})
    if equals and kind in KINDS:
        return engine_from_data({"kind": kind, "address": address})
    path = Path(text)
    if not path.is_file():
        remedy = "Write embedded, KIND=ADDRESS (as in searxng=http://127.0.0.1:8888), or a JSON file."
        raise InputError(f"{text[:80]!r} is neither an engine nor a file that describes one.", remedy)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not JSON.") from error
    if not isinstance(data, dict):
        raise InputError(f"{path} must hold one JSON object.")
    return engine_from_data(data)
