"""The person's history: the documents they opened, in the profile file and as an index in memory."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tacit.device.profile.arrays import Bags, fits, pack
from tacit.device.profile.store import ProfileStore, utc_text
from tacit.retrieval.sensitive_pages import PASSED
from tacit.text.vectors import WordTable

FILED_UNDER, SHARED = 5, 0.9
"""At most so many topics share a document in the supports of a profile, each with this part of the best
score."""

Filing = npt.NDArray[np.void]
"""The topics of a document, best first: fields ``topic`` (number) and ``score``."""

FILING = np.dtype([("topic", "<i4"), ("score", "<f4")])


@dataclass(frozen=True)
class HistoryDocument:
    """Something the person read, ready to be stored."""

    digest: bytes
    """What makes it the same document on a second reading."""
    time: datetime
    query: str
    url: str
    title: str
    text: str
    features: bytes = b""
    filing: Filing | None = None
    concept: int = PASSED
    """The sensitive concept that it was caught by, if any (see :mod:`tacit.retrieval.sensitive_pages`)."""


def filing_shares(filing: Filing) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """The topics that share a document in the supports, and their shares, which add up to 1."""
    best = filing[:FILED_UNDER]
    best = best[best["score"] >= SHARED * best["score"][:1]]
    squares = best["score"].astype(np.float64) ** 2
    total = squares.sum()
    if not total > 0:
        return best["topic"][:0], squares[:0]
    return best["topic"], squares / total


class History:
    def __init__(self, store: ProfileStore) -> None:
        self._store = store

    def add(self, documents: Sequence[HistoryDocument]) -> list[int]:
        """Store documents and count them under their topics, in one transaction; gives their numbers.

        A document whose digest is known already is passed over.
        """
        numbers: list[int] = []
        counts: defaultdict[int, float] = defaultdict(float)
        with self._store.transaction() as connection:
            for one in documents:
                filing = one.filing if one.filing is not None else np.empty(0, FILING)
                moment, topics = utc_text(one.time), filing.tobytes()
                values = (one.digest, moment, one.query, one.url, one.title, one.text, one.features, topics)
                added = connection.execute(
                    "INSERT OR IGNORE INTO document "
                    "(digest, time, query, url, title, text, features, topics, concept) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (*values, one.concept),
                )
                if added.rowcount == 0:
                    continue
                assert added.lastrowid is not None
                numbers.append(added.lastrowid)
                for topic, share in zip(*filing_shares(filing), strict=True):
                    counts[int(topic)] += float(share)
            self._store.count(counts)
        return numbers

    def forget(self, numbers: Iterable[int]) -> list[HistoryDocument]:
        """Remove documents with all that was derived from them; gives what was removed."""
        gone: list[HistoryDocument] = []
        counts: defaultdict[int, float] = defaultdict(float)
        with self._store.transaction() as connection:
            for number in numbers:
                row = connection.execute(
                    "DELETE FROM document WHERE number = ? "
                    "RETURNING digest, time, query, url, title, text, features, topics, concept",
                    (number,),
                ).fetchone()
                if row is None:
                    continue
                digest, time, query, url, title, text, features, topics, concept = row
                filing = np.frombuffer(topics, FILING)
                moment = datetime.fromisoformat(time)
                gone.append(
                    HistoryDocument(digest, moment, query, url, title, text, features, filing, concept)
                )
                for topic, share in zip(*filing_shares(filing), strict=True):
                    counts[int(topic)] -= float(share)
            self._store.count(counts)
            if gone:
                self._store.note_forgetting()
        return gone

    def between(self, since: datetime | None, until: datetime | None) -> list[int]:
        """The documents of a period, its ends included."""
        rows = self._store.connection.execute(
            "SELECT number FROM document WHERE time >= ? AND time <= ?",
            (utc_text(since) if since else "", utc_text(until) if until else "9"),
        )
        return [int(number) for (number,) in rows]

    def under(self, low: int, high: int) -> list[int]:
        """The documents with any topic in the range ``low`` to ``high`` (a subtree) among theirs."""
        found = []
        for number, topics in self._store.connection.execute("SELECT number, topics FROM document"):
            topic = np.frombuffer(topics, FILING)["topic"]
            if bool(np.any((topic >= low) & (topic < high))):
                found.append(int(number))
        return found


NEAREST = 30

PAGE = np.dtype(
    [("number", "<i8"), ("topics", "<i4", NEAREST), ("scores", "<f4", NEAREST), ("concept", "i1")]
)
"""A document in memory: its number in the file, its best topics, best first (-1 where there are fewer), how
well each fits, and the sensitive concept that it was caught by."""

_CHUNK = 5_000


def page_rows(
    numbers: Iterable[int], filings: Sequence[Filing], concepts: Iterable[int]
) -> npt.NDArray[np.void]:
    rows = np.zeros(len(filings), PAGE)
    rows["number"], rows["concept"], rows["topics"] = list(numbers), list(concepts), -1
    for topics, scores, filing in zip(rows["topics"], rows["scores"], filings, strict=True):
        known = min(len(filing), NEAREST)
        topics[:known], scores[:known] = filing["topic"][:known], filing["score"][:known]
    return rows


class HistoryIndex:
    """The documents of a profile file in memory.

    Attributes:
        bags: their words and vectors, in the order of their numbers.
        pages: what else is known of them, as rows of type :data:`PAGE`.
        generation: changes whenever all was read anew.
    """

    def __init__(self, store: ProfileStore, table: WordTable) -> None:
        self._store = store
        self.table = table
        self._seen: tuple[int, int] | None = None
        self._forgotten: str | None = None
        """How often anything was forgotten, as the file counts it."""
        self.generation = 0
        self._clear()

    def _clear(self) -> None:
        self.generation += 1
        self.bags = Bags(self.table)
        self.pages: npt.NDArray[np.void] = np.empty(0, PAGE)

    def refresh(self) -> None:
        """Read what was added or forgotten since."""
        connection = self._store.connection
        version = (connection.execute("PRAGMA data_version").fetchone()[0], connection.total_changes)
        if version == self._seen:
            return
        forgotten, last = connection.execute(
            "SELECT (SELECT value FROM meta WHERE key = 'forgotten'), (SELECT max(number) FROM document)"
        ).fetchone()
        if forgotten != self._forgotten:
            self._clear()
            self._forgotten = forgotten
        known = int(self.pages["number"][-1]) if len(self.pages) else 0
        if (last or 0) > known:
            rows = connection.execute(
                "SELECT number, features, topics, title, text, concept FROM document "
                "WHERE number > ? ORDER BY number",
                (known,),
            )
            while chunk := rows.fetchmany(_CHUNK):
                self._extend(chunk)
        self._seen = version

    def _extend(self, chunk: list[tuple[int, bytes, bytes, str, str, int]]) -> None:
        packed = [row[1] for row in chunk]
        # The words of a damaged file may not be words of the table, which compiled loops do not notice. The
        # text is still there.
        if not all(packed) or not fits(self.table, b"".join(packed)):
            packed = [
                features if features and fits(self.table, features) else pack(self.table, f"{title} {text}")
                for _, features, _, title, text, _ in chunk
            ]
        self.bags.extend_packed(packed)
        filings = [np.frombuffer(row[2], FILING) for row in chunk]
        rows = page_rows((row[0] for row in chunk), filings, (row[5] for row in chunk))
        self.pages = np.concatenate((self.pages, rows))


@dataclass(frozen=True)
class ClickedPage:
    """One document of the person's history."""

    number: int
    time: datetime
    query: str
    url: str
    title: str
    topics: tuple[str, ...] = ()
    withheld: bool = False
    """Whether it may be about something sensitive or marked, so that it has no influence on anything that
    leaves."""
    concept: str | None = None
    """The sensitive concept that it was caught by; "unreadable" where nobody can tell what it is about."""


@dataclass(frozen=True)
class TopicNode:
    """A topic of the taxonomy as its owner sees it."""

    label: str
    name: str
    documents: float
    """How many of the person's documents are filed at it or below."""
    sensitivity: float
    """0 where it is not sensitive itself."""
    protected: bool
    """Whether it is sensitive, or lies below a topic that is."""
    children: int


@dataclass(frozen=True)
class Forgotten:
    """What is gone from the file."""

    clicks: int = 0
    exposures: int = 0
    topics: int = 0
    warnings: tuple[str, ...] = field(default=())
    documents: tuple[HistoryDocument, ...] = field(default=(), repr=False)
    """What was removed, in memory only, so that :meth:`Guard.restore` can put it back."""
