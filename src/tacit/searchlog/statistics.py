"""Statistics of a search log: its size, its users, and how heavy its tails are.

A query counts as **one search** for each user, text and time: several clicks on its results are several
records but one search. No figure holds a query's text; texts come only from
:meth:`StatisticsSource.frequent_queries`, for queries that many users issued.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tacit.display import Displayed
from tacit.errors import InfeasibleError, LogError, ParameterError
from tacit.files import literal_path
from tacit.searchlog.schema import check_log
from tacit.searchlog.sessions import SessionCut, with_pauses
from tacit.validation import moment, size, whole

if TYPE_CHECKING:
    import duckdb


SMALLEST_COUNT_FITTED = 5
"""The power law is fitted to queries that occur at least so often: the head and body, not the tail."""

_FEWEST_QUERIES_FITTED = 50


@dataclass(frozen=True)
class Spectrum:
    """For each count, ascending, the number of distinct queries with that count."""

    counts: npt.NDArray[np.int64]
    queries: npt.NDArray[np.int64]

    @property
    def distinct(self) -> int:
        return int(self.queries.sum())

    @property
    def total(self) -> int:
        return int((self.counts * self.queries).sum())

    def top_share(self, part: float) -> float:
        """Share of the searches for the most frequent ``part`` of the distinct queries (at least one)."""
        wanted = max(1, round(part * self.distinct))
        descending = self.queries[::-1]
        taken = np.minimum(descending, np.maximum(0, wanted - (np.cumsum(descending) - descending)))
        return float((taken * self.counts[::-1]).sum()) / self.total

    def zipf_exponent(self, smallest: int = SMALLEST_COUNT_FITTED) -> float | None:
        """The exponent s of Zipf's law: the r-th most frequent query occurs in proportion to r**-s.

        Estimator: the counts x >= ``smallest`` are taken to follow P(x) = x**-a / zeta(a, smallest); a is
        its maximum likelihood estimate, and s = 1/(a - 1). (Fitting a line to log count against log rank
        is common, but biased, for the points are neither independent nor equally certain.)
        None when fewer than 50 queries occur so often.
        """
        from scipy.optimize import minimize_scalar
        from scipy.special import zeta

        fitted = self.counts >= smallest
        counts, queries = self.counts[fitted], self.queries[fitted]
        if queries.sum() < _FEWEST_QUERIES_FITTED or len(counts) < 2:
            return None
        mean_log = float((queries * np.log(counts)).sum() / queries.sum())
        best = minimize_scalar(
            lambda a: a * mean_log + np.log(zeta(a, smallest)),
            bounds=(1.01, 20.0),
            method="bounded",
            options={"xatol": 1e-6},
        )
        return float(1 / (best.x - 1))


FEWEST_USERS = 5
"""The text of a query is never shown for fewer users than this, whatever the parameters."""

_OF_USERS = ("mean", "median", "90%", "99%", "max")


@dataclass(frozen=True, repr=False)
class LogStatistics(Displayed):
    """What a log amounts to."""

    records: int
    users: int
    queries: int  # searches; one with several clicks counts once
    distinct_queries: int
    clicks: int
    sessions: int
    first: datetime
    last: datetime
    occurring_once: float  # share of the distinct queries that occur once
    of_one_user: float  # share of the distinct queries that a single user issued, however often
    top_percent: float  # share of the searches that are for the most frequent 1% of the distinct queries
    zipf_exponent: float | None
    """See :meth:`tacit.searchlog.statistics.Spectrum.zipf_exponent`; None when too few queries recur."""
    records_per_user: dict[str, float]  # mean, median, 90% and 99% quantiles and maximum

    @property
    def queries_per_session(self) -> float:
        return self.queries / self.sessions

    def rows(self) -> list[tuple[str, str]]:
        """List each figure by name, as a person reads it."""
        names = ("records", "users", "queries", "distinct_queries", "clicks", "sessions")
        found = [(name.replace("_", " "), f"{getattr(self, name):,}") for name in names]
        exponent = self.zipf_exponent
        return [
            *found,
            ("queries per session", f"{self.queries_per_session:.2f}"),
            ("first record", self.first.isoformat(sep=" ")),
            ("last record", self.last.isoformat(sep=" ")),
            ("distinct queries that occur once", f"{self.occurring_once:.1%}"),
            ("distinct queries of a single user", f"{self.of_one_user:.1%}"),
            ("searches for the top 1% of queries", f"{self.top_percent:.1%}"),
            ("Zipf exponent", "too few repeated queries" if exponent is None else f"{exponent:.3f}"),
            *(
                (f"records per user, {name}", f"{value:,.1f}" if name == "mean" else f"{value:,.0f}")
                for name, value in self.records_per_user.items()
            ),
        ]

    def _summary(self) -> str:
        return f"The log in figures: {self.records:,} records of {self.users:,} users"

    _rows = rows


@dataclass(frozen=True)
class FrequentQuery:
    """A query that many users issued."""

    query: str
    users: int
    searches: int


_QUERIES = (resources.files("tacit.searchlog") / "queries.sql").read_text("utf-8")
"""For each distinct query its searches and its users. Each grouping can go to disk."""

_THREADS = """
    SELECT greatest(1, least(current_setting('threads')::BIGINT,
                             parse_formatted_bytes(current_setting('memory_limit')) // 125000000))
"""
"""Each thread holds some blocks that cannot go to disk: where memory is short, fewer threads."""


class StatisticsSource:
    """A log opened for counting. Made by :func:`opened_for_statistics`."""

    STEPS = 4  # passes over the log that :meth:`statistics` makes

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def _rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._connection.execute(sql, list(parameters)).fetchall()
        return rows

    def statistics(
        self, cut: SessionCut | None = None, step: Callable[[], None] = lambda: None
    ) -> LogStatistics:
        """Count everything; ``step`` is called after each of the :attr:`STEPS` passes over the log."""
        import ibis

        cut = cut or SessionCut()
        ((records, clicks, first, last),) = self._rows(
            "SELECT count(*), count(coalesce(url, rank::VARCHAR)), min(time), max(time) FROM log"
        )
        if not records:
            raise LogError("the search log holds no records.", "There is nothing to count.")
        step()
        ((users, mean, quantiles, largest),) = self._rows(
            "SELECT count(*), avg(n), quantile_disc(n, [0.5, 0.9, 0.99]), max(n)"
            ' FROM (SELECT count(*) AS n FROM log GROUP BY "user")'
        )
        step()
        columns = ibis.table({"user": "string", "time": "timestamp"}, name="log")
        paused = with_pauses(columns, cut.gap).paused.sum()  # a user has a session more than pauses
        ((pauses,),) = self._rows(str(ibis.to_sql(paused, dialect="duckdb")))
        step()
        self._connection.execute(_QUERIES)
        spectrum = self._connection.execute(
            "SELECT searches, count(*) AS queries, count(*) FILTER (users = 1) AS single"
            " FROM queries GROUP BY searches ORDER BY searches"
        ).fetchnumpy()
        searches = Spectrum(*(np.asarray(spectrum[key]).astype(np.int64) for key in ("searches", "queries")))
        step()
        return LogStatistics(
            records=records,
            users=users,
            queries=searches.total,
            distinct_queries=searches.distinct,
            clicks=clicks,
            sessions=users + int(pauses or 0),
            first=first,
            last=last,
            occurring_once=int(searches.queries[searches.counts == 1].sum()) / searches.distinct,
            of_one_user=int(np.sum(spectrum["single"])) / searches.distinct,
            top_percent=searches.top_share(0.01),
            zipf_exponent=searches.zipf_exponent(),
            records_per_user=dict(zip(_OF_USERS, map(float, (mean, *quantiles, largest)), strict=True)),
        )

    def frequent_queries(self, most: int, min_users: int = 50) -> list[FrequentQuery]:
        """List at most ``most`` queries of at least ``min_users`` users, those of most users first."""
        check_frequent(most, min_users)
        self._connection.execute(_QUERIES)
        found = self._rows(
            "SELECT query, users, searches FROM queries WHERE users >= ?"
            " ORDER BY users DESC, searches DESC, query LIMIT ?",
            min_users,
            most,
        )
        return [FrequentQuery(*row) for row in found]


def check_frequent(most: int, min_users: int, name: str = "most") -> None:
    """Refuse to show queries that too few users asked; ``name`` is what the caller calls ``most``."""
    whole(name, most, 1)
    if whole("min_users", min_users) < FEWEST_USERS:
        raise ParameterError.outside(
            "min_users", min_users, f"at least {FEWEST_USERS}", "A rarer query can point to a person."
        )


@contextmanager
def opened_for_statistics(
    path: str | Path,
    memory: int | str = "2GB",
    since: datetime | str | None = None,
    until: datetime | str | None = None,
) -> Iterator[StatisticsSource]:
    """Open the log at ``path``, or its records from ``since`` to before ``until``, for counting within
    ``memory``.

    What does not fit goes to a temporary folder that only its owner can read, removed at the end.
    """
    import duckdb

    path = check_log(path)
    begin, end, most = moment("since", since), moment("until", until), f"{size('memory', memory)}B"
    if begin and end and begin >= end:
        raise ParameterError.outside("since", begin.isoformat(), "before `until`")
    with TemporaryDirectory(prefix="tacit-stats-") as scratch:
        settings = {"memory_limit": most, "temp_directory": scratch, "preserve_insertion_order": False}
        try:
            connection = duckdb.connect(config=settings)
        except duckdb.Error as error:
            raise ParameterError.outside("memory", repr(memory), "a size such as 2GB or 500MB") from error
        try:
            with connection:
                connection.execute("SET threads = ?", connection.execute(_THREADS).fetchone())
                log = connection.read_parquet(literal_path(path), hive_partitioning=False)
                for bound, sign in ((begin, ">="), (end, "<")):
                    if bound is not None:
                        log = log.filter(f"time {sign} TIMESTAMP '{bound.isoformat(sep=' ')}'")
                log.create_view("log")
                yield StatisticsSource(connection)
        except (duckdb.OutOfMemoryException, OSError) as error:
            if isinstance(error, OSError) and not str(error).startswith("Out of Memory"):
                raise  # batches are read through Arrow, which has one error for everything
            raise InfeasibleError(
                f"counting needs more than {memory} of memory, or more room beside {scratch} than there is.",
                "Allow more with `memory`, or set TMPDIR to a folder on a larger disk.",
            ) from None
        except duckdb.Error:
            # The engine's message may quote a value, so it is not passed on.
            problem = f"{path} cannot be counted: it is damaged, or the disk of {scratch} is full."
            raise LogError(problem, "Import it again, or set TMPDIR to a folder on a larger disk.") from None
