"""Ambiguous queries with real web results: does a history bring up the meaning that its owner cares for?

Read from AMBIENT's four files (Carpineto and Romano, 2008): queries such as *Beagle*, about 100 results each
with url, title and snippet, and judgments of which results belong to which meaning. A **case** is one meaning
of one query: some of its results were clicked before and stand in a history of other pages; the rest of the
results are ranked, and those of the meaning are relevant.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tacit.errors import InputError

__all__ = [
    "Ambient",
    "HistoryCase",
    "Interval",
    "abstract_pages",
    "history_cases",
    "interval_over_queries",
    "load_ambient",
    "precision_of",
]

_FEWEST = 4
"""Meanings with fewer judged results are passed over."""

Page = dict[str, str]


@dataclass(frozen=True)
class Ambient:
    """Queries with their results and the meanings of these."""

    queries: dict[str, str]
    results: dict[str, list[Page]]
    """The results of each query in the engine's order, as url, title, snippet and id."""
    meanings: dict[str, frozenset[str]]
    """The results that belong to each meaning; a meaning's id begins with its query's."""

    def meanings_of(self, query: str) -> list[str]:
        """The meanings of a query that have enough judged results."""
        found = (m for m in self.meanings if m.split(".")[0] == query and len(self.meanings[m]) >= _FEWEST)
        return sorted(found)


@dataclass(frozen=True)
class HistoryCase:
    """One meaning of one query, for somebody with a history."""

    query_id: str
    query: str
    meaning: str
    results: list[Page]
    """What is ranked: the engine's results without those clicked before."""
    history: list[Page]
    """The clicks on this meaning (or another, or none), among other pages."""
    relevant: frozenset[str]


def load_ambient(folder: str | Path) -> Ambient:
    """Read AMBIENT's files from a folder."""
    folder = Path(folder)
    if not (folder / "topics.txt").is_file():
        raise InputError(f"{folder} does not hold AMBIENT's files.")
    results: dict[str, list[Page]] = {}
    with gzip.open(folder / "results.txt.gz", "rt", encoding="utf-8") as lines:
        for row in _rows(lines.read()):
            number, url, title, snippet = [*row, "", "", ""][:4]
            page = {"id": number, "url": url, "title": title, "snippet": snippet}
            results.setdefault(number.split(".")[0], []).append(page)
    meanings: dict[str, set[str]] = {}
    for row in _rows((folder / "STRel.txt").read_text(encoding="utf-8")):
        meanings.setdefault(row[0], set()).add(row[1])
    queries = {row[0]: row[1] for row in _rows((folder / "topics.txt").read_text(encoding="utf-8"))}
    return Ambient(queries, results, {m: frozenset(found) for m, found in meanings.items()})


def _rows(text: str) -> Iterator[list[str]]:
    return (line.split("\t") for line in text.split("\n")[1:] if line.strip())


def abstract_pages(articles: str | Path, characters: int = 200) -> list[Page]:
    """Encyclopaedia abstracts as pages: title, and the beginning of the text as snippet."""
    with gzip.open(articles, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["categories"] and row["text"]]
    return [
        {
            "url": row["url"],
            "title": row["title"],
            "snippet": row["text"][:characters],
            "category": row["categories"][0],
        }
        for row in rows
    ]


def history_cases(
    ambient: Ambient, others: Sequence[Page], clicks: int, size: int, *, interest: str = "same", seed: int = 0
) -> Iterator[HistoryCase]:
    """A case for every meaning with enough results.

    Args:
        ambient: queries, results and meanings.
        others: pages to fill histories with, beside other queries' results: half and half; with none, other
            queries' results alone.
        clicks: how many results of the meaning were clicked before.
        size: how many documents the history holds.
        interest: ``same`` (clicks on the meaning), ``other`` (on another meaning of the query) or ``none``.
        seed: for the choice of clicks and of the other pages.
    """
    for query, words in ambient.queries.items():
        elsewhere = [page for key, found in ambient.results.items() if key != query for page in found]
        for meaning in ambient.meanings_of(query):
            choice = random.Random(f"{seed} {clicks} {size} {interest} {meaning}")
            relevant = ambient.meanings[meaning]
            if interest == "other":
                pool = sorted({r for m in ambient.meanings_of(query) for r in ambient.meanings[m]} - relevant)
            else:
                pool = sorted(relevant) if interest == "same" else []
            kept = len(relevant) if interest != "same" else len(relevant) - clicks
            if len(pool) < (clicks if interest != "none" else 0) or kept < 1:
                continue
            clicked = set(choice.sample(pool, clicks)) if interest != "none" else set()
            filled = size - len(clicked)
            near = choice.sample(elsewhere, min(len(elsewhere), filled // 2 if others else filled))
            history = [page for page in ambient.results[query] if page["id"] in clicked]
            history += near + choice.sample(list(others), min(len(others), filled - len(near)))
            left = [page for page in ambient.results[query] if page["id"] not in clicked]
            yield HistoryCase(query, words, meaning, left, history, frozenset(relevant - clicked))


def precision_of(case: HistoryCase, order: Sequence[Page]) -> float:
    """Average precision (equation 19) of the case's relevant results in an order."""
    ranks = [rank for rank, page in enumerate(order, start=1) if page["id"] in case.relevant]
    return sum(found / rank for found, rank in enumerate(ranks, start=1)) / len(case.relevant)


@dataclass(frozen=True)
class Interval:
    """A mean over cases, with a 95% interval that takes queries as the units."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def interval_over_queries(queries: Sequence[str], values: Sequence[float], seed: int = 0) -> Interval:
    """The mean of ``values`` with a bootstrap interval over their queries (cases of a query go together)."""
    numbers: npt.NDArray[np.float64] = np.asarray(values, np.float64)
    names = sorted(set(queries))
    member = np.array([names.index(query) for query in queries])
    sums = np.bincount(member, numbers, len(names))
    sizes = np.bincount(member, minlength=len(names))
    drawn = np.random.default_rng(seed).integers(0, len(names), (2_000, len(names)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(numbers.mean()), float(low), float(high))
