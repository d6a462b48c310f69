"""The door: exchanging the secret of the printed address for a cookie, and turning others away."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.web.site.console import Console
from tacit.web.site.door import COOKIE_DAYS


def routes(console: Console) -> list[Route]:
    """The door's own address."""

    async def enter(request: Request) -> Response:
        token = console.admission.admit(request.query_params.get("key", ""))
        if token is None:
            return console.render(request, "door.html", 403, kind="unknown", again="")
        # A page, not a redirect: a redirect that began outside would not carry a strict cookie.
        answer = console.render(request, "door.html", kind="open", again="")
        answer.set_cookie(
            console.admission.cookie,
            token,
            max_age=COOKIE_DAYS * 86_400,
            httponly=True,
            samesite="strict",
            path="/",
        )
        return answer

    return [Route("/open", enter)]


def refusal(console: Console) -> Callable[[Request, str], Response]:
    """Makes the page for who may not enter: a browser that is not known, or a link from another site."""

    def refuse(request: Request, kind: str) -> Response:
        again = request.url.path if kind == "foreign" and request.method == "GET" else ""
        if again and request.url.query:
            again += f"?{request.url.query}"
        return console.render(request, "door.html", 403, kind=kind, again=again)

    return refuse
