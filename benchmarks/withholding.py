"""What the filter for sensitive documents misses, and what it withholds without need, by kind of topic.

    python benchmarks/withholding.py

Encyclopaedia abstracts with known categories. The categories are the taxonomy, half of the articles say what
each is about, and each category in turn is sensitive: of the other half, articles of that category that are
not caught have escaped, articles of unrelated branches that are caught are lost.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from tacit.device.profile.history import NEAREST
from tacit.device.sending.withholding import NEAR_SHARE, Withholding
from tacit.retrieval.topic_vectors import load_topic_vectors
from tacit.taxonomy import TopicTree

FEWEST = 30


def data_file() -> Path | None:
    for ancestor in Path(__file__).resolve().parents[1:]:
        found = ancestor / "shared" / "data" / "wikispeedia_abstracts.jsonl.gz"
        if found.is_file():
            return found
    return None


def abstract_pages(articles: str | Path, characters: int = 200) -> list[dict[str, str]]:
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


def main() -> None:
    """Measure and print."""
    articles = data_file()
    if articles is None:
        print("The abstracts are absent: no folder shared/data beside the project; nothing was measured.")
        return
    pages = abstract_pages(articles, 900)
    paths = [tuple(page["category"].split("/")) for page in pages]
    tree = TopicTree.from_paths((path, float(count)) for path, count in Counter(paths).items())
    topic = np.array([tree.find((tree.names[0], *path)) for path in paths])
    order = np.random.default_rng(1).permutation(len(pages))
    known, held = order[::2], order[1::2]
    texts = [f"{page['title']} {page['snippet']}" for page in pages]
    vectors = load_topic_vectors(tree, [(int(topic[place]), texts[place]) for place in known])
    by_names = load_topic_vectors(tree)
    sizes = Counter(topic[held].tolist())
    print("| an article is caught if | text | escaped | lost | worst category |")
    print("|---|---|---|---|---|")
    kinds: dict[str, list[tuple[float, float]]] = defaultdict(list)
    default = "any of its 10 best topics is sensitive, or it is near one (default)"
    for name, how, length, nearest, strict, share in (
        (default, vectors, 900, NEAREST, False, NEAR_SHARE),
        ("the same", vectors, 200, NEAREST, False, NEAR_SHARE),
        ("strict: or its cosine to one is 0.3 or more", vectors, 200, NEAREST, True, NEAR_SHARE),
        ("any of its 10 best alone", vectors, 900, NEAREST, False, 0.0),
        ("the same", vectors, 200, NEAREST, False, 0.0),
        ("its best topic alone", vectors, 200, 1, False, 0.0),
        ("default, topics known by name only", by_names, 200, NEAREST, False, NEAR_SHARE),
        ("any of its 10 best alone, topics known by name only", by_names, 200, NEAREST, False, 0.0),
    ):
        directions = how.table.directions(
            f"{pages[place]['title']} {pages[place]['snippet'][:length]}" for place in held
        )
        near, _ = how.nearest(directions, NEAREST)
        near[:, nearest:] = near[:, :1]
        rows = []
        for category, count in sizes.items():
            if count < FEWEST // 2:
                continue
            caught = Withholding(how, {int(category): 1.0}, strict=strict, near=share).caught(
                near, directions
            )
            inside = np.array([tree.is_ancestor(category, t) for t in topic[held].tolist()])
            branch = tree.ancestors(category)[1:2] or [category]
            unrelated = ~np.array([tree.is_ancestor(branch[0], t) for t in topic[held].tolist()])
            missed, needless = 1 - caught[inside].mean(), caught[unrelated].mean()
            rows.append((category, missed, needless))
            if name == default:
                kinds[tree.names[branch[0]]].append((missed, needless))
        worst = max(rows, key=lambda row: row[1])
        missed, needless = np.mean([row[1] for row in rows]), np.mean([row[2] for row in rows])
        named = f"{tree.names[worst[0]].replace('_', ' ')} {worst[1]:.2f}"
        print(f"| {name} | title and {length} | {missed:.3f} | {needless:.3f} | {named} |")
    print(f"\n{len(rows)} categories, {len(held):,} articles held out.\n")
    print("| kind (default filter, title and 900) | categories | escaped | lost | worst |")
    print("|---|---|---|---|---|")
    for kind, found in sorted(kinds.items(), key=lambda item: -np.mean([row[0] for row in item[1]])):
        missed, needless = np.mean([row[0] for row in found]), np.mean([row[1] for row in found])
        worst_of = max(row[0] for row in found)
        named = kind.replace("_", " ")
        print(f"| {named} | {len(found)} | {missed:.3f} | {needless:.3f} | {worst_of:.2f} |")


if __name__ == "__main__":
    main()
