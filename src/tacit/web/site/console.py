"""Everything that the pages share: the guard, the person's choices, and how a page is drawn."""

from __future__ import annotations

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tacit import __version__
from tacit.device import Guard
from tacit.pages import templates
from tacit.web.engines.interface import RESULTS_ASKED, EngineDescription, SearchResult
from tacit.web.rules import Action, RuleBook, SiteRule
from tacit.web.search import SearchService
from tacit.web.site.door import Admission
from tacit.web.state import PageState, SentRequests, Settings, engines, load_settings
from tacit.web.suggestions import Suggestions
from tacit.web.topics import branch, readable_topic
from tacit.world import wordnet_corpus, wordnet_engine

_KEPT_NOTICES = 50


@dataclass(frozen=True)
class Notice:
    """Something that was done, told once on the next page, with the way back if there is one."""

    text: str
    undo: Callable[[], str] | None = None
    problem: bool = False


class Console:
    """One running page.

    Args:
        guard: the person's guard.
        state: the page's tables in the profile file.
        port: where the page is served.
        given: engines from the command line, used instead of the stored ones.
        proxy: a SOCKS proxy for all requests to engines.
        asked: queries of released logs with their counts, for suggestions.
    """

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
        self.given = tuple(given)
        self.suggestions = Suggestions(state, (word for word in wordnet_corpus().wordnet.vocabulary), asked)
        self.desk = SearchService(guard, self.sent, self.suggestions, _embedded_search, proxy)
        self._notices: OrderedDict[str, Notice] = OrderedDict()
        self._lock = threading.Lock()
        self._rules: RuleBook | None = None
        self._settings: Settings | None = None
        self._engines: list[EngineDescription] | None = None

    def warm_up(self) -> None:
        """Load what the first search would otherwise wait for."""
        results = [
            {"url": one.url, "title": one.title, "snippet": one.snippet} for one in _embedded_search("dog")
        ]
        for template in ("base.html", "search_box.html", "sent.html", "results.html"):
            self._environment.get_template(template)
        self.guard.warm_up()
        self.guard.explain("dog", results)
        self.guard.preview("dog")

    # -- choices -------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The person's choices."""
        if self._settings is None:
            self._settings = load_settings(self.state)
        return self._settings

    @property
    def engines(self) -> list[EngineDescription]:
        """The engines to ask."""
        if self._engines is None:
            self._engines = list(self.given) or engines(self.state)
        return self._engines

    @property
    def rules(self) -> RuleBook:
        """The person's rules on addresses."""
        if self._rules is None:
            rows = self.state.rows("SELECT action, pattern, source, number FROM page_rule ORDER BY number")
            self._rules = RuleBook(
                SiteRule(Action(str(action)), str(pattern), str(source), int(str(number)))
                for action, pattern, source, number in rows
            )
        return self._rules

    def changed(self) -> None:
        """Something was changed that pages in memory depend on."""
        self._rules = None
        self._settings = None
        self._engines = None
        self.desk.forget_pages()

    # -- pages ---------------------------------------------------------------------------------------

    @cached_property
    def _environment(self) -> Environment:
        environment = templates("tacit.web", topic=readable_topic)
        environment.globals["branch"] = branch
        environment.globals["filled"] = _filled
        environment.filters["pages"] = _pages
        environment.filters["percent"] = lambda share: f"{100 * share:.3g}\u00a0%"
        return environment

    def render(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        """A page."""
        notice = self._taken(request.query_params.get("done", ""))
        body = self._environment.get_template(template).render(
            form_token=getattr(request.state, "form_token", ""),
            here=request.scope["path"],
            settings=self.settings,
            notice=notice[1],
            notice_key=notice[0],
            suggestion_key=self.admission.suggestion_key,
            version=__version__,
            **{"query": "", **values},
        )
        return HTMLResponse(body, status)

    def fragment(self, template: str, **values: Any) -> str:
        """A part of a page."""
        return self._environment.get_template(template).render(**values)

    def done(
        self, back: str, text: str, undo: Callable[[], str] | None = None, *, problem: bool = False
    ) -> Response:
        """Go on to a page that says what was done."""
        key = secrets.token_urlsafe(9)
        with self._lock:
            self._notices[key] = Notice(text, undo, problem)
            while len(self._notices) > _KEPT_NOTICES:
                self._notices.popitem(last=False)
        address, mark, place = back.partition("#")
        address = re.sub(r"([?&])done=[^&]*&?", r"\1", address).rstrip("?&")  # of the notice before
        return RedirectResponse(f"{address}{'&' if '?' in address else '?'}done={key}{mark}{place}", 303)

    def _taken(self, key: str) -> tuple[str, Notice | None]:
        with self._lock:
            return key, self._notices.get(key)

    def forget_notices(self) -> None:
        """Forget what could be taken back: what is erased must not live on in memory."""
        with self._lock:
            self._notices.clear()

    def undo(self, key: str) -> str | None:
        """Take back what a notice told of; None where that is not possible any more."""
        with self._lock:
            notice = self._notices.pop(key, None)
        if notice is None or notice.undo is None:
            return None
        said = notice.undo()
        self.changed()
        return said


def _filled(value: float, limit: float) -> float:
    """How much of a bar that is 200 wide is filled."""
    return round(min(200, 200 * value / limit if limit else 0), 1)


def _pages(documents: float) -> str:
    """A number of pages, shares of a page included: ``12,346``, ``4``, ``0.6``."""
    return f"{documents:,.0f}" if documents >= 10 else f"{max(documents, 0.1):.1f}".removesuffix(".0")


def _embedded_search(query: str) -> list[SearchResult]:
    corpus = wordnet_corpus()
    found = []
    for hit in wordnet_engine().search(query, RESULTS_ASKED):
        document = corpus[hit.document]
        found.append(SearchResult(document.url, document.title, document.text))
    return found
