"""The page as a web application: its routes behind the shield, and what browsers ask for by themselves."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import resources

from anyio import to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tacit.errors import TacitError
from tacit.web.site import data, profile, results, settings
from tacit.web.site.door import COOKIE_DAYS, Shield
from tacit.web.site.site import Site

_LONGEST_BEGINNING = 200
_MOST_SUGGESTED = 8
_OWN_FIRST = 3


def page_application(site: Site) -> Starlette:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await site.service.client.close()

    static = str(resources.files("tacit.web") / "static")
    pages = (results, profile, data, settings)
    return Starlette(
        routes=[
            *[route for page in pages for route in page.routes(site)],
            *_browser_routes(site),
            site.form("/undo", site.undo, "/profile"),
            Mount("/static", StaticFiles(directory=static)),
        ],
        middleware=[Middleware(Shield, admission=site.admission, refusal=_refusal(site))],
        exception_handlers=_error_pages(site),
        lifespan=lifespan,
    )


def _error_pages(site: Site) -> dict[int | type[Exception], Callable[[Request, Exception], Response]]:
    def known(request: Request, error: Exception) -> Response:
        assert isinstance(error, TacitError)
        return site.render(request, "trouble.html", 400, problem=error.problem, remedy=error.remedy)

    def other(status: int, problem: str, remedy: str) -> Callable[[Request, Exception], Response]:
        told = {"problem": problem, "remedy": remedy}
        return lambda request, _error: site.render(request, "trouble.html", status, **told)

    again = "Try again; if it happens again, please report what you did."
    return {
        TacitError: known,
        404: other(404, "There is no such page.", "Go back to the search."),
        500: other(500, "Something went wrong inside Tacit.", again),
    }


def _refusal(site: Site) -> Callable[[Request, str], Response]:
    """Make the page for a browser that is not known, or that followed a link of another site."""

    def refuse(request: Request, kind: str) -> Response:
        again = request.url.path if kind == "foreign" and request.method == "GET" else ""
        if again and request.url.query:
            again += f"?{request.url.query}"
        return site.render(request, "door.html", 200 if kind == "elsewhere" else 403, kind=kind, again=again)

    return refuse


def _browser_routes(site: Site) -> list[Route]:
    """Admission, the description as a search engine (OpenSearch 1.1), suggestions while typing."""

    async def admit(request: Request) -> Response:
        token = site.admission.admit(request.query_params.get("key", ""))
        if token is None:
            return site.render(request, "door.html", 403, kind="unknown", again="")
        # A page, not a redirect: a redirect that began outside would not carry a strict cookie.
        place = site.admission.place
        answer = site.render(request, "door.html", kind="open", again="", place=place)
        name, age = site.admission.cookie, COOKIE_DAYS * 86_400
        answer.set_cookie(name, token, max_age=age, httponly=True, samesite="strict", path=f"{place}/")
        return answer

    def describe(request: Request) -> Response:
        if not site.admission.is_suggestion_key(request.path_params["key"]):
            return PlainTextResponse("Not known.\n", 404)
        origin, key = f"http://{request.headers['host']}", site.admission.suggestion_key
        place, post = site.admission.place, site.settings.post
        description = site.fragment("opensearch.xml", origin=origin, place=place, key=key, post=post)
        return Response(description, media_type="application/opensearchdescription+xml")

    async def suggest(request: Request) -> Response:
        # The browser's own box sends no cookie: the secret stands in the address.
        if not site.admission.is_suggestion_key(
            request.path_params.get("key", site.admission.suggestion_key)
        ):
            return PlainTextResponse("Not known.\n", 404)
        typed = request.query_params.get("q", "")[:_LONGEST_BEGINNING]
        own = site.settings.own_suggestions
        found = await to_thread.run_sync(lambda: site.suggestions.complete(typed, own=own))
        if site.settings.engine_suggestions and typed.strip():
            told = await site.service.completions(typed.strip(), site.engines)
            found = list(dict.fromkeys([*found[:_OWN_FIRST], *told, *found]))[:_MOST_SUGGESTED]
        return JSONResponse([typed, found], media_type="application/x-suggestions+json")

    return [
        Route("/open", admit),
        Route("/opensearch/{key}.xml", describe),
        Route("/suggest/{key}", suggest),
        Route("/suggest", suggest),
    ]
