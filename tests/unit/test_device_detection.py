"""Topic detection by discriminative naive Bayes, and reranking with it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.device_quality import uscore

from tacit.device import UserProfile, borda_fusion, interest_scores, rerank, topic_scores
from tacit.device.profile.construction import SMOOTHING, detect_topic, discriminative_bayes
from tacit.device.profile.repository import TopicIndex
from tacit.retrieval import Document
from tacit.taxonomy import TopicTree

TREE = TopicTree.from_paths(
    [(("Food", "Coffee"), 1), (("Food", "Tea"), 1), (("Places", "Java"), 1), (("Food", "Coffee", "Mocha"), 1)]
)
COFFEE, MOCHA, TEA, JAVA = (
    TREE.find("Top/" + p) for p in ("Food/Coffee", "Food/Coffee/Mocha", "Food/Tea", "Places/Java")
)
TEXTS = [
    (COFFEE, "coffee beans roasted drink"),
    (MOCHA, "mocha coffee chocolate"),
    (TEA, "tea leaves drink"),
    (JAVA, "island coffee sea"),
]
INDEX = TopicIndex(
    TREE, [Document(i, "", text, f"https://x.example/{i}", topic) for i, (topic, text) in enumerate(TEXTS)]
)


def test_scores_are_equation_18_over_disjoint_candidates() -> None:
    candidates = np.array(sorted([COFFEE, MOCHA, JAVA]), np.int32)
    scores, known = discriminative_bayes(INDEX, "coffee coffee sea", candidates)
    cells = {COFFEE: (1, 0), MOCHA: (1, 0), JAVA: (1, 1)}  # what each knows of (coffee, sea)
    for topic, score in zip(candidates.tolist(), scores.tolist(), strict=True):
        coffee, sea = cells[topic]
        expected = 2 * math.log((coffee + SMOOTHING) / (3 + SMOOTHING))
        expected += math.log((sea + SMOOTHING) / (1 + SMOOTHING))
        assert score == pytest.approx(expected)
    assert known == 3


def test_a_document_is_filed_where_its_words_are() -> None:
    everything = np.array([COFFEE, MOCHA, TEA, JAVA, JAVA], np.int32)
    assert detect_topic(INDEX, "an island in the sea", everything) == JAVA
    assert detect_topic(INDEX, "roasted beans", everything) == COFFEE
    assert detect_topic(INDEX, "chocolate mocha with coffee", everything) == MOCHA
    assert detect_topic(INDEX, "xylophone", everything) is None
    assert detect_topic(INDEX, "coffee", everything[:0]) is None


def test_uscore_is_equation_20_per_word() -> None:
    topics = np.array([COFFEE, TEA], np.int32)
    expected = (
        math.log((2 + SMOOTHING) / (3 + SMOOTHING))
        + math.log((0 + SMOOTHING) / (3 + SMOOTHING))
        + math.log((1 + SMOOTHING) / (2 + SMOOTHING)) * 2
    )
    assert uscore(INDEX, "coffee drink", topics) == pytest.approx(expected / 2 / 2)


def test_borda_adds_points_and_ties_go_to_the_engine() -> None:
    assert borda_fusion([1, 2, 3], [3, 2, 1]) == [1, 2, 3]
    assert borda_fusion([1, 2, 3], [2, 3, 1]) == [2, 1, 3]


def test_reranking_lifts_what_fits_the_profile() -> None:
    assert rerank([10, 11, 12, 13], [0.0, 0.0, 0.0, 2.0]) == [10, 11, 13, 12]
    assert rerank([10, 11, 12], [0.0, 0.0, 0.0]) == [10, 11, 12]
    texts = ["island sea", "tea leaves", "coffee beans"]
    scores = [uscore(INDEX, text, np.array([COFFEE], np.int32)) for text in texts]
    assert max(scores) == scores[2]


def test_topic_scores_are_the_log_ratio_of_the_lowest_exposed_topic() -> None:
    prior = TREE.support / TREE.support[0]
    leaves, preferences = np.array(sorted([COFFEE, JAVA]), np.int32), np.array([0.9, 0.1])
    scores = topic_scores(TREE, prior, leaves, preferences, np.array([MOCHA, JAVA, TEA, 0], np.int32))
    assert scores[0] == pytest.approx(math.log(0.9 / prior[COFFEE]))
    assert scores[1] == 0.0  # less likely than in the taxonomy at large
    assert scores[2] == pytest.approx(math.log(0.9 / prior[TREE.find("Top/Food")]))
    assert scores[3] == 0.0


def test_interest_scores_know_topics_never_clicked() -> None:
    prior = TREE.support / TREE.support[0]
    profile = UserProfile(TREE, {MOCHA: 6}, {})
    tea, mocha, java = interest_scores(profile, prior, np.array([TEA, MOCHA, JAVA], np.int32), pseudo=1.0)
    assert mocha > tea == 0.0 == java
    followed = 1.0
    for upper, lower in [(0, TREE.find("Top/Food")), (TREE.find("Top/Food"), COFFEE), (COFFEE, MOCHA)]:
        share = prior[lower] / prior[upper]
        followed *= (profile.support[lower] + share) / (profile.support[upper] + 1.0)
    assert mocha == pytest.approx(math.log(followed / prior[MOCHA]))
