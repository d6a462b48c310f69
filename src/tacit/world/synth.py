"""A synthetic search log over the embedded world, in the shape of AOL's, and the truth behind it.

People with interests (some of them sensitive) search the WordNet corpus in sessions, mistype, narrow down,
widen, drift, come back and click.
"""

import math
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import special

from tacit.errors import ParameterError
from tacit.files import atomic_file, cache_directory
from tacit.searchlog import SCHEMA, LogWriter
from tacit.taxonomy import load_wordnet
from tacit.validation import real, whole
from tacit.world.corpus import index_folder, wordnet_corpus, wordnet_engine
from tacit.world.lexicon import Interests, load_world
from tacit.world.loops.queries import BEFORE, INTEREST, KIND, MEANING, PAUSE, SECOND, RecordKind, spell
from tacit.world.loops.randomness import streams, uniforms
from tacit.world.loops.sessions import DEPTH, SESSION_BREAK, choose_clicks, histories

SPREAD = 1.5
"""Standard deviation of the logarithm of a user's records."""
MOST_PER_WEEK = 770
"""Nobody has more records per week than this (10,010 in 13 weeks): a person, not a robot."""


def _records(deviations: npt.NDArray[np.float64], location: float, most: int) -> npt.NDArray[np.int64]:
    return np.clip(np.rint(np.exp(location + SPREAD * deviations)), 1, most).astype(np.int64)


@cache
def _law(users: int, mean: float, most: int) -> npt.NDArray[np.int64]:
    """The records of all users, fewest first, with the given mean (rounding and bounds included)."""
    deviations = special.ndtri((np.arange(users) + 0.5) / users)
    low, high = np.log(mean) - 4 * SPREAD, np.log(mean) + 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _records(deviations, middle, most).mean() < mean else (low, middle)
    return _records(deviations, high, most)


def quotas(seed: int, users: int, *, mean: float, weeks: int) -> npt.NDArray[np.int64]:
    """The number of records of each of ``users`` users, ``mean`` on average."""
    order = np.random.Generator(np.random.PCG64(seed)).permutation(users)
    drawn: npt.NDArray[np.int64] = _law(users, mean, MOST_PER_WEEK * weeks)[order]
    return drawn


BEGINNING = datetime(2006, 3, 1)
"""The first moment of the log, as in AOL's (March to May 2006): a Wednesday."""
_BEGINNING_US = int(np.datetime64(BEGINNING, "us").astype(np.int64))


@dataclass(frozen=True)
class UserBlock:
    """The records of consecutive users and what lies behind them."""

    first_user: int
    log: pa.RecordBatch
    """The records, in the schema of a search log."""
    bounds: npt.NDArray[np.int64]
    """Where each user's submissions begin among ``rows``, and the end."""
    rows: npt.NDArray[np.int32]
    """The submissions; columns as in :mod:`tacit.world.loops.queries`."""
    of_row: npt.NDArray[np.int64]
    """The submission of each record."""
    hashes: npt.NDArray[np.uint64]
    """A 64-bit hash of each submission's text."""
    interests: npt.NDArray[np.int32]


def user_names(first: int, count: int) -> pa.Array:
    """The ids of users: their numbers, padded so that text order is number order."""
    return pa.array([f"u{number:07d}" for number in range(first, first + count)], pa.string())


@cache
def _urls() -> pa.Array:
    return pa.array([document.url for document in wordnet_corpus()], pa.string())


def _ask() -> npt.NDArray[np.int32]:
    nouns, engine = load_wordnet().vocabulary, wordnet_engine()
    results = np.full((len(nouns), DEPTH), -1, np.int32)
    for number, noun in enumerate(nouns):
        hits = engine.search(noun, DEPTH)
        results[number, : len(hits)] = [hit.document for hit in hits]
    return results


@cache
def load_results() -> npt.NDArray[np.int32]:
    """The results of every noun, best first; -1 fills the row. The first call ever takes seconds."""
    # The name of the index folder tells the corpus and the engine apart.
    path = cache_directory() / f"{index_folder().name}-results-{DEPTH}.npy"
    try:
        loaded: npt.NDArray[np.int32] = np.load(path)
    except (OSError, ValueError, EOFError):  # absent, or damaged
        loaded = _ask()
        with atomic_file(path) as temporary, temporary.open("wb") as file:
            np.save(file, loaded)
    return loaded


MOST_INTERESTS = 6
_WHO, _WHAT, _CLOCK, _WHERE = 1, 2, 3, 4
"""What each user has a stream of random numbers for."""


def _picked(cumulative: npt.NDArray[np.float64], places: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The items at ``places`` (from 0 to 1) of their shares of the cumulative weights."""
    return np.asarray(np.searchsorted(cumulative[1:-1], places * cumulative[-1], side="right"))


def draw_interests(
    starts: npt.NDArray[np.uint64], pool: Interests, sensitive_share: float
) -> npt.NDArray[np.int32]:
    """Draw each user's interests, one to six, strongest first (-1 fills the row).

    Some users have one or two sensitive ones, which take a random place among the others.
    """
    everybody = np.arange(len(starts))
    drawn = uniforms(starts[:, None], np.arange(3 * MOST_INTERESTS))
    secrets = np.where(drawn[:, 0] < sensitive_share, 1 + (drawn[:, 1] < 0.2), 0)
    at = 1 + (secrets > 0)
    more = np.stack([drawn[everybody, at + step] < 0.66 for step in range(MOST_INTERESTS - 1)])
    further = np.logical_and.accumulate(more).sum(axis=0)
    at += np.minimum(further + 1, MOST_INTERESTS - 1)
    count = np.maximum(1 + further, secrets)
    interests = np.full((len(starts), MOST_INTERESTS), -1, np.int32)
    for place in range(MOST_INTERESTS):
        who = everybody[place < count]
        interests[who, place] = pool.ordinary[_picked(pool.ordinary_weight, drawn[who, at[who] + place])]
    at += count
    for step in range(2):
        who = everybody[step < secrets]
        which, where = drawn[who, at[who] + 2 * step], drawn[who, at[who] + 2 * step + 1]
        chosen = pool.sensitive[_picked(pool.sensitive_weight, which)]
        interests[who, (where * count[who]).astype(np.int64)] = chosen
    return interests


def week_rhythm() -> npt.NDArray[np.float64]:
    """Cumulative share of sessions that begin before each hour of the week (from Wednesday 0:00)."""
    hours = np.arange(168)
    hour, day = hours % 24, (hours // 24 + BEGINNING.weekday()) % 7
    # Lowest about 5 in the morning, a broad afternoon, a peak about 9 in the evening.
    daily = 0.12 + np.exp(-(((hour - 14) / 5.0) ** 2)) + 0.75 * np.exp(-(((hour - 21) / 2.2) ** 2))
    weight = daily * np.where(day >= 5, 0.86, 1.0)
    return np.concatenate(([0.0], np.cumsum(weight) / weight.sum()))


def draw_begins(
    starts: npt.NDArray[np.uint64],
    counts: npt.NDArray[np.int64],
    rhythm: npt.NDArray[np.float64],
    weeks: int,
) -> npt.NDArray[np.int64]:
    """Draw when sessions begin, user after user, each user in a span of its own.

    They follow the week's rhythm, shifted by the user's own habit.
    """
    everybody = np.arange(len(counts))
    radius, angle = uniforms(starts[:, None], np.arange(2)).T
    shift = 5400.0 * np.sqrt(-2.0 * np.log(1.0 - radius)) * np.cos(2.0 * np.pi * angle)  # Box and Muller
    user = np.repeat(everybody, counts)
    number = np.arange(len(user)) - np.repeat(np.cumsum(counts) - counts, counts)
    hour, week, second = uniforms(starts[user], 2 + 3 * number + np.arange(3)[:, None])
    seconds = (week * weeks).astype(np.int64) * 604_800 + (second * 3600).astype(np.int64)
    seconds += _picked(rhythm, hour) * 3600 + shift.astype(np.int64)[user]
    span = weeks * 604_800
    return np.asarray(user * span + seconds % span)


class Factory:
    """Makes blocks; one for a whole log, shared by its threads."""

    def __init__(self, seed: int, weeks: int, sensitive_share: float) -> None:
        self.seed, self.weeks, self.sensitive_share = seed, weeks, sensitive_share
        self.world = load_world()
        self.results = load_results()
        self._rhythm = week_rhythm()
        # Bytes of each phrase and a separator; none for -1, which stands for no phrase.
        self._taken = np.append(np.diff(self.world.lexicon.text_bounds) + 1, 0)

    def make(self, first_user: int, quotas: npt.NDArray[np.int64]) -> UserBlock:
        """The block of the users from ``first_user`` on, who make ``quotas`` records."""
        lexicon, users = self.world.lexicon, np.arange(first_user, first_user + len(quotas))
        who, what, clock, where = (streams(self.seed, users, use) for use in (_WHO, _WHAT, _CLOCK, _WHERE))
        interests = draw_interests(who, self.world.interests, self.sensitive_share)
        rows, bounds = histories(what, quotas, interests, lexicon, self.results, self.weeks)
        seconds = self._seconds(clock, bounds, np.ascontiguousarray(rows[:, PAUSE]))
        of_row, rank, document = choose_clicks(where, rows, bounds, lexicon.base, self.results, lexicon.end)
        room = self._taken[rows[:, BEFORE : SECOND + 1]].sum() + len(rows)
        written, starts, hashes = spell(rows, lexicon, int(room))
        text = pa.StringArray.from_buffers(len(rows), pa.py_buffer(starts), pa.py_buffer(written))
        user_of_row = np.repeat(np.arange(len(quotas)), np.diff(bounds))
        clicked = rank > 0
        log = pa.RecordBatch.from_arrays(
            [
                user_names(first_user, len(quotas)).take(pa.array(user_of_row[of_row])),
                text.take(pa.array(of_row)),
                pa.array(_BEGINNING_US + seconds[of_row] * 1_000_000).cast(pa.timestamp("us")),
                pa.array(rank, pa.int32(), mask=~clicked),
                _urls().take(pa.array(document, pa.int32(), mask=~clicked)),
            ],
            schema=SCHEMA,
        )
        return UserBlock(first_user, log, bounds, rows, of_row, hashes, interests)

    def _seconds(
        self, starts: npt.NDArray[np.uint64], bounds: npt.NDArray[np.int64], pauses: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.int64]:
        """Time each submission, from the seconds since the one before (0 begins a session).

        Whoever is too busy for the span hurries: pauses shrink until everything fits, which no ordinary user
        needs. Sessions move later until they keep their breaks, then back inside the span.
        """
        span = self.weeks * 604_800
        counts = np.add.reduceat(pauses == 0, bounds[:-1], dtype=np.int64)
        begins = draw_begins(starts, counts, self._rhythm, self.weeks)
        begins.sort()  # users lie in spans of their own, so this sorts each user's sessions
        begins -= np.repeat(np.arange(len(counts)), counts) * span
        rows = np.diff(bounds)
        total = np.add.reduceat(pauses, bounds[:-1], dtype=np.int64)
        room = span - counts * (SESSION_BREAK + 1) - rows
        hurry = np.minimum(1.0, room / np.maximum(total, 1))
        steps = np.maximum(1, (pauses * np.repeat(np.where(total > 0, hurry, 1.0), rows)).astype(np.int64))
        steps[pauses == 0] = 0
        session = np.cumsum(pauses == 0) - 1
        lengths = np.bincount(session, steps).astype(np.int64)
        user, taken = np.repeat(np.arange(len(counts)), counts), np.cumsum(lengths + SESSION_BREAK)
        first = np.cumsum(counts) - counts
        before = taken - lengths - SESSION_BREAK  # what earlier sessions of the user take
        before -= before[first][user]
        apart = 8 * span * user  # so that no user's sessions move another's
        begins = np.maximum.accumulate(begins - before + apart) - apart + before
        after = (taken[first + counts - 1])[user] - taken + lengths  # this session, and the later ones
        last = np.minimum.accumulate((begins + after + apart)[::-1])[::-1] - apart
        begins = np.minimum(last, span - 1) - after
        passed = np.cumsum(steps)
        found: npt.NDArray[np.int64] = begins[session] + passed - passed[pauses == 0][session]
        return found


TRUTH_SCHEMA = pa.schema(
    [
        pa.field("user", pa.string(), nullable=False),
        pa.field("interests", pa.list_(pa.int32()), nullable=False),
        pa.field("sensitive", pa.list_(pa.bool_()), nullable=False),
        pa.field("meanings", pa.list_(pa.int32()), nullable=False),
        pa.field("behind", pa.list_(pa.int32()), nullable=False),
        pa.field("kinds", pa.list_(pa.string()), nullable=False),
    ]
)
"""user; interests, strongest first, and whether each is sensitive; for each record the meaning in mind,
the interest behind it (null: none, an errand or a curiosity) and what led to it."""

_KIND_NAMES = pa.array([kind.name.lower().replace("_", "-") for kind in RecordKind])


def truth_table(block: UserBlock) -> pa.Table:
    """The truth behind a block's records."""
    sensitive_topics = load_world().interests.sensitive
    held = block.interests >= 0
    per_user = np.concatenate(([0], np.cumsum(held.sum(axis=1)))).astype(np.int32)
    interests = block.interests[held]
    per_record = np.searchsorted(block.of_row, block.bounds).astype(np.int32)
    columns = block.rows[block.of_row]
    behind = columns[:, INTEREST]
    lists = (  # as in the schema
        (per_user, pa.array(interests, pa.int32())),
        (per_user, pa.array(np.isin(interests, sensitive_topics))),
        (per_record, pa.array(columns[:, MEANING], pa.int32())),
        (per_record, pa.array(behind, pa.int32(), mask=behind < 0)),
        (per_record, _KIND_NAMES.take(pa.array(columns[:, KIND]))),
    )
    names = user_names(block.first_user, len(block.interests))
    arrays = [names, *(pa.ListArray.from_arrays(bounds, values) for bounds, values in lists)]
    return pa.Table.from_arrays(arrays, schema=TRUTH_SCHEMA)


AOL_WEEKS = 13


@dataclass(frozen=True)
class LogShape:
    """How large a log is, in the measures that AOL published."""

    users: int
    records: int
    clicks: int
    distinct_queries: int
    new_queries: int
    next_pages: int


AOL = LogShape(
    users=657_426,
    records=36_389_567,
    clicks=19_442_629,
    distinct_queries=10_154_742,
    new_queries=21_011_340,
    next_pages=7_887_022,
)
"""The published log."""

RECORDS_PER_USER_WEEK = AOL.records / AOL.users / AOL_WEEKS
HEAPS_EXPONENT = math.log(AOL.distinct_queries) / math.log(AOL.new_queries)


def target(users: int, weeks: int) -> LogShape:
    """AOL's shape for ``users`` users over ``weeks`` weeks."""
    scale = users / AOL.users * weeks / AOL_WEEKS
    new_queries = AOL.new_queries * scale
    return LogShape(
        users=users,
        records=round(AOL.records * scale),
        clicks=round(AOL.clicks * scale),
        distinct_queries=round(max(new_queries, 1.0) ** HEAPS_EXPONENT),
        new_queries=round(new_queries),
        next_pages=round(AOL.next_pages * scale),
    )


_BLOCK_USERS = 4096


@dataclass(frozen=True)
class SyntheticLog:
    """A log of ``users`` people searching the WordNet corpus, determined by its four numbers.

    Args:
        users: how many people; everyone makes at least one record.
        seed: another seed gives other people with other histories.
        weeks: the time it spans, from 1 March 2006; records grow with it.
        sensitive_share: the share of users with a sensitive interest.
    """

    users: int
    seed: int = 0
    weeks: int = 13
    sensitive_share: float = 0.15

    def __post_init__(self) -> None:
        for name, least, most in (("users", 1, 1 << 31), ("seed", 0, (1 << 63) - 1), ("weeks", 1, 104)):
            value = whole(name, getattr(self, name), least)
            if value > most:
                raise ParameterError.outside(name, value, f"at most {most:,}")
            object.__setattr__(self, name, value)
        share = real("sensitive_share", self.sensitive_share, "in [0, 1]")
        if not 0 <= share <= 1:
            raise ParameterError.outside("sensitive_share", share, "in [0, 1]")

    def blocks(self, threads: int | None = None) -> Iterator[UserBlock]:
        """The log in blocks of users, in order; the same for any number of ``threads``."""
        threads = threads or min(os.cpu_count() or 1, 8)
        factory = Factory(self.seed, self.weeks, self.sensitive_share)
        records = quotas(self.seed, self.users, mean=RECORDS_PER_USER_WEEK * self.weeks, weeks=self.weeks)
        starts = iter(range(0, self.users, _BLOCK_USERS))
        pending: deque[Future[UserBlock]] = deque()
        with ThreadPoolExecutor(threads, thread_name_prefix="synth") as pool:
            try:
                while True:
                    while len(pending) <= threads and (at := next(starts, None)) is not None:
                        pending.append(pool.submit(factory.make, at, records[at : at + _BLOCK_USERS]))
                    if not pending:
                        return
                    yield pending.popleft().result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def table(self) -> pa.Table:
        return pa.Table.from_batches([block.log for block in self.blocks()], SCHEMA)

    def truth(self) -> pa.Table:
        """Tell what lies behind every record, one row per user; columns as in :data:`TRUTH_SCHEMA`."""
        return pa.concat_tables([truth_table(block) for block in self.blocks()])

    def write(
        self,
        path: str | Path,
        truth: str | Path | None = None,
        *,
        threads: int | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> LogShape:
        """Write the log (and the truth beside it), whole or not at all; gives its shape.

        Args:
            path: the Parquet file to make.
            truth: where to write the truth behind the log; not written when None.
            threads: threads to make it with; as many as there are processors when None.
            advance: called with the number of records written since the last call.
        """
        if truth is not None and Path(truth).resolve() == Path(path).resolve():
            problem = "the log and the truth behind it cannot be the same file."
            raise ParameterError(problem, "Give the truth another name.")
        counted, asked = Counter[str](), [np.empty(0, np.uint64)]
        with ExitStack() as files:
            temporary = files.enter_context(atomic_file(path, mode=0o600))
            log_file = files.enter_context(LogWriter(temporary, origin="synthetic"))
            truth_file = None
            if truth is not None:
                beside = files.enter_context(atomic_file(truth, mode=0o600))
                truth_file = files.enter_context(pq.ParquetWriter(beside, TRUTH_SCHEMA, compression="zstd"))
            for block in self.blocks(threads):
                log_file.write(block.log)
                if truth_file is not None:
                    truth_file.write_table(truth_table(block))
                next_pages = int(np.count_nonzero(block.rows[:, KIND] == RecordKind.NEXT_PAGE))
                counted.update(
                    records=len(block.log),
                    clicks=len(block.log) - block.log["rank"].null_count,
                    new_queries=len(block.rows) - next_pages,
                    next_pages=next_pages,
                )
                asked.append(np.unique(block.hashes))
                if advance is not None:
                    advance(len(block.log))
        # Queries are distinguished by 64-bit hashes: among ten million two share one with a probability of
        # three in a million.
        return LogShape(users=self.users, distinct_queries=len(np.unique(np.concatenate(asked))), **counted)
