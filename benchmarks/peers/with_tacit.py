"""A ZEALOUS release whose executor is killed after it drew noise: what was drawn at each attempt.

python with_tacit.py killed LOG.parquet MOST OUT.json
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def killed(log: str, most: int) -> dict[str, list[int]]:
    """Two publications under one key without a failure; and an executor killed after it drew noise."""
    import killed as trouble
    from pyspark import cloudpickle

    from tacit import Zealous
    from tacit.engines import open_engine
    from tacit.engines.spark import SparkEngine
    from tacit.privacy.noise.randomness import KeyedRandomness

    cloudpickle.register_pickle_by_value(trouble)
    plan = Zealous(epsilon=1.0, delta=1e-6, per_user=most).plan()
    usual = SparkEngine.computed
    key = KeyedRandomness.drawn("the entry that paid for this release")
    with open_engine(master="local-cluster[2,1,1024]") as engine, tempfile.TemporaryDirectory() as folder:
        counting = plan.count(engine, engine.log(log))
        found = [plan.publish(engine, counting, key)["queries"].to_pylist() for _ in range(2)]
        first, second = ({row["query"]: row["count"] for row in table} for table in found)
        keys = first.keys() | second.keys()

        def troubled(self: SparkEngine, frame: Any, work: Any, schema: str) -> Any:
            drawn = trouble.killing(folder)
            return usual(self, frame, lambda batches: drawn(work(batches)), schema)

        SparkEngine.computed = troubled  # type: ignore[method-assign]
        plan.publish(engine, counting, key)
        twice = trouble.drawn_twice(
            folder, lambda batch: map(tuple, zip(*batch.to_pydict().values(), strict=True))
        )
    return {
        "two actions": [len(keys), sum(first.get(key) != second.get(key) for key in keys)],
        "killed": list(twice),
    }


if __name__ == "__main__":
    _, _, log, most, out = sys.argv
    Path(out).write_text(json.dumps(killed(log, int(most))))
