"""A search from the box to the page: protect, record, send, fuse, rerank on the device, apply the site rules.

What is sent is decided and on the disk before anything leaves. Answers of several engines are fused by
reciprocal ranks: a result gains ``1 / (60 + rank)`` from each engine that returned it (Cormack, Clarke and
Büttcher, SIGIR 2009). Result pages are cached in memory for a while, so that going back, turning a page or
looking at the other order sends nothing again.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlsplit

from anyio import to_thread

from tacit.device import ClickedPage, Guard, Placement, Protection
from tacit.web.engines import interface
from tacit.web.engines.catalogue import upstream_of
from tacit.web.engines.client import EngineClient
from tacit.web.rules import RuleBook, SiteRule
from tacit.web.state import SentRequests, Settings
from tacit.web.suggestions import Suggestions
from tacit.web.topics import leaf_words

_DAMPING = 60


@dataclass
class FusedResult:
    """A result, and the rank that each engine gave it."""

    result: interface.SearchResult
    address: str
    """The canonical address of its page."""
    ranks: dict[str, int] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """The sum of reciprocal ranks."""
        return sum(1 / (_DAMPING + rank) for rank in self.ranks.values())


def canonical_address(url: str) -> str:
    """The canonical address of a page: what its addresses have in common."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    port = f":{parts.port}" if parts.port not in {None, 80, 443} else ""
    return f"{host}{port}{parts.path.rstrip('/')}?{parts.query}"


def fuse(answers: Sequence[interface.Answer], *, unpersonalised: bool = False) -> list[FusedResult]:
    """Fuse the results of all answers, best first; ties go to the engine that comes first.

    Args:
        answers: what the engines answered.
        unpersonalised: use the ranks before engines personalised, where they give them.
    """
    found: dict[str, FusedResult] = {}
    for answer in answers:
        results = [(canonical_address(result.url), result) for result in answer.results]
        for address, result in results:  # the same one of a page's addresses in whatever order
            found.setdefault(address, FusedResult(result, address))
        if unpersonalised:
            results = [one for _, one in sorted(enumerate(results), key=lambda pair: _plain(*pair))]
        for place, (address, _) in enumerate(results, start=1):
            found[address].ranks.setdefault(answer.engine, place)
    return sorted(found.values(), key=lambda fused: -fused.score)


def _plain(place: int, addressed: tuple[str, interface.SearchResult]) -> int:
    result = addressed[1]
    return result.plain_place if result.plain_place is not None else place + 1


_KEPT_PAGES = 200
_KEPT_SECONDS = 900.0

LocalEngine = Callable[[str], Sequence[interface.SearchResult]]


@dataclass
class EngineTurn:
    """What one engine was sent and what it answered."""

    engine: interface.EngineDescription
    protection: Protection | None = None
    """What was decided about the profile; None for an engine in this process."""
    sent: list[bytes] = field(default_factory=list)
    """The requests, as they were written."""
    answer: interface.Answer = field(default_factory=lambda: interface.Answer(""))


class ShownResult(NamedTuple):
    """A result on the page."""

    number: int
    """Under which the page knows it, whatever the order."""
    result: interface.SearchResult
    host: str
    engines: tuple[str, ...]
    rank: int
    was: int
    """Its rank before personalisation."""
    reason: str
    because: tuple[ClickedPage, ...] = ()
    rule: SiteRule | None = None
    before: int | None = None
    """Its rank without any profile, where an engine personalised it too and the reason does not say it."""


@dataclass(frozen=True)
class FoundPage:
    """The results of one search, in both orders, and what was sent for them."""

    key: str
    query: str
    turns: tuple[EngineTurn, ...]
    personal: tuple[ShownResult, ...]
    plain: tuple[ShownResult, ...]
    blocked: int
    milliseconds: float
    made: float

    @cached_property
    def moved(self) -> int:
        """How many results changed rank."""
        return sum(shown.rank != shown.was for shown in self.personal)

    @cached_property
    def because(self) -> int:
        """How many results the history supports."""
        return sum(bool(shown.because) for shown in self.personal)

    def result(self, number: int) -> ShownResult | None:
        """The result of that number."""
        return next((shown for shown in self.plain if shown.number == number), None)


class SearchService:
    """Runs searches.

    Args:
        guard: the person's guard.
        sent: where every request is recorded.
        suggestions: where the person's queries are remembered.
        local: the engine in this process.
        proxy: a SOCKS proxy that all requests go through, such as ``socks5://127.0.0.1:9050``.
    """

    def __init__(
        self,
        guard: Guard,
        sent: SentRequests,
        suggestions: Suggestions,
        local: LocalEngine,
        proxy: str | None = None,
    ) -> None:
        self._guard = guard
        self._sent = sent
        self._suggestions = suggestions
        self._local = local
        self._pages: OrderedDict[str, FoundPage] = OrderedDict()
        self._latest: dict[str, str] = {}
        self._changes = 0
        self.client = EngineClient(proxy=proxy)

    async def close(self) -> None:
        """Close all connections."""
        await self.client.close()

    def forget_pages(self) -> None:
        """Forget the pages in memory: the profile, the rules or the engines have changed."""
        self._changes += 1
        self._pages.clear()
        self._latest.clear()

    def page(self, key: str) -> FoundPage | None:
        """A page that was found a while ago."""
        found = self._pages.get(key)
        return found if found is not None and time.monotonic() - found.made < _KEPT_SECONDS else None

    def known(self, query: str) -> FoundPage | None:
        """The latest page for a query, if it is not too old."""
        return self.page(self._latest.get(query, ""))

    async def search(
        self,
        query: str,
        engines: Sequence[interface.EngineDescription],
        rules: RuleBook,
        settings: Settings,
    ) -> FoundPage:
        """Ask all engines and arrange what they answer."""
        begun, changes = time.monotonic(), self._changes
        turns = [EngineTurn(engine) for engine in engines if engine.enabled]
        self._guard.bound = settings.exposure_bound
        await asyncio.gather(*(self._take(turn, query, settings.delta) for turn in turns))
        answers = [turn.answer for turn in turns]
        fused = fuse(answers)
        reordered = any(one.plain_place is not None for answer in answers for one in answer.results)
        plain = fuse(answers, unpersonalised=True) if reordered else fused
        page = await to_thread.run_sync(self._arranged, query, turns, fused, plain, rules, settings, begun)
        self._keep(page, findable=changes == self._changes)
        return page

    def _keep(self, page: FoundPage, *, findable: bool) -> None:
        """Keep a page for its links, and for who asks the same again unless things changed meanwhile."""
        self._pages[page.key] = page
        if findable:
            self._latest[page.query] = page.key
        while len(self._pages) > _KEPT_PAGES:
            key, old = self._pages.popitem(last=False)
            if self._latest.get(old.query) == key:
                del self._latest[old.query]

    async def _take(self, turn: EngineTurn, query: str, delta: float) -> None:
        """One engine's turn. The ledger's entry is on the disk before the request is made up."""
        engine = turn.engine
        if engine.carriage is interface.Carriage.HERE:
            begun = time.monotonic()
            results = await to_thread.run_sync(self._local, query)
            turn.answer = interface.Answer(engine.name, tuple(results), (time.monotonic() - begun) * 1000)
            return
        protection = await to_thread.run_sync(self._decide, engine, query, delta)
        turn.protection = protection
        upstream = upstream_of(engine)
        exposed = interface.NOTHING_EXPOSED
        if protection.sent:
            preferences = protection.message.get("preferences", {})
            exposed = interface.Exposed(
                tuple(protection.message["topics"]), preferences, leaf_words(protection.topics)
            )
        request = upstream.request(query, exposed)

        async def record(address: str, wire: bytes) -> None:
            await to_thread.run_sync(self._sent.record, engine.name, protection.exposure, address, wire)
            turn.sent.append(wire)

        turn.answer = await self.client.ask(engine, upstream, request, record)

    def _decide(self, engine: interface.EngineDescription, query: str, delta: float) -> Protection:
        if engine.carriage is interface.Carriage.NOTHING:
            return self._guard.send_alone(query, upstream=engine.name)
        return self._guard.protect(query, upstream=engine.name, delta=delta)

    def _arranged(
        self,
        query: str,
        turns: Sequence[EngineTurn],
        fused: Sequence[FusedResult],
        plain: Sequence[FusedResult],
        rules: RuleBook,
        settings: Settings,
        begun: float,
    ) -> FoundPage:
        rows = [
            {"url": one.result.url, "title": one.result.title, "snippet": one.result.snippet, "fused": one}
            for one in fused
        ]
        self._suggestions.remember(query, datetime.now(UTC).isoformat())
        placed: list[Placement] = self._guard.explain(query, rows) if settings.personalise and rows else []
        why = {one.result["fused"].address: one for one in placed}
        kept, blocked = rules.arranged([(one.result.url, one) for one in plain])
        number_of = {one.address: number for number, one in enumerate(kept)}

        def shown(one: FusedResult, rank: int) -> ShownResult:
            placement = why.get(one.address)
            number = number_of[one.address]
            was = number + 1
            return ShownResult(
                number=number,
                result=one.result,
                host=one.address.partition("/")[0].partition("?")[0],
                engines=tuple(one.ranks),
                rank=rank,
                was=was,
                before=was if placement is not None and placement.was != was != rank else None,
                reason=placement.reason if placement is not None else "In the engines' order.",
                because=placement.because if placement is not None else (),
                rule=rules.rule_for(one.result.url),
            )

        ordered = [one.result["fused"] for one in placed] or list(fused)
        personal, _ = rules.arranged([(one.result.url, one) for one in ordered])
        return FoundPage(
            key=secrets.token_urlsafe(12),
            query=query,
            turns=tuple(turns),
            personal=tuple(shown(one, rank) for rank, one in enumerate(personal, start=1)),
            plain=tuple(shown(one, rank) for rank, one in enumerate(kept, start=1)),
            blocked=len(blocked),
            milliseconds=(time.monotonic() - begun) * 1000,
            made=time.monotonic(),
        )
