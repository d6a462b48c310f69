"""The search pages: the front page, the results, what was sent with them, and the way to a result."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from anyio import to_thread
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tacit.device import ClickedPage
from tacit.errors import InputError
from tacit.taxonomy import load_wordnet
from tacit.text import STOP_WORDS, words
from tacit.web.addresses import crumbs
from tacit.web.engines.interface import CATEGORIES, LANGUAGES, SAFE, TIMES, Carriage, Wanted
from tacit.web.pictures import may_be_shown, picture_of, picture_type
from tacit.web.rules import Action, RuleBook, read_bang, without_tracking
from tacit.web.search import FoundPage, ShownResult
from tacit.web.site.site import Site
from tacit.web.state import Settings, lenses
from tacit.world import wordnet_corpus

_ON_A_PAGE = 10
_PICTURES_ON_A_PAGE = 40
_LONGEST_QUERY = 1_000
_MOST_ASKED_SITES = 10
_CONTROL = re.compile("[\x00-\x1f\x7f]")


def routes(site: Site) -> list[Route]:
    page = _ResultPages(site)
    return [
        Route("/", page.front),
        Route("/search", page.search, methods=["GET", "POST"]),
        Route("/go/{key}/{number:int}", page.go),
        Route("/clicked/{key}/{number:int}", page.go, methods=["POST"]),
        Route("/picture/{key}/{number:int}", page.picture),
        Route("/read/{name}", page.read),
    ]


class _Target(NamedTuple):
    """Where a result's link leads: to the page itself, and by way of the record of clicks."""

    direct: str
    recorded: str
    beacon: str
    crumbs: list[str]
    outside: bool
    """Whether it leads to a site, for which there can be rules."""
    picture: str
    """The address under which this page shows a picture of it."""


class _Choice(NamedTuple):
    """What of a search's results is shown."""

    plain: bool
    part: int
    size: int
    lens: str


class _ResultPages:
    def __init__(self, site: Site) -> None:
        self._site = site

    def front(self, request: Request) -> Response:
        """Show the box, and to a newcomer what to do first."""
        return self._site.render(request, "front.html")

    async def search(self, request: Request) -> Response:
        asked = dict(request.query_params)
        if request.method == "POST":
            asked |= {name: str(value) for name, value in (await request.form(max_files=0)).items()}
        typed = " ".join(_CONTROL.sub(" ", asked.get("q", "")).split())
        if not typed:
            return RedirectResponse("/", 303)
        if len(typed) > _LONGEST_QUERY:
            raise InputError(f"a query must be at most {_LONGEST_QUERY:,} characters; found {len(typed):,}.")
        site = self._site
        reads_bangs = any(engine.kind == "searxng" and engine.enabled for engine in site.engines)
        bang = read_bang(typed, handed_on=reads_bangs)
        if bang.leave:
            return self._away(request, bang.leave)
        lens = asked.get("lens", "") if asked.get("lens", "") in lenses(site.state) else ""
        query = bang.query
        if lens and asked.get("sites") == "on":
            query = f"{query} {' OR '.join(f'site:{one}' for one in self._hosts(lens))}"
        wanted = _wanted(asked | ({"category": bang.category} if bang.category else {}), site)
        page = site.service.known(query, wanted, bang.handed) if "again" not in asked else None
        if page is None:
            page = await site.service.search(query, site.choices, wanted, bang.handed)
        page = await site.service.fresh(page, site.choices)
        if bang.first and page.personal:
            await self._record(page, page.personal[0])
            return self._away(request, self._target(page, page.personal[0]).direct)
        size = _PICTURES_ON_A_PAGE if wanted.category == "images" else _ON_A_PAGE
        number = asked.get("page", "")
        part = max(1, int(number)) if number.isascii() and number.isdigit() and len(number) < 4 else 1
        choice = _Choice(asked.get("order") == "plain", part, size, lens)
        if choice.part > max(1, -(-len(page.plain) // size)) and page.more:
            page = await site.service.more(page, site.choices)
        return self._draw(request, typed, page, choice)

    def _away(self, request: Request, address: str) -> Response:
        """A page that leads to another site: our own policy forbids that a form is redirected there."""
        answer = self._site.render(request, "door.html", kind="away", again=address)
        answer.headers["Referrer-Policy"] = "no-referrer"
        return answer

    def _hosts(self, lens: str) -> list[str]:
        return [site for site in lenses(self._site.state)[lens] if "/" not in site][:_MOST_ASKED_SITES]

    def _draw(self, request: Request, typed: str, page: FoundPage, choice: _Choice) -> Response:
        site, settings = self._site, self._site.settings
        results: list[ShownResult] = list(page.plain if choice.plain else page.personal)
        sets = lenses(site.state)
        if choice.lens:
            book = RuleBook(dict.fromkeys(sets[choice.lens], Action.RAISE))
            results = [one for one in results if book.rule_for(one.result.url)]
        parts = -(-len(results) // choice.size)
        shown = results[(choice.part - 1) * choice.size : choice.part * choice.size]
        link = _links(f"{site.admission.place}/search", typed, page.wanted, choice, settings)
        return site.render(
            request,
            "results.html",
            query=typed,
            page=page,
            results=[
                (one, one.result, self._target(page, one), () if choice.plain else _read_before(one))
                for one in shown
            ],
            total=len(results),
            parts=parts,
            more=page.more and choice.part >= parts and not choice.lens,
            choice=choice,
            link=link,
            categories=CATEGORIES,
            filters=(("time", "Time", TIMES), ("language", "Language", LANGUAGES), ("safe", "Safe", SAFE)),
            lenses=sets,
            asides=page.asides if choice.part == 1 else (),
            silent=sorted({name for aside in page.asides for name in aside.silent}),
            emphasise=_emphasis(page.query),
            new_tab=settings.new_tab,
            several=len(page.batches[0].turns) > 1,
            turns=[
                (turn, [sent.decode(errors="backslashreplace") for sent in turn.sent]) for turn in page.turns
            ],
            only_here=all(turn.engine.carriage is Carriage.HERE for turn in page.turns),
            day=lambda text: f"{date.fromisoformat(text):%-d %b %Y}",
        )

    def _target(self, page: FoundPage, one: ShownResult) -> _Target:
        base, settings = self._site.admission.place, self._site.settings
        number = wordnet_corpus().number_of(one.result.url)  # entries' addresses lead nowhere outside
        name = load_wordnet().name(number) if number is not None else None
        address = f"{base}/read/{name}" if name else one.result.url
        steps = ["Tacit’s dictionary"] if name else crumbs(one.result.url)
        if not name and settings.strip_tracking:
            address = without_tracking(address)
        by_way = f"{page.key}/{one.number}"
        picture = ""
        if one.result.picture and one.turn is not None:
            allowed = may_be_shown(one.result.picture, one.turn.engine, from_anywhere=settings.pictures)
            picture = f"{base}/picture/{by_way}" if allowed else ""
        recorded, beacon = f"{base}/go/{by_way}", f"{base}/clicked/{by_way}"
        if not settings.remember_clicks:
            recorded, beacon = address, ""
        return _Target(address, recorded, beacon, steps, not name, picture)

    async def go(self, request: Request) -> Response:
        """Record a click and go on to the result; where the browser goes by itself, it only tells us."""
        page, one = self._found(request)
        await self._record(page, one)
        if request.method == "POST":
            return Response(status_code=204)
        return RedirectResponse(self._target(page, one).direct, 303, {"Referrer-Policy": "no-referrer"})

    async def picture(self, request: Request) -> Response:
        """A small picture of a result; its bytes are looked at before they are passed on."""
        page, one = self._found(request)
        if one.turn is None or not self._target(page, one).picture:
            return Response(status_code=404)
        service = self._site.service
        record = service.recorder(f"picture of {urlsplit(one.result.picture).hostname or ''}")
        try:
            content = await picture_of(one.result.picture, one.turn.engine, service.client, record)
        except InputError:
            content = None
        if content is None:
            return Response(status_code=404)
        headers = {"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "max-age=900"}
        return Response(content, media_type=picture_type(content), headers=headers)

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
            self._site.service.rearrange()

    async def read(self, request: Request) -> Response:
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
            below=entries(wordnet.tree.children(number).tolist()),
            path=[(name, name) for name in wordnet.tree.path(number)[:-1]],
        )


def _wanted(asked: Mapping[str, str], site: Site) -> Wanted:
    """Read what is asked for beside the words; what is none of the choices counts as not chosen."""

    def chosen(name: str, known: Mapping[str, str], usual: str) -> str:
        return asked.get(name, usual) if asked.get(name, usual) in known else usual

    return Wanted(
        category=chosen("category", CATEGORIES, "general"),
        time=chosen("time", TIMES, ""),
        language=chosen("language", LANGUAGES, site.settings.language),
        safe=chosen("safe", SAFE, site.settings.safe),
    )


def _links(path: str, typed: str, wanted: Wanted, choice: _Choice, settings: Settings) -> Callable[..., str]:
    """Make addresses of the same search with something else chosen."""
    usual = {"category": "general", "language": settings.language, "safe": settings.safe, "page": 1}
    order = "plain" if choice.plain else ""
    now = asdict(wanted) | {"order": order, "lens": choice.lens, "page": choice.part}

    def link(**changed: object) -> str:
        fields = now | ({} if changed.keys() <= {"page"} else {"page": 1}) | changed
        kept = {name: value for name, value in fields.items() if value != usual.get(name, "")}
        return f"{path}?{urlencode({'q': typed, **kept})}"

    return link


def _emphasis(query: str) -> Callable[[str], Markup]:
    """Make the query's words stand out in a text, which is escaped."""
    asked = {word for word in words(query) if word not in STOP_WORDS}
    if not asked:
        return lambda text: Markup(escape(text))
    hits = re.compile(rf"\b({'|'.join(map(re.escape, sorted(asked, key=len, reverse=True)))})", re.IGNORECASE)

    def emphasise(text: str) -> Markup:
        pieces = hits.split(text)
        return Markup("").join(
            Markup("<b>{}</b>").format(piece) if place % 2 else escape(piece)
            for place, piece in enumerate(pieces)
        )

    return emphasise


def _read_before(one: ShownResult) -> list[ClickedPage]:
    """The first three pages that speak for a result, those of the same title once."""
    titles: dict[str, ClickedPage] = {}
    for page in one.because:
        titles.setdefault(page.title.lower(), page)
    return list(titles.values())[:3]
