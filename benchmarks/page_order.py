"""What the search page's order is worth to somebody whose browser's history holds titles only.

    python benchmarks/page_order.py

Cases as in ``device_attention.py``: real results of ambiguous queries (AMBIENT), and a history of 200 pages
of which 20 are of the category nearest to a meaning, or of any other, none with the query's words. A page of
the history is a title of about ten words, as a browser keeps it. Average precision in the engine's order, in
the order of the device alone, and in that of the page, which keeps the engine's order where no result shares
a word with what would raise it; "fell": the share of cases that lose more than 0.05 against the engine.

Claim: on unrelated histories the page's order loses nothing on average.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from device_attention import abstracts, without_words
from people_topics import articles, articles_file
from tacit import Guard
from tacit.evaluate.cases import HistoryCase, Page, load_ambient, precision_of
from tacit.web.engines.interface import Answer, SearchResult
from tacit.web.rules import RuleBook
from tacit.web.search import AnswerBatch, _Arrangement, fuse

EVERY = 2


def orders(case: HistoryCase) -> tuple[float, float, float]:
    """Average precision of the engine's order, the device's and the page's."""
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    pages = [("", page, begun + timedelta(hours=number)) for number, page in enumerate(case.history)]
    by_address = {f"https://r{number}.example/": one for number, one in enumerate(case.results)}
    found = [SearchResult(url, one["title"], one["snippet"]) for url, one in by_address.items()]
    batch = AnswerBatch((), *[tuple(fuse([Answer("engine", tuple(found))]))] * 2)
    rows = [{"url": one.result.url, "title": one.result.title, "snippet": one.result.snippet, "fused": one}
            for one in batch.fused]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, Guard(Path(folder) / "me.profile") as guard:
        guard.learn(pages)
        placed = guard.explain(case.query, rows)
    numbers = {one.address: number for number, one in enumerate(batch.fused)}
    shown, _ = _Arrangement(case.query, batch, RuleBook({}), numbers, 0).made(placed)
    device = [by_address[one.result["url"]] for one in placed]
    page = [by_address[one.result.url] for one in shown]
    return tuple(precision_of(case, order) for order in (case.results, device, page))  # type: ignore[return-value]


def show(name: str, cases: Iterable[HistoryCase]) -> float:
    """Print a line; what the page's order gains on average."""
    engine, device, page = np.array([orders(case) for case in cases]).T
    fell = [f"{found.mean():.3f} (fell {np.mean(found < engine - 0.05):.2f})" for found in (device, page)]
    print(f"{name:30} {len(engine):3} cases  engine {engine.mean():.3f}  device {fell[0]}  page {fell[1]}")
    return float((page - engine).mean())


def main() -> None:
    file = articles_file()
    if file is None:
        print("page_order: the data is absent")
        return
    rows, ambient = articles(file), load_ambient(Path(file).parent / "ambient")
    titles = {}
    for number, row in enumerate(rows):
        first = " ".join(str(row["text"]).partition(". ")[0].split()[:9])
        titles[f"a{number}"] = f"{str(row['title']).replace('_', ' ')}: {first}"

    def title_of(page: Page) -> Page:
        return page | {"url": f"https://{page['id']}.example/", "title": titles[page["id"]], "snippet": ""}

    gains = {}
    for name, meant in (("20 of 200 about the meaning", True), ("20 of 200 about something else", False)):
        cases = list(without_words(ambient, abstracts(rows), 20, 200, meant=meant))[::EVERY]
        named = [replace(case, history=[title_of(page) for page in case.history]) for case in cases]
        gains[meant] = show(name, named)
    if gains[False] < 0 or gains[True] <= 0:
        raise SystemExit("the claim does not hold")


if __name__ == "__main__":
    main()
