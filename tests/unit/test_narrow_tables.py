"""Tables on a narrow screen can be read: no word of a row is lost, and wide screens keep their tables."""

from __future__ import annotations

import io

import pytest
from rich.table import Table

from tacit.terminal import ResultsConsole

ROW = ("1", "2026-11-15T16:44:28+00:00", "queries of a week", "0.25", "1e-07", "released")


def drawn(width: int) -> str:
    table = Table("entry", "time", "purpose", "epsilon", "delta", "state", box=None)
    table.add_row(*ROW)
    table.add_row(*ROW[:-1], "")
    text = io.StringIO()
    ResultsConsole(file=text, width=width).print(table)
    return text.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_every_word_is_there(width: int) -> None:
    text = drawn(width)
    assert all(len(line) <= width for line in text.splitlines())
    for word in " ".join(ROW).split():
        assert word in text
    assert "…" not in text


def test_a_table_that_fits_stays_a_table() -> None:
    assert len(drawn(80).splitlines()) == 3
    assert len(drawn(40).splitlines()) > 10
