"""The interface to search engines: the request that is sent, the answer in one form, what an engine can take.

An :class:`Upstream` writes requests to one kind of engine and reads its answers; it has no network and no
state. Titles and snippets are untrusted: they are reduced to plain text here, and addresses to http and
https.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from tacit.errors import InputError
from tacit.web.addresses import table

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"([!-~]([ -~]*[!-~])?)?")


@dataclass(frozen=True)
class Outgoing:
    """An HTTP/1.1 request in full: nothing is added to it when it is written to the socket."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    """All of them, the host first."""
    body: bytes = b""

    @property
    def target(self) -> str:
        """The path with its query, as the request line has it."""
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return "/".join(self.url.split("/", 3)[:3])


def outgoing_request(
    method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"", content: str = ""
) -> Outgoing:
    """A request with the few headers that every engine gets: the same for all people.

    No version, no language, no cookie and no referrer tell people apart. The three ``Accept`` headers are
    those that SearXNG's limiter asks for; answers are unpacked no further than their limit.
    """
    if not url.isascii() or any(ord(letter) < 33 for letter in url):
        raise InputError("the address of an engine must be plain ASCII without spaces.", "Percent-encode it.")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # a port that is no number raises
    except ValueError as error:
        raise InputError("the address of an engine has no valid host and port.") from error
    if parts.scheme not in {"http", "https"} or not host:
        raise InputError("the address of an engine must begin with http:// or https://.")
    if len(host) > 253:
        raise InputError(f"a host name has at most 253 characters; found {len(host)}.")
    usual = {"Host": parts.netloc.rpartition("@")[2], "User-Agent": "tacit"}
    usual |= {"Accept": "application/json, text/html, */*", "Accept-Language": "*", "Accept-Encoding": "gzip"}
    if body:
        usual["Content-Type"] = content
        usual["Content-Length"] = str(len(body))
    for name, value in (headers or {}).items():
        known = {present.lower(): present for present in usual}
        if name.lower() in {"host", "content-length", "transfer-encoding", "connection", "accept-encoding"}:
            raise InputError(f"an engine's description may not set the header {name}.", "Leave it out.")
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise InputError(f"the header {name[:40]!r} must be plain ASCII in one line.")
        usual[known.get(name.lower(), name)] = value
    return Outgoing(method, url, tuple(usual.items()), body)


LONGEST_TITLE = 300
LONGEST_SNIPPET = 600
LONGEST_URL = 4_000

_TAG = re.compile(r"<[^<>]{0,1000}>")
_NO_ADDRESS = re.compile("[\x00-\x20]")
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result: plain text, and an address a browser may be sent to."""

    url: str
    title: str
    snippet: str
    plain_place: int | None = None
    """Its place in the engine's own order before the engine personalised it, where the engine says."""
    date: str = ""
    """When it was published, as YYYY-MM-DD, where the engine says."""
    found_by: tuple[str, ...] = ()
    picture: str = ""
    """The address of a small picture of it, or the picture itself as a ``data:`` address."""
    note: str = ""
    """What else there is to say of a picture, a film or a report: size, length, source."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for beside the words."""

    category: str = "general"
    time: str = ""
    """Not older than a ``day``, ``week``, ``month`` or ``year``."""
    language: str = ""
    """A language, or one with a region: ``de``, ``de-AT``; all of them, if none is named."""
    safe: str = ""
    """How strictly to leave out what is not for children: 0, 1 or 2; as the engine does, if empty."""
    page: int = 1


CATEGORIES = {"general": "All", "images": "Images", "videos": "Videos", "news": "News"}
TIMES = {"": "Any time", "day": "Past day", "week": "Past week", "month": "Past month", "year": "Past year"}
SAFE = {"": "As the engine does", "0": "Off", "1": "Moderate", "2": "Strict"}
LANGUAGES = {"": "Any language"} | table("languages.txt")


@dataclass(frozen=True)
class InfoBox:
    """What an engine tells of the thing itself."""

    title: str
    text: str
    facts: tuple[tuple[str, str], ...] = ()
    links: tuple[SearchResult, ...] = ()


@dataclass(frozen=True)
class Aside:
    """What an engine says beside its results."""

    answers: tuple[tuple[str, str], ...] = ()
    """Direct answers, each with the address of its source, if it has one."""
    corrections: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    boxes: tuple[InfoBox, ...] = ()
    silent: tuple[str, ...] = ()
    region: tuple[tuple[str, str], ...] | None = None
    """What a pool told of the person's data, by attribute; None where no pool was asked."""
    shared: int = 0
    """So many people share that region at least; 0 where a query went past the pool, without any data."""


@dataclass(frozen=True)
class Answer:
    """What one engine answered, or why it did not."""

    engine: str
    results: tuple[SearchResult, ...] = ()
    problem: str = ""
    """What went wrong, for the person to read; empty if nothing did. Never contains the query."""
    remedy: str = ""
    aside: Aside = Aside()


def plain_text(marked: object, longest: int) -> str:
    """The readable text of a string that may carry HTML: tags dropped, entities read, spaces joined.

    Characters that are not seen but change how a line reads (such as those that turn its direction) are
    dropped too, since a hostile title could use them to pose as another address.
    """
    if not isinstance(marked, str):
        return ""
    text = html.unescape(_TAG.sub("", marked[: 8 * longest]))
    if not text.isprintable():
        text = _UNSEEN.sub("", text)
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def clean_result(
    url: object, title: object, snippet: object, plain_place: object = None
) -> SearchResult | None:
    """A result fit to show, or None where its address is not one that a page may link to."""
    address = url.strip() if isinstance(url, str) else ""
    if len(address) > LONGEST_URL or not (host := _host(address)):
        return None
    shown = plain_text(title, LONGEST_TITLE) or host
    place = plain_place if isinstance(plain_place, int) and not isinstance(plain_place, bool) else None
    return SearchResult(address, shown, plain_text(snippet, LONGEST_SNIPPET), place)


def clean_results(rows: Iterable[tuple[object, ...]]) -> list[SearchResult]:
    """The results fit to show among rows of address, title, snippet and, where known, the plain place."""
    cleaned = (clean_result(*row) for row in islice(rows, 4 * RESULTS_ASKED))
    return [result for result in cleaned if result is not None]


def _host(address: str) -> str | None:
    try:
        parts = urlsplit("" if _NO_ADDRESS.search(address) else address)
        host, _ = parts.hostname, parts.port  # a port that is no number raises
    except ValueError:
        return None
    return host if parts.scheme in {"http", "https"} else None


RESULTS_ASKED = 50
"""How many results an engine is asked for, so that further pages need no further request."""


class Carriage(StrEnum):
    """How an engine can carry a profile."""

    HERE = "here"
    """It runs in this process: nothing leaves the machine."""
    PROFILE = "profile"
    """It takes the generalised profile beside the query, and personalises on its side."""
    EXPANSION = "expansion"
    """It takes words only: the names of exposed topics are added to the query."""
    NOTHING = "nothing"
    """It gets the query alone; all personalising happens on the device."""


@dataclass(frozen=True)
class EngineDescription:
    """What the person said about an engine, as it is kept."""

    name: str
    kind: str
    address: str = ""
    carriage: Carriage = Carriage.NOTHING
    enabled: bool = True
    local: bool = False
    """Whether its name may lead to this machine or the network around it, though it is no local address."""
    timeout: float = 4.0
    """Seconds for the whole answer, retries included."""
    description: Mapping[str, Any] = field(default_factory=dict)
    """For an engine described in JSON: where things stand in its answer."""


FIRST_PAGE = Wanted()


@dataclass(frozen=True)
class Upstream:
    """Writes requests to one kind of engine and reads its answers; it has no network and no state."""

    address: str
    carriage: Carriage = Carriage.NOTHING

    def request(self, query: str, topics: Sequence[str] = (), wanted: Wanted = FIRST_PAGE) -> Outgoing:
        """Write what to send for ``query`` with the labels of the exposed topics, from the root down."""
        raise NotImplementedError

    def takes(self, wanted: Wanted) -> bool:
        """Whether it has this category, can leave out what is older, and has the page that is wanted."""
        return wanted.category == "general" and not wanted.time and wanted.page == 1

    def read(self, told: Any) -> tuple[list[SearchResult], Aside]:
        """Read the results in an answer (decoded JSON), in the engine's order, and what it says beside them.

        Raises:
            ValueError: the answer is not of the form that this engine speaks.
        """
        raise NotImplementedError
