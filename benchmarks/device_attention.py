"""Reranking on the device and by sent topics, on real results of ambiguous queries (AMBIENT).

    python benchmarks/device_attention.py

Results of meanings are judged. A person has clicked three results of a meaning (taken out of the list), or
has read encyclopaedia abstracts of the category nearest to the meaning that hold none of the query's words,
among random abstracts; or is one of ``specimens``, who read about none of it. Average precision; "moved":
the share of cases that are not in the engine's order, "fell": those that lose more than 0.05 against it. The
other half of AMBIENT is not part of the data beside the project. Claim: 0.65 with three clicks, 0.40 without
the query's words, no loss of more than 0.01 on average for unrelated histories.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from people_topics import articles, articles_file
from specimens.ambient_histories import history_cases
from tacit.evaluate.cases import Ambient, HistoryCase, Page, load_ambient, precision_of
from tacit.evaluate.personalised import AttentionRanking
from tacit.retrieval import people_topics
from tacit.text.vectors import load_word_table, plural_forms

NEAREST, FEWEST = 0.5, 25
PLACES = (
    *("- YouTube", "| Official Site", "- Wikipedia", "- Reddit", "- Amazon.co.uk", "Login", "- BBC News"),
    *("Home Page", "- Google Search", "| Facebook", "- Free Download", "- Online Shop", "- The Guardian"),
    *[""] * 8,
)
Pools = dict[str, list[Page]]


def abstracts(rows: list[dict[str, object]]) -> Pools:
    """Abstracts by category, as pages."""
    found: Pools = {}
    for number, row in enumerate(rows):
        page = {"id": f"a{number}", "url": "", "title": "", "snippet": str(row["text"])}
        found.setdefault(str(row["categories"][0]), []).append(page)  # type: ignore[index]
    return {name: pages for name, pages in found.items() if len(pages) >= FEWEST}


def without_words(
    ambient: Ambient, pools: Pools, about: int, size: int, meant: bool = True
) -> Iterator[HistoryCase]:
    """Histories with pages of the meaning's category, or of another, without the query's words."""
    table, topics = load_word_table(), people_topics()
    names = list(pools)
    middle = np.array([topics.directions(p["snippet"] for p in pools[name]).mean(axis=0) for name in names])
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    everything = [page for pages in pools.values() for page in pages]
    for query, asked in ambient.queries.items():
        forms = {form for word in table.content(asked) for form in plural_forms(word)}
        for meaning in ambient.meanings_of(query):
            choice = random.Random(f"{about} {size} {meaning}")
            relevant = ambient.meanings[meaning]
            texts = [f"{p['title']} {p['snippet']}" for p in ambient.results[query] if p["id"] in relevant]
            near = middle @ topics.directions([" ".join(texts)])[0]
            if near.max() < NEAREST:
                continue
            name = names[int(near.argmax())] if meant else choice.choice(names)
            pool = [page for page in pools[name] if not forms & set(table.content(page["snippet"]))]
            if len(pool) < about:
                continue
            read = choice.sample(pool, about)
            others = [page for page in everything if page not in read]
            history = read + choice.sample(others, size - about)
            yield HistoryCase(query, asked, meaning, ambient.results[query], history, relevant)


def specimens(ambient: Ambient, titles: bool = False) -> Iterator[HistoryCase]:
    """Histories of the people of ``specimens``, none of whose pages is about these queries; or titles alone,
    many of which say where the page was, as browsers keep them."""
    for path in sorted((Path(__file__).parent / "specimens").glob("*.txt")):
        lines = [
            line.split(" | ") for line in path.read_text("utf-8").splitlines() if line.startswith("page | ")
        ]
        choice, pages = random.Random(path.stem), list[Page]()
        for number, (_, title, *rest) in enumerate(lines):
            if titles:
                title, rest = f"{title} {choice.choice(PLACES)}", []
            text = "" if not rest or rest[-1].startswith("https://") else rest[-1]
            pages.append({"id": f"p{number}", "url": "", "title": title, "snippet": text})
        for query, asked in ambient.queries.items() if pages else ():
            for meaning in ambient.meanings_of(query):
                found = ambient.results[query]
                yield HistoryCase(query, asked, meaning, found, pages, ambient.meanings[meaning])


def show(name: str, cases: list[HistoryCase], ranking: AttentionRanking) -> None:
    """Print one line."""
    engine = np.array([precision_of(case, case.results) for case in cases])
    orders = [[list(way(case)) for case in cases] for way in (ranking.on_device, ranking.sent)]
    device, sent = (
        np.array(
            [
                precision_of(case, [case.results[place] for place in order])
                for case, order in zip(cases, each, strict=True)
            ]
        )
        for each in orders
    )
    moved = np.mean([order != sorted(order) for order in orders[0]])
    print(
        f"{name:42} {len(cases):4} cases  engine {engine.mean():.3f}  on the device {device.mean():.3f} "
        f"(moved {moved:.2f}, fell {np.mean(device < engine - 0.05):.2f})  sent {sent.mean():.3f}",
        flush=True,
    )


def main() -> None:
    file = articles_file()
    if file is None:
        print("device_attention: the data is absent")
        return
    ambient = load_ambient(Path(file).parent / "ambient")
    pools, ranking = abstracts(articles(file)), AttentionRanking()
    show("three clicks among 200", list(history_cases(ambient, [], 3, 200)), ranking)
    show("no interest, 200", list(history_cases(ambient, [], 0, 200, interest="none")), ranking)
    for about, size in ((20, 200), (10, 200), (20, 2_000)):
        name = f"{about} of {size:,} pages without the query's words"
        show(name, list(without_words(ambient, pools, about, size)), ranking)
    show("20 of 200 about something else", list(without_words(ambient, pools, 20, 200, meant=False)), ranking)
    show("everyday people who read about none of it", list(specimens(ambient)), ranking)
    show("the same by titles alone", list(specimens(ambient, titles=True)), ranking)


if __name__ == "__main__":
    main()
