"""Sessions partition a history; the array form and the query form cut alike."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import ParameterError
from tacit.searchlog import SCHEMA
from tacit.searchlog.sessions import (
    SESSION_GAP,
    SessionCut,
    with_pauses,
)

_BEGIN = datetime(2006, 3, 1)
# Pauses around the gap, to the microsecond, are where a cut can go wrong; zero makes ties.
_MICROSECONDS = st.sampled_from([0, 1, 1_000_000, 1_799_999_999, 1_800_000_000, 1_800_000_001, 7_200_000_000])
_RECORDS = st.lists(st.tuples(st.sampled_from(["a", "b", "é"]), _MICROSECONDS), max_size=40)
_GAPS = st.sampled_from([timedelta(0), timedelta(minutes=30), timedelta(hours=1, microseconds=3)])


@st.composite
def logs(draw: st.DrawFn) -> pa.Table:
    """A small log in any order, its pauses drawn around the session gap."""
    clock = _BEGIN
    rows = []
    for user, pause in draw(_RECORDS):
        clock += timedelta(microseconds=pause)
        rows.append((user, clock))
    rows = draw(st.permutations(rows))
    return pa.table(
        {
            "user": [user for user, _ in rows],
            "query": [f"q{n}" for n in range(len(rows))],
            "time": [time for _, time in rows],
            "rank": [None] * len(rows),
            "url": [None] * len(rows),
        },
        schema=SCHEMA,
    )


def session_numbers(user: Any, time: Any, gap: timedelta = SESSION_GAP) -> np.ndarray:
    return SessionCut(gap).numbers(user, time)


@given(log=logs(), gap=_GAPS)
def test_sessions_partition_each_history(log: pa.Table, gap: timedelta) -> None:
    users, times = log["user"].to_pylist(), log["time"].to_pylist()
    numbers = session_numbers(log["user"], log["time"], gap)
    assert len(numbers) == len(users)
    for user in set(users):
        # Sorting is stable, so this is the history in time order with ties as listed.
        history = sorted((n for n, u in enumerate(users) if u == user), key=lambda n: times[n])
        sessions = [[n for n in history if numbers[n] == s] for s in range(numbers[history].max() + 1)]
        assert all(sessions)
        assert [n for session in sessions for n in session] == history
        for session in sessions:
            for earlier, later in itertools.pairwise(session):
                assert times[later] - times[earlier] <= gap
        for before, after in itertools.pairwise(sessions):
            assert times[after[0]] - times[before[-1]] > gap


@given(log=logs(), gap=_GAPS)
@settings(max_examples=60, deadline=None)
def test_the_query_form_cuts_as_the_array_form_does(log: pa.Table, gap: timedelta) -> None:
    table = ibis.memtable(log)
    found = with_pauses(table, gap).to_pyarrow()
    assert found.column_names == [*log.column_names, "paused"]
    pauses: Counter[str] = Counter()
    for user, paused in zip(found["user"].to_pylist(), found["paused"].to_pylist(), strict=True):
        pauses[user] += paused
    numbers = session_numbers(log["user"], log["time"], gap).tolist()
    sessions = dict.fromkeys(log["user"].to_pylist(), 0)
    for user, number in zip(log["user"].to_pylist(), numbers, strict=True):
        sessions[user] = max(sessions[user], number)
    assert pauses == Counter(sessions)
    on_engine = SessionCut(gap).numbered(table).to_pyarrow()
    assert on_engine.column_names == [*log.column_names, "session"]
    by_query = dict(zip(log["query"].to_pylist(), numbers, strict=True))
    assert dict(zip(*(on_engine[name].to_pylist() for name in ("query", "session")), strict=True)) == by_query


@given(log=logs())
def test_arrow_columns_and_arrays_give_the_same(log: pa.Table) -> None:
    chunked = session_numbers(log["user"], log["time"])
    strings = session_numbers(np.array(log["user"].to_pylist(), object), log["time"].to_numpy())
    codes = log["user"].combine_chunks().dictionary_encode().indices.to_numpy()
    assert chunked.tolist() == strings.tolist()
    assert session_numbers(codes, log["time"].to_numpy()).tolist() == chunked.tolist()


def test_an_empty_log_has_no_sessions() -> None:
    log = SCHEMA.empty_table()
    assert session_numbers(log["user"], log["time"]).size == 0


def test_a_negative_gap_is_refused() -> None:
    with pytest.raises(ParameterError, match="from 0"):
        session_numbers(np.array([1]), np.array([0], "datetime64[s]"), timedelta(seconds=-1))


def test_the_usual_gap_is_thirty_minutes() -> None:
    assert timedelta(minutes=30) == SESSION_GAP
