"""A person's profile as its owner handles it: topics, what is sensitive, the history, forgetting."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from tacit.device.exposure import Exposure, ExposureLedger
from tacit.device.exposure_course import ExposureCourse, exposure_courses
from tacit.device.history import FILING, History, HistoryDocument
from tacit.device.page_records import forget_period_of_page
from tacit.device.profile import UserProfile
from tacit.device.protection import ClickedPage, Forgotten, TopicNode
from tacit.device.repository import WORDNET, Repository, load_repository
from tacit.device.store import ProfileStore
from tacit.errors import InputError, ParameterError

__all__ = ["OwnedProfile"]

_GENERAL = 4
"""Topics nearer to the root than this say nothing of a person."""


class OwnedProfile:
    """A profile in one private file.

    Args:
        path: the profile file; it is made, readable by its owner only, if there is none.
        taxonomy: for a new profile: ``wordnet`` (the default) or a taxonomy file.
    """

    def __init__(self, path: str | Path, *, taxonomy: str | None = None) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        exists = self.path.exists()
        name = ProfileStore.taxonomy_of(self.path) if exists else _name(taxonomy)
        if exists and taxonomy is not None and _name(taxonomy) != name:
            raise InputError("this profile keeps another taxonomy.", "Leave out taxonomy, or make a new one.")
        self._repository: Repository = load_repository(name)
        tree = self._repository.tree
        self._store = (
            ProfileStore.open(self.path, tree) if exists else ProfileStore.create(self.path, tree, name)
        )
        self._ledger = ExposureLedger(self._store)
        self._history = History(self._store)
        self._tree = tree

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the profile file."""
        self._store.close()

    def _clicks(self, limit: int, offset: int, caught: Mapping[int, bool]) -> list[ClickedPage]:
        """The documents of the history, newest first."""
        rows = self._store.connection.execute(
            "SELECT number, time, query, url, title, topics FROM document "
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
                caught.get(number, False),
            )
            for number, time, query, url, title, topics in rows
        ]

    # -- what its owner decides ----------------------------------------------------------------------

    def sensitive(self, topic: str, weight: float | None = None) -> float:
        """How sensitive a topic is; with ``weight``, make it so (0: no longer).

        Args:
            topic: its path from the root, or its name where only one topic has it.
            weight: how severe its disclosure would be.
        """
        with self._lock:
            number = self._find(topic)
            if weight is not None:
                if weight > 0:
                    self._store.protect(number, weight)
                elif number in self._store.sensitivity():
                    self._store.unprotect(number)
            return self._store.sensitivity().get(number, 0.0)

    def sensitive_topics(self) -> dict[str, float]:
        """All sensitive topics with their weights, by label."""
        with self._lock:
            return {self._tree.label(topic): weight for topic, weight in self._store.sensitivity().items()}

    def topic(self, label: str | None = None) -> TopicNode:
        """One topic of the taxonomy; the root, if none is named."""
        with self._lock:
            return self._node(0 if label is None else self._find(label), self._store.profile())

    def topics(self, labels: Iterable[str]) -> list[TopicNode]:
        """Several topics of the taxonomy, in the order given."""
        with self._lock:
            profile = self._store.profile()
            return [self._node(self._find(label), profile) for label in labels]

    def children(self, label: str | None = None) -> list[TopicNode]:
        """The topics directly below one (below the root, if none is named), the busiest first."""
        with self._lock:
            return self._below(0 if label is None else self._find(label), self._store.profile())

    def unfold(self, label: str | None = None) -> dict[str, list[TopicNode]]:
        """The children of every topic from the root down to one, by label: a tree that is open there."""
        with self._lock:
            profile = self._store.profile()
            topic = 0 if label is None else self._find(label)
            return {
                self._tree.label(above): self._below(above, profile)
                for above in (*self._tree.ancestors(topic), topic)
            }

    def busiest(self, limit: int = 12) -> list[TopicNode]:
        """The most specific topics that hold most of the documents: what the profile mostly says."""
        with self._lock:
            profile = self._store.profile()
            found: list[int] = []
            waiting = [0]
            while waiting and len(found) < limit:
                waiting.sort(key=lambda topic: profile.support[topic])
                topic = waiting.pop()
                below = [int(child) for child in self._tree.children(topic) if profile.support[child] > 0]
                most = max((profile.support[child] for child in below), default=0.0)
                general = self._tree.depth[topic] < _GENERAL
                if below and (general or most >= 0.5 * profile.support[topic]):
                    waiting.extend(below)
                elif topic and profile.support[topic] > 0:
                    found.append(topic)
            found.sort(key=lambda topic: -profile.support[topic])
            return [self._node(topic, profile) for topic in found]

    def _below(self, topic: int, profile: UserProfile) -> list[TopicNode]:
        nodes = [self._node(child, profile) for child in self._tree.children(topic).tolist()]
        return sorted(nodes, key=lambda node: (-node.documents, node.name))

    def find(self, word: str, *, limit: int = 50) -> list[TopicNode]:
        """Topics whose name contains ``word``, those with most documents first."""
        with self._lock:
            profile = self._store.profile()
            wanted = word.strip().lower().replace(" ", "_")
            spaced = wanted.replace("_", " ")
            found = [
                topic
                for topic, name in enumerate(self._tree.names)
                if wanted in name.lower() or spaced in name.lower()
            ]
            found.sort(key=lambda topic: (-profile.support[topic], len(self._tree.names[topic])))
            return [self._node(topic, profile) for topic in found[:limit]]

    def forget(
        self,
        *,
        click: int | None = None,
        topic: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        exposure: int | None = None,
        upstream: str | None = None,
        everything: bool = False,
    ) -> Forgotten:
        """Forget a click, all clicks on a topic, all of a period, an exposure, an upstream, or everything.

        What is forgotten is gone from the file, which is written anew. What was sent before stays sent.

        Args:
            click: the number of one document of the history.
            topic: every document that is filed under this topic or below.
            since: every document and exposure from then on (with ``until``: up to then).
            until: every document and exposure up to then.
            exposure: the number of one entry of the exposure ledger.
            upstream: every entry about this upstream. A bound on what it is told then starts anew.
            everything: the whole history, all exposures and all sensitive topics.
        """
        asked = [click, topic, since or until, exposure, upstream, everything or None]
        if sum(one is not None for one in asked) != 1:
            raise ParameterError(
                "say what to forget: a click, a topic, a period, an exposure, an upstream or everything."
            )
        with self._lock:
            if upstream is not None:
                gone = Forgotten(exposures=self._ledger.forget_upstream(upstream))
            else:
                gone = self._forget(click, topic, since, until, exposure)
            self._store.rewrite()
        told = ("What an upstream was told before, it still knows.",) if gone.exposures else ()
        return replace(gone, warnings=told)

    def _forget(
        self,
        click: int | None,
        topic: str | None,
        since: datetime | None,
        until: datetime | None,
        exposure: int | None,
    ) -> Forgotten:
        if exposure is not None:
            return Forgotten(exposures=self._ledger.forget([exposure]))
        if click is not None:
            return _forgotten(self._history.forget([click]))
        if topic is not None:
            number = self._find(topic)
            return _forgotten(self._history.forget(self._history.under(number, int(self._tree.end[number]))))
        sent = [
            one.number
            for one in self._ledger.history()
            if (since is None or one.time >= since) and (until is None or one.time <= until)
        ]
        gone = self._history.forget(self._history.between(since, until))
        exposures = self._ledger.forget(sent)
        with self._store.transaction() as connection:
            forget_period_of_page(connection, since, until)
        if since is not None or until is not None:
            return replace(_forgotten(gone), exposures=exposures)
        topics = self._store.forget_topics()
        return Forgotten(len(gone), exposures, topics)

    def courses(self, since: datetime | None = None, points: int = 300) -> list[ExposureCourse]:
        """What each upstream was told over time, thinned to its highest points, for a picture."""
        with self._lock:
            return exposure_courses(self._store, since, points)

    def exposure_entries(self, numbers: Iterable[int]) -> dict[int, Exposure]:
        """Some entries of the exposure ledger by their numbers."""
        with self._lock:
            return self._ledger.entries(numbers)

    def restore(self, documents: Sequence[HistoryDocument]) -> int:
        """Put documents back that :meth:`forget` gave; gives how many were not there already."""
        with self._lock:
            return len(self._history.add(documents))

    def export(self) -> dict[str, Any]:
        """Everything the profile file holds, ready for JSON."""
        with self._lock:
            profile = self._store.profile()
            return {
                "topics": [
                    {"topic": self._tree.label(topic), "documents": float(profile.support[topic])}
                    for topic in profile.topics.tolist()
                ],
                "sensitive": self.sensitive_topics(),
                "history": [
                    {
                        "time": click.time.isoformat(),
                        "query": click.query,
                        "url": click.url,
                        "title": click.title,
                    }
                    for click in self._clicks(-1, 0, {})
                ],
                "exposures": [
                    {
                        "upstream": exposure.upstream,
                        "time": exposure.time.isoformat(),
                        "query": exposure.query,
                        "topics": list(exposure.labels),
                        "risk": exposure.risk,
                        "union_risk": exposure.union_risk,
                    }
                    for exposure in self._ledger.history()
                ],
            }

    def erase(self) -> None:
        """Delete the profile file with all it holds. The guard is closed."""
        with self._lock:
            self._ledger.erase_witness()
            self.close()
            for ending in ("", "-wal", "-shm", "-journal"):
                Path(f"{self.path}{ending}").unlink(missing_ok=True)

    def _find(self, topic: str) -> int:
        if "/" in topic or topic == self._tree.names[0]:
            return self._tree.find(topic)
        found = [number for number, name in enumerate(self._tree.names) if name == topic]
        if len(found) != 1:
            raise InputError(
                f"{len(found)} topics have exactly that name; one is expected.",
                "Give the path from the root.",
            )
        return found[0]

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
            risk=float(profile.cost[topic] / profile.wealth) if profile.wealth > 0 else 0.0,
        )


def _forgotten(documents: Sequence[HistoryDocument]) -> Forgotten:
    return Forgotten(clicks=len(documents), documents=tuple(documents))


def _name(taxonomy: str | None) -> str:
    """The name under which a profile remembers its taxonomy."""
    return WORDNET if taxonomy in (None, WORDNET) else str(Path(str(taxonomy)).resolve())
