"""How near a release of topics is to the truth, on synthetic logs of several sizes or on a log of one's own.

Claim: even of 1,000 people at ε = 1 the topics of the first level that are significantly above zero are
right to within a few people, and the stated standard errors hold.

    python benchmarks/topics_error.py                       # 1,000 and 10,000 synthetic users
    python benchmarks/topics_error.py --log LOG.parquet     # what is true of it is compared, and printed
    python benchmarks/topics_error.py --users 1000 --per-user 3 --levels 3 --taxonomy FILE

The truth is the same count without noise (of the same bound); what is printed of a log is about that log, so
give none that must not be looked at.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.engines import open_engine
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.mechanisms.topics import Topics
from tacit.world.synth import SyntheticLog

_DRAWS = 50
_SHOWN = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--log", type=Path)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.5, 1.0, 2.0])
    parser.add_argument("--levels", type=int, default=2)
    parser.add_argument("--per-user", type=int, default=1)
    parser.add_argument("--taxonomy", default="people")
    asked = parser.parse_args()
    print("| log | ε | level | topics | above zero | their share | relative error | error | stated |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        for users in [0] if asked.log else asked.users:
            path = asked.log or Path(folder) / f"{users}.parquet"
            if users:
                SyntheticLog(users, seed=1).write(path)
            name = f"{users:,} synthetic users" if users else path.name
            kept &= measured(name, path, asked)
    if not kept:
        sys.exit("an error is larger than stated")


def measured(name: str, path: Path, asked: argparse.Namespace) -> bool:
    """The table's rows of one log, then its largest topics; whether the stated errors hold."""
    options = {"levels": asked.levels, "per_user": asked.per_user, "taxonomy": asked.taxonomy}
    kept, shown = True, []
    with open_engine() as engine:
        off = Topics(noise=0.0, **options)
        counting = off.plan().count(engine, engine.log(path))
        true = off.plan().publish(engine, counting, OperatingSystemRandomness())["topics"]
        labels = true.column("topic")
        truth = np.asarray(true.column("count"))
        level = np.asarray(pc.count_substring(labels, "/")) + 1
        for epsilon in asked.epsilon:
            made = Topics(epsilon=epsilon, **options)
            drawn = [
                made.plan().publish(engine, counting, OperatingSystemRandomness()) for _ in range(_DRAWS)
            ]
            counts = np.array([in_order_of(labels, tables["topics"], "count") for tables in drawn])
            stated = in_order_of(labels, drawn[0]["topics"], "deviation")
            for each in range(1, asked.levels + 1):
                kept &= row(name, epsilon, each, truth, counts, stated, level == each)
            if epsilon == 1.0:
                shown = [
                    f"{topic}: {t} people, published {', '.join(map(str, counts[:3, place]))}"
                    for place, (topic, t) in enumerate(zip(labels.to_pylist(), truth, strict=True))
                ]
    print("\n".join(("", f"largest of {name}, ε = 1, in three draws:", *shown[:_SHOWN], "")), file=sys.stderr)
    return kept


def row(name, epsilon, level, truth, counts, stated, chosen) -> bool:
    """One level: which topics stand out, and how near they are."""
    off = np.abs(counts - truth)[:, chosen]
    told = counts[:, chosen] >= 2 * stated[chosen]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(truth[chosen] > 0, off / truth[chosen], 1.0)
    share = np.where(told, truth[chosen], 0).sum(axis=1).mean() / max(1, truth[chosen].sum())
    error = float(np.sqrt((off.astype(float) ** 2).mean()))
    limit = float(np.sqrt((stated[chosen].astype(float) ** 2).mean()))
    print(
        f"| {name} | {epsilon:g} | {level} | {chosen.sum()} | {told.sum(axis=1).mean():.0f} | {share:.0%} | "
        f"{np.median(relative[told]):.1%} | {error:.1f} | {limit:.1f} |"
    )
    return error <= limit


def in_order_of(labels: pa.ChunkedArray, table: pa.Table, column: str) -> np.ndarray:
    """A column of a published table, in the order of these topics."""
    place = pc.index_in(labels, value_set=table.column("topic").combine_chunks())
    return np.asarray(table.column(column))[np.asarray(place)]


if __name__ == "__main__":
    main()
