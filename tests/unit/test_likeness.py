"""Attention against its definition, word by word, and the documents that are named as reasons."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.device.profile.arrays import Bags
from tacit.device.ranking.attention import Attended, Attention, QueryWords, _strongest
from tacit.text.vectors import load_word_table

TABLE = load_word_table()
WORDS = "jaguar jaguars car cars engine forest cat cats speed animal qzxv qzxw garden bank river".split()


def cleaned(text: str, query: QueryWords) -> tuple[dict[int, float], np.ndarray]:
    """Word weights at length 1 and the direction of a text, the query's words left out."""
    bag = {number: times for number, times in TABLE.bag(text).items() if number not in query.forms}
    weights = {number: (1 + math.log(times)) * float(TABLE.weight[number]) for number, times in bag.items()}
    length = math.sqrt(sum(weight**2 for weight in weights.values()))
    scaled = {number: weight / length for number, weight in weights.items()} if length > 0 else {}
    sense = np.zeros(100)
    for number, weight in weights.items():
        sense += weight * TABLE.units(np.array([number]))[0]
    return scaled, sense / (np.linalg.norm(sense) or 1) if length > 0 else 0 * sense


@pytest.mark.parametrize("seed", range(5))
def test_similarity_and_attention_follow_their_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(WORDS, random.integers(0, 9))) for _ in range(30)]
    read, shown = texts[:20], [*texts[20:], "jaguar jaguars"]
    attention, query = Attention(TABLE), QueryWords(TABLE, "jaguars in the forest")
    attended = attention.attend(query, Bags.of_texts(TABLE, shown), Bags.of_texts(TABLE, read))
    chosen = attention.parameters
    similarity = np.zeros((len(read), len(shown)))
    relevance = np.zeros(len(read))
    for row, document in enumerate(read):
        words, direction = cleaned(document, query)
        for column, result in enumerate(shown):
            other, towards = cleaned(result, query)
            overlap = sum(weight * other.get(number, 0.0) for number, weight in words.items())
            similarity[row, column] = overlap + chosen.vector * max(
                0.0, float(direction @ towards) - chosen.faint
            )
        covered = {query.forms[number] for number in TABLE.bag(document) if number in query.forms}
        coverage = sum(query.shares[place - 1] for place in covered)
        relevance[row] = np.sort(similarity[row])[-chosen.largest :].mean() + chosen.coverage * coverage
    excess = np.exp((relevance - chosen.null) / chosen.temperature)
    weights = excess / (excess.sum() + len(read))
    assert np.allclose(attended.similarity, similarity, atol=1e-5)
    assert np.allclose(attended.attention, weights, rtol=1e-3, atol=1e-6)
    assert np.allclose(attended.scores, weights @ similarity, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 2, 40])
def test_the_documents_that_bring_most_are_named_and_of_equal_ones_the_first(rows: int) -> None:
    random = np.random.default_rng(rows)
    similarity = random.integers(1, 4, (rows, 6)).astype(np.float32) / 2  # many equal
    attention = random.integers(1, 3, rows).astype(np.float32) / 4
    columns = np.array([4, 0, 5])
    attended = Attended(np.arange(rows), similarity, attention, attention @ similarity)
    brings = similarity[:, columns] * attention[:, None]
    expected = np.argsort(-brings, axis=0, kind="stable")[:3]
    telling = np.take_along_axis(brings, expected, axis=0) >= 0.2 * brings.max(axis=0, initial=0)
    assert _strongest(attended, columns) == {
        int(place): tuple(expected[telling[:, column], column].tolist())
        for column, place in enumerate(columns)
    }
