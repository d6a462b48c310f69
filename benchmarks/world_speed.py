"""Claim: the embedded world is ready in seconds and answers a query in well under a millisecond.

Prints, in one run: the time to index the 82,115 documents against SQLite's FTS5 indexing the same
documents, and the time of a query against FTS5 answering the same queries (BM25, ten results).

    python benchmarks/world_speed.py
"""

from __future__ import annotations

import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable

from tacit.text import words
from tacit.world import wordnet_corpus
from tacit.world.corpus import build_index


def milliseconds(search: Callable[[str], object], queries: list[str]) -> float:
    times = []
    for query in queries:
        begun = time.perf_counter()
        search(query)
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1000


def main() -> None:
    documents = list(wordnet_corpus())
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TACIT_CACHE"] = folder
        begun = time.perf_counter()
        engine = build_index()
        ours = time.perf_counter() - begun
        database = sqlite3.connect(f"{folder}/fts.sqlite")
        begun = time.perf_counter()
        database.execute("CREATE VIRTUAL TABLE d USING fts5(title, text, tokenize='porter unicode61')")
        database.executemany("INSERT INTO d VALUES (?, ?)", ((d.title, d.text) for d in documents))
        database.commit()
        peer = time.perf_counter() - begun
        print(
            f"index of {len(documents):,} documents: {ours:.2f} s; FTS5 {peer:.2f} s; ratio {ours / peer:.2f}"
        )

        chosen = random.Random(0)
        titles = [" ".join(words(chosen.choice(documents).title)) for _ in range(500)]
        statement = "SELECT rowid FROM d WHERE d MATCH ? ORDER BY bm25(d, 2.0, 1.0) LIMIT 10"

        def fts5(query: str) -> list[tuple[int]]:
            text = " OR ".join(f'"{term}"' for term in query.split())
            return database.execute(statement, (text,)).fetchall()

        ours = milliseconds(lambda query: engine.search(query, 10), titles)
        peer = milliseconds(fts5, titles)
        print(f"median of {len(titles)} queries: {ours:.3f} ms; FTS5 {peer:.3f} ms; ratio {ours / peer:.2f}")


if __name__ == "__main__":
    main()
