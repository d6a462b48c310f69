"""Where the relational work of a release runs: Ibis expressions on DuckDB, within set memory and threads.

The plans of the mechanisms are Ibis expressions without SQL of one engine: they run on Spark too
(:mod:`tacit.engines.spark`). What belongs to DuckDB alone, its settings, is in this file.

What the engine cannot hold in memory it spills to a private folder, readable by its owner only and removed
when the work ends. What ``kill -9`` leaves there is raw data: the next release removes it.
"""

import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.errors import InfeasibleError, LogError, ParameterError, TacitError
from tacit.files import literal_path
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.row_groups import rows_of

_SPILL = "tacit-release-"
_MEGABYTE = 1 << 20
_BYTES_A_PAIR = 28
"""Of a user and an item as vectors hold them, at the peak."""
BATCH = 1 << 17
"""Rows that are in memory at a time."""


class Engine:
    """A connection that reads logs, keeps intermediate tables and streams results; made when first asked.

    Its ``scratch`` is a private folder that goes with it.
    """

    def __init__(
        self, connect: Callable[[], Any], scratch: Path, memory: int = 0, threads: int | None = None
    ) -> None:
        self._connect = connect
        self.scratch = scratch
        self.naming = OperatingSystemRandomness().bits(16).hex()
        """A key for names in the place of texts: so nobody can choose texts that share a name."""
        self._memory = memory
        self.threads = threads
        self._records = 0
        self._kept_so_far = 0
        self._files: dict[str, Path] = {}

    @cached_property
    def backend(self) -> Any:
        """The backend of Ibis."""
        return self._connect()

    def log(self, path: str | Path) -> Any:
        """The records of a search log in canonical Parquet, as a table expression."""
        return self.logs([path])

    def logs(self, paths: Iterable[str | Path]) -> Any:
        """The records of several files of one schema, as a table expression."""
        files = list(paths)
        with redacted_errors():
            read = self.backend.read_parquet
            table = read([literal_path(file) for file in files], hive_partitioning=False)
        self._records = max(self._records, sum(pq.read_metadata(file).num_rows for file in files))
        return table

    def holds(self, pairs_a_record: int, log: Path | None = None) -> bool:
        """Whether so many pairs a record of the log, or of those read, fit in half of its memory."""
        records = self._records if log is None else rows_of(log)
        return 2 * _BYTES_A_PAIR * pairs_a_record * records <= self._memory

    def keep(self, expression: Any) -> Any:
        """Compute ``expression`` now, and give it back as a table."""
        self._kept_so_far += 1
        name = f"kept_{self._kept_so_far}"
        with redacted_errors():
            return self.backend.create_table(name, expression, temp=True)

    def load(self, table: pa.Table) -> Any:
        """Load an Arrow table as a table of the engine."""
        return self.keep(import_module("ibis").memtable(table))

    def batches(self, expression: Any) -> Iterable[pa.RecordBatch]:
        """Yield the rows of ``expression``, some at a time; read them to the end before asking for more.

        DuckDB's own reader: Ibis 12 calls one that DuckDB 2 no longer has.
        """
        if isinstance(expression, pa.Table):  # counted without DuckDB
            yield from expression.to_batches(BATCH)
            return
        with redacted_errors():
            yield from self.backend.con.sql(self.backend.compile(expression)).to_arrow_reader(BATCH)

    def table(self, expression: Any) -> pa.Table:
        """Return all rows of ``expression``."""
        with redacted_errors():
            return self.backend.con.sql(self.backend.compile(expression)).to_arrow_table()

    def worked_out(self, expression: Any, change: Callable[[pa.RecordBatch], pa.Table]) -> Any | None:
        """The rows of ``expression``, each changed by itself outside the engine; None where there are none.

        They come back through a private file, so that their number is not limited by memory.
        """
        self._kept_so_far += 1
        path = self.scratch / f"worked-out-{self._kept_so_far}.parquet"
        writer = None
        for table in (change(batch) for batch in self.batches(expression)):
            writer = writer or pq.ParquetWriter(path, table.schema, compression="snappy")
            writer.write_table(table)
        if writer is None:
            return None
        writer.close()
        table = self.log(path)
        self._files[table.get_name()] = path
        return table

    def changed(
        self, expression: Any, change: Callable[[pa.RecordBatch], pa.Table], schema: pa.Schema
    ) -> Any:
        """The rows of ``expression``, each changed by itself, once: a table that can be dropped.

        What ``change`` draws is drawn where the rows lie; on Spark it must be the same at every attempt
        (docs/guarantees/keyed-noise.md).
        """
        changed = self.worked_out(expression, change)
        return self.load(schema.empty_table()) if changed is None else changed

    def randomness(self, entry: str) -> RandomSource:
        """Open the source of a release's noise, paid for by this entry of the ledger."""
        del entry  # noise is drawn in one process, once
        return OperatingSystemRandomness()

    def drop(self, table: Any) -> None:
        """Forget a kept table."""
        path = self._files.pop(table.get_name(), None)
        with redacted_errors():
            self.backend.con.execute(f"DROP {'TABLE' if path is None else 'VIEW'} {table.get_name()}")
        if path is not None:
            path.unlink()


_MASTERS = r"local(\[(\*|\d+)(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|spark://\S+|yarn|k8s://\S+"


def chosen_engine(master: str | None, memory: int | None = None, threads: int | None = None) -> str | None:
    """A Spark master, or None for DuckDB; what Spark may take is its own setting."""
    if master is None or master == "duckdb":
        return None
    if not isinstance(master, str) or not re.fullmatch(_MASTERS, master):
        rule = "duckdb or a Spark master, such as spark://host:7077, local-cluster[2,1,1024] or local[2]"
        raise ParameterError.outside("engine", master, rule)
    if memory is not None or threads is not None:
        raise ParameterError(
            "`memory` and `threads` are of DuckDB; Spark has its own.",
            "Leave them out beside `engine`, and set spark.executor.memory and spark.executor.cores.",
        )
    return master


def memory_for(log: str | Path) -> int:
    """Bytes of memory for a log of this length: 1 GB for up to 5 million records, at most 3.5 GB."""
    records = int(pq.ParquetFile(log).metadata.num_rows)
    return min(max(1000, records // 5000), 3500) * _MEGABYTE


@contextmanager
def open_engine(
    *,
    memory: int = 1000 * _MEGABYTE,
    threads: int | None = None,
    spill: str | Path | None = None,
    master: str | None = None,
) -> Iterator[Engine]:
    """DuckDB in memory, with limits; or Spark, which has its own.

    Args:
        memory: bytes that the engine may hold; beyond that it spills.
        threads: how many it uses; all the process may use unless given.
        spill: the folder in which the private spill folder is made; the system's temporary one unless given.
        master: of Spark.
    """
    if master is not None:
        from tacit.engines.spark import open_spark

        with open_spark(master, spill=spill) as spark:
            yield spark
        return
    with private_folder(spill) as folder, ExitStack() as ending:

        def connect() -> Any:
            backend = import_module("ibis").duckdb.connect(
                memory_limit=f"{memory // _MEGABYTE}MiB",
                threads=threads or len(os.sched_getaffinity(0)),
                temp_directory=str(folder),
                preserve_insertion_order=False,
                autoinstall_known_extensions=False,
                autoload_known_extensions=False,
            )
            ending.callback(backend.disconnect)
            backend.con.execute("SET enable_progress_bar = false")  # it is drawn on stdout, where results go
            return backend

        yield Engine(connect, folder, memory, threads)


@contextmanager
def private_folder(parent: str | Path | None = None) -> Iterator[Path]:
    """A folder for raw data that goes with the work, readable by its owner only."""
    parent = Path(parent or tempfile.gettempdir())
    _clear_leftovers(parent)
    folder = Path(tempfile.mkdtemp(prefix=f"{_SPILL}{os.getpid()}-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _clear_leftovers(parent: Path) -> None:
    """Remove the spill folders of processes of ours that are gone."""
    for folder in parent.glob(f"{_SPILL}*"):
        owner = folder.name.removeprefix(_SPILL).split("-")[0]
        with suppress(OSError):  # another release may be clearing the same
            if (
                owner.isdigit()
                and not Path(f"/proc/{owner}").exists()
                and folder.stat().st_uid == os.getuid()
            ):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def redacted_errors() -> Iterator[None]:
    """Pass on only the kind of a failure: an engine's messages may quote records."""
    import duckdb

    try:
        with warnings.catch_warnings():
            # Ibis 12 calls names that DuckDB 2 has replaced.
            warnings.filterwarnings("ignore", r"fetch_\w+\(\) is deprecated", DeprecationWarning)
            yield
    except duckdb.OutOfMemoryException:
        raise InfeasibleError(
            "the engine ran out of memory or of disk for spilling.",
            "Give more with `memory`, or point TMPDIR to a larger disk.",
        ) from None
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except RuntimeError as error:
        if "interrupted" in str(error):  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from None
        raise
    except (duckdb.IOException, duckdb.InvalidInputException):
        raise LogError("the log could not be read to its end.", "Check it with `tacit stats`.") from None
    except duckdb.Error as error:
        raise TacitError(f"the engine failed ({type(error).__name__}).") from None
