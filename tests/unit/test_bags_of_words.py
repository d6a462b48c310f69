"""The quick way to the words of a text says what the plain definition says."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tacit.text.vectors import load_word_table

TABLE = load_word_table()
WORDS = st.sampled_from(
    [
        "coffee",
        "coffee's",
        "the",
        "The",
        "of's",
        "s",
        "x",
        "x's",
        "42",
        "2024's",
        "café",
        "quxxify",
        "quxxify's",
    ]
)


@given(st.one_of(st.lists(WORDS, max_size=12).map(" ".join), st.text(max_size=60)))
@example("it's the world's 1st o'clock, isn't it's")
def test_a_bag_holds_the_telling_words_by_number(text: str) -> None:
    expected: dict[int, int] = {}
    for word, times in TABLE.content(text).items():
        expected[TABLE.number(word)] = expected.get(TABLE.number(word), 0) + times
    assert list(TABLE.bag(text).items()) == list(expected.items())
