"""Reranking by a generalised profile on real texts: simulated readers of an encyclopaedia.

    python benchmarks/device_articles.py wikispeedia_abstracts.jsonl.gz [--users 200]

Articles (JSON lines, gzipped, with url, title, text and categories) stand under their first categories. A
reader has read some articles of three categories, with up to three sensitive topics, and searches for one
word, ambiguous by construction, of an article that is still unread. Claim: equation 20, the words of a result
against the exposed topics, gains on texts of this length, and the device with the whole profile gains more.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from device_quality import device_results
from tacit.device import Repository, UserProfile
from tacit.device.profile.construction import file_document
from tacit.device.profile.repository import TopicDocuments, content_words
from tacit.errors import InputError
from tacit.evaluate.cases import SHOWN, Case, sensitive_topics
from tacit.retrieval import Document, EmbeddedEngine
from tacit.taxonomy import TopicTree

_SENSITIVE = (3, 2)
_RAREST, _MOST_FREQUENT = 20, 300
_INTERESTS, _READ, _UNREAD = 3, 12, 8


def article_repository(articles: str | Path, index_folder: str | Path) -> Repository:
    """Articles (JSON lines, gzipped, with url, title, text and categories) under their first categories.

    Args:
        articles: the file.
        index_folder: an empty folder for the search index.
    """
    with gzip.open(articles, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["categories"] and row["text"]]
    if not rows:
        raise InputError(f"{articles} holds no articles with text and categories.")
    paths = [tuple(row["categories"][0].split("/")) for row in rows]
    tree = TopicTree.from_paths((path, float(count)) for path, count in Counter(paths).items())
    documents = [
        Document(number, row["title"], row["text"], row["url"], tree.find((tree.names[0], *path)))
        for number, (row, path) in enumerate(zip(rows, paths, strict=True))
    ]
    return Repository(TopicDocuments(tree, documents), EmbeddedEngine.build(index_folder, documents))


def article_cases(repository: Repository, users: int, seed: int = 0) -> Iterator[Case]:
    """Test queries of ``users`` simulated users."""
    random = np.random.default_rng(seed)
    corpus, tree = repository.corpus, repository.tree
    texts = [f"{document.title} {document.text}" for document in corpus]
    frequency = Counter(word for text in texts for word in content_words(text))
    sizes = np.bincount(repository.topic_of, minlength=len(tree))
    categories = np.flatnonzero(sizes >= _READ + 2 * _UNREAD)
    for _ in range(users):
        read: list[int] = []
        unread: list[int] = []
        for category in random.choice(categories, _INTERESTS, replace=False):
            shuffled = random.permutation(np.flatnonzero(repository.topic_of == category)).tolist()
            read += shuffled[:_READ]
            unread += shuffled[_READ : _READ + _UNREAD]
        topics = (file_document(repository, corpus[number].title, texts[number]) for number in read)
        documents = {t: float(n) for t, n in Counter(t for t in topics if t is not None).items()}
        sensitivity = sensitive_topics(tree, documents, random, *_SENSITIVE)
        profile = UserProfile(tree, documents, sensitivity)
        for number in unread:
            words = [w for w in content_words(texts[number]) if _RAREST <= frequency[w] <= _MOST_FREQUENT]
            if not words:
                continue
            query = str(random.choice(words))
            results = tuple(hit.document for hit in repository.engine.search(query, SHOWN))
            if number in results:
                yield Case(profile, query, results, frozenset({number}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("articles", type=Path)
    parser.add_argument("--users", type=int, default=200)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        repository = article_repository(chosen.articles, folder)
        print(device_results(repository, list(article_cases(repository, chosen.users, seed=5)), "articles"))


if __name__ == "__main__":
    main()
