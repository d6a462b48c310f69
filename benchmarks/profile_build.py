"""Building a profile from clicks: 10,000 clicks in under a minute.

The clicks are those of the busiest users of a synthetic log, filed as one person's. The floor measured in the
same run is the bare look-up of the clicked queries, without filing anything.

Run: python benchmarks/profile_build.py [--quick]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.device import ProfileStore, build_profile, clicked_documents, wordnet_repository
from tacit.world.synth import SyntheticLog


def main() -> None:
    """Print the time of filing, of the bare look-ups, and of running again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,000 clicks instead of 10,000")
    count = 1_000 if parser.parse_args().quick else 10_000
    repository = wordnet_repository()
    table = SyntheticLog(count // 20, seed=11).table()
    clicks = table.filter(pa.compute.is_valid(table["url"])).slice(0, count)
    one = clicks.set_column(0, clicks.schema.field("user"), pa.array(["u"] * len(clicks)))
    begun = time.perf_counter()
    _ = len(repository.index)
    print(f"topic index: {time.perf_counter() - begun:.2f} s, once a process")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "clicks.parquet"
        pq.write_table(one, log)
        with ProfileStore.create(Path(folder) / "profile", repository.tree) as store:
            timings = []
            for _ in range(2):
                begun = time.perf_counter()
                report = build_profile(
                    store, repository, clicked_documents(log, None, repository.text_behind)
                )
                timings.append((time.perf_counter() - begun, report))
    queries = set(one["query"].to_pylist())
    begun = time.perf_counter()
    for query in queries:
        repository.engine.search(query, 20)
    floor = time.perf_counter() - begun
    (first, report), (again, skipped) = timings
    print(f"{len(one):,} clicks: {first:.2f} s ({report.filed:,} filed), limit 60 s: {first / 60:.3f} of it")
    print(f"again, nothing new: {again:.2f} s ({skipped.known:,} known)")
    print(f"bare look-up of the {len(queries):,} queries: {floor:.2f} s, ratio {first / floor:.1f}")


if __name__ == "__main__":
    main()
