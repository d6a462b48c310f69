"""The operator's live page: groups as rectangles over two attributes, and no person."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["operator_page"]

_FILES = {
    "/": ("operator.html", "text/html"),
    "/operator.js": ("operator.js", "text/javascript"),
    "/operator.css": ("operator.css", "text/css"),
}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def operator_page() -> list[Route]:
    """The routes of the page and its two files."""

    def route(path: str, name: str, kind: str) -> Route:
        text = (files("tacit.pool") / "pages" / name).read_text("utf-8")

        async def show(_request: Request) -> Response:
            return Response(text, media_type=kind, headers=_HEADERS)

        return Route(path, show)

    return [route(path, name, kind) for path, (name, kind) in _FILES.items()]
