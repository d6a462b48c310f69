"""How long cutting histories into sessions by words takes, against cutting them by pauses alone.

Claim: reading words costs a small multiple of sorting by user and time, which both have to do, and far less
than the definition read record by record in Python.

    python benchmarks/session_speed.py            # 20,000 synthetic users
    python benchmarks/session_speed.py --quick    # 3,000
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.searchlog.sessions import BY_PAUSES, SessionCut, history_order
from tacit.world.synth import SyntheticLog

_PARTS = re.compile(r"https?://|\bwww\.|\.(?:com|net|org|edu|gov)\b")


def record_by_record(log: pa.Table) -> int:
    """Sessions by words, as one would write it down: a floor for anything cleverer."""
    order = history_order(log["user"], log["time"])
    users, times, queries = (
        log["user"].to_pylist(),
        np.asarray(log["time"].cast(pa.int64())),
        log["query"].to_pylist(),
    )
    sessions, before, recent = 0, -1, list[set[str]]()
    for n in order.tolist():
        text = _PARTS.sub("", queries[n].lower()).strip()
        grams = {text[i : i + 3] for i in range(max(len(text) - 2, 1))}
        if before < 0 or users[n] != users[before]:
            sessions, recent = sessions + 1, []
        else:
            pause = times[n] - times[before]
            far = all(len(grams & other) < 0.25 * min(len(grams), len(other)) for other in recent)
            sessions += bool(pause > 5_400_000_000 or (pause > 60_000_000 and text != "-" and far))
        if grams in recent:
            recent.remove(grams)
        recent = [grams, *recent[:2]]
        before = n
    return sessions


def seconds(work: Callable[[], object]) -> float:
    """The best of three runs."""
    found = []
    for _ in range(3):
        begun = time.perf_counter()
        work()
        found.append(time.perf_counter() - begun)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    users = 3_000 if parser.parse_args().quick else 20_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        SyntheticLog(users, seed=1).write(path)
        log = pq.read_table(path)
    by_time = seconds(lambda: BY_PAUSES.starts(log["user"], log["time"], log["query"]))
    by_words = seconds(lambda: SessionCut().starts(log["user"], log["time"], log["query"]))
    part = log.slice(0, min(log.num_rows, 200_000))
    plain = seconds(lambda: record_by_record(part)) * log.num_rows / part.num_rows
    print(f"{log.num_rows:,} records of {users:,} users\n")
    print("| sessions | seconds | records/s | time against pauses alone |")
    print("|---|---:|---:|---:|")
    for name, took in (("by pauses", by_time), ("by words", by_words), ("by words, record by record", plain)):
        print(f"| {name} | {took:.2f} | {log.num_rows / took:,.0f} | {took / by_time:.1f} |")
    if by_words > plain:
        sys.exit("slower than record by record")


if __name__ == "__main__":
    main()
