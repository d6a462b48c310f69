"""The guard as one object for a program: a private profile that personalises search and tells little.

Two uses of a profile are told apart. **On the device** everything may be used: :meth:`Guard.rerank` orders
results by the whole history, and nothing of it leaves. **What is sent** with a query is topics, as few and
as general as the risk bound asks: :meth:`Guard.protect` decides, records and says why. Documents that may be
about a sensitive topic have no part in that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tacit.device.attention import Attention
from tacit.device.bags import Bags
from tacit.device.construction import history_documents
from tacit.device.decided import protection, protection_of_query_alone
from tacit.device.evidence import EvidenceProfiler
from tacit.device.exposure import Exposure, ExposureBound
from tacit.device.generalise import Algorithm
from tacit.device.given import check_query, check_results
from tacit.device.history import HistoryDocument
from tacit.device.history_index import HistoryIndex
from tacit.device.interest import InterestFinder
from tacit.device.online import OnlineProfiler, RuntimeProfile
from tacit.device.owned import OwnedProfile
from tacit.device.personal_order import PersonalOrder, text_of
from tacit.device.profile import UserProfile
from tacit.device.protection import ClickedPage, Placement, Protection
from tacit.device.sendable import SendableHistory
from tacit.device.sending import Sending
from tacit.device.sources import SourceDocument
from tacit.device.times import utc_text
from tacit.device.union import union_risk
from tacit.errors import InputError, ParameterError
from tacit.terminal import shown_as_html, shown_as_text
from tacit.text.vectors import load_word_table

__all__ = ["Guard"]

_BATCH = 200
"""How many pages :meth:`Guard.learn` stores in one transaction."""

Results = Sequence[Mapping[str, Any]]


class Guard(OwnedProfile):
    """A person's guard, kept in one private file.

    Several threads and processes may use it at once: each call sees what others changed before it.

    Args:
        path: the profile file; it is made, readable by its owner only, if there is none.
        taxonomy: for a new profile: ``wordnet`` (the default) or a taxonomy file.
        delta: the bound on the risk of one exposure.
        bound: the bound on the risk of everything an upstream was told; None for none.
        period: over which time ``bound`` counts; None for ever.
        preferences: whether to tell upstreams the person's preferences among the topics sent. The risk
            bound does not cover them.
        sending: which documents have a say in what is sent.
        algorithm: how to generalise.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        taxonomy: str | None = None,
        delta: float = 0.1,
        bound: float | None = None,
        period: timedelta | None = None,
        preferences: bool = False,
        sending: Sending | str = Sending.FILTERED,
        algorithm: Algorithm | str = Algorithm.GREEDY_RATIO,
    ) -> None:
        if not 0 <= delta <= 1:
            raise ParameterError.outside("delta", delta, "in [0, 1]")
        if sending not in list(Sending):
            raise ParameterError.outside("sending", sending, f"one of {', '.join(Sending)}")
        if algorithm not in list(Algorithm):
            raise ParameterError.outside("algorithm", algorithm, f"one of {', '.join(Algorithm)}")
        super().__init__(path, taxonomy=taxonomy)
        self.delta = delta
        self.bound = ExposureBound(bound, period) if bound is not None else None
        self.preferences = preferences
        self.sending = Sending(sending)
        self.algorithm = algorithm
        self._table = load_word_table()
        self._index = HistoryIndex(self._store, self._table)
        attention = Attention(self._table)
        self._personal = PersonalOrder(self._store, self._index, attention)
        self._finder = InterestFinder(self._repository.vectors, attention)
        self._sendable = SendableHistory(self._index, self._repository.vectors, self.sending)
        self._public: UserProfile | None = None

    def _rows(self) -> list[tuple[str, str]]:
        with self._lock:
            (documents,) = self._store.connection.execute("SELECT count(*) FROM document").fetchone()
        bound = "none" if self.bound is None else f"{self.bound.risk:g}"
        return [
            ("documents in the history", f"{documents:,}"),
            ("documents with a say in what is sent", str(self.sending)),
            ("risk of one exposure, at most", f"{self.delta:g}"),
            ("risk of all that one engine is told, at most", bound),
        ]

    def __repr__(self) -> str:
        return shown_as_text(f"Guard {self.path}", self._rows())

    def _repr_html_(self) -> str:
        return shown_as_html(f"Guard {self.path}", self._rows())

    # -- what is sent --------------------------------------------------------------------------------

    def protect(
        self,
        query: str,
        *,
        upstream: str = "search",
        delta: float | None = None,
        results: Results | None = None,
    ) -> Protection:
        """Decide what goes out with ``query``, and record it. Call it before sending.

        Requirements are read, the decision is made and the exposure is recorded in one transaction: nobody
        can protect a topic in between.

        Args:
            query: the query, which is sent as it is.
            upstream: who will see it.
            delta: the risk bound for this query, if another than the guard's.
            results: what the upstream answered to the query alone, if it was asked already; they tell
                better whether the query touches an interest.
        """
        check_query(query)
        with self._lock:
            with self._store.transaction():
                profiler, found = self._decide(query, delta, results)
                found = profiler.expose(query, found, self._ledger, upstream, self.bound)
                number, used = self._ledger.latest
                answer = self._answer(query, upstream, profiler, found, used, number)
            self._ledger.confirm()
        return answer

    def decide(
        self, query: str, delta: float | None = None, results: Results | None = None
    ) -> tuple[OnlineProfiler, RuntimeProfile]:
        """The decision behind :meth:`preview` with all that went into it, for its owner's eyes only."""
        check_query(query)
        with self._lock:
            return self._decide(query, delta, results)

    def send_alone(self, query: str, *, upstream: str = "search") -> Protection:
        """Record that ``query`` goes to an upstream that takes no profile. Call it before sending."""
        check_query(query)
        with self._lock:
            with self._store.transaction():
                profile = self._requirements(self._store.sensitivity())
                self._ledger.admit(upstream, query, None, profile, self.bound)
                number, used = self._ledger.latest
            self._ledger.confirm()
        bound = self.bound.risk if self.bound is not None else None
        return protection_of_query_alone(query, upstream, self.delta, bound, used, number)

    def preview(
        self,
        query: str,
        *,
        upstream: str = "search",
        delta: float | None = None,
        results: Results | None = None,
    ) -> Protection:
        """What :meth:`protect` would decide, without recording it. It must not be sent."""
        check_query(query)
        with self._lock:
            profiler, found = self._decide(query, delta, results)
            used = self._used(upstream, profiler.profile, found.exposed)
            return self._answer(query, upstream, profiler, found, used, None)

    def trade_off(
        self,
        query: str,
        deltas: Iterable[float] = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0),
        *,
        upstream: str = "search",
    ) -> list[Protection]:
        """What would go out with ``query`` at each risk bound, for a slider; nothing is recorded."""
        return [self.preview(query, upstream=upstream, delta=delta) for delta in deltas]

    def exposures(self, upstream: str | None = None) -> list[Exposure]:
        """Everything that was ever sent (to one upstream), oldest first."""
        with self._lock:
            return self._ledger.history(upstream)

    def upstreams(self) -> dict[str, int]:
        """Who was sent queries, and how many."""
        with self._lock:
            return self._ledger.upstreams()

    def together(self, *upstreams: str) -> list[str]:
        """Bound several upstreams as one, since they may share what they are told; one alone ends it."""
        with self._lock:
            return self._ledger.set_together(upstreams)

    # -- on the device -------------------------------------------------------------------------------

    def rerank(self, query: str, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The results (with ``url``, ``title`` and ``snippet``) in personal order: the same objects."""
        check_results(query, results)
        with self._lock:
            self._index.refresh()
            order, _ = self._personal.order(query, results)
        return [results[place] for place in order]

    def explain(self, query: str, results: Sequence[dict[str, Any]]) -> list[Placement]:
        """The results in personal order, each with the reason why it stands where it does."""
        check_results(query, results)
        with self._lock:
            self._index.refresh()
            return self._personal.placements(query, results)

    def clicked(self, query: str, result: Mapping[str, Any], *, time: datetime | None = None) -> int:
        """Remember that the person opened ``result`` after ``query``; gives the click's number."""
        check_query(query)
        with self._lock:
            numbers = self._history.add(self._documents([(query, result, time or datetime.now(UTC))]))
            if not numbers:
                raise InputError("this very click is in the history already.", "Give it its own time.")
            return numbers[0]

    def learn(
        self,
        pages: Iterable[tuple[str, Mapping[str, Any], datetime]],
        advance: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Remember many pages that the person opened before, such as a browser's history.

        They are stored in batches, each one transaction: after an interruption, running again completes the
        work, since a page that is known already is passed over.

        Args:
            pages: the query that led to a page (or ""), the page (``url``, ``title``, ``snippet``), and when.
            advance: told how many pages were dealt with, for progress.

        Returns:
            How many were new.
        """
        new = 0
        remaining = iter(pages)
        while batch := list(islice(remaining, _BATCH)):
            with self._lock:
                new += len(self._history.add(self._documents(batch)))
            advance(len(batch))
        return new

    def history(self, *, limit: int = 100, offset: int = 0) -> list[ClickedPage]:
        """The documents of the history, newest first, and which of them have no part in what is sent."""
        with self._lock:
            self._refresh()
            caught = dict(zip(self._index.numbers.tolist(), self._sendable.caught.tolist(), strict=True))
            return self._clicks(limit, offset, caught)

    def warm_up(self) -> None:
        """Load tables and compiled loops, which the first search would otherwise wait for."""
        read = Bags.of_texts(self._table, ["the dog barks at the cat", "a cat and a dog"])
        with self._lock:
            self._personal.warm_up("dog", read)
            profile = self._requirements(self._refresh())
            known = EvidenceProfiler(self._repository, profile, self._finder, read, self.delta)
            union_risk(profile, np.array(known.profile_query("dog").exposed, np.int32))

    # -- inside --------------------------------------------------------------------------------------

    def _documents(self, pages: Sequence[tuple[str, Mapping[str, Any], datetime]]) -> list[HistoryDocument]:
        sources = []
        for query, result, moment in pages:
            text_of(result)  # refuses what is no result
            url, title, snippet = (str(result.get(name) or "") for name in ("url", "title", "snippet"))
            identity = ("click", query, utc_text(moment), url)
            sources.append(SourceDocument(identity, query, snippet, url, title, moment))
        return history_documents(self._store, self._repository, sources)

    def _refresh(self) -> dict[int, float]:
        """Bring everything in memory into step with the file; gives the sensitive topics."""
        sensitivity = self._store.sensitivity()
        self._index.refresh()
        self._sendable.refresh(sensitivity)
        return sensitivity

    def _requirements(self, sensitivity: dict[int, float]) -> UserProfile:
        """The costs by which exposures are bounded.

        With the filter they come from the requirements alone: whether the person reads about a sensitive
        topic must make no difference.
        """
        if not self.sending.withholds:
            return self._store.profile()
        if self._public is None or self._public.sensitivity != sensitivity:
            self._public = UserProfile(self._tree, {}, sensitivity, everywhere=True)
        return self._public

    def _decide(
        self, query: str, delta: float | None, results: Results | None
    ) -> tuple[OnlineProfiler, RuntimeProfile]:
        bound = self.delta if delta is None else delta
        if not 0 <= bound <= 1:
            raise ParameterError.outside("delta", bound, "in [0, 1]")
        profile = self._requirements(self._refresh())
        if self.sending is Sending.PAPER:
            profiler = OnlineProfiler(self._repository, profile, bound, algorithm=self.algorithm)
            return profiler, profiler.profile_query(query)
        shown = None
        if results is not None:
            texts = [text_of(result, place) for place, result in enumerate(results)]
            shown = Bags.of_texts(self._table, texts)
        evidence = EvidenceProfiler(
            self._repository, profile, self._finder, self._sendable.bags, bound, self.algorithm
        )
        return evidence, evidence.profile_query(query, shown)

    def _answer(
        self,
        query: str,
        upstream: str,
        profiler: OnlineProfiler,
        found: RuntimeProfile,
        used: float,
        number: int | None,
    ) -> Protection:
        return protection(
            query,
            upstream,
            profiler,
            found,
            preferences=self.preferences,
            bound=self.bound.risk if self.bound is not None else None,
            used=used,
            exposure=number,
        )

    def _used(self, upstream: str, profile: UserProfile, exposed: list[int]) -> float:
        since = self.bound.since(datetime.now(UTC)) if self.bound is not None else None
        told = self._ledger.exposed(upstream, since)
        return union_risk(profile, np.union1d(told, np.array(exposed, np.int32)).astype(np.int32))
