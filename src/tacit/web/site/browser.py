"""What a browser asks for: its description as a search engine, suggestions while typing, an icon."""

from __future__ import annotations

from importlib import resources
from xml.sax.saxutils import quoteattr

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tacit.web.site.console import Console

_LONGEST = 200


def routes(console: Console) -> list[Route]:
    """The routes for browsers."""

    async def describe(request: Request) -> Response:
        if not console.admission.is_suggestion_key(request.path_params["key"]):
            return PlainTextResponse("Not known.\n", 404)
        origin = f"http://{request.headers['host']}"
        return Response(
            _description(origin, console.admission.suggestion_key, post=console.settings.post),
            media_type="application/opensearchdescription+xml",
        )

    async def suggest_to_browser(request: Request) -> Response:
        """For the browser's own box, which sends no cookie: the secret stands in the address."""
        if not console.admission.is_suggestion_key(request.path_params["key"]):
            return PlainTextResponse("Not known.\n", 404)
        return await _suggest(request)

    async def _suggest(request: Request) -> Response:
        typed = request.query_params.get("q", "")[:_LONGEST]
        own = console.settings.own_suggestions
        found = await to_thread.run_sync(lambda: console.suggestions.complete(typed, own=own))
        return JSONResponse([typed, found], media_type="application/x-suggestions+json")

    return [
        Route("/opensearch/{key}.xml", describe),
        Route("/suggest/{key}", suggest_to_browser),
        Route("/suggest", _suggest),
    ]


async def favicon(_request: Request) -> Response:
    """The icon."""
    content = (resources.files("tacit.web") / "static" / "icon.svg").read_bytes()
    return Response(content, media_type="image/svg+xml", headers={"Cache-Control": "max-age=86400"})


def _description(origin: str, key: str, *, post: bool) -> str:
    """The OpenSearch 1.1 description of this page."""
    address = quoteattr(f"{origin}/search?q={{searchTerms}}")
    search = f'<Url type="text/html" method="get" template={address}/>'
    if post:
        search = (
            f'<Url type="text/html" method="post" template={quoteattr(f"{origin}/search")}>'
            '<Param name="q" value="{searchTerms}"/></Url>'
        )
    suggestions = quoteattr(f"{origin}/suggest/{key}?q={{searchTerms}}")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">'
        "<ShortName>Tacit</ShortName><Description>Private search on this machine</Description>"
        f"<InputEncoding>UTF-8</InputEncoding>{search}"
        f'<Url type="application/x-suggestions+json" template={suggestions}/>'
        f'<Image width="64" height="64" type="image/svg+xml">{origin}/static/icon.svg</Image>'
        "</OpenSearchDescription>\n"
    )
