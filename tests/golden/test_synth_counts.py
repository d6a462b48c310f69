"""One small synthetic log, to the record: a change of the world's behaviour must be meant."""

from datetime import datetime
from pathlib import Path

from tacit.world.synth import LogShape, SyntheticLog


def test_a_hundred_users_of_seed_one(tmp_path: Path) -> None:
    log = SyntheticLog(100, seed=1)
    outcome = log.write(tmp_path / "log.parquet")
    assert outcome == LogShape(
        users=100, records=5536, clicks=2922, distinct_queries=2185, new_queries=3133, next_pages=1246
    )
    table = log.table()
    assert list(table.slice(1235, 1).to_pylist()[0].values()) == [
        "u0000014",
        "bryce canyon national park",
        datetime(2006, 3, 10, 22, 39, 32),
        1,
        "https://wordnet.example/bryce_canyon_national_park.n.01",
    ]
    truth = log.truth().slice(0, 2).to_pylist()
    assert [row["interests"] for row in truth] == [[22374], [25395, 22207, 2984, 35507]]
    assert [len(row["meanings"]) for row in truth] == [18, 2]
