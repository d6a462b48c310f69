"""Suggestions while typing, answered on the device: own queries, then released ones, then words.

No request leaves the machine for them.
"""

import bisect
import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path

from tacit.errors import InputError
from tacit.retrieval.sensitive_pages import recogniser
from tacit.text import normalise
from tacit.text.vectors import load_word_table
from tacit.web.state import PageState

_LOOKED_AT = 40


@lru_cache(maxsize=10_000)
def is_sensitive(query: str) -> bool:
    """Whether a query is about something sensitive: it is never offered again, lest it goes out unmeant."""
    return recogniser().concept_of_query(query) >= 0


class Suggestions:
    def __init__(
        self,
        state: PageState,
        phrases: Iterable[str],
        asked: Mapping[str, int] | None = None,
    ) -> None:
        self._state = state
        self._source = phrases
        self._asked = dict(asked or {})
        self._asked_sorted: Sequence[str] = sorted(self._asked)

    @cached_property
    def _phrases(self) -> Sequence[str]:
        """Sorted when they are needed first: reading them takes a second."""
        return sorted({phrase.lower() for phrase in self._source})

    def complete(self, typed: str, *, own: bool = True, limit: int = 8) -> list[str]:
        """Suggest at most ``limit`` completions: the person's own, the most frequent first, then public.

        Of the public ones, queries that many asked come before words of the dictionary.
        """
        beginning = " ".join(typed.lower().split())
        if not beginning:
            return []
        found: dict[str, None] = {}
        if own:
            pattern = beginning.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_") + "%"
            rows = self._state.rows(
                "SELECT query FROM page_query WHERE query LIKE ?1 ESCAPE '\\' OR query LIKE ?2 ESCAPE '\\' "
                "ORDER BY query LIKE ?1 ESCAPE '\\' DESC, times DESC, time DESC LIMIT ?3",
                (pattern, f"% {pattern}", _LOOKED_AT),
            )
            own_queries = (str(query) for (query,) in rows if not is_sensitive(str(query)))
            found.update(dict.fromkeys(islice(own_queries, limit)))
        asked = _beginning_with(beginning, self._asked_sorted)
        found.update(dict.fromkeys(heapq.nsmallest(limit, asked, lambda query: (-self._asked[query], query))))
        public = _beginning_with(beginning, self._phrases)
        found.update(dict.fromkeys(heapq.nsmallest(limit, public, _unfamiliarity)))
        return list(found)[:limit]

    def remember(self, query: str, time: str) -> None:
        text = normalise(query)
        if not text or len(text) > 200:
            return
        with self._state.transaction(synced=False) as connection:
            connection.execute(
                "INSERT INTO page_query VALUES (?, ?, 1, ?) ON CONFLICT (query) DO UPDATE "
                "SET time = excluded.time, times = times + 1, asked = excluded.asked",
                (text, time, query),
            )


def _beginning_with(beginning: str, ordered: Sequence[str]) -> Sequence[str]:
    last = bisect.bisect_left(ordered, f"{beginning}\U0010ffff")
    return ordered[bisect.bisect_left(ordered, beginning) : last]


def _unfamiliarity(phrase: str) -> tuple[int, str]:
    parts = phrase.split()  # the rarest counts; with each more a phrase is less likely to be meant
    return len(parts) * max(map(load_word_table().number, parts)), phrase


_LONGEST = 200


def released_queries(folder: str | Path) -> Counter[str]:
    """Read the queries in the tables of a folder made by ``tacit release``, with their published counts.

    Raises:
        InputError: the folder holds no release, or no table of it has queries.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = Path(folder)
    if not (folder / "manifest.json").is_file():
        raise InputError(f"{folder} holds no release.", "Give a folder made by `tacit release`.")
    found: Counter[str] = Counter()
    tables = 0
    for path in sorted(folder.glob("*.parquet")):
        try:
            if not {"query", "count"} <= set(pq.read_schema(path).names):
                continue
            rows = pq.read_table(path, columns=["query", "count"])
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"{path} is damaged.", "Run `tacit verify` on the release.") from error
        tables += 1
        for query, count in zip(rows["query"].to_pylist(), rows["count"].to_pylist(), strict=True):
            if query and len(query) <= _LONGEST and (count or 0) > 0:  # none where it is withheld
                found[query] = max(found[query], count)  # the same query may stand in several tables
    if not tables:
        problem = f"no table of the release at {folder} has queries with counts."
        raise InputError(problem, "Give one that counts queries, clicks or pairs.")
    return found
