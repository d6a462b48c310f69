"""How long a guard keeps one waiting, each step against the bare look-up of a query, and its memory.

    python benchmarks/guard_speed.py [--long]

Two histories of 2,000 documents: glosses under random topics, and a browser's history, in which a few
subjects come back again and again and most documents speak about a query of theirs. Each is measured in a
process of its own that does nothing else, by its own processor time and by the clock (medians), and its
peak memory.
``--long`` adds a history of 100,000 documents. The run fails where a limit on processor time or memory is not
kept.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from tacit.device import Guard
from tacit.device.profile.arrays import pack
from tacit.device.profile.history import FILING, History, HistoryDocument
from tacit.device.profile.repository import load_repository
from tacit.device.profile.store import ProfileStore
from tacit.text.vectors import load_word_table

QUERIES = ["java", "jaguar", "mercury", "bank", "eagle", "python", "coffee", "organ", "crane", "bass"]
SUBJECTS = (
    "coffee sailing jazz football painting chess garden bread guitar history mountain river atom poem".split()
)
LIMITS = {"opened": 1000.0, "protect": 10.0, "rerank 100 results": 20.0, "click": 10.0, "memory": 260.0}


def median(queries: list[str], action: Callable[[str], Any], times: int = 60) -> tuple[float, float]:
    """Median milliseconds of processor and clock over queries."""
    for query in queries:
        action(query)
    processor, clock = [], []
    for number in range(times):
        begun = time.process_time(), time.perf_counter()
        action(queries[number % len(queries)])
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
                filing["score"] = 0.5
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


def browsed(path: Path, documents: int) -> None:
    """A profile with a browser's history: few subjects, titles much alike."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    with Guard(path) as guard:
        guard.learn(
            (
                "",
                {
                    "url": f"https://h{number}.example/",
                    "title": f"{SUBJECTS[number % 14]} for {SUBJECTS[number * 3 % 14]} lovers {number}",
                    "snippet": f"What to know about {SUBJECTS[number % 14]} before you start.",
                },
                start + timedelta(hours=number),
            )
            for number in range(documents)
        )


def main() -> None:
    """Fill, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="add a history of 100,000 documents")
    kinds: list[tuple[str, Callable[[Path, int], None], int, list[str]]] = [
        ("glosses", filled, 2_000, QUERIES),
        ("a browser's history", browsed, 2_000, SUBJECTS),
    ]
    if parser.parse_args().long:
        kinds.append(("glosses", filled, 100_000, QUERIES))
    over: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        apart(warm_up, Path(folder) / "first.profile")
        for place, (name, fill, size, queries) in enumerate(kinds):
            path = Path(folder) / f"{place}.profile"
            fill(path, size)
            print(f"{name}, {size:,} documents")
            figures = apart(measure, path, queries)
            if size == 2_000:
                over += [f"{what} ({name})" for what, limit in LIMITS.items() if figures[what] > limit]
    limits = ", ".join(f"{what} {limit:g}" for what, limit in LIMITS.items())
    print(f"limits at 2,000 documents, in ms and MB: {limits}")
    if over:
        sys.exit(f"over the limit: {', '.join(over)}")


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """What ``work`` gives in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(work, *arguments).result()


def warm_up(path: Path) -> None:
    """Fill the caches: the first process ever compiles, which takes seconds and more memory."""
    page = {"url": "u", "title": "Java", "snippet": "an island"}
    with Guard(path) as guard:
        guard.clicked("java", page)
        guard.protect("java")
        guard.explain("java", [page] * 100)


def measure(path: Path, queries: list[str]) -> dict[str, float]:
    """One history's figures, printed and given back by name."""
    begun = time.process_time()
    guard = Guard(path)
    guard.preview("java")
    opened = 1000 * (time.process_time() - begun)
    repository = load_repository()
    results = [
        {"url": one.url, "title": one.title, "snippet": one.text * 2}
        for one in (repository.corpus[number * 800] for number in range(100))
    ]
    bare, bare_clock = median(queries, lambda query: repository.retrieve(query, 20))
    rows = {
        "protect": median(queries, guard.protect),
        "rerank 100 results": median(queries, lambda query: guard.rerank(query, results), 30),
        "explain 100 results": median(queries, lambda query: guard.explain(query, results), 30),
        "click": median(queries, lambda query: guard.clicked(query, results[0]), 30),
    }
    guard.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  opened and asked once: {opened:.0f} ms processor; peak memory {memory:.0f} MB")
    print(f"  bare look-up of a query: {bare:.2f} ms processor, {bare_clock:.2f} ms clock")
    for name, (processor, clock) in rows.items():
        ratio = processor / max(bare, 1e-3)
        print(f"  {name}: {processor:.1f} ms processor, {clock:.1f} ms clock, {ratio:.0f} look-ups")
    sys.stdout.flush()
    processor = {name: figures[0] for name, figures in rows.items()}
    return {"opened": opened, "memory": memory, **processor}


if __name__ == "__main__":
    main()
