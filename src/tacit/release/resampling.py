"""A synthetic search log that follows a release: for tools that read logs, not tables.

It is computed from the published tables, public constants and fresh randomness, so it is post-processing of
a release: it tells nothing of anybody that the release does not, and costs nothing.

Tables are recognised by their columns. Searches are linked into sessions so that sequences and steps come
out as often as they were released; sessions are assigned to users, and get times, by public constants.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
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
Sequence = tuple[int, ...]

FIRST_DAY = datetime(2000, 1, 1)
"""When every resampled log begins: a date that nobody takes for the original's."""
_MEASURES = ("count", "deviation", "fewer_than")
_MEAN_SEARCHES = 5
_SPREAD = 1.1
"""The standard deviation of the logarithm of users' activity."""
_ROUNDS = 30
_HOURS = np.array([2, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 8, 8, 7, 5, 3], np.float64)
_APART = 2 * 3600
_PAUSE = 60.0
_LONGEST_PAUSE = 600.0


@dataclass(frozen=True)
class ReleasedCounts:
    """Released counts by key, over a numbered list of queries; all are at least 1."""

    queries: list[str]  # the texts
    searches: Mapping[int, int]  # how often each is searched; empty where that was not released
    steps: Mapping[tuple[int, int], int]  # how often one query follows another
    clicks: Mapping[tuple[int, str], int]  # how often a url is clicked for a query
    # how many sessions have a sequence as an ordered part, or begin with it
    sequences: Mapping[Sequence, int]
    beginnings: bool  # which of the two
    once: bool  # whether counts are of users: a user then has a query once at most

    def parts(self, session: Sequence) -> set[Sequence]:
        """List what of a session is counted, of two queries and more."""
        sizes = range(2, len(session) + 1)
        if self.beginnings:
            return {session[:size] for size in sizes}
        return {part for size in sizes for part in combinations(session, size)}


def read_released(folder: Path) -> ReleasedCounts:
    """Read the tables of a release's folder; refuse one that no log could be made of."""
    manifest = read_manifest(folder)
    mechanism = mechanism_class(manifest["mechanism"])
    if not mechanism.publishes_queries:
        raise InfeasibleError(
            f"a release by {manifest['mechanism']} has no queries, so no log can follow it.",
            "Release queries too, by another mechanism.",
        )
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
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
    counted = _rows(tables, "query") or _rows(tables, "keyword")
    searches = {numbers[query]: count for query, count in counted}
    steps = {(numbers[a], numbers[b]): n for a, b, n in _rows(tables, "query", "next_query")}
    clicks = {(numbers[query], url): n for query, url, n in _rows(tables, "query", "url")}
    sequences = {tuple(numbers[query] for query in found): n for found, n in _rows(tables, "queries")}
    if not numbers:
        raise InfeasibleError(
            "nothing was published, so there is nothing to make a log of.",
            "A larger ε, or a plan with the log's size, shows what would publish more.",
        )
    bounded = [part for part in manifest.get("schedule") or [] if isinstance(part.get("contribution"), dict)]
    once = all(part["contribution"]["once"] for part in bounded)
    return ReleasedCounts(list(numbers), searches, steps, clicks, sequences, mechanism.counts_prefixes, once)


def _rows(tables: Mapping[tuple[str, ...], pa.Table], *columns: str) -> list[tuple[Any, ...]]:
    if columns not in tables:
        return []
    values = [tables[columns].column(name).to_pylist() for name in (*columns, "count")]
    return [row for row in zip(*values, strict=True) if (row[-1] or 0) >= 1]


def link_sessions(released: ReleasedCounts) -> list[Sequence]:
    """Put every search of the release into a session."""
    left = np.zeros(len(released.queries), np.int64)
    if released.searches:
        left[list(released.searches)] = list(released.searches.values())
    else:  # as many as the other tables need
        endless = np.full(left.size, np.iinfo(np.int64).max // 2)
        unused = endless.copy()
        _whole_sessions(released, unused)
        left = np.maximum(_needed(released), endless - unused)
    whole_sessions = _whole_sessions(released, left)
    held = Counter[tuple[int, int]]()
    for found, count in whole_sessions.items():
        for pair in pairwise(found):
            held[pair] += count
    following = _links({pair: n - held[pair] for pair, n in released.steps.items()}, left)
    sessions = list(
        _chains(np.repeat(np.arange(left.size), left).tolist(), following.tolist(), released.once)
    )
    for found, count in whole_sessions.items():
        sessions += [found] * count
    return sessions


def _needed(released: ReleasedCounts) -> Whole:
    """Count the fewest searches of each query that steps and clicks need."""
    after, before, clicked = Counter[int](), Counter[int](), Counter[int]()
    for (a, b), count in released.steps.items():
        after[a] += count
        before[b] += count
    for (query, _), count in released.clicks.items():
        clicked[query] = max(clicked[query], count)
    listed = range(len(released.queries))
    return np.array([max(after[query], before[query], clicked[query]) for query in listed], np.int64)


def _whole_sessions(released: ReleasedCounts, left: Whole) -> dict[Sequence, int]:
    """Choose how many sessions of exactly these queries to make; takes their searches off ``left``."""
    remaining, made = dict(released.sequences), {}
    for found in sorted(remaining, key=lambda found: (-len(found), -released.sequences[found], found)):
        uses = Counter(found)
        count = min([remaining[found], *(int(left[query]) // times for query, times in uses.items())])
        if count <= 0 or (released.once and len(uses) < len(found)):
            continue
        for part in released.parts(found) & remaining.keys():
            remaining[part] -= count
        for query, times in uses.items():
            left[query] -= count * times
        made[found] = count
    return made


def _links(steps: Mapping[tuple[int, int], int], searches: Whole) -> Whole:
    """Find for each search (numbered query by query) the one that follows it, or -1.

    A query's searches take their next ones from the front and their previous ones from the back, so that
    they are linked on both sides only where there are fewer searches than links.
    """
    offsets = np.concatenate(([0], np.cumsum(searches)))
    following = np.full(offsets[-1], -1, np.int64)
    after_used, before_used = np.zeros_like(searches), np.zeros_like(searches)
    for (a, b), count in sorted(steps.items(), key=lambda step: (-step[1], step[0])):
        possible = min(count, int(searches[a] - after_used[a]), int(searches[b] - before_used[b]))
        if possible <= 0 or a == b:
            continue
        begin, end = offsets[a] + after_used[a], offsets[b + 1] - before_used[b]
        following[begin : begin + possible] = np.arange(end - 1, end - 1 - possible, -1)
        after_used[a] += possible
        before_used[b] += possible
    return following


def _chains(query: list[int], following: list[int], once: bool) -> Iterator[Sequence]:
    """Follow the links; a circle is cut once, and with ``once`` a session before a query that it has."""
    linked = set(following)
    starts = [search for search in range(len(query)) if search not in linked]
    seen = bytearray(len(query))
    for search in (*starts, *range(len(query))):  # what begins nowhere is a circle
        found: list[int] = []
        while search >= 0 and not seen[search]:
            seen[search] = True
            if once and query[search] in found:
                yield tuple(found)
                found = []
            found.append(query[search])
            search = following[search]
        if found:
            yield tuple(found)


class _Searches:
    """All searches, session by session: ``query`` of each, its ``session`` and ``place`` in it."""

    def __init__(self, sessions: list[Sequence]) -> None:
        lengths = np.array([len(found) for found in sessions], np.int64)
        self.sessions = len(sessions)
        self.query = np.fromiter((query for found in sessions for query in found), np.int64)
        self.session = np.repeat(np.arange(lengths.size), lengths)
        self.place = np.arange(self.query.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)

    def deal_out(self, users: int, once: bool, draw: np.random.Generator) -> Whole:
        """Draw the user of each session; with ``once`` none gets a query twice, as far as that can be had."""
        edges = np.cumsum(np.exp(draw.normal(0, _SPREAD, users)))
        dealt: Whole = np.searchsorted(edges, draw.random(self.sessions) * edges[-1]).astype(np.int64)
        for _ in range(_ROUNDS if once else 0):
            user = dealt[self.session]
            order = np.lexsort((self.session, self.query, user))
            same = (np.diff(user[order]) == 0) & (np.diff(self.query[order]) == 0)
            again = np.unique(self.session[order[1:][same]])
            if not again.size:
                break
            dealt[again] = draw.integers(0, users, again.size)
        return dealt

    def times(self, dealt: Whole, days: int, draw: np.random.Generator) -> Whole:
        """Draw the time of each search, in seconds from the first midnight.

        Sessions of one user lie at least two hours apart, so that a pause tells where one ends.
        """
        hours = draw.choice(24, self.sessions, p=_HOURS / _HOURS.sum())
        begins = draw.integers(0, days, hours.size) * 86_400 + hours * 3600
        begins += draw.integers(0, 3600, hours.size)
        order = np.lexsort((begins, dealt))
        first = np.flatnonzero(np.diff(dealt[order], prepend=-1))
        rank = np.arange(order.size) - np.repeat(first, np.diff(np.append(first, order.size)))
        begins[order] += rank * _APART  # in order of time, each pushes the later ones on
        pauses = np.minimum(draw.exponential(_PAUSE, self.query.size) + 5, _LONGEST_PAUSE).astype(np.int64)
        pauses[self.place == 0] = 0
        total = np.cumsum(pauses)
        return np.asarray(begins[self.session] + total - total[self.place == 0][self.session])

    def clicks(self, released: Mapping[tuple[int, str], int]) -> list[tuple[int, int, str]]:
        """List search, rank and url of each click: a url on different searches of its query, in turn."""
        where: defaultdict[int, list[int]] = defaultdict(list)
        for search, query in enumerate(self.query.tolist()):
            where[query].append(search)
        ranks, turns, made = Counter[int](), Counter[int](), []
        for (query, url), count in sorted(released.items(), key=lambda row: (row[0][0], -row[1], row[0][1])):
            ranks[query] += 1
            asked = where[query]
            for _ in range(min(count, len(asked))):
                made.append((asked[turns[query] % len(asked)], ranks[query], url))
                turns[query] += 1
        return made


@dataclass(frozen=True)
class Kept:
    """One released table in the synthetic log."""

    rows: int  # its rows with a count of at least 1
    released: int  # the sum of their counts
    kept: int  # how much of that the log has, at most the released count for each row
    off: int  # the largest difference of a row

    @classmethod
    def of(cls, released: Mapping[Any, int], made: Iterable[Any] | Mapping[Any, int]) -> Kept:
        """Compare released counts with those in the log."""
        found = Counter(made)
        both = [(count, found[key]) for key, count in released.items()]
        return cls(len(both), sum(released.values()), sum(map(min, both)), max(abs(a - b) for a, b in both))


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
            (name, f"{t.rows:,}", f"{t.released:,}", f"{t.kept / t.released:.1%}", f"{t.off:,}")
            for name, t in self.kept.items()
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
    searches = _Searches(sessions)
    count = asked or max(-(-searches.query.size // _MEAN_SEARCHES), int(np.bincount(searches.query).max()))
    dealt = searches.deal_out(count, released.once, draw)
    times = searches.times(dealt, days, draw)
    clicks = searches.clicks(released.clicks)
    records = _write(output, released.queries, searches, dealt[searches.session], times, clicks)
    tables: dict[str, tuple[Mapping[Any, int], Iterable[Any]]] = {
        "queries": (released.searches, searches.query.tolist()),
        "clicks": (released.clicks, ((int(searches.query[search]), url) for search, _, url in clicks)),
        "steps": (released.steps, (pair for found in sessions for pair in pairwise(found))),
        "sequences": (released.sequences, (part for found in sessions for part in released.parts(found))),
    }
    kept = {name: Kept.of(counts, made) for name, (counts, made) in tables.items() if counts}
    return Resampled(output, np.unique(dealt).size, searches.query.size, len(sessions), records, kept)


def _write(
    path: Path,
    queries: list[str],
    searches: _Searches,
    user: Whole,
    times: Whole,
    clicks: list[tuple[int, int, str]],
) -> int:
    """Write records in order of user and time: a search without a click, or one record for each click."""
    silent = np.setdiff1d(np.arange(searches.query.size), [search for search, _, _ in clicks])
    which = np.concatenate(([search for search, _, _ in clicks], silent)).astype(np.int64)
    rank = np.array([rank for _, rank, _ in clicks] + [0] * silent.size, np.int32)
    urls = pa.array([url for _, _, url in clicks] + [None] * silent.size, pa.string())
    digits = max(6, len(str(int(user.max(initial=0)))))
    order = np.lexsort((rank, times[which], user[which]))
    which, rank = which[order], rank[order]
    columns = [
        pa.array([f"r{number:0{digits}d}" for number in user[which].tolist()], pa.string()),
        pa.array(queries, pa.string()).take(pa.array(searches.query[which])),
        pa.array(np.datetime64(FIRST_DAY, "us") + times[which].astype("timedelta64[s]"), pa.timestamp("us")),
        pa.array(rank, pa.int32(), mask=rank == 0),
        urls.take(pa.array(order)),
    ]
    with atomic_file(path, mode=0o600) as temporary, LogWriter(temporary) as writer:
        writer.write(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))
    return which.size
