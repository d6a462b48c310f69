"""The list of weakened lines keeps up with the source: a stale entry would weaken nothing."""

from __future__ import annotations

from tests.weakenings import stale


def test_each_weakened_line_stands_in_the_source_and_has_its_tests() -> None:
    assert stale() == []
