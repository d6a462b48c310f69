"""The bundled word vectors: what they are, and what they are good for."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from tacit import IntegrityError
from tacit.text.vectors import BUCKETS, COMMONEST, FAMILIAR, WordTable, load_word_table, plural_forms

TABLE = load_word_table()
DATA = Path(str(resources.files("tacit.data"))) / "glove"


def vector(bag: dict[int, int]) -> np.ndarray:
    """The direction of a text: the sum of its words' vectors at length 1; zero where none is known."""
    known = {number: times for number, times in bag.items() if number < len(TABLE)}
    total = sum(
        (times * (TABLE.vectors[number] * TABLE.scale) for number, times in known.items()), np.zeros(50)
    )
    return total / (np.linalg.norm(total) or 1)


def test_the_table_has_its_promised_size() -> None:
    assert len(TABLE) == 50_000
    assert TABLE.dimensions == 50
    assert TABLE.vectors.dtype == np.int8
    assert TABLE.vectors.nbytes == 2_500_000


def test_directions_of_words_have_the_mean_removed_and_great_variance_held_down() -> None:
    """As the build says, from the bundled steps alone; and the words that follow are the nearest."""
    steps = np.hstack((TABLE.vectors, TABLE.rest)).astype(np.float64)
    familiar = steps[COMMONEST:FAMILIAR]
    middle, step = np.load(DATA / "evening.npy")
    assert np.allclose(middle, familiar.mean(axis=0), atol=1e-3)
    assert np.allclose(step[:50], TABLE.scale / (familiar.std(axis=0)[:50] * TABLE.scale) ** 0.7, rtol=1e-3)
    spread = (familiar * step).std(axis=0)
    assert spread.max() / spread.min() < 2
    units = TABLE.units(np.arange(len(TABLE)))
    expected = (steps - middle) * step
    assert np.allclose(units, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-5)
    assert not TABLE.units(np.array([len(TABLE) + 7])).any()
    for word, near in (("espresso", "latte"), ("soprano", "mezzo"), ("volcano", "eruption")):
        nearest = np.argsort(-units @ units[TABLE.number(word)])[1:4]
        assert near in [TABLE.words[place] for place in nearest], word


def closeness(one: str, other: str) -> float:
    return float(vector(TABLE.bag(one)) @ vector(TABLE.bag(other)))


@pytest.mark.parametrize(
    ("word", "near", "far"),
    [
        ("coffee", "espresso", "mitochondria"),
        ("opera", "soprano", "carburetor"),
        ("cancer", "tumor", "guitar"),
        ("submarine", "torpedo", "recipe"),
        ("church", "bishop", "transistor"),
    ],
)
def test_related_words_are_near(word: str, near: str, far: str) -> None:
    assert closeness(word, near) > closeness(word, far) + 0.3


def test_words_are_numbered_by_frequency_and_unknown_ones_weigh_most() -> None:
    assert TABLE.number("coffee") < TABLE.number("espresso")
    unknown = TABLE.number("xyzzyplugh")
    assert len(TABLE) <= unknown < len(TABLE) + BUCKETS
    assert TABLE.weight[unknown] == TABLE.weight.max()
    assert np.all(TABLE.weight[:COMMONEST] == 0)
    assert np.all(np.diff(TABLE.weight[COMMONEST : len(TABLE)]) >= 0)


def test_a_text_becomes_its_telling_words() -> None:
    assert TABLE.content("The coffee's in the 1997 pot, and coffee") == {"coffee": 2, "pot": 1}
    assert not vector(TABLE.bag("the of 42")).any()
    assert np.linalg.norm(vector(TABLE.bag("coffee pot"))) == pytest.approx(1, abs=1e-6)


def test_many_texts_at_once_are_as_one_by_one() -> None:
    texts = ["The coffee's in the pot", "", "xyzzyplugh 1997 the", "A soprano sings, sings an opera aria"]
    singly = np.array([vector(TABLE.bag(text)) for text in texts])
    assert np.allclose(TABLE.directions(texts), singly, atol=1e-5)
    assert TABLE.directions([]).shape == (0, 50)


def test_plurals_count_as_the_word_itself() -> None:
    assert "beagle" in plural_forms("beagles")
    assert "beagles" in plural_forms("beagle")
    assert "city" in plural_forms("cities")
    assert "glas" not in plural_forms("glass")


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="cannot be read"):
        WordTable(tmp_path)
    np.save(tmp_path / "vectors.npy", np.zeros((3, 2), np.int8))
    np.save(tmp_path / "rest.npy", np.zeros((2, 2), np.int8))
    np.save(tmp_path / "scale.npy", np.ones(2, np.float32))
    np.save(tmp_path / "evening.npy", np.ones((2, 4), np.float32))
    (tmp_path / "words.txt").write_text("one\ntwo\n")
    with pytest.raises(IntegrityError, match="do not fit"):
        WordTable(tmp_path)
