"""A synthetic search log that follows a release: for tools that read logs, not tables.

It is computed from the published tables, public constants and fresh randomness, so it is post-processing of
a release: it tells nothing of anybody that the release does not, and costs nothing.

Tables are recognised by their columns. Searches are linked into sessions so that sequences and steps come
out as often as they were released; sessions are assigned to users, and get times, by public constants.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacit.display import Displayed
from tacit.errors import InfeasibleError, IntegrityError
from tacit.files import atomic_file, check_output
from tacit.release.document.manifest import read_manifest
from tacit.release.registry import mechanism_class
from tacit.searchlog.schema import SCHEMA, LogWriter
from tacit.validation import flag, place, whole

if TYPE_CHECKING:
    from tacit.release.publication import Release

Whole = NDArray[np.int64]
_MEASURES = ("count", "deviation", "fewer_than")


@dataclass(frozen=True, eq=False)
class ReleasedSteps:
    """How often one query follows another."""

    before: Whole
    after: Whole
    count: Whole


@dataclass(frozen=True, eq=False)
class ReleasedClicks:
    """How often a url is clicked for a query; ``rank`` is its place among the query's urls by count."""

    query: Whole
    url: NDArray[np.object_]
    rank: Whole
    count: Whole


@dataclass(frozen=True, eq=False)
class ReleasedCounts:
    """Released counts over a numbered list of queries.

    Attributes:
        queries: the texts.
        searches: how often each is searched.
        known: whether ``searches`` was released; otherwise it is what the other tables need.
        once: whether counts are of users: a user then has a query once at most.
        sequences: sessions by their queries, longest first. Counts are of sessions that have the sequence as
            an ordered part, or that begin with it.
        beginnings: which of the two.
    """

    queries: list[str]
    searches: Whole
    known: bool
    once: bool
    steps: ReleasedSteps
    clicks: ReleasedClicks
    sequences: list[tuple[tuple[int, ...], int]]
    beginnings: bool = False

    def parts(self, session: tuple[int, ...]) -> set[tuple[int, ...]]:
        """What of a session is counted, of two queries and more."""
        sizes = range(2, len(session) + 1)
        if self.beginnings:
            return {session[:size] for size in sizes}
        return {part for size in sizes for part in combinations(session, size)}


def read_released(folder: str | Path) -> ReleasedCounts:
    """The tables of a release's folder.

    Raises:
        InfeasibleError: where nothing was published that a log could be made of.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    tables: dict[tuple[str, ...], pa.Table] = {}
    for name in manifest["published"]:
        path = folder / f"{name}.parquet"
        if not path.is_file():
            raise IntegrityError(f"the table {name} is missing in {folder}.", "Run tacit verify on it.")
        table = pq.read_table(path)
        if "count" not in table.column_names:
            raise InfeasibleError(
                "this release has keys without counts, so no log can follow it.",
                "Release with counts, not keys only.",
            )
        tables[tuple(column for column in table.column_names if column not in _MEASURES)] = table
    mechanism = mechanism_class(manifest["mechanism"])
    if not mechanism.publishes_queries:
        raise InfeasibleError(
            f"a release by {manifest['mechanism']} has no queries, so no log can follow it.",
            "Release queries too, by another mechanism.",
        )
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
    counted = _rows(tables, ("query",)) or _rows(tables, ("keyword",))
    asked = {numbers[query]: count for query, count in counted}
    steps = [(numbers[a], numbers[b], n) for a, b, n in _rows(tables, ("query", "next_query"))]
    clicks = [(numbers[query], url, n) for query, url, n in _rows(tables, ("query", "url"))]
    sequences = [(tuple(numbers[query] for query in found), n) for found, n in _rows(tables, ("queries",))]
    if not numbers:
        raise InfeasibleError(
            "nothing was published, so there is nothing to make a log of.",
            "A larger ε, or a plan with the log's size, shows what would publish more.",
        )
    sequences.sort(key=lambda found: (-len(found[0]), -found[1], found[0]))
    found_steps = _steps(steps)
    found_clicks = _clicks(clicks)
    searches = np.zeros(len(numbers), np.int64)
    if asked:
        searches[list(asked)] = list(asked.values())
    else:
        searches = _needed(len(numbers), found_steps, found_clicks, sequences)
    bounded = [part for part in manifest.get("schedule") or [] if isinstance(part.get("contribution"), dict)]
    once = all(part["contribution"]["once"] for part in bounded)
    beginnings = mechanism.counts_prefixes
    return ReleasedCounts(
        list(numbers), searches, bool(asked), once, found_steps, found_clicks, sequences, beginnings
    )


def _rows(tables: dict[tuple[str, ...], pa.Table], columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    table = tables.get(columns)
    if table is None:
        return []
    values = [table.column(name).to_pylist() for name in (*columns, "count")]
    return [row for row in zip(*values, strict=True) if (row[-1] or 0) >= 1]


def _steps(rows: list[tuple[int, int, int]]) -> ReleasedSteps:
    rows.sort(key=lambda row: (-row[2], row[0], row[1]))
    columns = np.array(rows, np.int64).reshape(-1, 3)
    return ReleasedSteps(columns[:, 0], columns[:, 1], columns[:, 2])


def _clicks(rows: list[tuple[int, str, int]]) -> ReleasedClicks:
    rows.sort(key=lambda row: (row[0], -row[2], row[1]))
    query = np.array([row[0] for row in rows], np.int64)
    first = np.flatnonzero(np.diff(query, prepend=-1))
    sizes = np.diff(np.append(first, query.size))
    rank = np.arange(query.size) - np.repeat(first, sizes) + 1
    url = np.array([row[1] for row in rows], np.object_)
    return ReleasedClicks(query, url, rank, np.array([row[2] for row in rows], np.int64))


def _needed(
    queries: int, steps: ReleasedSteps, clicks: ReleasedClicks, sequences: list[tuple[tuple[int, ...], int]]
) -> Whole:
    """The fewest searches of each query that the other tables need."""
    needed = np.zeros(queries, np.int64)
    for ends in (steps.before, steps.after):
        needed = np.maximum(needed, np.bincount(ends, steps.count, queries).astype(np.int64))
    np.maximum.at(needed, clicks.query, clicks.count)
    for found, count in sequences:
        for query in set(found):
            needed[query] = max(needed[query], count * found.count(query))
    return needed


class Sessions:
    """Searches in order: ``query`` of each, the ``session`` it belongs to and its ``place`` in it."""

    def __init__(self, query: Whole, session: Whole, place: Whole) -> None:
        order = np.lexsort((place, session))
        self.query, self.session, self.place = query[order], session[order], place[order]

    def __len__(self) -> int:
        return int(self.session[-1]) + 1 if self.session.size else 0


def link_sessions(released: ReleasedCounts) -> Sessions:
    """Every search of the release, in sessions."""
    left = released.searches.copy()
    if not released.known:  # then as many as whole sessions need
        endless = np.full(left.size, np.iinfo(np.int64).max // 2)
        unused = endless.copy()
        _whole_sessions(released, unused)
        left = np.maximum(left, endless - unused)
    whole = _whole_sessions(released, left)
    following = _links(_unexplained(released.steps, whole), left)
    query, session, place = _chains(left, following)
    first = int(session.max(initial=-1)) + 1
    parts = [(query, session, place)]
    for found, count in whole:
        numbers = np.repeat(np.arange(first, first + count), len(found))
        parts.append((np.tile(found, count), numbers, np.tile(np.arange(len(found)), count)))
        first += count
    query, session, place = (np.concatenate(part) for part in zip(*parts, strict=True))
    if released.once:
        session, place = _without_repetitions(query, session, place)
    return Sessions(query, session, place)


def _without_repetitions(query: Whole, session: Whole, place: Whole) -> tuple[Whole, Whole]:
    """Cut sessions before a query that they have already: where users are counted, one has a query once."""
    session, place = session.copy(), place.copy()
    while True:
        order = np.lexsort((place, query, session))
        again = (np.diff(session[order]) == 0) & (np.diff(query[order]) == 0)
        repeated = order[1:][again]
        if not repeated.size:
            return session, place
        count = int(session.max()) + 1
        cut = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(cut, session[repeated], place[repeated])
        number = np.full(count, -1)
        split = np.unique(session[repeated])
        number[split] = count + np.arange(split.size)
        moved = np.flatnonzero(place >= cut[session])
        place[moved] -= cut[session[moved]]
        session[moved] = number[session[moved]]


def _whole_sessions(released: ReleasedCounts, left: Whole) -> list[tuple[tuple[int, ...], int]]:
    """How many sessions of exactly these queries to make; takes their searches off ``left``."""
    remaining = dict(released.sequences)
    made = []
    for found, _ in released.sequences:
        count = remaining[found]
        uses = Counter(found)
        count = max(0, min([count, *(int(left[query]) // times for query, times in uses.items())]))
        if not count:
            continue
        for part in released.parts(found):
            if part in remaining:
                remaining[part] -= count
        for query, times in uses.items():
            left[query] -= count * times
        made.append((found, count))
    return made


def _unexplained(steps: ReleasedSteps, whole: list[tuple[tuple[int, ...], int]]) -> ReleasedSteps:
    """Steps less those that whole sessions hold already."""
    held: Counter[tuple[int, int]] = Counter()
    for found, count in whole:
        for pair in pairwise(found):
            held[pair] += count
    explained = [held[pair] for pair in zip(steps.before.tolist(), steps.after.tolist(), strict=True)]
    return ReleasedSteps(
        steps.before, steps.after, np.maximum(steps.count - np.array(explained, np.int64), 0)
    )


def _links(steps: ReleasedSteps, searches: Whole) -> Whole:
    """For each search (numbered query by query) the one that follows it, or -1.

    A query's searches take their next ones from the front and their previous ones from the back, so that
    they are linked on both sides only where there are fewer searches than links.
    """
    offsets = np.concatenate(([0], np.cumsum(searches)))
    following = np.full(offsets[-1], -1, np.int64)
    after_used, before_used = np.zeros_like(searches), np.zeros_like(searches)
    for a, b, count in zip(steps.before.tolist(), steps.after.tolist(), steps.count.tolist(), strict=True):
        possible = min(count, int(searches[a] - after_used[a]), int(searches[b] - before_used[b]))
        if possible <= 0 or a == b:
            continue
        begin = offsets[a] + after_used[a]
        end = offsets[b + 1] - before_used[b]
        following[begin : begin + possible] = np.arange(end - 1, end - 1 - possible, -1)
        after_used[a] += possible
        before_used[b] += possible
    return following


def _chains(searches: Whole, following: Whole) -> tuple[Whole, Whole, Whole]:
    """Query, session and place of each search, along the links; circles are cut once."""
    query = np.repeat(np.arange(searches.size), searches)
    session = np.full(query.size, -1, np.int64)
    place = np.zeros(query.size, np.int64)
    begins = np.ones(query.size, np.bool_)
    begins[following[following >= 0]] = False
    current = np.flatnonzero(begins)
    number = np.arange(current.size)
    done, step = current.size, 0
    while current.size:
        session[current], place[current] = number, step
        after = following[current]
        goes_on = after >= 0
        current, number, step = after[goes_on], number[goes_on], step + 1
    for start in np.flatnonzero(session < 0).tolist():  # what is left are circles
        if session[start] < 0:
            at, step = start, 0
            while session[at] < 0:
                session[at], place[at] = done, step
                at, step = int(following[at]), step + 1
            done += 1
    return query, session, place


_SPREAD = 1.1
_ROUNDS = 30
_HOURS = np.array([2, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 8, 8, 7, 5, 3], np.float64)
_APART = 2 * 3600
_PAUSE = 60.0
_LONGEST_PAUSE = 600.0


def deal_out(sessions: Sessions, users: int, *, once: bool, draw: np.random.Generator) -> Whole:
    """The user of each session.

    Args:
        once: no user gets a query twice, as far as that can be had.
    """
    activity = np.exp(draw.normal(0, _SPREAD, users))
    edges = np.cumsum(activity)
    dealt: Whole = np.searchsorted(edges, draw.random(len(sessions)) * edges[-1]).astype(np.int64)
    for _ in range(_ROUNDS if once else 0):
        again = _sessions_with_a_repeated_query(sessions, dealt)
        if not again.size:
            break
        dealt[again] = draw.integers(0, users, again.size)
    return dealt


def _sessions_with_a_repeated_query(sessions: Sessions, dealt: Whole) -> Whole:
    user = dealt[sessions.session]
    order = np.lexsort((sessions.session, sessions.query, user))
    same = (np.diff(user[order]) == 0) & (np.diff(sessions.query[order]) == 0)
    same &= np.diff(sessions.session[order]) != 0
    return np.unique(sessions.session[order[1:][same]])


def when(sessions: Sessions, dealt: Whole, days: int, draw: np.random.Generator) -> Whole:
    """The time of each search, in seconds from the first midnight.

    Sessions of one user lie at least two hours apart, so that a pause tells where one ends.
    """
    hours = draw.choice(24, len(sessions), p=_HOURS / _HOURS.sum())
    begins = (
        draw.integers(0, days, len(sessions)) * 86_400 + hours * 3600 + draw.integers(0, 3600, hours.size)
    )
    order = np.lexsort((begins, dealt))
    first = np.flatnonzero(np.diff(dealt[order], prepend=-1))
    rank = np.arange(order.size) - np.repeat(first, np.diff(np.append(first, order.size)))
    begins[order] += rank * _APART  # in order of time, each pushes the later ones on
    pauses = np.minimum(draw.exponential(_PAUSE, sessions.query.size) + 5, _LONGEST_PAUSE).astype(np.int64)
    pauses[sessions.place == 0] = 0
    total = np.cumsum(pauses)
    starts = np.flatnonzero(sessions.place == 0)
    before = np.repeat(total[starts], np.diff(np.append(starts, total.size)))
    return begins[sessions.session] + total - before


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


@dataclass(frozen=True, repr=False)
class Resampled(Displayed):
    """A resampled log: where it is, its size, and how much of each released table it keeps."""

    path: Path
    users: int
    searches: int
    sessions: int
    records: int
    kept: dict[str, Kept]

    def _summary(self) -> str:
        return f"Resampled log {self.path}: {self.records:,} records of {self.users:,} users"

    def _heading(self) -> tuple[str, ...]:
        return ("table", "rows", "released", "kept", "largest difference of a row")

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                name,
                f"{kept.rows:,}",
                f"{kept.released:,}",
                f"{kept.kept / kept.released if kept.released else 1.0:.1%}",
                f"{kept.off:,}",
            )
            for name, kept in self.kept.items()
        ]


def resample(
    release: Release | str | Path,
    to: str | Path,
    *,
    users: int | None = None,
    days: int = 90,
    seed: int | None = None,
    force: bool = False,
) -> Resampled:
    """Make a synthetic search log that follows a release, for tools that read logs.

    It is computed from the release alone, so it costs nothing and tells nothing that the release does not.

    Args:
        release: the release, or its folder.
        to: the log to write (Parquet).
        users: how many users; by default a fifth of the searches, and as many as the commonest query has.
        days: over how many days.
        seed: makes the log reproducible; the result is post-processing, so a public seed betrays nothing.
        force: replace the file if it exists.
    """
    folder, output = getattr(release, "folder", release), place("to", to)
    check_output(output, force=flag("force", force))
    released = read_released(place("release", folder))
    asked = None if users is None else whole("users", users, 1)
    days = whole("days", days, 1)
    draw = np.random.default_rng(None if seed is None else whole("seed", seed))
    sessions = link_sessions(released)
    count = asked or max(-(-sessions.query.size // _MEAN_SEARCHES), int(released.searches.max()))
    dealt = deal_out(sessions, count, once=released.once, draw=draw)
    times = when(sessions, dealt, days, draw)
    search, click = _clicks_on(sessions, released.clicks)
    _write(output, released, sessions, dealt[sessions.session], times, search, click)
    records = sessions.query.size - np.unique(search).size + search.size
    return Resampled(
        output,
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
