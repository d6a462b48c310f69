"""The parts that all pages of a running site share: the guard, the person's choices, the rendering."""

import gc
import re
import secrets
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from anyio import to_thread
from jinja2 import Environment
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tacit import __version__
from tacit.device import Guard
from tacit.errors import TacitError
from tacit.pages import templates
from tacit.web.addresses import leaf_names, readable_topic
from tacit.web.engines.catalogue import named_apart
from tacit.web.engines.interface import RESULTS_ASKED, EngineDescription, SearchResult
from tacit.web.rules import RuleBook
from tacit.web.search import Choices, SearchService
from tacit.web.site.door import Admission
from tacit.web.state import PageState, SentRequests, Settings, engines, load_settings, stored_rules
from tacit.web.suggestions import Suggestions
from tacit.world import wordnet_corpus, wordnet_engine

_KEPT_NOTICES = 50
_PATIENCE = 30.0
"""Seconds that closing waits for what is still being loaded."""


@dataclass(frozen=True)
class Notice:
    """Something that was done, shown on the next page, with an undo if there is one."""

    text: str
    undo: Callable[[], object] | None = None
    problem: bool = False
    order_only: bool = False
    """Whether it touches the order of results alone, so that nobody need be asked again."""


class Site:
    def __init__(
        self,
        guard: Guard,
        state: PageState,
        port: int,
        given: Sequence[EngineDescription] = (),
        proxy: str | None = None,
        asked: Mapping[str, int] | None = None,
    ) -> None:
        self.guard = guard
        self.state = state
        self.admission = Admission(state, port)
        self.sent = SentRequests(state)
        self.given: tuple[EngineDescription, ...] = ()
        for engine in given:
            self.given += (named_apart(engine, self.given),)
        self.suggestions = Suggestions(state, _vocabulary(), asked)
        self.service = SearchService(guard, self.sent, self.suggestions, _embedded_search, proxy)
        self._notices: OrderedDict[str, Notice] = OrderedDict()
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Load what the first search would otherwise wait for."""
        found = _embedded_search("dog")
        results = [{"url": one.url, "title": one.title, "snippet": one.snippet} for one in found]
        for template in ("base.html", "search_box.html", "sent.html", "results.html"):
            self._environment.get_template(template)
        self.guard.warm_up()
        self.guard.explain("dog", results)
        self.suggestions.complete("dog")

    @contextmanager
    def warming_up(self) -> Iterator[None]:
        """Do that behind the page: it is there at once, and a first search waits only for what it needs."""

        def work() -> None:
            with suppress(TacitError, sqlite3.Error):  # the page was closed meanwhile
                self.warm_up()
                gc.freeze()  # what is loaded by now stays: looking through it takes a tenth of a second

        warming = threading.Thread(target=work, name="tacit-warm-up", daemon=True)
        warming.start()
        try:
            yield
        finally:
            warming.join(_PATIENCE)

    # -- choices -------------------------------------------------------------------------------------

    @cached_property
    def settings(self) -> Settings:
        return load_settings(self.state)

    @cached_property
    def engines(self) -> list[EngineDescription]:
        return list(self.given) or engines(self.state)

    @cached_property
    def rules(self) -> RuleBook:
        return RuleBook(stored_rules(self.state))

    @property
    def choices(self) -> Choices:
        return Choices(self.engines, self.rules, self.settings)

    def changed(self) -> None:
        """Drop what is cached: something was changed that it depends on."""
        for name in ("settings", "engines", "rules"):
            vars(self).pop(name, None)
        self.service.forget_pages()

    def rearranged(self) -> None:
        """Let pages in memory be ordered anew: a click or a site rule was added or taken away."""
        vars(self).pop("rules", None)
        self.service.rearrange()

    # -- pages ---------------------------------------------------------------------------------------

    @cached_property
    def _environment(self) -> Environment:
        environment = templates("tacit.web", topic=readable_topic, pages=_pages)
        environment.globals |= {"leaves": leaf_names}
        return environment

    def render(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        key = request.query_params.get("done", "")
        body = self.fragment(
            template,
            form_token=getattr(request.state, "form_token", ""),
            here=request.scope["path"],
            here_again=f"{request.scope['path']}?{request.url.query}",
            site=self,
            settings=self.settings,
            notice=self._notices.get(key),
            notice_key=key,
            suggestion_key=self.admission.suggestion_key,
            version=__version__,
            **{"query": "", "place": getattr(request.state, "place", ""), **values},
        )
        return HTMLResponse(body, status)

    def fragment(self, template: str, **values: Any) -> str:
        return self._environment.get_template(template).render(**values)

    def form(self, path: str, handler: Callable[[FormData], Notice], back: str, files: int = 0) -> Route:
        """The route of a form: ``handler`` does what it asks for, and the page that it stood on says so.

        Args:
            path: where the form is sent.
            handler: may wait for the disk; what it refuses is said on that page too.
            back: that page, unless the form names another.
            files: how many files it may carry.
        """

        async def endpoint(request: Request) -> Response:
            async with request.form(max_files=files) as form:
                try:
                    notice = await to_thread.run_sync(handler, form)
                except TacitError as error:
                    notice = Notice(f"Nothing was changed: {error}", problem=True)
                if not notice.problem:
                    (self.rearranged if notice.order_only else self.changed)()
                return self._said(own_address(form.get("back"), back), notice)

        return Route(path, endpoint, methods=["POST"])

    def _said(self, back: str, notice: Notice) -> Response:
        """Redirect to a page that shows the notice."""
        key = secrets.token_urlsafe(9)
        with self._lock:
            self._notices[key] = notice
            while len(self._notices) > _KEPT_NOTICES:
                self._notices.popitem(last=False)
        address, mark, place = back.partition("#")
        address = re.sub(r"([?&])done=[^&]*&?", r"\1", address).rstrip("?&")  # of the notice before
        return RedirectResponse(f"{address}{'&' if '?' in address else '?'}done={key}{mark}{place}", 303)

    def forget_notices(self) -> None:
        """Drop all undos: what is erased must not live on in memory."""
        with self._lock:
            self._notices.clear()

    def undo(self, form: FormData) -> Notice:
        with self._lock:
            notice = self._notices.pop(str(form.get("notice", "")), None)
        if notice is None or notice.undo is None:
            return Notice("That cannot be undone any more.", problem=True)
        notice.undo()
        return Notice("It is back as it was.", order_only=notice.order_only)


@contextmanager
def open_site(
    profile: Path,
    port: int,
    given: Sequence[EngineDescription] = (),
    proxy: str | None = None,
    asked: Mapping[str, int] | None = None,
) -> Iterator[Site]:
    """Open a site over a profile file, which is made if there is none."""
    with Guard(profile) as guard:
        state = PageState(profile)
        try:
            site = Site(guard, state, port, given, proxy, asked)
            with site.warming_up():
                yield site
        finally:
            state.close()


def _pages(documents: float) -> str:
    """A number of pages; a topic may have only shares of some."""
    number = max(1, round(documents))
    return f"{number:,} page{'s' if number > 1 else ''}"


def own_address(given: object, usual: str) -> str:
    """The address to go back to that a form gives, if it is one of this site."""
    text = str(given or "")
    own = text.startswith("/") and not text.startswith("//") and "\\" not in text and "\n" not in text
    return text if own else usual


def _vocabulary() -> Iterator[str]:
    yield from wordnet_corpus().wordnet.vocabulary


def _embedded_search(query: str) -> list[SearchResult]:
    corpus = wordnet_corpus()
    found = [corpus[hit.document] for hit in wordnet_engine().search(query, RESULTS_ASKED)]
    return [SearchResult(document.url, document.title, document.text) for document in found]
