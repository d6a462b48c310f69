"""Where the relational work of a release runs if it outgrows one machine: the same plans on Spark.

What is kept is written to Parquet in a private folder that driver and executors share, once, and read from
there: a table that Spark computes again for each reader would count again, and on a lost executor too. Times
have no zone in a log, so the session's zone is UTC, and a session with another is refused: elsewhere an hour
of the night in which clocks change is no hour.

Messages of Spark quote records, so only the kind of a failure is passed on, and its log is switched off.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.engines import BATCH, Engine, private_folder
from tacit.errors import InfeasibleError, LogError, ParameterError, TacitError
from tacit.privacy.noise.randomness import KeyedRandomness, RandomSource

_ZONE = "spark.sql.session.timeZone"
_SETTINGS = {
    _ZONE: "UTC",
    "spark.app.name": "tacit release",
    "spark.ui.enabled": "false",  # it shows numbers of rows, which are true ones
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.executor.syncLogLevel.enabled": "true",
    "spark.io.encryption.enabled": "true",  # of what executors put on disks of their own
    "spark.sql.ansi.enabled": "true",  # arithmetic that overflows fails
    "spark.sql.parquet.compression.codec": "zstd",
}

_TYPES = {pa.string(): "string", pa.binary(): "binary", pa.int64(): "bigint", pa.bool_(): "boolean"}
_Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class SparkEngine(Engine):
    """A Spark session that reads logs, keeps intermediate tables and streams results."""

    def holds(self, pairs_a_record: int, log: Path | None = None) -> bool:
        """Return False: nothing of the size of a log is held in one place."""
        del pairs_a_record, log
        return False

    def logs(self, paths: Iterable[str | Path]) -> Any:
        """The records of several files of one schema, as a table expression."""
        return self._named(self._next(), *map(Path, paths))

    def keep(self, expression: Any) -> Any:
        """Compute ``expression`` now, write it, and give back what is read from there."""
        name = self._next()
        path = self.scratch / name
        self._write(self.frame(expression), path)
        return self._kept_as(name, path)

    def load(self, table: pa.Table) -> Any:
        """Load an Arrow table as a table of the engine."""
        name = self._next()
        path = self.scratch / f"{name}.parquet"
        pq.write_table(table, path)
        return self._kept_as(name, path)

    def batches(self, expression: Any) -> SparkRows:
        """Yield the rows of ``expression``, some at a time; or changed in the executors."""
        return SparkRows(self, expression)

    def read(self, expression: Any) -> Iterator[pa.RecordBatch]:
        """Yield the rows of ``expression``, some at a time, from the files that hold them."""
        kept = self._kept(expression)
        for file in _parts(self._files[kept.get_name()]):
            with pq.ParquetFile(file) as opened:
                yield from opened.iter_batches(BATCH)
        if kept is not expression:
            self.drop(kept)

    def randomness(self, entry: str) -> RandomSource:
        """Open a keyed source: what Spark computes a second time is the same."""
        return KeyedRandomness.drawn(entry)

    def changed(
        self, expression: Any, change: Callable[[pa.RecordBatch], pa.Table], schema: pa.Schema
    ) -> Any:
        """Change the rows of ``expression`` in the executors; written once, and read from there."""

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                left = change(batch)
                if left.num_rows:
                    yield from left.combine_chunks().to_batches()

        said = ", ".join(f"`{field.name}` {_TYPES[field.type]}" for field in schema)
        return self.computed(self.frame(expression), work, said)

    def computed(self, frame: Any, work: _Work, schema: str) -> Any:
        """Compute in the executors from the parts of a frame."""
        name = self._next()
        self._write(frame.mapInArrow(work, schema), self.scratch / name)
        return self._kept_as(name, self.scratch / name)

    def table(self, expression: Any) -> pa.Table:
        """Return all rows of ``expression``."""
        kept = self._kept(expression)
        found = pa.concat_tables(pq.read_table(file) for file in _parts(self._files[kept.get_name()]))
        if kept is not expression:
            self.drop(kept)
        return found

    def drop(self, table: Any) -> None:
        """Forget a table, and remove its files if it was kept."""
        name = table.get_name()
        self.backend.catalog.dropTempView(name)
        path = self._files.pop(name, None)
        if path is not None and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path is not None:
            path.unlink(missing_ok=True)

    def _next(self) -> str:
        self._kept_so_far += 1
        return f"kept_{self.scratch.name[-8:]}_{self._kept_so_far}"

    def _kept(self, expression: Any) -> Any:
        """The expression as a table that is kept; itself, if it is one."""
        op = expression.op()
        is_kept = isinstance(op, ibis.expr.operations.UnboundTable) and op.name in self._files
        return expression if is_kept else self.keep(expression)

    def frame(self, expression: Any) -> Any:
        """An expression as Spark has it, not computed yet."""
        with spark_errors():
            return self.backend.sql(ibis.to_sql(expression, dialect="pyspark"))

    def _write(self, frame: Any, path: Path) -> None:
        with spark_errors():
            frame.write.parquet(_address(path))

    def _kept_as(self, name: str, path: Path) -> Any:
        self._files[name] = path
        return self._named(name, path)

    def _named(self, name: str, *paths: Path) -> Any:
        """Read files or folders of Parquet as a table expression."""
        try:
            schema = pq.read_schema(_parts(paths[0])[0])
        except (pa.ArrowException, OSError):
            raise LogError("the log could not be read to its end.", "Check it with `tacit stats`.") from None
        with spark_errors():
            self.backend.read.parquet(*map(_address, paths)).createOrReplaceTempView(name)
        return ibis.table(ibis.Schema.from_pyarrow(schema), name=name)


@dataclass(frozen=True)
class SparkRows:
    """Rows that lie in the executors: read here, or changed there."""

    engine: SparkEngine
    expression: Any

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.engine.read(self.expression)

    def mapped(self, change: Callable[[pa.RecordBatch], pa.Table]) -> pa.Table:
        """Change every batch in the executors, and give what is left: keys as texts, and ``count``."""
        names = [name for name in self.expression.columns if name not in ("count", "public")]
        schema = pa.schema([*((name, pa.string()) for name in names), ("count", pa.int64())])
        kept = self.engine.changed(self.expression, change, schema)
        left = self.engine.table(kept)
        self.engine.drop(kept)
        return left


def _address(path: Path) -> str:
    """A path as Spark takes it: whole, on the file system that all machines share, nothing a pattern."""
    return "file://" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path.absolute()))


def _parts(path: Path) -> list[Path]:
    """The files of Parquet at a path, in the order of their names."""
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("part-*.parquet"))
    if not found:
        raise InfeasibleError(
            f"what the executors wrote is not in {path.parent}.",
            "Set TMPDIR to a folder that the driver and all executors share.",
        )
    return found


@contextmanager
def open_spark(master: str, *, spill: str | Path | None = None) -> Iterator[SparkEngine]:
    """Spark, in a session of its own or in the one that this process has.

    Args:
        master: where it runs, such as ``spark://host:7077`` or ``local-cluster[2,1,1024]``.
        spill: the folder, shared with the executors, in which the private one is made; the system's temporary
            one unless given.
    """
    with private_folder(spill) as folder:
        session, mine = _session(master)
        try:
            engine = SparkEngine(lambda: session, folder)
            _require_executors(engine)
            yield engine
        finally:
            if mine:
                with suppress(Exception):  # what stops badly must not hide what was published
                    stop_session(session)


def _session(master: str) -> tuple[Any, bool]:
    """A session, and whether it was made here."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise ParameterError(
            "`engine` names a Spark master, and Spark is not installed.", "Install tacit[spark]."
        ) from None
    session, mine = SparkSession.getActiveSession(), False
    if session is None:
        session, mine = start_session(master), True
    elif session.sparkContext.master != master:
        raise ParameterError.outside(
            "engine", master, f"{session.sparkContext.master}, on which this process has a session already"
        )
    zone = session.conf.get(_ZONE)
    if zone != "UTC":
        raise ParameterError.outside(_ZONE, zone, "UTC, for the times of a log have no zone")
    return session, mine


def _require_executors(engine: SparkEngine) -> None:
    """Let the executors do what they will be asked for, so that what they lack is known before the charge."""
    context = engine.backend.sparkContext
    master, spared = context.master, context.getConf().get("spark.dynamicAllocation.enabled", "false")
    waited = time.monotonic() + 60
    while not re.match(r"local(\[|$)", master) and spared != "true":
        if context._jsc.sc().getExecutorMemoryStatus().size() > 1:  # the driver is one
            break
        if time.monotonic() > waited:
            raise InfeasibleError(
                f"no worker of {master} started an executor within a minute.",
                "Look whether it has workers with a core and spark.executor.memory free. Nothing was spent.",
            )
        time.sleep(0.05)

    def drawn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import tacit.privacy.noise.samplers  # noqa: F401  (as what draws does)

        yield from batches

    engine.drop(engine.computed(engine.backend.range(0, 1, 1, 1), drawn, "id bigint"))


def _require_reachable(master: str) -> None:
    """Refuse what Spark would try for a minute, or say little about."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which(f"{home}/bin/java" if home else "java") is None:
        remedy = "Install one (17 or newer), or set JAVA_HOME to its folder."
        raise InfeasibleError("Spark needs Java, and none is found.", remedy)
    refused = ""
    for address in master.removeprefix("spark://").split(",") if master.startswith("spark://") else ():
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=10):
                return
        except (OSError, ValueError) as error:
            refused = getattr(error, "strerror", None) or type(error).__name__
    if refused:
        raise InfeasibleError(
            f"nothing answers at {master} ({refused}).", "Start it, or correct the address."
        )


def start_session(master: str) -> Any:
    """A new session with the settings of a release, which win over those of ``spark-defaults.conf``."""
    import subprocess
    import sys

    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    chosen = dict(_SETTINGS)
    if master.startswith("local"):  # executors are processes of this machine
        chosen |= dict.fromkeys(("spark.driver.bindAddress", "spark.driver.host"), "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        chosen["spark.executorEnv.PYTHONPATH"] = str(Path(__file__).parents[2])
    settings = SparkConf().setMaster(master).setAll(list(chosen.items()))
    _require_reachable(master)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):  # they print what failed
        PySparkLogger.getLogger(name).disabled = True
    try:
        quiet = {"stderr": subprocess.DEVNULL}  # Spark's own lines may quote records
        gateway = None if SparkContext._gateway else launch_gateway(settings, quiet)
        return SparkSession(SparkContext(conf=settings, gateway=gateway))
    except (PySparkException, Py4JError) as error:  # no record has been read yet
        cause = getattr(error, "java_exception", None)
        said = str(error if cause is None else cause.getMessage()).partition("\n")[0]
        raise InfeasibleError(
            f"Spark did not start at {master}: {said}",
            "It needs Java 17 or newer, and a master that answers.",
        ) from None


def stop_session(session: Any) -> None:
    """End a session, and remove what ``local-cluster`` leaves of it beside Spark's own files."""
    import pyspark

    name = session.sparkContext.applicationId
    session.stop()
    shutil.rmtree(Path(pyspark.__file__).parent / "work" / name, ignore_errors=True)


@contextmanager
def spark_errors() -> Iterator[None]:
    """Pass on only the kind of a failure: Spark's messages quote records."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if "OutOfMemoryError" in text or "No space left" in text:
            raise InfeasibleError(
                "Spark ran out of memory or of disk.",
                "Give more, or point TMPDIR to a larger disk.",
            ) from None
        if "ModuleNotFoundError" in text:
            raise InfeasibleError(
                "the executors' Python lacks Tacit or what it needs.",
                "Install tacit[spark] where PYSPARK_PYTHON of the executors points to.",
            ) from None
        if "FAILED_READ_FILE" in text or "CANNOT_READ" in text:
            raise LogError("the log could not be read to its end.", "Check it with `tacit stats`.") from None
        raise TacitError(f"Spark failed ({type(error).__name__}).") from None
