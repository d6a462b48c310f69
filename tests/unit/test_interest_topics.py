"""The topics that are sent: few, none above another, and together nearest to what the history says."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.device import load_repository
from tacit.device.profile.arrays import Bags
from tacit.device.ranking.attention import Attention
from tacit.device.sending.decision import InterestFinder, _together_nearest

VECTORS = load_repository().vectors
TREE = VECTORS.tree
FINDER = InterestFinder(VECTORS, Attention(VECTORS.table))
READ = [
    "Espresso brewing: grind the coffee beans and press hot water through the filter",
    "Java coffee from small farms, roasted dark, with notes of chocolate",
    "Java travel: volcanoes and temples on the island of Java in Indonesia",
    "Football results of the week",
]


def nearness(topics: list[int], said: np.ndarray) -> float:
    total = VECTORS.matrix[topics].sum(axis=0)
    return float(total @ said / np.linalg.norm(total))


@pytest.mark.parametrize("seed", range(5))
def test_each_topic_brings_the_sum_nearer_and_none_is_above_another(seed: int) -> None:
    random = np.random.default_rng(seed)
    said = VECTORS.matrix[random.integers(1, len(TREE), 4)].sum(axis=0)
    said /= np.linalg.norm(said)
    around = VECTORS.nearest(said[None, :], 50)[0][0]
    chosen = _together_nearest(said, around, VECTORS.matrix[around], TREE.end)
    assert 1 <= len(chosen) <= 3
    assert chosen[0] == around[0]
    for number in range(1, len(chosen)):
        assert nearness(chosen[: number + 1], said) > nearness(chosen[:number], said)
        allowed = [
            int(t)
            for t in around
            if not any(TREE.is_ancestor(int(t), c) or TREE.is_ancestor(c, int(t)) for c in chosen[:number])
        ]
        best = max(nearness([*chosen[:number], t], said) for t in allowed)
        assert nearness(chosen[: number + 1], said) == pytest.approx(best, abs=1e-5)


def test_what_was_read_about_the_query_decides_and_preferences_add_up() -> None:
    found = FINDER.find("coffee beans", Bags.of_texts(VECTORS.table, READ))
    assert found.evidence >= 0.5
    assert found.preferences.sum() == pytest.approx(1)
    assert (np.diff(found.topics) > 0).all()
    assert nearness(found.topics.tolist(), VECTORS.table.directions([READ[0] + READ[1]])[0]) > 0.7
    assert len(FINDER.find("violin", Bags.of_texts(VECTORS.table, READ)).topics) == 0


def test_documents_of_the_querys_words_alone_say_nothing() -> None:
    found = FINDER.find("coffee", Bags.of_texts(VECTORS.table, ["coffee", "coffee coffee"]))
    assert len(found.topics) == 0
