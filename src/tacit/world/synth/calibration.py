"""AOL's published shape, scaled to any number of users, and how near a log comes to it.

Published (thesis, Table 3.4): 36,389,567 records of 657,426 users with 10,154,742 distinct queries and
19,442,629 clicks. AOL's description of the same log splits the submissions into 21,011,340 new queries
and 7,887,022 requests for the next page.

Records, clicks, new queries and next pages are sums over users, so they scale with users and weeks.
**Distinct queries do not**: the more people ask, the more of what they ask was asked before. Their
growth follows Heaps' law, distinct = K · (new queries)^β. Two points of it are certain: the first
new query is one distinct query, so K = 1, and the published log gives β = ln 10,154,742 / ln 21,011,340
= 0.9569. New queries rather than records are the measure, because a next page or a second click never
brings a new query. The law is a rule of thumb below some hundred users, where one user's habits weigh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tacit.world.synth.block import UserBlock
from tacit.world.synth.kinds import RecordKind
from tacit.world.synth.queries import KIND, PAUSE, SLIP
from tacit.world.synth.randomness import GOLDEN

__all__ = ["AOL", "HEAPS_EXPONENT", "RECORDS_PER_USER_WEEK", "LogShape", "LogTally", "target"]

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

    def ratios(self) -> dict[str, float]:
        """The figures that do not depend on the size (or, for distinct queries, hardly)."""
        return {
            "records_per_user": self.records / self.users,
            "clicks_per_record": self.clicks / self.records,
            "distinct_queries_per_record": self.distinct_queries / self.records,
        }


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


def _asked_by(hashes: npt.NDArray[np.uint64], bounds: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """The distinct queries of each user, of all users together."""
    user = np.repeat(np.arange(len(bounds) - 1, dtype=np.uint64), np.diff(bounds))
    _, first = np.unique(hashes ^ (user * GOLDEN), return_index=True)
    return hashes[first]


@dataclass
class LogTally:
    """Counts a log as its blocks come.

    Queries are told apart by 64-bit hashes: among ten million queries two share one with a probability
    of three in a million. Eight bytes are kept for each query of each user (110 MB at AOL's size).
    """

    users: int = 0
    records: int = 0
    clicks: int = 0
    submissions: int = 0
    sessions: int = 0
    next_pages: int = 0
    mistyped: int = 0
    sensitive_users: int = 0
    most_records: int = 0
    _asked: list[npt.NDArray[np.uint64]] = field(default_factory=list, repr=False)

    def add(self, block: UserBlock) -> None:
        """Count one block more."""
        self.users += block.users
        self.records += block.records
        self.clicks += block.records - block.log["rank"].null_count
        self.submissions += len(block.rows)
        self.sessions += int(np.count_nonzero(block.rows[:, PAUSE] == 0))
        self.next_pages += int(np.count_nonzero(block.rows[:, KIND] == RecordKind.NEXT_PAGE))
        self.mistyped += int(np.count_nonzero(block.rows[:, SLIP]))
        self.sensitive_users += int(np.count_nonzero(block.sensitive))
        of_user = np.searchsorted(block.of_row, block.bounds)
        self.most_records = max(self.most_records, int(np.diff(of_user).max()))
        self._asked.append(_asked_by(block.hashes, block.bounds))

    def _users_per_query(self) -> npt.NDArray[np.int64]:
        asked = np.concatenate(self._asked) if self._asked else np.empty(0, np.uint64)
        asked.sort()
        begins = np.flatnonzero(np.append(True, asked[1:] != asked[:-1])) if len(asked) else asked
        counts: npt.NDArray[np.int64] = np.diff(np.append(begins.astype(np.int64), len(asked)))
        return counts

    def summary(self) -> tuple[LogShape, dict[str, float]]:
        """The shape of the log, and what else describes it."""
        users_per_query = self._users_per_query()
        distinct = len(users_per_query)
        shape = LogShape(
            users=self.users,
            records=self.records,
            clicks=self.clicks,
            distinct_queries=distinct,
            new_queries=self.submissions - self.next_pages,
            next_pages=self.next_pages,
        )
        further = {
            "sessions": self.sessions,
            "submissions_per_session": self.submissions / self.sessions,
            "records_of_busiest_user": self.most_records,
            "share_of_queries_of_one_user": float(np.mean(users_per_query == 1)),
            "users_of_most_frequent_query": int(users_per_query.max()),
            "share_of_submissions_mistyped": self.mistyped / self.submissions,
            "users_with_sensitive_interests": self.sensitive_users,
        }
        return shape, further
