"""The person's history: the documents they opened, in the profile file, with the topics of each.

A document is filed under its nearest topics with a cosine each; the best :data:`FILED_UNDER` share it among
them by the squares of their cosines, so that the supports of the profile count every document once.
Forgetting takes a document's text, its words and its part of the supports away together, and the file is
rewritten without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tacit.device.store import ProfileStore
from tacit.device.times import utc_text

__all__ = ["FILED_UNDER", "FILING", "Filing", "History", "HistoryDocument", "filing_shares"]

FILED_UNDER = 5
"""How many topics share a document in the supports of a profile."""

Filing = npt.NDArray[np.void]
"""The topics of a document, nearest first: fields ``topic`` (number) and ``cosine``."""

FILING = np.dtype([("topic", "<i4"), ("cosine", "<f4")])


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


def filing_shares(filing: Filing) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """The topics that share a document in the supports, and their shares, which add up to 1."""
    best = filing[:FILED_UNDER]
    squares = best["cosine"].astype(np.float64) ** 2
    total = squares.sum()
    if not total > 0:
        return best["topic"][:0], squares[:0]
    return best["topic"], squares / total


class History:
    """The documents in a profile file."""

    def __init__(self, store: ProfileStore) -> None:
        self._store = store

    def add(self, documents: Sequence[HistoryDocument]) -> list[int]:
        """Store documents and count them under their topics, in one transaction; gives their numbers.

        A document whose digest is known already is passed over.
        """
        numbers: list[int] = []
        counts: defaultdict[int, float] = defaultdict(float)
        with self._store.transaction() as connection:
            for document in documents:
                filing = document.filing if document.filing is not None else np.empty(0, FILING)
                if (
                    connection.execute(
                        "INSERT OR IGNORE INTO counted VALUES (?)", (document.digest,)
                    ).rowcount
                    == 0
                ):
                    continue
                number = connection.execute(
                    "INSERT INTO document (digest, time, query, url, title, text, features, topics) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        document.digest,
                        utc_text(document.time),
                        document.query,
                        document.url,
                        document.title,
                        document.text,
                        document.features,
                        filing.tobytes(),
                    ),
                ).lastrowid
                assert number is not None
                numbers.append(number)
                for topic, share in zip(*filing_shares(filing), strict=True):
                    counts[int(topic)] += float(share)
            self._store.count(counts)
        return numbers

    def __len__(self) -> int:
        return int(self._store.connection.execute("SELECT count(*) FROM document").fetchone()[0])

    def forget(self, numbers: Iterable[int]) -> list[HistoryDocument]:
        """Remove documents with all that was derived from them; gives what was removed."""
        gone: list[HistoryDocument] = []
        counts: defaultdict[int, float] = defaultdict(float)
        with self._store.transaction() as connection:
            for number in numbers:
                row = connection.execute(
                    "DELETE FROM document WHERE number = ? "
                    "RETURNING digest, time, query, url, title, text, features, topics",
                    (number,),
                ).fetchone()
                if row is None:
                    continue
                digest, time, query, url, title, text, features, topics = row
                filing = np.frombuffer(topics, FILING)
                moment = datetime.fromisoformat(time)
                gone.append(HistoryDocument(digest, moment, query, url, title, text, features, filing))
                connection.execute("DELETE FROM counted WHERE digest = ?", (digest,))
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
