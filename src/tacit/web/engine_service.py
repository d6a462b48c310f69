"""A Tacit search server: the embedded engine behind HTTP, which takes a generalised profile with a query.

``GET /search?q=…`` answers anyone, without personalisation. ``POST /search`` with ``{"query", "topics"}``
personalises on the server's side, as the paper has it (section 7.5): results are scored by their similarity
to the exposed topics, and fused with the engine's own order. ``person``, the region that a pool discloses of
somebody's data, in words, brings results forward that mention it. Nothing about a request is kept or logged.
"""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.bodies import read_object
from tacit.device import rerank, wordnet_repository
from tacit.errors import InputError, TaxonomyError
from tacit.retrieval import Document, SearchEngine
from tacit.retrieval.personalised import rank_by_topics
from tacit.text import STOP_WORDS, words


def read_documents(path: str | Path, advance: Callable[[int], None] = lambda _: None) -> list[Document]:
    """Read the documents of a file, numbered from 0."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there are no documents at {path}.", "Give a file of JSON lines.")
    documents: list[Document] = []
    try:
        opened: Callable[..., IO[str]] = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    documents.append(_document(path, number, line, len(documents)))
                    advance(1)
    except (gzip.BadGzipFile, UnicodeDecodeError, EOFError) as error:
        raise InputError(f"{path} cannot be read as JSON lines in UTF-8.") from error
    if not documents:
        raise InputError(f"{path} holds no documents.")
    return documents


def _document(path: Path, number: int, line: str, place: int) -> Document:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InputError(f"line {number} of {path} is not JSON.") from error
    fields = row if isinstance(row, dict) else {}
    url, title, text = (str(fields.get(name) or "") for name in ("url", "title", "text"))
    if not url.startswith(("http://", "https://")) or not (title or text):
        raise InputError(
            f"line {number} of {path} lacks a url that begins with http, or both title and text.",
            'Each line is an object such as {"url": "https://…", "title": "…", "text": "…"}.',
        )
    return Document(place, title or url, text, url, 0)


_LONGEST_QUERY = 2_000
_MOST_TOPICS = 2_000
_MOST_ATTRIBUTES = 64
_LARGEST_BODY = 200_000
_DEPTH = 100
"""How many results are found before they are personalised."""


class EngineService:
    """Answers queries over documents, personalised by the profile that was sent along, if any."""

    def __init__(
        self, documents: Sequence[Document] | None = None, engine: SearchEngine | None = None
    ) -> None:
        repository = wordnet_repository()
        self._documents = repository.corpus if documents is None else documents
        self._engine = engine or repository.engine

    def search(
        self,
        query: str,
        topics: Sequence[str] = (),
        count: int = 20,
        person: dict[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Search: results as ``url``, ``title``, ``content`` and the rank each had before personalisation."""
        found = [self._documents[hit.document] for hit in self._engine.search(query, max(count, _DEPTH))]
        texts = [f"{document.title} {document.text}" for document in found]
        order = list(range(len(found)))
        if topics and found:
            try:
                order = rank_by_topics(query, texts, topics)
            except TaxonomyError as error:
                raise InputError("a topic of the profile is not in this server's taxonomy.") from error
        if person and found:
            order = rerank(order, _mentions([texts[place] for place in order], person))
        shown = [(place + 1, found[place]) for place in order[:count]]
        return [
            {"url": one.url, "title": one.title, "content": one.text, "plain_place": place}
            for place, one in shown
        ]


def _mentions(texts: Sequence[str], person: dict[str, str]) -> list[float]:
    """Count the words of the person's attributes that each text mentions, such as a place or a trade."""
    known = {word for value in person.values() for word in words(value.replace("-", " ")) if word.isalpha()}
    return [float(len((known - STOP_WORDS) & set(words(text)))) for text in texts]


def engine_application(service: EngineService) -> Starlette:
    """The web application that serves a search service."""

    async def ask(request: Request) -> Response:
        try:
            asked = await _question(request)
            results = await anyio.to_thread.run_sync(service.search, *asked)
        except InputError as error:
            return JSONResponse({"error": str(error)}, 400)
        return JSONResponse({"results": results}, headers={"Cache-Control": "no-store"})

    return Starlette(routes=[Route("/search", ask, methods=["GET", "POST"])])


async def _question(request: Request) -> tuple[str, list[str], int, dict[str, str]]:
    if request.method == "GET":
        asked: dict[str, Any] = dict(request.query_params) | {"query": request.query_params.get("q", "")}
    else:
        asked = await read_object(request, _LARGEST_BODY)
    query: Any = asked.get("query")
    topics, person = asked.get("topics", []), asked.get("person", {})
    if not _is_text(query):
        raise InputError(f"query must be text of at most {_LONGEST_QUERY:,} characters.")
    if not isinstance(topics, list) or len(topics) > _MOST_TOPICS or not all(map(_is_text, topics)):
        raise InputError(f"topics must be a list of at most {_MOST_TOPICS:,} labels.")
    known = isinstance(person, dict) and len(person) <= _MOST_ATTRIBUTES
    if not known or not all(map(_is_text, person.values())):
        raise InputError(f"person must name a text for each of at most {_MOST_ATTRIBUTES} attributes.")
    try:
        count = int(asked.get("count", 20))
    except (TypeError, ValueError) as error:
        raise InputError("count must be a whole number.") from error
    if not 1 <= count <= 100:
        raise InputError(f"count must be in [1, 100]; found {count}.")
    return query, topics, count, person


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_QUERY
