"""Suggestions while typing, answered on the device: own queries, then released ones, then words.

No request leaves the machine for them.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Iterable, Mapping, Sequence

from tacit.text import normalise
from tacit.web.state import PageState
from tacit.web.write_behind import WriteBehind

__all__ = ["Suggestions"]


class Suggestions:
    """What may be meant by the beginning of a query.

    Args:
        state: the person's own queries.
        behind: writes them down a moment later.
        phrases: public phrases, such as the entries of WordNet.
        asked: queries of released logs, and how often each was asked.
    """

    def __init__(
        self,
        state: PageState,
        behind: WriteBehind,
        phrases: Iterable[str],
        asked: Mapping[str, int] | None = None,
    ) -> None:
        self._state = state
        self._behind = behind
        self._phrases: Sequence[str] = sorted({phrase.lower() for phrase in phrases})
        self._asked = dict(asked or {})
        self._asked_sorted: Sequence[str] = sorted(self._asked)

    def complete(self, typed: str, *, own: bool = True, limit: int = 8) -> list[str]:
        """At most ``limit`` completions: the person's own, the most frequent first, then public ones.

        Of the public ones, queries that many asked come before words of the dictionary.
        """
        beginning = " ".join(typed.lower().split())
        if not beginning:
            return []
        found: dict[str, None] = {}
        if own:
            self._behind.flush()
            pattern = beginning.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_") + "%"
            rows = self._state.rows(
                "SELECT query FROM page_query WHERE query LIKE ? ESCAPE '\\' "
                "ORDER BY times DESC, time DESC LIMIT ?",
                (pattern, limit),
            )
            found.update(dict.fromkeys(str(query) for (query,) in rows))
        first = bisect.bisect_left(self._asked_sorted, beginning)
        last = bisect.bisect_left(self._asked_sorted, f"{beginning}\U0010ffff")
        often = heapq.nsmallest(
            limit, self._asked_sorted[first:last], key=lambda query: (-self._asked[query], query)
        )
        found.update(dict.fromkeys(often))
        start = bisect.bisect_left(self._phrases, beginning)
        near = self._phrases[start : start + 200]
        public = sorted(
            (phrase for phrase in near if phrase.startswith(beginning)), key=lambda p: (len(p), p)
        )
        found.update(dict.fromkeys(public))
        return list(found)[:limit]

    def remember(self, query: str, time: str) -> None:
        """Count a query of the person's own."""
        text = normalise(query)
        if not text or len(text) > 200:
            return
        self._behind.add(
            "INSERT INTO page_query VALUES (?, ?, 1) ON CONFLICT (query) DO UPDATE "
            "SET time = excluded.time, times = times + 1",
            text,
            time,
        )
