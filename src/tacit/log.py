"""A search log as one object, for notebooks and programs: read it, look at it, publish it, bundle its users.

A log comes from a file as ``tacit import`` writes it, from other formats, from tables and frames, or from
the synthetic world. It never shows what people searched for, unless it is asked for its records. The
commands do the same from a terminal.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.display import Displayed
from tacit.errors import InputError, ParameterError
from tacit.files import check_output
from tacit.validation import flag, moment, place, whole

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from tacit.audit.found import GuardAudit
    from tacit.groups import Groups
    from tacit.privacy.ledger.ledger import Ledger
    from tacit.release.mechanism import Mechanism, Plan
    from tacit.release.publication import Release
    from tacit.searchlog import LogStatistics
    from tacit.searchlog.statistics import FrequentQuery


_MEMORY = "2GB"


class Log(Displayed):
    """A search log in canonical Parquet. Made by :func:`read_log` or :func:`synthetic_log`.

    Args:
        path: the file.
        name: what to call a log whose file is private and temporary; others are called as their file.
    """

    def __init__(self, path: str | Path, *, name: str = "") -> None:
        from tacit.searchlog import check_log

        self.path: Path = check_log(place("path", path))
        self._name = name or str(path)
        self._temporary = bool(name)

    # -- what it is ----------------------------------------------------------------------------------

    def __fspath__(self) -> str:
        return str(self.path)

    def __len__(self) -> int:
        import pyarrow.parquet as pq

        return int(pq.read_metadata(self.path).num_rows)

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("records", f"{len(self):,}"),
            ("size", f"{self.path.stat().st_size / 1e6:,.1f} MB"),
            ("columns", "user, query, time, rank, url"),
        ]

    def _summary(self) -> str:
        return f"Log {self._name}: {len(self):,} records"

    def _notes(self) -> tuple[str, ...]:
        return ("Its records are private; .stats() shows figures.",)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        from tacit.searchlog import SCHEMA

        return tuple(SCHEMA.names)

    def head(self, rows: int = 5) -> pa.Table:
        """Return the first records as an Arrow table. They are private, as all records are.

        Args:
            rows: how many at most.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = whole("rows", rows)
        with pq.ParquetFile(self.path) as file:
            rows = min(rows, file.metadata.num_rows)
            first = itertools.islice(file.iter_batches(batch_size=max(rows, 1)), 1)
            return pa.Table.from_batches(list(first), file.schema_arrow).slice(0, rows)

    def to_arrow(self) -> pa.Table:
        """Return all records as an Arrow table. This is what people searched for: handle it as such."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path) as file:
            return file.read()

    def to_pandas(self) -> Any:
        """Return all records as a pandas frame; they are private."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return all records as a polars frame; they are private."""
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def export(self, to: str | Path, *, format: str = "aol", force: bool = False) -> int:
        """Write the records as text, in which they are as private as in the log.

        Args:
            to: the file to write, gzipped if it ends in ``.gz``.
            format: ``aol`` (AOL's columns), ``tsv`` or ``jsonl``.
            force: replace the file if it exists.

        Returns:
            How many records were written.
        """
        from tacit.searchlog.export import export_log

        output = place("to", to)
        check_output(output, force=flag("force", force), inputs=[self.path])
        return export_log(self.path, output, format).records

    def stats(
        self,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        session_gap: float | None = None,
        memory: int | str = _MEMORY,
    ) -> LogStatistics:
        """Count users, queries, clicks and sessions, and how heavy the log's tails are. No query's text.

        Args:
            since: only records from this time on (UTC).
            until: only records before this time (UTC).
            session_gap: minutes of pause that end a session; 30 if None.
            memory: what counting may take, in bytes or as text such as ``2GB``; the rest goes to disk.
        """
        from tacit.searchlog import opened_for_statistics
        from tacit.searchlog.sessions import SessionCut

        cut = SessionCut.of(session_gap)
        with opened_for_statistics(self.path, memory, since, until) as source:
            return source.statistics(cut)

    def frequent_queries(self, most: int = 20, *, min_users: int = 50) -> list[FrequentQuery]:
        """Return the queries that most users asked. For your eyes: this is not a release.

        Args:
            most: how many at most.
            min_users: leave out queries asked by fewer users than this; at least 5.
        """
        from tacit.searchlog import opened_for_statistics

        with opened_for_statistics(self.path, _MEMORY) as source:
            return source.frequent_queries(most, min_users)

    def sessions(self, *, session_gap: float | None = None) -> pa.Table:
        """Return the records with a column ``session``, from 0 within each user; private, as they are.

        Args:
            session_gap: minutes of pause that end one; 30 if None.
        """
        from tacit.searchlog.sessions import SessionCut

        records = self.to_arrow()
        numbers = SessionCut.of(session_gap).numbers(records.column("user"), records.column("time"))
        return records.append_column("session", [numbers])

    # -- what leaves it ------------------------------------------------------------------------------

    def release(
        self,
        plan: Mechanism | Plan[Any],
        *,
        to: str | Path,
        ledger: Ledger | str | Path | None = None,
        budget_epsilon: float | None = None,
        budget_delta: float = 0.0,
        data_set: str = "",
        controller: str = "",
        purpose: str = "",
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        scrub: bool = True,
        session_gap: float | None = None,
        users: int | None = None,
        even_if_empty: bool = False,
        unsafe_exact_counts: bool = False,
        a_person_may_be_shown: bool = False,
        memory: int | str | None = None,
        threads: int | None = None,
        engine: str | None = None,
        report: Callable[[str], object] = str,
    ) -> Release:
        """Publish the log: tables, a manifest and a page in a folder, charged to the data set's ledger.

        Args:
            plan: how, such as ``tacit.Zealous(epsilon=1)``, or its plan.
            to: the folder to make; it must not exist.
            ledger: the data set's ledger, or its path; where it is known, or ``LOG.ledger``, unless given.
            budget_epsilon: open the ledger, if there is none, with this ε for all releases together.
            budget_delta: δ of that budget.
            data_set: what people call the data set, for the page.
            controller: who is responsible for the data set, for the page.
            purpose: what the release is for: in the ledger, the manifest and the page.
            since: only records from this time on (UTC); public, chosen without a look at the log.
            until: only records before this time (UTC).
            scrub: pass over records whose own text has an e-mail address, a phone, card or social security
                number, or a long number.
            session_gap: minutes of pause that end a session; 30 if None.
            users: about how many users the log has (public knowledge): say how many rows to expect, and
                refuse a release of next to none.
            even_if_empty: go on although next to nothing can be expected.
            unsafe_exact_counts: needed for a mechanism that publishes exact counts, and protects against
                nobody who knows the method.
            a_person_may_be_shown: needed for a δ, of all releases so far, that may show a person: above a
                tenth of one over the number of users, or above 10⁻⁵.
            memory: what the work may take, in bytes or as text such as ``2GB``.
            threads: how many threads work; one per processor unless given.
            engine: a Spark master, such as ``spark://host:7077``; DuckDB on this machine unless given.
            report: called with each stage of the work, and with what there is to say about it.

        Raises, and does, what :func:`tacit.release.publication.publish` does.
        """
        given = {name: value for name, value in locals().items() if name != "self"}
        from tacit.release.publication import publish

        self._require_ledger(ledger)
        return publish(self.path, **given)

    def audit(self, plan: Mechanism | Plan[Any], *, canaries: int = 400, charge: bool = False) -> GuardAudit:
        """Plant canaries beside the log, release it once in memory, and guess who asked.

        The result is as sensitive as the log unless it is charged.

        Args:
            plan: a mechanism, or its plan.
            canaries: how many people are planted.
            charge: pay for the run in the data set's ledger, so that its result may be shown.
        """
        from tacit.audit.canaries import audit_log

        return audit_log(self.path, plan, canaries=canaries, charge=flag("charge", charge))

    def bundle(
        self,
        p: float | None = None,
        *,
        to: str | Path | None = None,
        criterion: str | None = None,
        epsilon: float | None = None,
        delta: float = 1e-6,
        clicks: str | Path | None = None,
        vote_epsilon: float = 0.25,
        strength: float | None = None,
        ledger: Ledger | str | Path | None = None,
        budget_epsilon: float | None = None,
        budget_delta: float = 1e-5,
        fewest_holders: int = 2,
        fewest_in_group: int = 3,
        augment: int = 1,
        seed: int = 0,
        scrub: bool = True,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        engine: str | None = None,
        force: bool = False,
    ) -> Groups:
        """Put the log's users into groups: cohorts, or groups of words where ``p`` is given.

        See :meth:`tacit.Groups.bundle` for what each parameter means.

        Args:
            p: the most sure an attacker may be that a member of a group of words holds a shown term.
            to: the folder to make; a private temporary one, removed with the groups, unless given.
            criterion: ``cohorts``, ``strict`` or ``paper``.
            epsilon: ε of the words that cohorts show; none are shown unless given.
            delta: δ of these words.
            clicks: past requests by which people vote for the strength of ranking.
            vote_epsilon: ε of that vote.
            strength: of ranking by cohorts where nobody votes.
            ledger: of the data set, charged for words and votes.
            budget_epsilon: open the ledger, if there is none, with this ε.
            budget_delta: δ of that budget.
            fewest_holders: show only terms that so many users of the log hold.
            fewest_in_group: show only terms that so many members of the group hold.
            augment: steps of WordNet hypernyms added before users are compared.
            seed: of groups of words, and of the attackers in the report.
            scrub: drop queries that hold an e-mail address or a personal number.
            since: only records from this time on (UTC).
            until: only records before this time (UTC).
            engine: a Spark master that counts; DuckDB on this machine unless given.
            force: replace the groups that are in the folder ``to``.
        """
        given = {name: value for name, value in locals().items() if name != "self"}
        from tacit.groups import Groups

        if epsilon is not None or clicks is not None:
            self._require_ledger(ledger)
        given |= {"since": moment("since", since), "until": moment("until", until)}
        return Groups.bundle(self.path, **given)

    def _require_ledger(self, ledger: object) -> None:
        if ledger is None and self._temporary:
            raise ParameterError(
                "a log read from a table or another format has no file beside which its ledger could lie.",
                "Give `ledger`: what may be spent belongs to the data set, not to this copy.",
            )


def read_log(
    source: Any,
    *,
    columns: Mapping[str, str] | str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    time_format: str = "auto",
    time_zone: str | None = None,
    strict: bool = False,
    normalise: bool = True,
    max_bad: float | None = None,
    first_rank: int = 1,
    pattern: str | None = None,
    query_parameter: str | None = None,
    table: str | None = None,
    accept_unusual: bool = False,
    to: str | Path | None = None,
    force: bool = False,
) -> Log:
    """Read a search log from a file or a table.

    A file as ``tacit import`` writes it is used where it lies. Any other source is read, checked record by
    record and kept in a private temporary file for as long as the log is in use.

    Args:
        source: a file or folder (Tacit's Parquet, AOL's or Excite's format, CSV, TSV, JSON, the log of a web
            server, an export of Google Analytics 4, Matomo or User Behavior Insights, Parquet, Excel, SQLite,
            DuckDB), a list of files, an Arrow table, a pandas or polars frame, or whatever else Arrow takes
            for a table.
        columns: which column is which: ``{"user": "uid", "query": "q", "time": "ts"}``; rank and url where
            clicks were logged. Dots lead into JSON objects.
        format: of the files; told from their content unless given.
        encoding: of the files, ``utf-8``, ``latin-1`` or ``utf-16`` (which is also recognised).
        delimiter: what stands between the columns of a text; told from its content unless given.
        time_format: how times are written; ``auto`` finds out.
        time_zone: where the clock stood that times without a zone were read from; UTC unless given.
        strict: refuse the first record that cannot be used, instead of leaving such records out.
        normalise: write queries in one form (case, spaces), as the release mechanisms expect.
        max_bad: the share of records that may be unusable, before the source as a whole is refused.
        first_rank: the rank of a first result, 1 or 0.
        pattern: a regular expression for a line of any log, with the groups ``user``, ``query`` (or
            ``encoded_query``, as in addresses) and ``time``.
        query_parameter: in a web server's log, the parameter that holds the query; found out unless given.
        table: of a SQLite or DuckDB file; the only one with the columns of a log unless given.
        accept_unusual: keep a log that looks as if its columns had been mixed up: nearly every user with one
            record, times in 1970, users that look like queries, queries that are numbers.
        to: the Parquet file to import to, as ``tacit import`` does; a private temporary one unless given.
        force: replace that file if it exists.
    """
    given = locals()
    from tacit.searchlog import ImportOptions
    from tacit.searchlog.readers import ColumnMapping
    from tacit.searchlog.schema import is_canonical

    named, output = isinstance(source, str | Path), None if to is None else place("to", to)
    as_it_is = output is None and columns is None and format is None and normalise
    if named and as_it_is and is_canonical(place("source", source)):
        return Log(source)
    if columns is not None and not isinstance(columns, str | Mapping):
        raise ParameterError.outside("columns", type(columns).__name__, "a mapping, or text such as user=uid")
    if isinstance(columns, Mapping):
        columns = ",".join(f"{column}={name}" for column, name in columns.items())
    given |= {"mapping": ColumnMapping.parse(columns), "format_name": format}
    options = ImportOptions(**{each.name: given[each.name] for each in fields(ImportOptions) if each.init})
    if named or (
        isinstance(source, list) and source and all(isinstance(each, str | Path) for each in source)
    ):
        paths = [source] if named else source
        named_as = str(source) if named else f"from {len(paths):,} files"
        return _imported(paths, options, named_as, output, flag("force", force))
    return _from_table(source, options, output, flag("force", force))


def synthetic_log(
    users: int = 2000,
    *,
    seed: int = 0,
    weeks: int = 13,
    sensitive_share: float = 0.15,
    to: str | Path | None = None,
    force: bool = False,
) -> Log:
    """Make a log in which nobody is real, in the shape of AOL's: to try a guard, or to teach.

    Args:
        users: how many people search.
        seed: another seed gives other people; the same one the same log.
        weeks: how long.
        sensitive_share: the share of people with a sensitive interest.
        to: the file to write; a private temporary one unless given.
        force: replace the file if it exists.
    """
    from tacit.world.synth import SyntheticLog

    made = SyntheticLog(users, seed, weeks, sensitive_share)
    output = None if to is None else place("to", to)
    if output is not None:
        check_output(output, force=flag("force", force))
    return _written(made.write, f"of {users:,} synthetic users", output)


def _from_table(source: Any, options: Any, output: Path | None, force: bool) -> Log:
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
    with tempfile.TemporaryDirectory(prefix="tacit-log-") as folder:
        kept = Path(folder, "table.parquet")
        pq.write_table(table, kept)
        return _imported([kept], replace(options, format_name="parquet"), "from a table", output, force)


def _imported(paths: list[Any], options: Any, name: str, output: Path | None, force: bool) -> Log:
    from tacit.searchlog import import_log

    def write(to: Path) -> None:
        import_log(paths, to, options, force=force or output is None)

    return _written(write, name, output)


def _written(write: Callable[[Path], object], name: str, output: Path | None) -> Log:
    """The log that is written to ``output``, or to a private folder for as long as the log is in use."""
    if output is not None:
        write(output)
        return Log(output)
    folder = Path(tempfile.mkdtemp(prefix="tacit-log-"))
    try:
        write(folder / "log.parquet")
        log = Log(folder / "log.parquet", name=name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(log, shutil.rmtree, folder, ignore_errors=True)
    return log
