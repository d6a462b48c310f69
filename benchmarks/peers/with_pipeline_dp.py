"""PipelineDP's count of users by query, Gaussian noise and threshold; in an environment that has it.

python with_pipeline_dp.py local LOG.npz MOST OUT.json
python with_pipeline_dp.py spark LOG.parquet MOST OUT.json      two threads
python with_pipeline_dp.py killed LOG.parquet MOST OUT.json     two executors, one of which is killed
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

EPSILON, DELTA = 1.0, 1e-6


def counted(backend: object, rows: object, most: int) -> object:
    import pipeline_dp

    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(accountant, backend)
    params = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
        metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
        max_partitions_contributed=most,
        max_contributions_per_partition=1,
        post_aggregation_thresholding=True,
        partition_selection_strategy=pipeline_dp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda _: 0,
    )
    result = engine.aggregate(rows, params, extractors)
    accountant.compute_budgets()
    return result


def local(log: str, most: int) -> list[tuple[int, float]]:
    import numpy as np
    import pipeline_dp

    held = np.load(log)
    rows = list(zip(held["user"].tolist(), held["query"].tolist(), strict=True))
    return [(key, value.privacy_id_count) for key, value in counted(pipeline_dp.LocalBackend(), rows, most)]


def on_spark(master: str, log: str, most: int) -> object:
    """The counts as a lazy collection of Spark: pairs of a query and its noisy count."""
    import pipeline_dp
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    session = settings.config("spark.driver.memory", "2g").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    rows = session.read.parquet(log).select("user", "query").rdd.map(tuple)
    result = counted(pipeline_dp.SparkRDDBackend(session.sparkContext), rows, most)
    return result.map(lambda pair: (pair[0], pair[1].privacy_id_count))


def killed(log: str, most: int) -> dict[str, list[int]]:
    """Two actions without a failure; and an executor killed after it drew noise."""
    here = str(Path(__file__).parent)
    sys.path.insert(0, here)
    from killed import drawn_twice, killing

    result = on_spark("local-cluster[2,1,1024]", log, most)
    result.context.addPyFile(f"{here}/killed.py")
    first, second = dict(result.collect()), dict(result.collect())
    keys = first.keys() | second.keys()
    actions = [len(keys), sum(first.get(key) != second.get(key) for key in keys)]
    with tempfile.TemporaryDirectory() as folder:
        result.mapPartitions(killing(folder)).collect()
        return {"two actions": actions, "killed": list(drawn_twice(folder, lambda pair: [tuple(pair)]))}


if __name__ == "__main__":
    _, mode, log, most, out = sys.argv
    if mode == "local":
        found = local(log, int(most))
    elif mode == "spark":
        found = on_spark("local[2]", log, int(most)).collect()
    else:
        found = killed(log, int(most))
    Path(out).write_text(json.dumps(found))
