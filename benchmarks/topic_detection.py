"""How often a real text is filed under the right topic: encyclopaedia abstracts under WordNet's nouns.

Articles whose title has exactly one meaning in WordNet have a known topic. Reported: how many are filed under
exactly that topic, and under its parent or anything below the parent; with the title as the query (as for
pages of a browsing history) and from the text alone (as for plain documents).

Run: python benchmarks/topic_detection.py [ARTICLES.jsonl.gz] [--quick]   (lines with title and text)
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path

from tacit.device import wordnet_repository
from tacit.device.profile.construction import file_document
from tacit.taxonomy import load_wordnet

ARTICLES = Path(__file__).parents[2] / "shared" / "data" / "wikispeedia_abstracts.jsonl.gz"
"""Where the articles lie beside the project, if they do."""


def articles(path: Path) -> list[tuple[str, str, int]]:
    """Title, text and topic of the articles whose title has one meaning."""
    wordnet = load_wordnet()
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            article = json.loads(line)
            senses = wordnet.senses(article["title"])
            if len(senses) == 1:
                found.append((article["title"], f"{article['title']} {article['text']}", senses[0]))
    return found


def main() -> None:
    """Print both rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("articles", type=Path, nargs="?", default=ARTICLES)
    parser.add_argument("--quick", action="store_true", help="every tenth article")
    arguments = parser.parse_args()
    if not arguments.articles.is_file():
        print(f"nothing measured: there are no articles at {arguments.articles}")
        return
    repository = wordnet_repository()
    tree = repository.tree
    known = articles(arguments.articles)[:: 10 if arguments.quick else 1]
    for name, with_title in (("with the title as query", True), ("from the text alone", False)):
        begun = time.perf_counter()
        filed = [
            (file_document(repository, title if with_title else "", text), topic)
            for title, text, topic in known
        ]
        each = (time.perf_counter() - begun) / len(known) * 1000
        exact = sum(found == topic for found, topic in filed) / len(filed)
        near = sum(
            found is not None and tree.is_ancestor(int(tree.parent[topic]), found) for found, topic in filed
        ) / len(filed)
        print(
            f"{name}: {len(filed):,} articles, {exact:.1%} exactly, {near:.1%} at the parent or below, "
            f"{each:.2f} ms each"
        )


if __name__ == "__main__":
    main()
