"""A real Spark for tests: a master with two worker processes on this machine, small and quick to start."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import tacit
from tacit.searchlog import SCHEMA

__all__ = ["cluster", "executors", "odd_log"]

HOSTS = "127.0.0.1", "127.0.0.2"
"""Two addresses of this machine are two hosts to Spark, which doubles a slow task on another host only."""

_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
DEFAULTS = f"""
spark.driver.memory 768m
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.executor.memory 900m
spark.executorEnv.PYTHONPATH {Path(tacit.__file__).parents[1]}
spark.speculation true
spark.speculation.quantile 0.1
spark.speculation.minTaskRuntime 4s
spark.driver.extraJavaOptions {_QUICK}
spark.executor.extraJavaOptions {_QUICK}
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.adaptive.enabled false
spark.sql.shuffle.partitions 2
"""
"""As an owner sets them: less work for the compilers of Java, which small logs do not repay."""


def _java(folder: Path, kind: str, *words: str) -> subprocess.Popen[bytes]:
    """A master or a worker, as Spark's own scripts start it."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    command = ["java", "-Xmx256m", *_QUICK.split(), "-cp", f"{folder}:{jars}/*"]
    command += [f"org.apache.spark.deploy.{kind.lower()}.{kind}", "--webui-port", "0", *words]
    with (folder / "daemons").open("ab") as said:
        return subprocess.Popen(command, stdout=said, stderr=said)


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A Spark that :func:`tacit.engines.spark.open_spark` uses, at the address that is given; loudly skipped
    where there is none.
    """
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed (tacit[spark])")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and none is installed (scripts/setup installs one)")
    from pyspark import SparkContext

    from tacit.engines.spark import start_session, stop_session

    (folder / "spark-defaults.conf").write_text(DEFAULTS)
    with ExitStack() as until_the_end:
        changed = until_the_end.enter_context(pytest.MonkeyPatch.context())
        changed.setenv("SPARK_CONF_DIR", str(folder))
        changed.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
        changed.setenv("SPARK_SCALA_VERSION", "2.13")
        changed.setenv("PYSPARK_PYTHON", sys.executable)
        with socket.create_server((HOSTS[0], 0)) as free:
            port = free.getsockname()[1]
        master = f"spark://{HOSTS[0]}:{port}"
        until_the_end.callback(_end, _java(folder, "Master", "--host", HOSTS[0], "--port", str(port)))
        for host in HOSTS:
            words = [
                "--host",
                host,
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                f"{folder}/{host}",
                master,
            ]
            until_the_end.callback(_end, _java(folder, "Worker", *words))
        until = time.monotonic() + 120
        while (folder / "daemons").read_text().count("Successfully registered with master") < len(HOSTS):
            assert time.monotonic() < until, (folder / "daemons").read_text()
            time.sleep(0.05)
        session = start_session(master)
        gateway = SparkContext._gateway
        try:
            yield master
        finally:
            stop_session(session)
            if gateway is not None:
                gateway.shutdown()
                gateway.proc.stdin.close()  # Java ends with it
                gateway.proc.wait(60)
                SparkContext._gateway = SparkContext._jvm = None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(60)


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
