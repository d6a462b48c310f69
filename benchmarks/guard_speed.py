"""How long a guard keeps one waiting: each step against the bare look-up of the same query, in one run.

    python benchmarks/guard_speed.py [--long]

Times are of one process, by its own processor time and by the clock (medians). ``--long`` adds a history of
100,000 documents.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from tacit.device import Guard
from tacit.device.features import pack
from tacit.device.history import FILING, History, HistoryDocument
from tacit.device.repository import load_repository
from tacit.device.store import ProfileStore
from tacit.text.vectors import load_word_table

QUERIES = ["java", "jaguar", "mercury", "bank", "eagle", "python", "coffee", "organ", "crane", "bass"]


def median(action: Callable[[str], Any], times: int = 60) -> tuple[float, float]:
    """Median milliseconds of processor and clock over queries."""
    for query in QUERIES:
        action(query)
    processor, clock = [], []
    for number in range(times):
        begun = time.process_time(), time.perf_counter()
        action(QUERIES[number % len(QUERIES)])
        processor.append(1000 * (time.process_time() - begun[0]))
        clock.append(1000 * (time.perf_counter() - begun[1]))
    return statistics.median(processor), statistics.median(clock)


def filled(path: Path, documents: int) -> None:
    """A profile with a history of glosses under random topics."""
    repository, table = load_repository(), load_word_table()
    random = np.random.default_rng(0)
    with ProfileStore.create(path, repository.tree) as store:
        history = History(store)
        start = datetime(2020, 1, 1, tzinfo=UTC)
        for begin in range(0, documents, 5_000):
            batch = []
            for number in range(begin, min(documents, begin + 5_000)):
                document = repository.corpus[int(random.integers(len(repository.corpus)))]
                filing = np.empty(10, FILING)
                filing["topic"] = random.integers(1, len(repository.tree), 10)
                filing["cosine"] = 0.5
                text = f"{document.text} {repository.corpus[number % 80_000].text}"
                batch.append(
                    HistoryDocument(
                        store.digest(str(number)),
                        start + timedelta(minutes=number),
                        "",
                        f"u{number}",
                        document.title,
                        text,
                        pack(table, f"{document.title} {text}"),
                        filing,
                    )
                )
            history.add(batch)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="add a history of 100,000 documents")
    sizes = [2_000, 100_000] if parser.parse_args().long else [2_000]
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            measure(Path(folder) / f"{size}.profile", size)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"peak memory: {peak:.0f} MB")


def measure(path: Path, size: int) -> None:
    """One history's figures."""
    filled(path, size)
    begun = time.process_time()
    guard = Guard(path)
    guard.preview("java")
    ready = time.process_time() - begun
    corpus = load_repository().corpus
    shown = [corpus[number * 800] for number in range(100)]
    results = [{"url": one.url, "title": one.title, "snippet": one.text * 2} for one in shown]
    bare, bare_clock = median(lambda query: load_repository().retrieve(query, 20))
    rows = {
        "protect": median(guard.protect),
        "rerank 100 results": median(lambda query: guard.rerank(query, results), 30),
        "explain 100 results": median(lambda query: guard.explain(query, results), 30),
        "click": median(lambda query: guard.clicked(query, results[0]), 30),
    }
    print(f"history of {size:,}: opened and asked once in {ready:.2f} s of processor time")
    print(f"  bare look-up of a query: {bare:.2f} ms processor, {bare_clock:.2f} ms clock")
    for name, (processor, clock) in rows.items():
        ratio = processor / max(bare, 1e-3)
        print(f"  {name}: {processor:.1f} ms processor, {clock:.1f} ms clock, {ratio:.0f} look-ups")
    guard.close()


if __name__ == "__main__":
    main()
