"""Attention over the history: what it attends to, when it keeps quiet, and that it helps on real results."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from benchmarks.specimens.ambient_histories import history_cases
from tests.realdata import shared_data

from tacit.device.profile.arrays import Bags
from tacit.device.ranking.attention import Attention, AttentionParameters
from tacit.device.ranking.density import Density
from tacit.evaluate.cases import load_ambient, precision_of
from tacit.text.vectors import load_word_table

TABLE = load_word_table()
DOG = "Beagle puppies: hunting dog breed, kennel club standard, hound with short legs"
SHIP = "HMS Beagle: the survey ship of Darwin's voyage, captain FitzRoy, Galapagos islands"
RESULTS = [
    "HMS Beagle voyage: Darwin aboard the naval ship to the Galapagos",
    "Beagle: scenthound dog breed, temperament and care of the puppy",
    "Beagle software for desktop search on Linux",
]
OTHER = ["Chocolate cake recipe with butter and sugar", "Quarterly earnings of the central bank rose"] * 10


def bags(*texts: str) -> Bags:
    return Bags.of_texts(TABLE, texts)


def order(history: list[str], results: list[str] = RESULTS, **changed: float) -> list[int]:
    attention = Attention(TABLE, AttentionParameters(**changed))  # type: ignore[arg-type]
    return attention.order(attention.attend("beagle", bags(*results), bags(*history))).tolist()


def test_the_meaning_in_the_history_comes_first() -> None:
    assert order([DOG, *OTHER])[0] == 1
    assert order([SHIP, *OTHER]) == [0, 1, 2]
    assert order([SHIP, *OTHER], RESULTS[::-1])[0] == 2


def test_a_history_without_evidence_or_none_at_all_keeps_the_engines_order() -> None:
    assert order(OTHER) == [0, 1, 2]
    assert order([]) == [0, 1, 2]
    attention = Attention(TABLE)
    assert attention.attend("beagle", bags(*RESULTS), bags(*OTHER)).evidence < 0.01
    assert attention.attend("beagle", bags(*RESULTS), bags(DOG, *OTHER)).evidence > 0.9
    assert attention.order(attention.attend("beagle", bags(), bags(DOG))).tolist() == []


def test_without_its_gate_a_history_that_says_nothing_would_move_results() -> None:
    attention = Attention(TABLE, AttentionParameters(null=-9.0))
    assert attention.attend("beagle", bags(*RESULTS), bags(*OTHER)).evidence > 0.9


def test_the_querys_own_words_tell_no_meaning_from_another() -> None:
    attention = Attention(TABLE)
    attended = attention.attend("beagle", bags("Beagle", "Beagles puppy"), bags("Beagles", "Beagle ship"))
    assert np.allclose(attended.similarity[:, 0], 0)
    assert np.allclose(attended.similarity[0], 0)


def test_two_forms_of_a_query_word_in_one_document_cover_it_once() -> None:
    attended = Attention(TABLE).attend("beagle", bags(*RESULTS), bags("Beagle hound", "Beagle beagles hound"))
    assert attended.attention[0] == pytest.approx(attended.attention[1], abs=1e-6)


def test_a_document_of_the_querys_words_alone_is_like_nothing() -> None:
    """What subtraction leaves of its length and vector is noise, and must not be scaled up."""
    query = "beagle terrier spaniel poodle labrador collie whippet dachshund"
    documents = bags(query, " ".join([query] * 200) + " poodle collie collie", f"{query} kennel")
    attended = Attention(TABLE).attend(query, bags("kennel club", "puppy training"), documents)
    assert np.abs(attended.similarity[:2]).max() < 1e-6
    assert attended.similarity[2, 0] > 0.3


def test_words_and_vectors_are_compared_as_defined() -> None:
    """The kernels against the formulas, written out."""
    attention = Attention(TABLE)
    attended = attention.attend("beagle", bags(*RESULTS), bags(DOG, SHIP, *OTHER))
    query = {TABLE.number("beagle"), TABLE.number("beagles")}

    def parts(text: str) -> tuple[dict[int, float], np.ndarray]:
        bag = {word: times for word, times in TABLE.bag(text).items() if word not in query}
        weights = {word: (1 + np.log(times)) * TABLE.weight[word] for word, times in bag.items()}
        length = np.sqrt(sum(weight**2 for weight in weights.values()))
        sense = TABLE.units(np.array(list(weights))).T @ list(weights.values())
        return {word: weight / length for word, weight in weights.items()}, sense / np.linalg.norm(sense)

    expected = np.empty((22, 3))
    for row, document in enumerate([DOG, SHIP, *OTHER]):
        for column, result in enumerate(RESULTS):
            (one, left), (two, right) = parts(document), parts(result)
            shared = sum(weight * two.get(word, 0) for word, weight in one.items())
            expected[row, column] = shared + 0.4 * max(0, left @ right - 0.2)
    assert np.allclose(attended.similarity, expected, atol=1e-4)
    relevance = expected.mean(axis=1) + 0.7 * np.array([1, 1] + [0] * 20)
    excess = np.exp((relevance - 0.45) / 0.06)
    assert np.allclose(attended.attention, excess / (excess.sum() + 22), atol=1e-4)


def test_results_are_compared_among_themselves_by_vectors_and_by_words() -> None:
    texts = [*RESULTS, DOG, SHIP]
    attention = Attention(TABLE, AttentionParameters(vector=1.0, faint=0.0))
    with attention._marked("beagle"):
        shown, likeness = attention._compared(bags(*texts))
    assert np.allclose(likeness, attention.attend("beagle", bags(*texts), bags(*texts)).similarity, atol=1e-5)
    assert np.allclose(np.linalg.norm(shown, axis=1), 1, atol=1e-5)
    assert likeness[1, 3] > 0.3 + likeness[1, 4]


def test_results_most_like_one_that_was_meant_rise_with_it() -> None:
    """Half of a score is handed on, half of that to the next, and so on."""
    results = [RESULTS[0], "Beagle Zyxgear shop", RESULTS[1], "Beagle: Zyxgear leads for a dog and puppy"]
    attention, history = Attention(TABLE), bags(DOG, *OTHER)
    alone = attention.attend("beagle", bags(*results), history)
    attended = attention.attend("beagle", bags(*results), history, Density())
    assert attention.order(alone).tolist()[2:] == [0, 1]
    assert attention.order(attended).tolist()[2:] == [1, 0]
    with attention._marked("beagle"):
        alike = attention._compared(bags(*results))[1] * (1 - np.eye(4))
    joined = 2 * alike  # fewer than five: each is joined to all
    joined /= np.sqrt(np.outer(joined.sum(axis=0), joined.sum(axis=1)))
    handed = sum(np.linalg.matrix_power(joined / 2, power) for power in range(9))
    expected = handed @ (alone.scores - alone.scores.mean())
    assert np.allclose(attended.scores, expected, atol=1e-5)


def test_a_long_history_is_searched_for_candidates_without_loss() -> None:
    history = [*OTHER * 50, DOG, *OTHER * 50]
    few = Attention(TABLE, AttentionParameters(candidates=16))
    attended = few.attend("beagle", bags(*RESULTS), bags(*history))
    assert len(attended.documents) == 16
    assert 1_000 in attended.documents
    every = Attention(TABLE).attend("beagle", bags(*RESULTS), bags(*history))
    assert np.allclose(attended.scores, every.scores, atol=1e-3)


@pytest.mark.parametrize(("clicks", "size"), [(3, 20), (3, 200)])
def test_it_helps_on_real_results(clicks: int, size: int) -> None:
    ambient = load_ambient(shared_data("ambient"))
    with gzip.open(shared_data("wikispeedia_abstracts.jsonl.gz"), "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["categories"] and row["text"]]
    others = [{"url": row["url"], "title": row["title"], "snippet": row["text"][:200]} for row in rows]
    attention = Attention(TABLE)
    before, after = [], []
    for case in list(history_cases(ambient, others, clicks, size))[::2]:
        texts = [f"{page['title']} {page['snippet']}" for page in case.results]
        history = [f"{page['title']} {page['snippet']}" for page in case.history]
        attended = attention.attend(case.query, bags(*texts), bags(*history))
        before.append(precision_of(case, case.results))
        after.append(precision_of(case, [case.results[place] for place in attention.order(attended)]))
    assert np.mean(before) < 0.25
    assert np.mean(after) > 0.62
