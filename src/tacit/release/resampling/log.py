"""The synthetic log itself, and how well it keeps what was released."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.files import atomic_file
from tacit.release.resampling.people import deal_out, when
from tacit.release.resampling.sessions import Sessions, link_sessions
from tacit.release.resampling.tables import ReleasedClicks, ReleasedCounts, read_released
from tacit.searchlog.schema import SCHEMA
from tacit.searchlog.writing import LogWriter

__all__ = ["FIRST_DAY", "Kept", "Resampled", "resample", "resample_counts"]

Whole = NDArray[np.int64]
FIRST_DAY = datetime(2000, 1, 1)
"""When every resampled log begins: a date that nobody takes for the original's."""
_MEAN_SEARCHES = 5


@dataclass(frozen=True)
class Kept:
    """One released table in the synthetic log.

    Attributes:
        rows: its rows with a count of at least 1.
        released: the sum of their counts.
        kept: how much of that the log has, at most the released count for each row.
        off: the largest difference of a row.
    """

    rows: int
    released: int
    kept: int
    off: int


@dataclass(frozen=True)
class Resampled:
    """What was made."""

    path: Path
    users: int
    searches: int
    sessions: int
    records: int
    kept: dict[str, Kept]


def resample(
    folder: str | Path, to: str | Path, *, users: int | None = None, days: int = 90, seed: int | None = None
) -> Resampled:
    """Make a synthetic search log from a release.

    Args:
        folder: the release.
        to: the log to write (canonical Parquet).
        users: how many users; by default a fifth of the searches, and as many as the commonest query has.
        days: over how many days.
        seed: makes the log reproducible; the result is post-processing, so a public seed betrays nothing.
    """
    if users is not None and users < 1:
        raise ParameterError.outside("users", users, "at least 1")
    if days < 1:
        raise ParameterError.outside("days", days, "at least 1")
    return resample_counts(read_released(folder), to, users=users, days=days, seed=seed)


def resample_counts(
    released: ReleasedCounts,
    to: str | Path,
    *,
    users: int | None = None,
    days: int = 90,
    seed: int | None = None,
) -> Resampled:
    """The same from what a release says, before it is in a folder."""
    draw = np.random.default_rng(seed)
    sessions = link_sessions(released)
    count = users or max(-(-sessions.query.size // _MEAN_SEARCHES), int(released.searches.max()))
    dealt = deal_out(sessions, count, once=released.once, draw=draw)
    times = when(sessions, dealt, days, draw)
    search, click = _clicks_on(sessions, released.clicks)
    _write(Path(to), released, sessions, dealt[sessions.session], times, search, click)
    records = sessions.query.size - np.unique(search).size + search.size
    return Resampled(
        Path(to),
        int(np.unique(dealt).size),
        int(sessions.query.size),
        len(sessions),
        int(records),
        _kept(released, sessions, click),
    )


def _clicks_on(sessions: Sessions, clicks: ReleasedClicks) -> tuple[Whole, Whole]:
    """Pairs of a search and a row of clicks: each url on different searches of its query, in turn."""
    order = np.argsort(sessions.query, kind="stable")
    searches = np.bincount(sessions.query, minlength=int(clicks.query.max(initial=-1)) + 1)
    offsets = np.concatenate(([0], np.cumsum(searches)))
    taken = np.minimum(clicks.count, searches[clicks.query])
    row = np.repeat(np.arange(taken.size), taken)
    before = np.cumsum(taken) - taken
    first_of_query = before[np.searchsorted(clicks.query, clicks.query)] if taken.size else before
    turn = np.arange(row.size) - first_of_query[row]  # how many clicks the query had before this one
    query = clicks.query[row]
    return order[offsets[query] + turn % np.maximum(searches[query], 1)], row


def _write(
    path: Path,
    released: ReleasedCounts,
    sessions: Sessions,
    user: Whole,
    times: Whole,
    search: Whole,
    click: Whole,
) -> None:
    """Write records in order of user and time: a search without a click, or one record for each click."""
    silent = np.setdiff1d(np.arange(sessions.query.size), search)
    which = np.concatenate((search, silent))
    row = np.concatenate((click, np.full(silent.size, -1)))
    rank = np.where(row >= 0, released.clicks.rank[row] if released.clicks.rank.size else 0, 0)
    order = np.lexsort((rank, times[which], user[which]))
    which, row, rank = which[order], row[order], rank[order]
    queries = pa.array(released.queries, pa.string())
    urls = pa.array(released.clicks.url.tolist(), pa.string())
    digits = max(6, len(str(int(user.max(initial=0)))))
    begun = np.datetime64(FIRST_DAY, "us")
    with atomic_file(path, mode=0o600) as temporary, LogWriter(temporary) as writer:
        for begin in range(0, which.size, 1 << 18):
            part = slice(begin, begin + (1 << 18))
            clicked = pa.array(np.maximum(row[part], 0), mask=row[part] < 0)
            names = [f"r{number:0{digits}d}" for number in user[which[part]].tolist()]
            columns = [
                pa.array(names, pa.string()),
                queries.take(pa.array(sessions.query[which[part]])),
                pa.array(begun + times[which[part]].astype("timedelta64[s]"), pa.timestamp("us")),
                pa.array(rank[part].astype(np.int32), pa.int32(), mask=row[part] < 0),
                urls.take(clicked),
            ]
            writer.write(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))


def _kept(released: ReleasedCounts, sessions: Sessions, click: Whole) -> dict[str, Kept]:
    found: dict[str, Kept] = {}
    searches = np.bincount(sessions.query, minlength=released.searches.size)
    if released.known:
        found["queries"] = _compare(released.searches, searches)
    if released.clicks.count.size:
        found["clicks"] = _compare(
            released.clicks.count, np.bincount(click, minlength=released.clicks.count.size)
        )
    if released.steps.count.size:
        width = released.searches.size
        inside = np.flatnonzero(np.diff(sessions.session) == 0)
        made = sessions.query[inside] * width + sessions.query[inside + 1]
        pairs, counts = np.unique(made, return_counts=True)
        asked = released.steps.before * width + released.steps.after
        at = np.minimum(np.searchsorted(pairs, asked), max(pairs.size - 1, 0))
        has = np.where(pairs[at] == asked, counts[at], 0) if pairs.size else np.zeros_like(asked)
        found["steps"] = _compare(released.steps.count, has)
    if released.sequences:
        found["sequences"] = _compare_sequences(released, sessions)
    return found


def _compare(released: Whole, made: Whole) -> Kept:
    return Kept(
        int((released > 0).sum()),
        int(released.sum()),
        int(np.minimum(released, made).sum()),
        int(np.abs(released - made).max(initial=0)),
    )


def _compare_sequences(released: ReleasedCounts, sessions: Sessions) -> Kept:
    """How many sessions hold each sequence as an ordered part."""
    wanted = dict(released.sequences)
    made: Counter[tuple[int, ...]] = Counter()
    starts = np.flatnonzero(sessions.place == 0)
    kinds = Counter(tuple(part.tolist()) for part in np.split(sessions.query, starts[1:]) if part.size > 1)
    for found, times in kinds.items():
        for part in released.parts(found):
            if part in wanted:
                made[part] += times
    asked = np.array(list(wanted.values()), np.int64)
    return _compare(asked, np.array([made[found] for found in wanted], np.int64))
