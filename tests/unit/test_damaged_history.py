"""Words kept in a profile file that cannot be words of the table are read from the text again."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tacit import Guard

SHOWN = """
import sys
from tacit.device import Guard
with Guard(sys.argv[1]) as guard:
    placed = guard.explain("java", [{"title": "java travel"}, {"title": "java coffee beans"}])
    print([(one.was, len(one.because)) for one in placed])
"""
"""In a process of its own: what is read outside a table may end it."""


@pytest.mark.parametrize(
    "kept",
    [b"\xff\xff\xff\x01" * 3, b"\x00\x04\x00\x00", b"\x00\x04\x00\x01\x00"],
    ids=["outside", "no frequency", "half a word"],
)
def test_words_that_are_none_are_read_anew(tmp_path: Path, kept: bytes) -> None:
    path = tmp_path / "p"
    with Guard(path) as guard:
        for second in range(3):
            guard.clicked(
                "espresso",
                {"url": "https://a.example/", "title": f"roasted coffee beans java {second}", "snippet": ""},
                time=datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC),
            )
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE document SET features = ? WHERE number = 2", (kept,))
    connection.close()
    found = subprocess.run(
        [sys.executable, "-c", SHOWN, str(path)], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[(2, 3), (1, 0)]\n"
