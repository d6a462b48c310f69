"""The guard as one object for a program: a private profile that personalises search and discloses little.

**What is sent** with a query is at most three topics that a person would say aloud: interests that the
history shows, near the query (:mod:`tacit.device.sending.interests`). :meth:`Guard.protect` decides, records
and says why. Pages that may be about something sensitive, by a list that is the same for everybody, have no
influence on that, nor on the order of results (:meth:`Guard.rerank`), which clicks give away. Until its owner
has looked at that list once (:meth:`Guard.confirm`), queries go alone.

Over another taxonomy than the people's, what is sent is decided as in the UPS paper, under its risk bound.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tacit.device.generalise.algorithms import Algorithm
from tacit.device.profile.arrays import Bags
from tacit.device.profile.construction import build_profile, history_documents
from tacit.device.profile.history import (
    FILING,
    ClickedPage,
    Forgotten,
    History,
    HistoryDocument,
    HistoryIndex,
    TopicNode,
)
from tacit.device.profile.imports import SourceDocument
from tacit.device.profile.repository import Repository, load_repository
from tacit.device.profile.store import ProfileStore, taxonomy_name, utc_text
from tacit.device.profile.user import UserProfile
from tacit.device.ranking.attention import Attention, PersonalOrder, Placement, text_of
from tacit.device.sending.decision import Decision, OnlineProfiler
from tacit.device.sending.exposure import (
    Disclosed,
    Exposure,
    ExposureLedger,
    Protection,
    interest_protection,
    paper_protection,
)
from tacit.device.sending.interests import Chosen, InterestChooser, PassedPages
from tacit.display import Displayed
from tacit.errors import InputError, ParameterError
from tacit.retrieval.sensitive_pages import Concept, concept_name, recogniser
from tacit.taxonomy import PEOPLE, load_people
from tacit.text.vectors import load_word_table
from tacit.validation import member, moment, place, real, shown, text, whole


def check_query(query: object) -> None:
    if not isinstance(query, str):
        problem = f"a query must be text; found {type(query).__name__}."
        raise InputError(problem, 'Give "" for a page that was opened without a search.')


def check_results(query: object, results: object) -> None:
    check_query(query)
    if isinstance(results, str | bytes | Mapping) or not isinstance(results, Sequence):
        raise InputError("results must be a list of mappings with url, title and snippet.")


class Guard(Displayed):
    """A person's interest profile in one private file: it personalises search and bounds what is disclosed.

    Several threads and processes may use it at once: each call sees what others changed before it.

    >>> with Guard("me.profile") as guard:  # doctest: +SKIP
    ...     guard.clicked("java", {"url": "…", "title": "Java travel", "snippet": "Volcanoes and temples"})
    ...     guard.protect("java", upstream="engine.example").message

    Args:
        path: the profile file; it is made, readable by its owner only, if there is none.
        taxonomy: the taxonomy of a new profile: ``people`` (the default), or for the paper's way ``wordnet``
            or the path of a taxonomy file. An existing profile keeps its own.
        delta: over another taxonomy than the people's, the bound on the risk of one exposure, in [0, 1]: the
            share of the total sensitivity that an adversary who knows the taxonomy recovers from the topics
            sent with a query. Over the people's, marked topics are never sent, so that nothing is at risk.
        algorithm: how to generalise within that bound: ``greedy-ratio`` (the default), ``greedy-il``
            or ``greedy-dp``.

    Raises:
        ParameterError: a parameter is outside its range.
        InputError: the profile was made with another taxonomy.
        IntegrityError: the file is not a profile.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        taxonomy: str | None = None,
        delta: float = 0.1,
        algorithm: Algorithm | str = Algorithm.GREEDY_RATIO,
    ) -> None:
        self.path = place("path", path)
        self.delta = _share("delta", delta)
        self.algorithm = member("algorithm", Algorithm, algorithm)
        self._lock = threading.RLock()
        exists = self.path.exists()
        name = ProfileStore.taxonomy_of(self.path) if exists else taxonomy_name(taxonomy)
        if exists and taxonomy is not None and taxonomy_name(taxonomy) != name:
            raise InputError(
                "this profile was made with another taxonomy.",
                "Leave out `taxonomy`, or give another `path`.",
            )
        self._repository: Repository = load_repository(name)
        self._tree = self._repository.tree
        self._store = ProfileStore.opened(self.path, self._tree, name)
        self._ledger = ExposureLedger(self._store)
        self._history = History(self._store)
        self._table = load_word_table()
        self._index = HistoryIndex(self._store, self._table)
        self._attention = Attention(self._table)
        self._people = name == PEOPLE
        self._pages = PassedPages(self._index)
        self._personal = PersonalOrder(self._store, self._pages, self._attention)
        self._chooser = InterestChooser(self._pages, self._attention)

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._store.close()

    def _rows(self) -> list[tuple[str, str]]:
        with self._lock:
            (documents,) = self._store.connection.execute("SELECT count(*) FROM document").fetchone()
        return [
            ("documents in the history", f"{documents:,}"),
            ("the list of what is never sent", "looked at" if self.confirmed else "not looked at yet"),
            ("risk of one exposure, at most", f"{self.delta:g}"),
        ]

    def _summary(self) -> str:
        return f"Guard {self.path}"

    # -- what is sent --------------------------------------------------------------------------------

    def protect(self, query: str, *, upstream: str = "search", delta: float | None = None) -> Protection:
        """Decide what goes out with ``query``, and record it. Call it before sending.

        Requirements are read, the decision is made and the exposure is recorded in one transaction: nobody
        can protect a topic in between.

        Args:
            query: the query, which is sent as it is.
            upstream: who will see it.
            delta: the risk bound for this query, if another than the guard's.
        """
        with self._lock, self._store.transaction():
            decided = self.preview(query, upstream=upstream, delta=delta)
            return self._recorded(decided)

    def send_alone(self, query: str, *, upstream: str = "search") -> Protection:
        """Record that ``query`` goes to an upstream that takes no profile. Call it before sending."""
        check_query(query)
        upstream = text("upstream", upstream)
        reason = "this engine is told queries only"
        with self._lock:
            return self._recorded(Protection(query, upstream, False, reason, self.delta))

    def _recorded(self, decided: Protection) -> Protection:
        number = self._ledger.record(decided.upstream, decided.query, decided.topics, decided.risk)
        return replace(decided, exposure=number)

    def preview(self, query: str, *, upstream: str = "search", delta: float | None = None) -> Protection:
        """Decide as :meth:`protect` would, without recording it. It must not be sent."""
        check_query(query)
        upstream = text("upstream", upstream)
        with self._lock:
            self._refresh()
            bound = self.delta if delta is None else _share("delta", delta)
            if self._people:
                chosen = self._chooser.choose(query) if self.confirmed else Chosen(Decision.UNCONFIRMED)
                return interest_protection(query, upstream, self._tree, chosen, bound)
            profiler = OnlineProfiler(
                self._repository, self._store.profile(), bound, algorithm=self.algorithm
            )
            return paper_protection(query, upstream, profiler, profiler.profile_query(query))

    def exposures(self, upstream: str | None = None) -> list[Exposure]:
        """List everything that was ever sent (to one upstream), oldest first."""
        with self._lock:
            return self._ledger.history(None if upstream is None else text("upstream", upstream))

    def disclosed(self) -> list[Disclosed]:
        """Sum up what each upstream was ever sent."""
        with self._lock:
            return self._ledger.disclosed()

    def exposure_entries(self, numbers: Iterable[int]) -> dict[int, Exposure]:
        """Look up entries of the exposure ledger by their numbers."""
        with self._lock:
            return self._ledger.entries([whole("numbers", number) for number in _each("numbers", numbers)])

    # -- on the device -------------------------------------------------------------------------------

    def rerank(self, query: str, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The results (with ``url``, ``title`` and ``snippet``) in personal order: the same objects."""
        check_results(query, results)
        with self._lock:
            self._refresh()
            order, _ = self._personal.order(query, results)
        return [results[place] for place in order]

    def explain(self, query: str, results: Sequence[dict[str, Any]]) -> list[Placement]:
        """The results in personal order, each with the reason why it stands where it does."""
        check_results(query, results)
        with self._lock:
            self._refresh()
            return self._personal.placements(query, results)

    def clicked(self, query: str, result: Mapping[str, Any], *, time: datetime | str | None = None) -> int:
        """Remember that the person opened ``result`` after ``query``; gives the click's number."""
        with self._lock:
            page = _source(query, result, datetime.now(UTC) if time is None else time)
            numbers = self._history.add(history_documents(self._store, self._repository, [page]))
            if not numbers:
                raise InputError("this very click is in the history already.", "Give it its own time.")
            return numbers[0]

    def learn(
        self,
        pages: Iterable[tuple[str, Mapping[str, Any], datetime | str | None]],
        advance: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Remember many pages that the person opened before, such as a browser's history.

        They are stored in batches, each one transaction: after an interruption, running again completes the
        work, since a page that is known already is passed over.

        Args:
            pages: the query that led to a page (or ""), the page (``url``, ``title``, ``snippet``), and when,
                if that is known (a datetime, or text such as 2026-03-06T12:00 in UTC).
            advance: told how many pages were dealt with, for progress.

        Returns:
            How many were new.
        """
        sources = (_source(*_triple(page)) for page in _each("pages", pages))
        report = build_profile(self._store, self._repository, sources, advance)
        return report.filed + report.unplaced

    def history(self, *, limit: int = 100, offset: int = 0) -> list[ClickedPage]:
        """The documents of the history, newest first, and which of them have no influence on what leaves."""
        limit, offset = whole("limit", limit), whole("offset", offset)
        with self._lock:
            self._refresh()
            passed = dict(zip(self._index.pages["number"].tolist(), self._pages.passed.tolist(), strict=True))
            return self._clicks(limit, offset, passed)

    def warm_up(self) -> None:
        """Load tables and compiled loops, which the first search would otherwise wait for."""
        read = Bags.of_texts(self._table, ["the dog barks at the cat", "a cat and a dog"])
        with self._lock:
            self._attention.attend("dog", read, read)
            self.preview("dog")

    # -- what its owner decides ----------------------------------------------------------------------

    @property
    def confirmed(self) -> bool:
        """Whether the person has looked at the list of what is sensitive; before that, queries go alone."""
        return self._store.meta("sensitive list seen") is not None

    def confirm(self) -> None:
        """Remember that the person has looked at :meth:`concepts` once."""
        with self._lock, self._store.transaction():
            self._store.set_meta("sensitive list seen", utc_text(datetime.now(UTC)))

    def concepts(self) -> list[Concept]:
        """List what is sensitive for everybody, what each concept covers and how well it is recognised."""
        return recogniser().described()

    def mark(self, topic: str) -> None:
        """Keep a topic of one's own, and its twins, out of all that leaves. What is built in stays out.

        Args:
            topic: its path from the root, its name, or the name of a sensitive concept.
        """
        if not (self._people and load_people().sensitive(self._tree.named(topic)) is not None):
            self.sensitive(topic, 1.0)

    def sensitive(self, topic: str, weight: float | None = None) -> float:
        """Tell how sensitive a topic is; with ``weight``, make it so (0: no longer).

        Args:
            topic: its path from the root, or its name where only one topic has it.
            weight: how severe its disclosure would be.
        """
        with self._lock:
            number = self._tree.named(topic)
            if weight is not None:
                if real("weight", weight) > 0:
                    self._store.protect(number, weight)
                elif number in self._store.sensitivity():
                    self._store.unprotect(number)
            return self._store.sensitivity().get(number, 0.0)

    def sensitive_topics(self) -> dict[str, float]:
        """All sensitive topics with their weights, by label."""
        with self._lock:
            return {self._tree.label(topic): weight for topic, weight in self._store.sensitivity().items()}

    def topic(self, label: str | None = None) -> TopicNode:
        """Look up a topic of the taxonomy; the root, if none is named."""
        with self._lock:
            return self._node(0 if label is None else self._tree.named(label), self._store.profile())

    def busiest(self, limit: int = 12) -> list[TopicNode]:
        """The topics under which most of the documents are filed: what the profile mostly says."""
        with self._lock:
            profile = self._store.profile()
            filed = sorted(profile.documents, key=lambda topic: (-profile.documents[topic], topic))
            return [self._node(topic, profile) for topic in filed[: whole("limit", limit)]]

    def find(self, word: str, *, limit: int = 50) -> list[TopicNode]:
        """Topics whose name contains ``word``, those with most documents first."""
        with self._lock:
            profile = self._store.profile()
            wanted, names = text("word", word).strip().lower().replace("_", " "), enumerate(self._tree.names)
            found = [topic for topic, name in names if wanted in name.lower().replace("_", " ")]
            found.sort(key=lambda topic: (-profile.support[topic], len(self._tree.names[topic])))
            return [self._node(topic, profile) for topic in found[: whole("limit", limit)]]

    def forget(
        self,
        *,
        click: int | None = None,
        topic: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        exposure: int | None = None,
        upstream: str | None = None,
        everything: bool = False,
    ) -> Forgotten:
        """Forget a click, all clicks on a topic, all of a period, an exposure, an upstream, or everything.

        What is forgotten is gone from the file, which is written anew. What was sent before stays sent.

        Args:
            click: the number of one document of the history.
            topic: every document that is filed under this topic or below.
            since: every document and exposure from then on (with ``until``: up to then); a datetime, or text
                such as 2026-03-06T12:00 in UTC.
            until: every document and exposure up to then.
            exposure: the number of one entry of the exposure ledger.
            upstream: every entry about this upstream.
            everything: the whole history, all exposures and all sensitive topics.
        """
        asked = [click, topic, since or until, exposure, upstream, everything or None]
        if sum(one is not None for one in asked) != 1:
            raise ParameterError(
                "exactly one kind of thing is forgotten at a time.",
                "Give one of `click`, `topic`, `since` and `until`, `exposure`, `upstream`, `everything`.",
            )
        with self._lock:
            if upstream is not None:
                gone = Forgotten(exposures=self._ledger.forget(upstream=text("upstream", upstream)))
            elif exposure is not None:
                gone = Forgotten(exposures=self._ledger.forget([whole("exposure", exposure)]))
            elif click is not None:
                gone = _forgotten(self._history.forget([whole("click", click)]))
            elif topic is not None:
                number = self._tree.named(topic)
                below = self._history.under(number, int(self._tree.end[number]))
                gone = _forgotten(self._history.forget(below))
            else:
                gone = self._forget_period(_moment("since", since), _moment("until", until))
            self._store.rewrite()
        told = ("What an upstream was told before, it still knows.",) if gone.exposures else ()
        return replace(gone, warnings=told)

    def _forget_period(self, since: datetime | None, until: datetime | None) -> Forgotten:
        sent = [
            one.number
            for one in self._ledger.history()
            if (since is None or one.time >= since) and (until is None or one.time <= until)
        ]
        gone = _forgotten(self._history.forget(self._history.between(since, until)))
        gone = replace(gone, exposures=self._ledger.forget(sent))
        self._store.announce_forgotten(since, until)
        if since is not None or until is not None:
            return gone
        return replace(gone, topics=self._store.forget_topics(), documents=())

    def restore(self, documents: Sequence[HistoryDocument]) -> int:
        """Put documents back that :meth:`forget` gave; gives how many were not there already."""
        with self._lock:
            return len(self._history.add(documents))

    def export(self) -> dict[str, Any]:
        """Everything the profile file holds, ready for JSON."""
        with self._lock:
            return self._store.profile().as_data() | {
                "history": [
                    {"time": one.time.isoformat(), "query": one.query, "url": one.url, "title": one.title}
                    for one in self._clicks(-1, 0, {})
                ],
                "exposures": [
                    {
                        "upstream": exposure.upstream,
                        "time": exposure.time.isoformat(),
                        "query": exposure.query,
                        "topics": list(exposure.labels),
                        "risk": exposure.risk,
                    }
                    for exposure in self._ledger.history()
                ],
            }

    # -- inside --------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        self._index.refresh()
        self._pages.refresh(self._store.sensitivity() if self._people else ())

    def _clicks(self, limit: int, offset: int, passed: Mapping[int, bool]) -> list[ClickedPage]:
        rows = self._store.connection.execute(
            "SELECT number, time, query, url, title, topics, concept FROM document "
            "ORDER BY time DESC, number DESC LIMIT ? OFFSET ?",
            (limit, offset),
        ).fetchall()
        return [
            ClickedPage(
                number,
                datetime.fromisoformat(time),
                query,
                url,
                title,
                tuple(self._tree.label(int(topic)) for topic in np.frombuffer(topics, FILING)["topic"][:3]),
                not passed.get(number, True),
                concept_name(concept),
            )
            for number, time, query, url, title, topics, concept in rows
        ]

    def _node(self, topic: int, profile: UserProfile) -> TopicNode:
        tree = self._tree
        above = [*tree.ancestors(topic), topic]
        return TopicNode(
            label=tree.label(topic),
            name=tree.names[topic],
            documents=float(profile.support[topic]),
            sensitivity=profile.sensitivity.get(topic, 0.0),
            protected=any(node in profile.sensitivity for node in above),
            children=len(tree.children(topic)),
        )


def _share(name: str, value: Any) -> float:
    number = real(name, value, "in [0, 1]")
    if not 0 <= number <= 1:
        raise ParameterError.outside(name, number, "in [0, 1]")
    return number


def _source(query: str, page: Mapping[str, Any], time: datetime | str | None = None) -> SourceDocument:
    check_query(query)
    text_of(page)  # refuses what is no result
    when = _moment("time", time)
    url, title, snippet = (str(page.get(name) or "") for name in ("url", "title", "snippet"))
    return SourceDocument(url, title, when, snippet, query)


def _moment(name: str, value: datetime | str | None) -> datetime | None:
    when = moment(name, value.astimezone(UTC) if isinstance(value, datetime) else value)
    return when and when.replace(tzinfo=UTC)


def _each(name: str, values: Any) -> Iterable[Any]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ParameterError.outside(name, shown(values), "a list or another iterable")
    return values


def _triple(page: Any) -> Any:
    if isinstance(page, str | bytes | Mapping) or not isinstance(page, Sequence) or len(page) not in (2, 3):
        raise InputError("each of the `pages` must be (query, page, time).")
    return page


def _forgotten(documents: Sequence[HistoryDocument]) -> Forgotten:
    return Forgotten(clicks=len(documents), documents=tuple(documents))
