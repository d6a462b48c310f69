"""A search from the box to the page: protect, record, send, fuse, rerank on the device, apply the site rules.

What is sent is decided and on the disk before anything leaves. Answers of several engines are fused by
reciprocal ranks: a result gains ``w / (60 + rank)`` from each engine that returned it (Cormack, Clarke and
Büttcher, SIGIR 2009), where w is the share of the query's words that the engine's first results hold: a
dictionary that knows *machine* says less of the best espresso machine than pages about it. Result pages stay
in memory for a while, so that going back, turning a page or looking at the other order sends nothing again; a
click or a site rule reorders them there.
"""

import asyncio
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlsplit

from anyio import to_thread

from tacit.device import ClickedPage, Guard, Placement, Protection
from tacit.errors import InputError
from tacit.text import STOP_WORDS, words
from tacit.text.vectors import plural_forms
from tacit.web.addresses import ascii_host
from tacit.web.engines import interface
from tacit.web.engines.catalogue import SearXNG, upstream_of
from tacit.web.engines.client import EngineClient, Recorder
from tacit.web.rules import RuleBook, SiteRule
from tacit.web.state import SentRequests, Settings
from tacit.web.suggestions import Suggestions

_DAMPING, _LOOKED_AT, _LEAST_HELD = 60, 10, 0.1


@dataclass
class FusedResult:
    """A result, and the rank that each engine gave it."""

    result: interface.SearchResult
    address: str
    ranks: dict[str, int] = field(default_factory=dict)


def canonical_address(url: str) -> str:
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    port = f":{parts.port}" if parts.port not in {None, 80, 443} else ""
    return f"{host}{port}{parts.path.rstrip('/')}?{parts.query}"


def fuse(
    answers: Sequence[interface.Answer], query: str = "", *, unpersonalised: bool = False
) -> list[FusedResult]:
    """Fuse the results of all answers, best first; ties go to the engine that comes first.

    Unpersonalised, the ranks before engines personalised count, where they give them.
    """
    found: dict[str, FusedResult] = {}
    weights = {answer.engine: _held(query, answer.results) for answer in answers}
    for answer in answers:
        results = [(canonical_address(result.url), result) for result in answer.results]
        for address, result in results:  # the same one of a page's addresses in whatever order
            found.setdefault(address, FusedResult(result, address))
        if unpersonalised:
            places = [
                place if one.plain_place is None else one.plain_place - 1
                for place, (_, one) in enumerate(results)
            ]
            results = [results[place] for place in sorted(range(len(results)), key=places.__getitem__)]
        for place, (address, _) in enumerate(results, start=1):
            found[address].ranks.setdefault(answer.engine, place)
    return sorted(
        found.values(),
        key=lambda one: -sum(weights[name] / (_DAMPING + rank) for name, rank in one.ranks.items()),
    )


def _held(query: str, results: Sequence[interface.SearchResult]) -> float:
    """Compute how much of a query the first results of an engine hold on average; never nothing."""
    asked = [plural_forms(word) for word in words(query) if word not in STOP_WORDS]
    first = [set(words(f"{one.title} {one.snippet}")) for one in results[:_LOOKED_AT]]
    held = sum(not forms.isdisjoint(said) for said in first for forms in asked)
    return max(_LEAST_HELD, held / max(1, len(first) * len(asked)))


_KEPT_PAGES = 200
_KEPT_SECONDS = 900.0
_MOST_BATCHES = 10
_PATIENCE_FOR_SUGGESTIONS = 1.0

LocalEngine = Callable[[str], Sequence[interface.SearchResult]]


@dataclass
class EngineTurn:
    """What one engine was sent and what it answered."""

    engine: interface.EngineDescription
    protection: Protection | None = None
    """What was decided about the profile; None for an engine in this process."""
    sent: list[bytes] = field(default_factory=list)
    answer: interface.Answer = field(default_factory=lambda: interface.Answer(""))


class ShownResult(NamedTuple):
    """A result on the page."""

    number: int
    """Under which the page knows it, whatever the order."""
    result: interface.SearchResult
    host: str
    """As DNS has it, for site rules; one of the whole site covers its ``www.`` too."""
    engines: tuple[str, ...]
    rank: int
    was: int
    reason: str
    because: tuple[ClickedPage, ...] = ()
    alike: bool = False
    """Whether a person sees why: they share words with it, or it is one of them."""
    rule: SiteRule | None = None
    turn: EngineTurn | None = None
    """Of the engine that named it first."""


@dataclass(frozen=True)
class AnswerBatch:
    """What the engines answered at one time: the first results, or more of them later."""

    turns: tuple[EngineTurn, ...]
    fused: tuple[FusedResult, ...]
    plain: tuple[FusedResult, ...]


@dataclass(frozen=True)
class FoundPage:
    """The results of one search, in both orders, and what was sent for them."""

    key: str
    query: str
    wanted: interface.Wanted
    handed: str
    """The bang that an engine was given to read."""
    made: float
    batches: tuple[AnswerBatch, ...] = ()
    personal: tuple[ShownResult, ...] = ()
    plain: tuple[ShownResult, ...] = ()
    blocked: int = 0
    more: bool = True
    milliseconds: float = 0.0
    arranged: int = -1
    """The number of changes after which the order was made."""

    @cached_property
    def turns(self) -> tuple[EngineTurn, ...]:
        return tuple(turn for batch in self.batches for turn in batch.turns)

    @cached_property
    def risen(self) -> int:
        return sum(shown.rank < shown.was for shown in self.personal)

    @cached_property
    def because(self) -> int:
        """The number of results like which the person opened pages."""
        return sum(shown.alike for shown in self.personal)

    @cached_property
    def asides(self) -> tuple[interface.Aside, ...]:
        return tuple(turn.answer.aside for turn in self.batches[0].turns)

    def result(self, number: int) -> ShownResult | None:
        return next((shown for shown in self.plain if shown.number == number), None)


class Choices(NamedTuple):
    """The person's choices that a search goes by."""

    engines: Sequence[interface.EngineDescription]
    rules: RuleBook
    settings: Settings


class SearchService:
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
        self._pages: OrderedDict[tuple[object, ...], FoundPage] = OrderedDict()
        self._changes = 0
        self._arrangements = 0
        self.client = EngineClient(proxy=proxy)

    def forget_pages(self) -> None:
        """Forget the pages in memory: the profile or the engines have changed."""
        self._changes += 1
        self._pages = OrderedDict()

    def rearrange(self) -> None:
        """Order the pages in memory anew when they are shown next: a click or a site rule was added."""
        self._arrangements += 1

    def page(self, key: str) -> FoundPage | None:
        """Look up a page that was found a while ago."""
        pages = list(self._pages.values())
        return next((one for one in pages if one.key == key and _is_fresh(one)), None)

    def known(
        self, query: str, wanted: interface.Wanted = interface.FIRST_PAGE, handed: str = ""
    ) -> FoundPage | None:
        found = self._pages.get((query, wanted, handed))
        return found if found is not None and _is_fresh(found) else None

    async def search(
        self, query: str, choices: Choices, wanted: interface.Wanted = interface.FIRST_PAGE, handed: str = ""
    ) -> FoundPage:
        begun, changes = time.monotonic(), self._changes
        page = FoundPage(secrets.token_urlsafe(12), query, wanted, handed, begun)
        page = await self._longer(page, choices)
        await to_thread.run_sync(self._suggestions.remember, query, datetime.now(UTC).isoformat())
        page = replace(page, milliseconds=(time.monotonic() - begun) * 1000, made=time.monotonic())
        # What was found while something changed is kept for its links, but not for who asks the same again.
        pages, asked = self._pages, (query, wanted, handed)
        pages[asked if changes == self._changes else (page.key,)] = page
        while len(pages) > _KEPT_PAGES:
            pages.popitem(last=False)
        return page

    async def more(self, page: FoundPage, choices: Choices) -> FoundPage:
        """Add the next results of the engines that have some, after those that the page has."""
        return self._kept(await self._longer(page, choices)) if page.more else page

    async def fresh(self, page: FoundPage, choices: Choices) -> FoundPage:
        """Put the page in the order of now, without asking anyone again."""
        if page.arranged == self._arrangements:
            return page
        return self._kept(await to_thread.run_sync(self._arranged, page, choices))

    def _kept(self, page: FoundPage) -> FoundPage:
        """Keep a page in place of itself as it was before."""
        for asked in [asked for asked, one in self._pages.items() if one.key == page.key]:
            self._pages[asked] = page
        return page

    async def _longer(self, page: FoundPage, choices: Choices) -> FoundPage:
        """Ask the engines for the first results, or the next ones."""
        wanted = replace(page.wanted, page=len(page.batches) + 1)
        batch = await self._ask(page, choices.engines, wanted)
        present = {one.address for before in page.batches for one in before.plain}
        new = replace(
            batch,
            fused=tuple(one for one in batch.fused if one.address not in present),
            plain=tuple(one for one in batch.plain if one.address not in present),
        )
        following = replace(wanted, page=wanted.page + 1)
        more = new.plain and any(turn.answer.results and _has(turn.engine, following) for turn in new.turns)
        page = replace(page, batches=(*page.batches, new), more=bool(more) and wanted.page < _MOST_BATCHES)
        return await to_thread.run_sync(self._arranged, page, choices)

    async def completions(self, typed: str, engines: Sequence[interface.EngineDescription]) -> list[str]:
        """Ask the first SearXNG to complete the beginning of a query; it sees what was typed."""
        engine = next((one for one in engines if one.enabled and one.kind == "searxng"), None)
        upstream = upstream_of(engine) if engine is not None else None
        if engine is None or not isinstance(upstream, SearXNG):
            return []
        request, record = upstream.suggestions_request(typed), self.recorder(engine.name)
        try:
            body = await self.client.fetch(
                request, local=engine.local, record=record, seconds=_PATIENCE_FOR_SUGGESTIONS
            )
            told = json.loads(body)[1]
            return [text for one in told[:8] if (text := interface.plain_text(one, 200))]
        except (InputError, ValueError, TypeError, KeyError, IndexError, RecursionError):
            return []

    def recorder(self, engine: str, exposure: int | None = None, sent: list[bytes] | None = None) -> Recorder:
        """Record what is about to leave, and then list it among what was sent for a page."""

        async def record(address: str, wire: bytes) -> None:
            await to_thread.run_sync(self._sent.record, engine, exposure, address, wire)
            if sent is not None:
                sent.append(wire)

        return record

    async def _ask(
        self, page: FoundPage, engines: Sequence[interface.EngineDescription], wanted: interface.Wanted
    ) -> AnswerBatch:
        turns = [EngineTurn(engine) for engine in engines if engine.enabled and _has(engine, wanted)]
        await asyncio.gather(*(self._take(turn, page, wanted) for turn in turns))
        answers = [turn.answer for turn in turns]
        fused = tuple(fuse(answers, page.query))
        reordered = any(one.plain_place is not None for answer in answers for one in answer.results)
        plain = tuple(fuse(answers, page.query, unpersonalised=True)) if reordered else fused
        return AnswerBatch(tuple(turns), fused, plain)

    async def _take(self, turn: EngineTurn, page: FoundPage, wanted: interface.Wanted) -> None:
        """Take one engine's turn. The ledger's entry is on the disk before the request is made up."""
        engine, query = turn.engine, page.query
        if engine.carriage is interface.Carriage.HERE:
            results = await to_thread.run_sync(self._local, query)
            turn.answer = interface.Answer(engine.name, tuple(results))
            return
        alone = engine.carriage is interface.Carriage.NOTHING
        decide = self._guard.send_alone if alone else self._guard.protect
        protection = await to_thread.run_sync(lambda: decide(query, upstream=engine.name))
        turn.protection = protection
        upstream = upstream_of(engine)
        words = f"{page.handed} {query}" if page.handed and engine.kind == "searxng" else query
        request = upstream.request(words, protection.topics, wanted)
        record = self.recorder(engine.name, protection.exposure, turn.sent)
        turn.answer = await self.client.ask(engine, upstream, request, record)

    def _arranged(self, page: FoundPage, choices: Choices) -> FoundPage:
        """The page with its results in both orders, batch after batch, so that none jumps back unseen."""
        arranged, blocked = self._arrangements, 0
        personal: list[ShownResult] = []
        plain: list[ShownResult] = []
        before = 0
        for batch in page.batches:
            numbers = {one.address: before + number for number, one in enumerate(batch.plain)}
            before += len(numbers)
            arrangement = _Arrangement(page.query, batch, choices.rules, numbers, len(plain))
            rows = [
                {name: getattr(one.result, name) for name in ("url", "title", "snippet")} | {"fused": one}
                for one in (batch.fused if choices.settings.personalise else ())
            ]
            found = arrangement.made(self._guard.explain(page.query, rows) if rows else [])
            personal += found[0]
            plain += found[1]
            blocked += len(batch.plain) - len(found[1])
        return replace(page, personal=tuple(personal), plain=tuple(plain), blocked=blocked, arranged=arranged)


def _is_fresh(page: FoundPage) -> bool:
    return time.monotonic() - page.made < _KEPT_SECONDS


def _has(engine: interface.EngineDescription, wanted: interface.Wanted) -> bool:
    if engine.carriage is interface.Carriage.HERE:
        return interface.Upstream("").takes(wanted)
    return upstream_of(engine).takes(wanted)


_FURNITURE = frozenset(
    "article best blog buy encyclopedia forum free guide home info login new news official online page part "
    "review site tips top video watch way web website welcome wikipedia".split()
)
"""What titles of all subjects have."""


class _Alike(NamedTuple):
    """What a person sees to be alike in a result and the pages that raise it, if anything."""

    words: tuple[str, ...] = ()
    """What they share, beside the query's words."""
    itself: bool = False


def _alike(query: str, one: FusedResult, because: Sequence[ClickedPage]) -> _Alike:
    asked = STOP_WORDS | _FURNITURE | _forms(query)
    read = _forms(" ".join(f"{page.title} {page.query}" for page in because)) - asked
    own = dict.fromkeys(words(f"{one.result.title} {one.result.snippet}"))
    shared = [word for word in own if word in read and len(word) > 2 and word.isalpha()]
    return _Alike(tuple(shared[:4]), any(canonical_address(page.url) == one.address for page in because))


def _forms(text: str) -> set[str]:
    return {form for word in words(text) for form in plural_forms(word)}


@dataclass(frozen=True)
class _Arrangement:
    """Puts one batch's results in order and says why; where no word shows why, the engines' order stays."""

    query: str
    batch: AnswerBatch
    rules: RuleBook
    numbers: dict[str, int]
    first: int

    def made(self, placed: Sequence[Placement]) -> tuple[list[ShownResult], list[ShownResult]]:
        """The results in personal order and in the engines' order, without those that rules block."""
        why = {one.result["fused"].address: one for one in placed}
        alike = {name: _alike(self.query, one.result["fused"], one.because) for name, one in why.items()}
        if not any(any(one) for one in alike.values()):  # a move that nobody could follow is mostly wrong
            placed, why, alike = (), {}, {}
        kept = self.rules.arranged([(one.result.url, one) for one in self.batch.plain])
        was = {one.address: self.first + place for place, one in enumerate(kept, start=1)}
        unruled = {one.address: self.first + place for place, one in enumerate(self.batch.plain, start=1)}
        ordered = [one.result["fused"] for one in placed] or list(self.batch.fused)
        personal = self.rules.arranged([(one.result.url, one) for one in ordered])

        def shown(one: FusedResult, rank: int) -> ShownResult:
            because = why[one.address].because if one.address in why else ()
            likeness = alike.get(one.address, _Alike())
            rule = self.rules.rule_for(one.result.url)
            turns = {turn.engine.name: turn for turn in self.batch.turns}
            return ShownResult(
                number=self.numbers[one.address],
                result=one.result,
                host=ascii_host(urlsplit(one.result.url).hostname or "").removeprefix("www."),
                engines=tuple(one.ranks),
                rank=rank,
                was=was[one.address],
                reason=self._reason(rank, was[one.address], unruled[one.address], likeness, rule),
                because=because,
                alike=any(likeness),
                rule=rule,
                turn=next((turns[name] for name in one.ranks if name in turns), None),
            )

        numbered = self.first + 1
        return (
            [shown(one, rank) for rank, one in enumerate(personal, start=numbered)],
            [shown(one, rank) for rank, one in enumerate(kept, start=numbered)],
        )

    def _reason(self, rank: int, was: int, unruled: int, alike: _Alike, rule: SiteRule | None) -> str:
        """Explain why a result stands where it does: what follows from its move, never against it."""
        parts = []
        if rule is not None:
            parts.append(f"Your rule: {rule.action} {rule.pattern}.")
        elif was != unruled:
            parts.append("Your rules for other sites moved it.")
        by_engine = "an engine was sent interests of yours, or " * (self.batch.fused != self.batch.plain)
        if rank < was and any(alike):
            read = "it before" if alike.itself else f"pages about {', '.join(alike.words)}"
            parts.append(f"Moved up from {was}, since you opened {read}.")
        elif rank < was:
            parts.append(f"Moved up from {was}: {by_engine}it is nearer to what you read than others are.")
        elif rank > was:
            nearer = "what stands before it now is nearer to pages you opened"
            parts.append(f"Moved down from {was}: {by_engine}{nearer}.")
        else:
            also = "; you also opened pages like it" if alike.words else ""
            parts.append(f"Where the engines put it{also}.")
        return " ".join(parts)
