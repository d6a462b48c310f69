"""The search pages: the front page, the results, what was sent with them, and the way to a result."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlencode

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.device import ClickedPage
from tacit.errors import InputError
from tacit.taxonomy import load_wordnet
from tacit.web.engines.interface import Carriage
from tacit.web.rules import without_tracking
from tacit.web.search import FoundPage, ShownResult
from tacit.web.site.site import Site
from tacit.world import wordnet_corpus

_ON_A_PAGE = 10
_LONGEST_QUERY = 1_000


def routes(site: Site) -> list[Route]:
    """The routes of searching."""
    page = _ResultPages(site)
    return [
        Route("/", page.front),
        Route("/search", page.search, methods=["GET", "POST"]),
        Route("/go/{key}/{number:int}", page.go),
        Route("/clicked/{key}/{number:int}", page.clicked, methods=["POST"]),
        Route("/read/{name}", page.read),
    ]


class _Target(NamedTuple):
    """Where a result's link leads: to the page itself, and by way of the record of clicks."""

    direct: str
    recorded: str
    beacon: str
    place: str
    letter: str
    """What stands for the place in the small round sign before it."""


class _ResultPages:
    def __init__(self, site: Site) -> None:
        self._site = site

    async def front(self, request: Request) -> Response:
        """The box, and for a newcomer what to do first."""
        root = await to_thread.run_sync(self._site.guard.topic)
        return self._site.render(
            request,
            "front.html",
            documents=round(root.documents),
            sensitive=len(self._site.guard.sensitive_topics()),
            requests=sum(self._site.sent.count().values()),
            engines=[engine for engine in self._site.engines if engine.enabled],
        )

    async def search(self, request: Request) -> Response:
        """The results of a query."""
        asked = dict(request.query_params)
        if request.method == "POST":
            asked |= {name: str(value) for name, value in (await request.form(max_files=0)).items()}
        query = " ".join(asked.get("q", "").split())
        if not query:
            return RedirectResponse("/", 303)
        if len(query) > _LONGEST_QUERY:
            raise InputError(f"a query must be at most {_LONGEST_QUERY:,} characters; found {len(query):,}.")
        page = self._site.service.known(query) if "again" not in asked else None
        if page is None:
            page = await self._site.service.search(
                query, self._site.engines, self._site.rules, self._site.settings
            )
        return self._draw(request, page, plain=asked.get("order") == "plain", part=_part(asked.get("page")))

    def _draw(self, request: Request, page: FoundPage, *, plain: bool, part: int) -> Response:
        settings = self._site.settings
        results = page.plain if plain else page.personal
        shown = results[(part - 1) * _ON_A_PAGE : part * _ON_A_PAGE]

        same = f"{self._site.admission.place}/search?" + urlencode({"q": page.query})

        def link(number: int = part, *, plain: bool = plain) -> str:
            return same + ("&order=plain" if plain else "") + (f"&page={number}" if number != 1 else "")

        return self._site.render(
            request,
            "results.html",
            query=page.query,
            page=page,
            results=[
                (one, one.result, self._target(page, one), () if plain else _read_before(one))
                for one in shown
            ],
            total=len(results),
            part=part,
            parts=-(-len(results) // _ON_A_PAGE),
            plain=plain,
            new_tab=settings.new_tab,
            several=len(page.turns) > 1,
            link=link,
            turns=[(turn, _requests_of(turn)) for turn in page.turns],
            only_here=all(turn.engine.carriage is Carriage.HERE for turn in page.turns),
        )

    def _target(self, page: FoundPage, one: ShownResult) -> _Target:
        """Where a result's link leads."""
        name = _entry_name(one.result.url)
        base = self._site.admission.place
        address, place = (f"{base}/read/{name}", "Tacit’s dictionary") if name else (one.result.url, one.host)
        if not name and self._site.settings.strip_tracking:
            address = without_tracking(address)
        if not self._site.settings.remember_clicks:
            return _Target(address, address, "", place, place[:1].upper())
        by_way = f"{page.key}/{one.number}"
        letter = place[:1].upper()
        return _Target(address, f"{base}/go/{by_way}", f"{base}/clicked/{by_way}", place, letter)

    async def go(self, request: Request) -> Response:
        """Record a click and go on to the result."""
        page, one = self._found(request)
        await self._record(page, one)
        return RedirectResponse(
            self._target(page, one).direct, 303, headers={"Referrer-Policy": "no-referrer"}
        )

    async def clicked(self, request: Request) -> Response:
        """Record a click; the browser goes to the result by itself."""
        page, one = self._found(request)
        await self._record(page, one)
        return Response(status_code=204)

    def _found(self, request: Request) -> tuple[FoundPage, ShownResult]:
        page = self._site.service.page(request.path_params["key"])
        one = page.result(request.path_params["number"]) if page is not None else None
        if page is None or one is None:
            raise InputError("this page of results is too old.", "Search again.")
        return page, one

    async def _record(self, page: FoundPage, one: ShownResult) -> None:
        if self._site.settings.remember_clicks:
            result = {"url": one.result.url, "title": one.result.title, "snippet": one.result.snippet}
            await to_thread.run_sync(self._site.guard.clicked, page.query, result)

    async def read(self, request: Request) -> Response:
        """An entry of the embedded dictionary."""
        wordnet = load_wordnet()
        number = wordnet.find(request.path_params["name"])
        if number is None:
            raise InputError("the dictionary has no such entry.", "Search for it.")

        def entries(numbers: Any) -> list[tuple[str, str]]:
            return [(wordnet.name(one), ", ".join(wordnet.lemmas(one))) for one in list(numbers)[:60]]

        definition, _, examples = wordnet.gloss(number).partition('; "')
        return self._site.render(
            request,
            "entry.html",
            title=", ".join(wordnet.lemmas(number)),
            definition=definition,
            examples=f'"{examples}' if examples else "",
            above=entries(wordnet.hypernyms(number)),
            below=entries(wordnet.hyponyms(number)),
            path=[(name, name) for name in wordnet.tree.path(number)[:-1]],
        )


def _part(text: str | None) -> int:
    return (
        max(1, int(text)) if text is not None and text.isascii() and text.isdigit() and len(text) < 4 else 1
    )


def _entry_name(url: str) -> str | None:
    """The name of an entry of the embedded dictionary, whose addresses lead nowhere outside."""
    number = wordnet_corpus().number_of(url)
    return load_wordnet().name(number) if number is not None else None


def _read_before(one: ShownResult) -> list[ClickedPage]:
    """The first three pages that speak for a result, those of the same title once."""
    if not one.because:
        return []
    titles: dict[str, ClickedPage] = {}
    for page in one.because:
        titles.setdefault(page.title.lower(), page)
    return list(titles.values())[:3]


def _requests_of(turn: Any) -> list[str]:
    return [wire.decode("utf-8", errors="backslashreplace") for wire in turn.sent]
