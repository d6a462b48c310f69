"""A real Spark for tests: a master with two worker processes on this machine, small and quick to start."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from tacit.searchlog import SCHEMA

__all__ = ["MASTER", "cluster", "executors", "odd_log"]

MASTER = "local-cluster[2,1,1024]"
"""Two workers, each with a core: processes of their own."""

_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
DEFAULTS = f"""
spark.driver.memory 768m
spark.driver.extraJavaOptions {_QUICK}
spark.executor.extraJavaOptions {_QUICK}
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.adaptive.enabled false
spark.sql.shuffle.partitions 2
"""
"""As an owner sets them: less work for the compilers of Java, which small logs do not repay."""


@contextmanager
def cluster(folder: Path) -> Iterator[None]:
    """A Spark that :func:`tacit.release.spark.open_spark` uses; loudly skipped where there is none."""
    pytest.importorskip("pyspark", reason="pyspark is not installed (tacit[spark])")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and none is installed (scripts/setup installs one)")
    from pyspark import SparkContext

    from tacit.release.spark import start_session, stop_session

    (folder / "spark-defaults.conf").write_text(DEFAULTS)
    os.environ["SPARK_CONF_DIR"] = str(folder)
    session = None
    try:
        session = start_session(MASTER)
        yield
    finally:
        del os.environ["SPARK_CONF_DIR"]
        gateway = SparkContext._gateway
        if session is not None:
            stop_session(session)
        if gateway is not None:
            gateway.shutdown()
            gateway.proc.stdin.close()  # Java ends with it
            gateway.proc.wait(60)
            SparkContext._gateway = SparkContext._jvm = None


def executors() -> list[int]:
    """The processes of the executors."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            mine = f"SPARK_CONF_DIR={os.environ['SPARK_CONF_DIR']}\0".encode()
            if b"CoarseGrainedExecutorBackend" in command and mine in environment:
                found.append(int(folder.name))
    return found


def odd_log(seed: int = 1, users: int = 40) -> pa.Table:
    """Bursts and pauses, apostrophes, emoji, letters with odd small forms, absurd times, ties."""
    drawn = random.Random(seed)
    queries = [
        "tea",
        "java",
        "java island",
        "the java's",
        "ärger 'n' co",
        "İstanbul",
        "ΟΔΟΣ",
        "e-mail 😀 (x)",
    ]
    queries += ["weather", "new york", "a b c", "http://www.x.com", "dog", "teapot", "50% \\ off_"]
    rows: list[tuple[str, str, datetime, int | None, str | None]] = []
    for user in range(users):
        time = datetime(2006, 3, 26) + timedelta(minutes=drawn.randrange(10_000))
        for _ in range(drawn.randrange(1, 25)):
            time += timedelta(minutes=drawn.choice([0, 1, 5, 30, 31, 75]))
            url = drawn.choice([None, None, "http://a", "http://b"])
            rows.append((f"u{user}", drawn.choice(queries), time, None if url is None else 1, url))
    rows += [("u1", "tea", datetime(1, 1, 1), None, None), ("u2", "tea", datetime(1500, 2, 3), None, None)]
    rows += [("u3", "tea", datetime(9999, 12, 31, 23, 59, 59), None, None)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)
