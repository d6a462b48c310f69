"""A Tacit search server: the embedded engine behind HTTP, which takes a generalised profile with a query.

``GET /search?q=…`` answers anyone, personalised for nobody. ``POST /search`` with ``{"query", "topics",
"preferences"}`` personalises on the server's side, as the paper has it (section 7.5): results are scored
against the exposed topics, and their order is fused with the engine's own. ``person``, the region that a pool
lets out of somebody's data, in words, brings results forward that mention it. Nothing about a request is kept
or logged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.device import Repository, rerank, topic_scores, wordnet_repository
from tacit.errors import InputError, TaxonomyError
from tacit.text import STOP_WORDS, words

__all__ = ["EngineService", "engine_application"]

_LONGEST_QUERY = 2_000
_MOST_TOPICS = 2_000
_MOST_ATTRIBUTES = 64
_LARGEST_BODY = 200_000
_DEPTH = 100
"""How many results are found before they are personalised."""


class EngineService:
    """Answers queries over a corpus, personalised by an exposed profile where one comes along."""

    def __init__(self, repository: Repository | None = None) -> None:
        self._repository = repository or wordnet_repository()

    def search(
        self,
        query: str,
        topics: Sequence[str] = (),
        preferences: dict[str, float] | None = None,
        count: int = 20,
        person: dict[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Results as ``url``, ``title``, ``content`` and the place each had before it was personalised.

        Raises:
            InputError: the profile is none of this server's taxonomy.
        """
        repository = self._repository
        hits = [hit.document for hit in repository.engine.search(query, max(count, _DEPTH))]
        plain = {document: place for place, document in enumerate(hits, start=1)}
        if topics and hits:
            leaves, shares = self._leaves(topics, preferences or {})
            scores = topic_scores(
                repository.tree,
                repository.prior,
                leaves,
                shares,
                repository.topic_of[np.array(hits, np.intp)],
            )
            hits = rerank(hits, scores)
        if person and hits:
            hits = rerank(hits, self._mentions(hits, person))
        found = []
        for number in hits[:count]:
            document = repository.corpus[number]
            found.append(
                {
                    "url": document.url,
                    "title": document.title,
                    "content": document.text,
                    "plain_place": plain[number],
                }
            )
        return found

    def _mentions(self, hits: Sequence[int], person: dict[str, str]) -> Any:
        """How many words of what is known of the person each result mentions: what is near, or of a trade."""
        about = {
            word for value in person.values() for word in words(value.replace("-", " ")) if word.isalpha()
        }
        about -= STOP_WORDS
        said = [set(words(f"{document.title} {document.text}")) for document in map(self._at, hits)]
        return np.array([len(about & each) for each in said], float)

    def _at(self, number: int) -> Any:
        return self._repository.corpus[number]

    def _leaves(self, topics: Sequence[str], preferences: dict[str, float]) -> tuple[Any, Any]:
        tree = self._repository.tree
        try:
            numbers = {tree.find(label): label for label in topics}
        except TaxonomyError as error:
            raise InputError("a topic of the profile is not in this server's taxonomy.") from error
        inner = {int(tree.parent[number]) for number in numbers if number}
        leaves = sorted(set(numbers) - inner)
        shares = np.array([preferences.get(numbers[leaf], 0.0) for leaf in leaves], float)
        if not (np.isfinite(shares).all() and (shares >= 0).all()):
            raise InputError("preferences must be numbers of 0 or more.")
        total = shares.sum()
        shares = shares / total if total > 0 else np.full(len(leaves), 1 / len(leaves))
        return np.array(leaves, np.int32), shares


def engine_application(service: EngineService) -> Starlette:
    """The server over a service."""

    async def ask(request: Request) -> Response:
        try:
            asked = await _question(request)
            results = await anyio.to_thread.run_sync(service.search, *asked)
        except InputError as error:
            return JSONResponse({"error": str(error)}, 400)
        return JSONResponse({"results": results}, headers={"Cache-Control": "no-store"})

    return Starlette(routes=[Route("/search", ask, methods=["GET", "POST"])])


async def _question(request: Request) -> tuple[str, list[str], dict[str, float], int, dict[str, str]]:
    if request.method == "GET":
        asked: Any = {
            "query": request.query_params.get("q", ""),
            "count": request.query_params.get("count", "20"),
        }
    else:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _LARGEST_BODY:
                raise InputError(f"a request must be at most {_LARGEST_BODY:,} bytes.")
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise InputError("the request is not JSON.") from error
    if not isinstance(asked, dict):
        raise InputError("the request must be a JSON object.")
    query, topics, preferences = asked.get("query"), asked.get("topics", []), asked.get("preferences", {})
    if not isinstance(query, str) or len(query) > _LONGEST_QUERY:
        raise InputError(f"query must be text of at most {_LONGEST_QUERY:,} characters.")
    if (
        not isinstance(topics, list)
        or len(topics) > _MOST_TOPICS
        or any(not isinstance(t, str) for t in topics)
    ):
        raise InputError(f"topics must be a list of at most {_MOST_TOPICS:,} labels.")
    if not isinstance(preferences, dict) or any(
        isinstance(share, bool) or not isinstance(share, int | float) for share in preferences.values()
    ):
        raise InputError("preferences must name a number for each label.")
    try:
        count = int(asked.get("count", 20))
    except (TypeError, ValueError) as error:
        raise InputError("count must be a whole number.") from error
    if not 1 <= count <= 100:
        raise InputError(f"count must be in [1, 100]; found {count}.")
    person = asked.get("person", {})
    if (
        not isinstance(person, dict)
        or len(person) > _MOST_ATTRIBUTES
        or any(not isinstance(value, str) or len(value) > _LONGEST_QUERY for value in person.values())
    ):
        raise InputError(f"person must name a text for each of at most {_MOST_ATTRIBUTES} attributes.")
    return query, topics, preferences, count, person
