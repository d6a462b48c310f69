"""The kinds of engines, and engines written as text: ``searxng=http://127.0.0.1:8888``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tacit.errors import InputError
from tacit.web.upstreams.described import SEARXNG, DescribedEngine, mediawiki, opensearch
from tacit.web.upstreams.engine import NOTHING_EXPOSED, Carriage, EngineDescription, Upstream
from tacit.web.upstreams.feed import FeedEngine
from tacit.web.upstreams.tacit_server import TacitServer

__all__ = [
    "EMBEDDED",
    "KINDS",
    "EngineKind",
    "check_engine",
    "engine_from_data",
    "parse_engine",
    "upstream_of",
]

EMBEDDED = "embedded"
"""The kind of the engine inside this process."""


@dataclass(frozen=True)
class EngineKind:
    """A kind of engine, for the person to choose."""

    name: str
    title: str
    carriages: tuple[Carriage, ...]
    """How it can carry a profile, the usual way first."""
    example: str


_WORDS = (Carriage.NOTHING, Carriage.EXPANSION)

KINDS: Mapping[str, EngineKind] = {
    kind.name: kind
    for kind in (
        EngineKind(EMBEDDED, "The embedded engine (a dictionary of 82,115 entries)", (Carriage.HERE,), ""),
        EngineKind(
            "tacit",
            "A Tacit search server",
            (Carriage.PROFILE, Carriage.NOTHING),
            "http://127.0.0.1:8480",
        ),
        EngineKind("searxng", "SearXNG", _WORDS, "http://127.0.0.1:8888"),
        EngineKind("mediawiki", "MediaWiki", _WORDS, "https://en.wikipedia.org/w"),
        EngineKind("opensearch", "An OpenSearch index", _WORDS, "http://127.0.0.1:9200/pages"),
        EngineKind(
            "feed", "OpenSearch 1.1 (RSS or Atom)", _WORDS, "https://host/?q={searchTerms}&format=rss"
        ),
        EngineKind("json", "Any JSON search API", _WORDS, "https://host/search?q={query}"),
    )
}

_NAME = re.compile(r"[\w.][\w .:@-]{0,59}")
_FIELDS = {"name", "kind", "address", "carries", "local", "timeout", "description"}


def upstream_of(engine: EngineDescription) -> Upstream:
    """What speaks with the engine."""
    match engine.kind:
        case "tacit":
            return TacitServer(engine.address, engine.carriage)
        case "searxng":
            return DescribedEngine(
                engine.address.rstrip("/").removesuffix("/search"), SEARXNG, engine.carriage
            )
        case "mediawiki":
            return mediawiki(engine.address, engine.carriage)
        case "opensearch":
            return opensearch(engine.address, engine.carriage)
        case "feed":
            return FeedEngine(engine.address, engine.carriage)
        case "json":
            return DescribedEngine(engine.address, engine.description, engine.carriage)
    raise InputError(f"there is no kind of engine {engine.kind[:40]!r}.", f"Choose from {', '.join(KINDS)}.")


def check_engine(engine: EngineDescription) -> EngineDescription:
    """The same engine, if it can be used.

    Raises:
        InputError: it cannot, and why.
    """
    kind = KINDS.get(engine.kind)
    if kind is None:
        raise InputError(
            f"there is no kind of engine {engine.kind[:40]!r}.", f"Choose from {', '.join(KINDS)}."
        )
    if not _NAME.fullmatch(engine.name):
        raise InputError("an engine's name must be 1 to 60 letters, digits, spaces or . _ : @ -.")
    if engine.carriage not in kind.carriages:
        raise InputError(
            f"an engine of the kind {kind.name} cannot carry a profile as {engine.carriage}.",
            f"Choose from {', '.join(kind.carriages)}.",
        )
    if not 0.1 <= engine.timeout <= 60:
        raise InputError(f"timeout must be in [0.1, 60] seconds; found {engine.timeout:g}.")
    if engine.kind != EMBEDDED:
        if urlsplit(engine.address).username is not None:
            raise InputError(
                "the address must not hold a name or password.", "Use a header in a JSON description."
            )
        upstream_of(engine).request("words", NOTHING_EXPOSED)
    return engine


def engine_from_data(data: Mapping[str, Any]) -> EngineDescription:
    """An engine from decoded JSON, as :func:`parse_engine` reads it from a file."""
    unknown = sorted(set(data) - _FIELDS)
    if unknown:
        raise InputError(
            f"an engine has no field {unknown[0][:40]!r}.", f"The fields are {', '.join(sorted(_FIELDS))}."
        )
    kind = KINDS.get(str(data.get("kind", "json")))
    usual = kind.carriages[0] if kind is not None else Carriage.NOTHING
    address = str(data.get("address", ""))
    try:
        return check_engine(
            EngineDescription(
                name=str(data.get("name") or urlsplit(address).hostname or (kind.name if kind else "")),
                kind=str(data.get("kind", "json")),
                address=address,
                carriage=Carriage(data.get("carries", usual)),
                local=bool(data.get("local", False)),
                timeout=float(data.get("timeout", 4.0)),
                description=dict(data.get("description", {})),
            )
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            "a field of the engine has the wrong form.", "See the reference of `tacit serve`."
        ) from error


def parse_engine(text: str) -> EngineDescription:
    """An engine as ``embedded``, as ``KIND=ADDRESS``, or as a file of JSON that describes it."""
    kind, equals, address = text.partition("=")
    if text == EMBEDDED:
        return engine_from_data({"name": EMBEDDED, "kind": EMBEDDED})
    if equals and kind in KINDS:
        return engine_from_data({"kind": kind, "address": address})
    path = Path(text)
    if not path.is_file():
        raise InputError(
            f"{text[:80]!r} is neither an engine nor a file that describes one.",
            "Write embedded, KIND=ADDRESS (as in searxng=http://127.0.0.1:8888), or a JSON file.",
        )
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not JSON.") from error
    if not isinstance(data, dict):
        raise InputError(f"{path} must hold one JSON object.")
    return engine_from_data(data)
