"""The guard as one object for a program: a private profile that personalises search and tells little.

Two uses of a profile are told apart. **On the device** everything may be used: :meth:`Guard.rerank` orders
results by the whole history, and nothing of it leaves. **What is sent** with a query is topics, as few and
as general as the risk bound asks: :meth:`Guard.protect` decides, records and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tacit.device.construction import file_document
from tacit.device.exposure import Exposure, ExposureBound, union_risk
from tacit.device.history import FILING, HistoryDocument, utc_text
from tacit.device.online import OnlineProfiler, RuntimeProfile
from tacit.device.owned import OwnedProfile
from tacit.device.profile import UserProfile
from tacit.device.protection import Placement, Protection, SentTopic
from tacit.device.rerank import interest_scores, rerank
from tacit.device.upstream import outgoing
from tacit.errors import InputError, ParameterError
from tacit.terminal import shown_as_html, shown_as_text

__all__ = ["Guard"]

_BATCH = 200
"""How many pages :meth:`Guard.learn` stores in one transaction."""


class Guard(OwnedProfile):
    """A person's guard, kept in one private file.

    Args:
        path: the profile file; it is made, readable by its owner only, if there is none.
        taxonomy: for a new profile: ``wordnet`` (the default) or a taxonomy file.
        delta: the bound on the risk of one exposure.
        bound: the bound on the risk of everything an upstream was told; None for none.
        period: over which time ``bound`` counts; None for ever.
        preferences: whether to tell upstreams the person's preferences among the topics sent. The risk
            bound does not cover them.
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
    ) -> None:
        if not 0 <= delta <= 1:
            raise ParameterError.outside("delta", delta, "in [0, 1]")
        super().__init__(path, taxonomy=taxonomy)
        self.delta = delta
        self.bound = ExposureBound(bound, period) if bound is not None else None
        self.preferences = preferences

    def _rows(self) -> list[tuple[str, str]]:
        with self._lock:
            (documents,) = self._store.connection.execute("SELECT count(*) FROM document").fetchone()
        bound = "none" if self.bound is None else f"{self.bound.risk:g}"
        return [
            ("documents in the history", f"{documents:,}"),
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
        results: Sequence[Mapping[str, Any]] | None = None,  # noqa: ARG002
    ) -> Protection:
        """Decide what goes out with ``query``, and record it. Call it before sending.

        Args:
            query: the query, which is sent as it is.
            upstream: who will see it.
            delta: the risk bound for this query, if another than the guard's.
            results: what the upstream answered to the query alone, if it was asked already; they tell
                better which interest the query touches.
        """
        with self._lock:
            profiler = self._profiler(delta)
            found = profiler.expose(query, profiler.profile_query(query), self._ledger, upstream, self.bound)
            return self._protection(query, upstream, profiler, found, self._last_exposure())

    def send_alone(self, query: str, *, upstream: str = "search") -> Protection:
        """Record that ``query`` goes to an upstream that takes no profile. Call it before sending."""
        with self._lock:
            profile = self._store.profile()
            self._ledger.admit(upstream, query, None, profile, self.bound)
            since = self.bound.since(datetime.now(UTC)) if self.bound is not None else None
            return Protection(
                query=query,
                upstream=upstream,
                sent=False,
                reason="this engine is told queries only",
                message={"query": query, "topics": []},
                topics=(),
                tree=None,
                risk=0.0,
                utility=0.0,
                delta=self.delta,
                bound=self.bound.risk if self.bound is not None else None,
                used=union_risk(profile, self._ledger.exposed(upstream, since)),
                exposure=self._last_exposure(),
            )

    def preview(
        self,
        query: str,
        *,
        upstream: str = "search",
        delta: float | None = None,
        results: Sequence[Mapping[str, Any]] | None = None,  # noqa: ARG002
    ) -> Protection:
        """What :meth:`protect` would decide, without recording it. It must not be sent."""
        with self._lock:
            profiler = self._profiler(delta)
            return self._protection(query, upstream, profiler, profiler.profile_query(query), None)

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

    # -- on the device -------------------------------------------------------------------------------

    def rerank(self, query: str, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The results (with ``url``, ``title`` and ``snippet``) in personal order: the same objects."""
        return [placed.result for placed in self.explain(query, results)]

    def explain(self, query: str, results: Sequence[dict[str, Any]]) -> list[Placement]:
        """The results in personal order, each with the reason why it stands where it does."""
        texts = [_text_of(result, place) for place, result in enumerate(results)]
        with self._lock:
            profile = self._store.profile()
            topics = [file_document(self._repository, query, text) or 0 for text in texts]
            scores = interest_scores(profile, self._repository.prior, np.array(topics, np.int32))
            order = rerank(range(len(results)), scores)
        return [
            Placement(
                result=results[place],
                rank=rank,
                was=place + 1,
                reason=_moved(rank, place + 1, self._tree.names[topics[place]]),
            )
            for rank, place in enumerate(order, start=1)
        ]

    def clicked(self, query: str, result: Mapping[str, Any], *, time: datetime | None = None) -> int:
        """Remember that the person opened ``result`` after ``query``; gives the click's number."""
        with self._lock:
            numbers = self._history.add([self._document(query, result, time or datetime.now(UTC))])
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
                new += len(self._history.add([self._document(*page) for page in batch]))
            advance(len(batch))
        return new

    def _document(self, query: str, result: Mapping[str, Any], moment: datetime) -> HistoryDocument:
        text = _text_of(result, 0)
        url, title, snippet = (str(result.get(name) or "") for name in ("url", "title", "snippet"))
        digest = self._store.digest("click", query, utc_text(moment), url)
        topic = file_document(self._repository, query, text)
        filing = np.array([] if topic is None else [(topic, 1.0)], FILING)
        return HistoryDocument(digest, moment, query, url, title, snippet, b"", filing)

    # -- inside --------------------------------------------------------------------------------------

    def _profiler(self, delta: float | None) -> OnlineProfiler:
        return OnlineProfiler(self._repository, self._store.profile(), self.delta if delta is None else delta)

    def _last_exposure(self) -> int:
        row = self._store.connection.execute("SELECT max(number) FROM exposure").fetchone()
        return int(row[0])

    def _protection(
        self,
        query: str,
        upstream: str,
        profiler: OnlineProfiler,
        found: RuntimeProfile,
        exposure: int | None,
    ) -> Protection:
        since = self.bound.since(datetime.now(UTC)) if self.bound is not None else None
        told = self._ledger.exposed(upstream, since)
        union = np.union1d(told, np.array(found.exposed, np.int32)).astype(np.int32)
        sent, general = found.personalised, found.generalisation
        return Protection(
            query=query,
            upstream=upstream,
            sent=sent,
            reason=str(found.decision),
            message=outgoing(query, found, self._tree, preferences=self.preferences),
            topics=tuple(self._tree.label(topic) for topic in found.exposed),
            tree=_drawn(profiler.profile, found),
            risk=general.risk if sent and general is not None else 0.0,
            utility=general.utility if sent and general is not None else 0.0,
            delta=profiler.delta,
            bound=self.bound.risk if self.bound is not None else None,
            used=union_risk(profiler.profile, union),
            exposure=exposure,
        )


def _drawn(profile: UserProfile, found: RuntimeProfile) -> SentTopic | None:
    """The seed profile as a tree, for its owner's eyes."""
    if found.generalisation is None:
        return None
    seed = found.generalisation.seed
    exposed = set(found.exposed)
    below: dict[int, list[SentTopic]] = {}
    for place in range(len(seed) - 1, -1, -1):
        topic = int(seed.node[place])
        node = SentTopic(
            label=profile.tree.label(topic),
            name=profile.tree.names[topic],
            share=float(seed.mass[place]),
            risk=float(seed.cost[place] / seed.wealth) if seed.wealth > 0 else 0.0,
            sensitivity=profile.sensitivity.get(topic, 0.0),
            sent=topic in exposed,
            below=tuple(reversed(below.get(place, []))),
        )
        if place == 0:
            return node
        below.setdefault(int(seed.parent[place]), []).append(node)
    return None


def _text_of(result: Mapping[str, Any], place: int) -> str:
    """Title and snippet of a result."""
    if not isinstance(result, Mapping):
        raise InputError(f"result {place + 1} is no mapping with url, title and snippet.")
    return f"{result.get('title') or ''} {result.get('snippet') or ''}"


def _moved(rank: int, was: int, topic: str) -> str:
    if rank == was:
        return "In its place in the engine's order."
    return f"Moved from place {was}: filed under {topic}."
