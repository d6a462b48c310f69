"""Where a log comes from: a file as Tacit writes it, other formats, tables and frames, or nobody at all."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.errors import InputError
from tacit.log.search_log import Log

__all__ = ["read_log", "synthetic_log"]


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
        delimiter: what stands between the columns of a text; told from its content unless given.
        time_format: how times are written; ``auto`` finds out.
        time_zone: where the clock stood that times without a zone were read from; UTC unless given.
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
    options = ImportOptions(
        format_name=format,
        mapping=mapping,
        time_format=time_format,
        encoding=encoding,
        strict=strict,
        normalise=normalise,
        max_bad=max_bad,
        time_zone=time_zone,
        delimiter=delimiter,
    )
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
    weakref.finalize(log, shutil.rmtree, folder, ignore_errors=True)
    return log
