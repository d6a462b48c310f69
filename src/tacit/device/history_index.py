"""The history in memory, kept in step with the profile file whoever changes it.

SQLite tells cheaply whether another connection has changed a file (``data_version``). New documents are then
read from where reading stopped; if anything was forgotten anywhere, all is read anew.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.device.bags import Bags
from tacit.device.features import fits, pack, unpack
from tacit.device.growing import Growing
from tacit.device.history import FILING
from tacit.device.store import ProfileStore
from tacit.text.vectors import WordTable

__all__ = ["NEAREST", "HistoryIndex"]

NEAREST = 10
"""How many topics a document is compared by when it is asked whether it may be about a sensitive one."""

_CHUNK = 5_000


class HistoryIndex:
    """The documents of a profile file as bags of words with their topics.

    Attributes:
        bags: their words and vectors, in the order of their numbers.
        generation: changes whenever all was read anew.
    """

    def __init__(self, store: ProfileStore, table: WordTable) -> None:
        self._store = store
        self._table = table
        self._seen: tuple[int, int] | None = None
        self._forgotten: str | None = None
        """How often anything was forgotten, as the file counts it."""
        self.generation = 0
        self._clear()

    def _clear(self) -> None:
        self.generation += 1
        self.bags = Bags(self._table)
        self._numbers = Growing(np.int64)
        self._topics = Growing(np.int32, NEAREST)
        self._cosines = Growing(np.float32, NEAREST)

    def __len__(self) -> int:
        return len(self.bags)

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The documents' numbers in the file, ascending."""
        return self._numbers.rows

    @property
    def topics(self) -> npt.NDArray[np.int32]:
        """The nearest topics of each document, nearest first; -1 where there are fewer."""
        return self._topics.rows

    @property
    def cosines(self) -> npt.NDArray[np.float32]:
        """How near each of them is; 0 where there are fewer."""
        return self._cosines.rows

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
        known = int(self.numbers[-1]) if len(self) else 0
        if (last or 0) > known:
            rows = connection.execute(
                "SELECT number, features, topics, title, text FROM document WHERE number > ? ORDER BY number",
                (known,),
            )
            while chunk := rows.fetchmany(_CHUNK):
                self._extend(chunk)
        self._seen = version

    def _extend(self, chunk: list[tuple[int, bytes, bytes, str, str]]) -> None:
        packed = [row[1] for row in chunk]
        # Documents stored before words were kept have none, and those of a damaged file may not be words of
        # the table, which compiled loops do not notice. Their text is still there.
        if not all(packed) or not fits(self._table, b"".join(packed)):
            packed = [
                features if features and fits(self._table, features) else pack(self._table, f"{title} {text}")
                for _, features, _, title, text in chunk
            ]
        lengths = np.array([len(one) // 4 for one in packed], np.int64)
        self.bags.extend(lengths, *unpack(np.frombuffer(b"".join(packed), "<u4")))
        self._numbers.extend(np.array([row[0] for row in chunk], np.int64))
        topics = np.full((len(chunk), NEAREST), -1, np.int32)
        cosines = np.zeros((len(chunk), NEAREST), np.float32)
        for place, row in enumerate(chunk):
            filing = np.frombuffer(row[2], FILING)[:NEAREST]
            topics[place, : len(filing)] = filing["topic"]
            cosines[place, : len(filing)] = filing["cosine"]
        self._topics.extend(topics)
        self._cosines.extend(cosines)
