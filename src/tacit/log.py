"""A search log as one object, for notebooks and programs: read it, look at it, publish it, bundle its users.

The commands do the same from a terminal. A :class:`Log` never shows what people searched for unless it is
asked for its table.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import InputError, ParameterError
from tacit.terminal import shown_as_html, shown_as_text

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.groups import Groups
    from tacit.privacy.ledger import Ledger
    from tacit.release.mechanism import Mechanism
    from tacit.release.publication import Release
    from tacit.searchlog import LogStatistics
    from tacit.searchlog.statistics import FrequentQuery

__all__ = ["Log", "read_log", "synthetic_log"]

_GAP = timedelta(minutes=30)
_MEMORY = "2GB"


class Log:
    """A search log in canonical Parquet. Made by :func:`read_log` or :func:`synthetic_log`.

    Args:
        path: the file.
        name: what to call it where it is shown; the file's name unless given.
    """

    def __init__(self, path: str | Path, *, name: str = "") -> None:
        from tacit.searchlog import check_log

        self.path: Path = check_log(path)
        self._name = name or str(path)
        self._temporary = False

    # -- what it is ----------------------------------------------------------------------------------

    def __len__(self) -> int:
        import pyarrow.parquet as pq

        return int(pq.read_metadata(self.path).num_rows)

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("records", f"{len(self):,}"),
            ("size", f"{self.path.stat().st_size / 1e6:,.1f} MB"),
            ("columns", "user, query, time, rank, url"),
        ]

    def __repr__(self) -> str:
        return shown_as_text(f"Log {self._name}", self._rows())

    def _repr_html_(self) -> str:
        return shown_as_html(
            f"Log {self._name}", self._rows(), ["Its records are private; .stats() shows figures."]
        )

    def table(self) -> pa.Table:
        """All records as an Arrow table. This is what people searched for: handle it as such."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path) as file:
            return file.read()

    def stats(self, *, gap: timedelta = _GAP, memory: str = _MEMORY) -> LogStatistics:
        """The log in figures: users, queries, clicks, sessions, how heavy its tails are. No query's text."""
        from tacit.searchlog import opened_for_statistics

        with opened_for_statistics(self.path, memory) as source:
            return source.statistics(gap)

    def frequent_queries(self, most: int = 20, *, min_users: int = 50) -> list[FrequentQuery]:
        """The queries that most users asked, none of fewer than ``min_users`` (at least 5). For your eyes:
        this is not a release."""
        from tacit.searchlog import opened_for_statistics
        from tacit.searchlog.statistics import check_frequent

        check_frequent(most, min_users)
        with opened_for_statistics(self.path, _MEMORY) as source:
            return source.frequent_queries(most, min_users)

    def sessions(self, *, gap: timedelta = _GAP) -> pa.Table:
        """The log with a column ``session``: 0, 1, 2, … within each user, cut where a pause exceeds ``gap``."""
        import pyarrow as pa

        from tacit.searchlog import session_numbers

        records = self.table()
        numbers = session_numbers(records["user"], records["time"], gap)
        return records.append_column("session", pa.array(numbers))

    # -- what leaves it ------------------------------------------------------------------------------

    def release(
        self,
        plan: Mechanism[Any],
        *,
        to: str | Path,
        ledger: Ledger | str | Path | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        scrub: bool = True,
        purpose: str = "",
        memory: int | None = None,
        threads: int | None = None,
        report: Callable[[str], object] = str,
    ) -> Release:
        """Publish the log: tables, a manifest and a page in a folder, charged to the data set's ledger.

        Args:
            plan: how, such as ``tacit.Zealous(epsilon=1, delta=1e-6)``.
            to: the folder to make; it must not exist.
            ledger: the data set's ledger, or its place; ``LOG.ledger`` beside the log unless given.
            since: only records from this time on (UTC).
            until: only records before this time (UTC).
            scrub: pass over records whose own text has an e-mail address, a phone, card or social security
                number, or a long number.
            purpose: what the ledger's entry says it was for.
            memory: bytes that the engine may hold.
            threads: of the engine.
            report: told what is under way.
        """
        from tacit.release import Preparation, publish

        if ledger is None and self._temporary:
            raise ParameterError(
                "a log that was read from a table or another format has no file beside which its ledger lies.",
                "Give `ledger`: what may be spent belongs to the data set, not to this copy.",
            )
        return publish(
            self.path,
            plan,
            to=to,
            ledger=ledger,
            preparation=Preparation(since, until, scrub),
            purpose=purpose,
            memory=memory,
            threads=threads,
            report=report,
        )

    def bundle(
        self,
        p: float = 0.4,
        *,
        to: str | Path | None = None,
        weights: str = "count",
        max_terms: int | None = None,
        scrub: bool = True,
        **options: Any,
    ) -> Groups:
        """Bundle the users' profiles into groups whose terms link to no member with more than probability ``p``.

        Args:
            p: the bound.
            to: the folder to make, for a service that goes on with it; a private temporary one, removed with
                the groups, unless given.
            weights: of a user's terms: ``count``, ``binary`` or ``tf-idf``.
            max_terms: keep at most so many terms of each user, the heaviest.
            scrub: pass over queries that name somebody by a number or an address.
            options: of :class:`tacit.groups.Bundler`, such as ``augment``, ``criterion`` and ``seed``.
        """
        from tacit.groups import Bundler, Groups
        from tacit.groups.reading import profiles_from_log
        from tacit.groups.report import report
        from tacit.groups.writing import write_groups

        bundler = Bundler(p=p, **options)
        people = profiles_from_log(self.path, weights=weights, largest=max_terms, scrub=scrub)
        bundling = bundler.fit(people)
        folder = Path(to) if to is not None else Path(tempfile.mkdtemp(prefix="tacit-groups-")) / "groups"
        write_groups(bundling, bundler, report(bundling, seed=bundler.seed), folder)
        groups = Groups.open(folder)
        if to is None:
            weakref.finalize(groups, shutil.rmtree, folder.parent, ignore_errors=True)
        return groups


def read_log(
    source: Any,
    *,
    columns: Mapping[str, str] | str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    time_format: str = "auto",
    strict: bool = False,
    normalise: bool = True,
    max_bad: float | None = None,
) -> Log:
    """A search log from a file or a table.

    A file as ``tacit import`` writes it is used where it lies. Any other source is read, checked record by
    record and kept in a private temporary file for as long as the log is in use.

    Args:
        source: a file or folder (Tacit's Parquet, AOL's or Excite's format, CSV, TSV, JSON lines, Parquet), a
            list of files, an Arrow table, a pandas or polars frame, or whatever else Arrow takes for a table.
        columns: which column is which: ``{"user": "uid", "query": "q", "time": "ts"}``; rank and url where
            clicks were logged.
        format: of the files; told from their content unless given.
        encoding: of the files, ``utf-8`` or ``latin-1``.
        time_format: how times are written: ``auto``, ``iso``, ``epoch`` or ``epoch-ms``.
        strict: refuse the first record that cannot be used, instead of leaving such records out.
        normalise: write queries in one form (case, spaces), as the release mechanisms expect.
        max_bad: the share of records that may be unusable, before the source as a whole is refused.
    """
    from tacit.searchlog import ImportOptions
    from tacit.searchlog.readers.mapping import ColumnMapping

    named = isinstance(source, str | Path)
    if named and columns is None and format is None and normalise and _is_canonical(Path(source)):
        return Log(source)
    if isinstance(columns, Mapping):
        columns = ",".join(f"{column}={name}" for column, name in columns.items())
    mapping = ColumnMapping.parse(columns)
    options = ImportOptions(format, mapping, time_format, encoding, strict, normalise, max_bad)
    if named or (
        isinstance(source, list) and source and all(isinstance(each, str | Path) for each in source)
    ):
        paths = [source] if named else source
        return _imported(paths, options, str(source) if named else f"from {len(paths):,} files")
    return _from_table(source, options)


def synthetic_log(
    users: int = 2000,
    *,
    seed: int = 0,
    weeks: int = 13,
    sensitive_share: float = 0.15,
    to: str | Path | None = None,
) -> Log:
    """A log in which nobody is real, in the shape of AOL's: to try a guard, to teach, to report a problem.

    Args:
        users: how many people search.
        seed: another seed gives other people; the same one the same log.
        weeks: how long.
        sensitive_share: the share of people with a sensitive interest.
        to: the file to write; a private temporary one unless given.
    """
    from tacit.files import check_output
    from tacit.world.synth import SyntheticLog

    made = SyntheticLog(users, seed, weeks, sensitive_share)
    if to is not None:
        check_output(to, force=False)
        made.write(to)
        return Log(to)
    folder = _private_folder()
    made.write(folder / "log.parquet")
    return _kept(folder, f"of {users:,} synthetic users")


def _is_canonical(path: Path) -> bool:
    """Whether the file is a log as ``tacit import`` writes it. Files in a known place keep their place."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tacit.searchlog import SCHEMA

    try:
        found = pq.read_schema(path)
    except (pa.ArrowInvalid, OSError):
        return False
    return found.names == SCHEMA.names and all(
        found.field(name).type == SCHEMA.field(name).type for name in SCHEMA.names
    )


def _from_table(source: Any, options: Any) -> Log:
    """Whatever Arrow takes for a table: pandas and polars frames, Arrow tables, mappings of columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pa.table(source)
    except (TypeError, ValueError, pa.ArrowException):
        raise InputError(
            f"a log cannot be read from {type(source).__name__}.",
            "Give a file, an Arrow table, or a pandas or polars frame.",
        ) from None
    folder = _private_folder()
    try:
        pq.write_table(table, folder / "table.parquet")
        return _imported([folder / "table.parquet"], replace(options, format_name="parquet"), "from a table")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _imported(paths: list[Any], options: Any, name: str) -> Log:
    from tacit.searchlog import import_log

    folder = _private_folder()
    try:
        import_log(paths, folder / "log.parquet", options)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return _kept(folder, name)


def _private_folder() -> Path:
    """A folder that only its owner can enter."""
    return Path(tempfile.mkdtemp(prefix="tacit-log-"))


def _kept(folder: Path, name: str) -> Log:
    log = Log(folder / "log.parquet", name=name)
    log._temporary = True
    weakref.finalize(log, shutil.rmtree, folder, ignore_errors=True)
    return log
