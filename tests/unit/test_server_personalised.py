"""The server's side: results ranked by the topics that came with a query."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import TaxonomyError
from tacit.retrieval.personalised import rank_by_topics
from tacit.retrieval.topic_vectors import load_topic_vectors, wordnet_topic_vectors
from tacit.taxonomy import TopicTree, load_wordnet

COFFEE = "Top/Food & Drink/Coffee & Tea"
ISLAND = "Top/Places/Southeast Asia"
RESULTS = [
    "Java programming language: download the compiler and libraries",
    "Java island travel: volcanoes and temples of Indonesia",
    "Java coffee: roasted arabica beans for espresso",
]


def test_a_gloss_is_nearest_to_its_own_topic() -> None:
    wordnet, vectors = load_wordnet(), wordnet_topic_vectors()
    chosen = np.random.default_rng(0).choice(len(wordnet), 200)
    texts = [f"{' '.join(wordnet.lemmas(int(s)))} {wordnet.gloss(int(s))}" for s in chosen]
    nearest, cosines = vectors.nearest(vectors.table.directions(texts), 10)
    assert np.mean([s in row for s, row in zip(chosen, nearest, strict=True)]) > 0.7
    assert np.all(np.diff(cosines, axis=1) <= 1e-6)
    assert 0 not in nearest  # the root is near nothing


def test_results_near_the_exposed_topics_come_first() -> None:
    assert rank_by_topics("java", RESULTS, [COFFEE])[0] == 2
    assert rank_by_topics("java", RESULTS, [ISLAND])[0] == 1
    assert rank_by_topics("java", RESULTS, ["Top/Food & Drink"])[0] == 2  # a general topic
    assert rank_by_topics("java", RESULTS, []) == [0, 1, 2]
    assert rank_by_topics("java", [], [COFFEE]) == []


def test_several_topics_weigh_alike_and_unknown_ones_are_refused() -> None:
    both = rank_by_topics("java", RESULTS, [COFFEE, ISLAND, "Top/Food & Drink"])
    assert both[2] == 0
    assert both == rank_by_topics("java", RESULTS, [ISLAND, COFFEE])
    with pytest.raises(TaxonomyError):
        rank_by_topics("q", RESULTS, ["Top/Nowhere"])


def test_topics_known_by_name_find_texts_about_them() -> None:
    tree = TopicTree.from_paths([((top, below), 1.0) for top, below in
                                 [("Sports", "Football"), ("Arts", "Music"), ("Health", "Diseases"),
                                  ("Recreation", "Food"), ("Science", "Astronomy")]])  # fmt: skip
    vectors = load_topic_vectors(tree)
    texts = ["the striker scored a goal", "a symphony for violin and orchestra",
             "symptoms are fever and cough", "the telescope observed a distant galaxy"]  # fmt: skip
    nearest, _ = vectors.nearest(vectors.table.directions(texts), 1)
    assert [tree.path(int(t))[1] for t in nearest[:, 0]] == ["Sports", "Arts", "Health", "Science"]
