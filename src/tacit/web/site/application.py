"""The page as a web application: its routes behind the shield."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tacit.errors import TacitError
from tacit.web.site import browser, data, exposure, opening, profile, results, settings
from tacit.web.site.console import Console
from tacit.web.site.door import Shield


def page_application(console: Console) -> Starlette:
    """The application over a console."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await console.desk.close()

    async def trouble(request: Request, error: Exception) -> Response:
        assert isinstance(error, TacitError)
        return console.render(request, "trouble.html", 400, problem=error.problem, remedy=error.remedy)

    async def missing(request: Request, _error: Exception) -> Response:
        return console.render(
            request, "trouble.html", 404, problem="There is no such page.", remedy="Go back to the search."
        )

    async def broken(request: Request, _error: Exception) -> Response:
        return console.render(
            request,
            "trouble.html",
            500,
            problem="Something went wrong inside Tacit.",
            remedy="Try again; if it happens again, please report what you did.",
        )

    static = str(resources.files("tacit.web") / "static")
    rooms = (opening, results, profile, exposure, data, settings, browser)
    return Starlette(
        routes=[
            *[route for room in rooms for route in room.routes(console)],
            Mount("/static", StaticFiles(directory=static)),
            Route("/favicon.ico", browser.favicon),
        ],
        middleware=[Middleware(Shield, admission=console.admission, refusal=opening.refusal(console))],
        exception_handlers={TacitError: trouble, 404: missing, 500: broken},
        lifespan=lifespan,
    )
