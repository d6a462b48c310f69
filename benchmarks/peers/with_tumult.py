"""Tumult Analytics' count of users by query, with the queries found by it; in an environment that has it.

Half of ε finds the queries, half counts them, with Laplace noise: what finds groups takes no budget of
concentrated privacy, under which noise would be Gaussian.

    python with_tumult.py spark LOG.parquet MOST OUT.json      two threads
    python with_tumult.py killed LOG.parquet MOST OUT.json     two executors, one of which is killed
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

EPSILON, DELTA = 1.0, 1e-6


def session_on(master: str, folder: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    settings = settings.config("spark.driver.memory", "2g").config("spark.sql.shuffle.partitions", "4")
    session = settings.config("spark.sql.warehouse.dir", folder).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def counted(
    spark: Any, log: str, most: int, before_counting: AbstractContextManager[None] = nullcontext()
) -> Any:
    from tmlt.analytics import (
        AddRowsWithID,
        ApproxDPBudget,
        KeySet,
        MaxGroupsPerID,
        MaxRowsPerGroupPerID,
        QueryBuilder,
        Session,
    )

    builder = Session.Builder().with_privacy_budget(ApproxDPBudget(EPSILON, DELTA)).with_id_space("users")
    rows = spark.read.parquet(log).select("user", "query")
    change = AddRowsWithID("user", "users")
    session = builder.with_private_dataframe("log", rows, protected_change=change).build()
    bounded = QueryBuilder("log").enforce(MaxGroupsPerID("query", most))
    bounded = bounded.enforce(MaxRowsPerGroupPerID("query", 1))
    groups = session.evaluate(bounded.get_groups(["query"]), ApproxDPBudget(EPSILON / 2, DELTA))
    asked = bounded.groupby(KeySet.from_dataframe(groups)).count()
    with before_counting:
        return session.evaluate(asked, session.remaining_privacy_budget)


@contextmanager
def troubled(folder: str) -> Iterator[None]:
    """Noise is drawn as by Tumult, but the first task that has drawn any loses its executor."""
    from killed import killing
    from tmlt.core.measurements import spark_measurements

    usual = spark_measurements._get_sanitized_df  # what shuffles and writes a noisy table

    def written(frame: Any) -> Any:
        return usual(frame.mapInPandas(killing(folder), frame.schema))

    spark_measurements._get_sanitized_df = written
    try:
        yield
    finally:
        spark_measurements._get_sanitized_df = usual


def killed(log: str, most: int, warehouse: str) -> dict[str, list[int]]:
    """Two actions without a failure; and an executor killed after it drew noise."""
    here = str(Path(__file__).parent)
    sys.path.insert(0, here)
    from killed import drawn_twice

    spark = session_on("local-cluster[2,1,1024]", warehouse)
    spark.sparkContext.addPyFile(f"{here}/killed.py")
    result = counted(spark, log, most)
    first, second = dict(map(tuple, result.collect())), dict(map(tuple, result.collect()))
    keys = first.keys() | second.keys()
    actions = [len(keys), sum(first.get(key) != second.get(key) for key in keys)]
    folder = tempfile.mkdtemp(dir=warehouse)
    counted(spark, log, most, troubled(folder))
    return {
        "two actions": actions,
        "killed": list(drawn_twice(folder, lambda rows: rows.itertuples(index=False))),
    }


if __name__ == "__main__":
    _, mode, log, most, out = sys.argv
    with tempfile.TemporaryDirectory() as warehouse:
        if mode == "spark":
            found: Any = [
                list(row) for row in counted(session_on("local[2]", warehouse), log, int(most)).collect()
            ]
        else:
            found = killed(log, int(most), warehouse)
    Path(out).write_text(json.dumps(found))
