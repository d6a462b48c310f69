"""Sessions by words: the fast cutter agrees with a slow reading of the definition, one record after
another.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.searchlog.sessions import (
    SessionCut,
    SessionMethod,
    by_whole_users,
    compared_text,
    with_begins,
)

_BEGIN = datetime(2006, 3, 1)
_MINUTE = 60_000_000
# Pauses around both bounds, to the microsecond; zero makes ties.
_PAUSES = st.sampled_from([0, 1_000_000, _MINUTE, _MINUTE + 1, 5 * _MINUTE, 90 * _MINUTE, 90 * _MINUTE + 1])
_TEXTS = st.sampled_from(
    [
        "java",
        "java coffee",
        "www.java.com",
        "coffee",
        "cat",
        "cat pictures",
        "ca",
        "c",
        "-",
        "é-cat",
        "x y z",
        ".com",
    ]
)
_RECORDS = st.lists(
    st.tuples(st.sampled_from("ab"), _PAUSES, _TEXTS | st.text("abc ", max_size=8)), max_size=40
)


def _grams(text: str) -> set[str]:
    if not text:
        return set()
    return {text} if len(text) < 3 else {text[n : n + 3] for n in range(len(text) - 2)}


def _compared(query: str) -> str:
    parts = r"https?://|\bwww\.|\.(?:com|net|org|edu|gov|mil|info|biz|us|ca|de|fr|it|es|nl|ru|jp|co\.[a-z]{2}|com\.[a-z]{2})\b"
    text = " ".join(re.sub(parts, "", query.lower(), flags=re.ASCII).split())
    return "" if text == "-" else text


def _slow_starts(rows: list[tuple[str, datetime, str]], gap: timedelta) -> list[bool]:
    """The definition, record by record."""
    starts = [False] * len(rows)
    for user in {user for user, *_ in rows}:
        history = sorted((n for n, row in enumerate(rows) if row[0] == user), key=lambda n: rows[n][1:])
        asked: list[str] = []
        for place, n in enumerate(history):
            text = _compared(rows[n][2])
            if place == 0:
                starts[n] = True
            else:
                pause = rows[n][1] - rows[history[place - 1]][1]
                if pause > gap:
                    starts[n] = True
                elif pause > timedelta(minutes=1) and text:
                    latest = list(dict.fromkeys(reversed(asked)))[:3]
                    shares = [
                        len(_grams(text) & _grams(other)) / min(len(_grams(text)), len(_grams(other)))
                        for other in latest
                    ]
                    starts[n] = all(share < 0.25 for share in shares)
            if text:
                asked.append(text)
    return starts


def _rows(records: list[tuple[str, int, str]]) -> list[tuple[str, datetime, str]]:
    clock = _BEGIN
    rows = []
    for user, pause, query in records:
        clock += timedelta(microseconds=pause)
        rows.append((user, clock, query))
    return rows


def _columns(rows: list[tuple[str, datetime, str]]) -> tuple[pa.Array, pa.Array, pa.Array]:
    users, times, queries = ([row[n] for row in rows] for n in range(3))
    return pa.array(users, pa.string()), pa.array(times, pa.timestamp("us")), pa.array(queries, pa.string())


@given(
    records=_RECORDS, random=st.randoms(use_true_random=False),
    gap=st.sampled_from([timedelta(minutes=90), timedelta(minutes=5)]),
)  # fmt: skip
@settings(deadline=None, max_examples=300)
def test_the_cutter_follows_its_definition_whatever_the_order_of_the_log(
    records: list[tuple[str, int, str]], random: object, gap: timedelta
) -> None:
    rows = _rows(records)
    random.shuffle(rows)  # type: ignore[attr-defined]
    found = SessionCut(SessionMethod.WORDS, gap).starts(*_columns(rows)).tolist()
    expected = _slow_starts(rows, gap)
    # Records of one user, time and text are interchangeable: which of them begins the session does not
    # matter.
    assert sorted(zip(rows, found, strict=True)) == sorted(zip(rows, expected, strict=True))


@given(_RECORDS)
@settings(deadline=None)
def test_other_users_change_nothing(records: list[tuple[str, int, str]]) -> None:
    rows = _rows(records)
    together = SessionCut(SessionMethod.WORDS).starts(*_columns(rows))
    alone = [row for row in rows if row[0] == "a"]
    kept = np.array([row[0] == "a" for row in rows], np.bool_)
    assert SessionCut(SessionMethod.WORDS).starts(*_columns(alone)).tolist() == together[kept].tolist()


@given(_RECORDS, st.integers(1, 5))
@settings(deadline=None)
def test_blocks_split_no_user_and_lose_no_record(records: list[tuple[str, int, str]], size: int) -> None:
    rows = sorted(_rows(records))
    table = pa.table(dict(zip(("user", "time", "query"), _columns(rows), strict=True)))
    blocks = list(by_whole_users(table.to_batches(max_chunksize=size), rows=size))
    assert sum(block.num_rows for block in blocks) == len(rows)
    users = [set(block.column("user").to_pylist()) for block in blocks]
    assert sum(map(len, users)) == len(set().union(*users)) if users else True
    whole = SessionCut(SessionMethod.WORDS)
    found = [
        b
        for block in with_begins(table.to_batches(max_chunksize=size), whole)
        for b in block["begins"].to_pylist()
    ]
    assert found == SessionCut(SessionMethod.WORDS).starts(*_columns(rows)).tolist()


def test_names_and_addresses_are_close() -> None:
    column = pa.array(["WWW.Google.com", "http://google.co.uk", "google", "-", "dot.common"])
    assert compared_text(column).to_pylist() == ["google", "google", "google", "", "dot.common"]


def test_a_cut_says_what_it_is_and_refuses_what_it_cannot_be() -> None:
    assert SessionCut.of("time").longest_pause == timedelta(minutes=30)
    assert SessionCut.of("words").longest_pause == timedelta(minutes=90)
    cut = SessionCut.of("words", 45)
    assert SessionCut.from_dict(cut.to_dict()) == SessionCut(SessionMethod.WORDS, timedelta(minutes=45))
    assert "45 minutes" in str(cut)
    for wrong in (
        lambda: SessionCut.of("moon"),
        lambda: SessionCut.of("time", -1),
        lambda: SessionCut.of("time", 1e12),
    ):
        with pytest.raises(ParameterError):
            wrong()
