"""Slips of the keyboard."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.text import normalise
from tacit.world.lexicon import neighbouring_keys
from tacit.world.loops.queries import mistype


def mistyped(text: str, slip: int) -> str:
    buffer = np.frombuffer(text.encode() + b"\0", np.uint8).copy()
    length = mistype(buffer, len(buffer) - 1, slip, neighbouring_keys())
    return bytes(buffer[:length]).decode()


def test_each_kind_of_slip() -> None:
    second = 8  # the slip's place: the second letter
    assert mistyped("eagle", second + 0) == "egale"
    assert mistyped("eagle", second + 1) == "egle"
    assert mistyped("eagle", second + 2) == "eaagle"
    assert mistyped("eagle", second + 3) == "esgle"
    assert mistyped("cat nap", 3) == "cat nap", "short words are typed right"


@given(st.text("abcdefghijklmnopqrstuvwxyz é'.0", min_size=1, max_size=30), st.integers(1, 512))
def test_a_mistyped_query_stays_normalised(text: str, slip: int) -> None:
    text = normalise(text)
    if text:
        found = mistyped(text, slip)
        assert normalise(found) == found
        assert abs(len(found) - len(text)) <= 1
        assert found.count(" ") == text.count(" ")
