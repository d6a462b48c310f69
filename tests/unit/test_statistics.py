"""The figures of a log, against hand counts and known distributions."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import InfeasibleError, ParameterError
from tacit.commands import main
from tacit.errors import LogError
from tacit.searchlog import SCHEMA
from tacit.searchlog.sessions import SessionCut
from tacit.searchlog.statistics import Spectrum, opened_for_statistics

_NOON = datetime(2006, 3, 1, 12)


def _write(path: Path, rows: list[tuple[str, str, float, int | None]]) -> Path:
    """A log of (user, query, minutes after noon, rank)."""
    log = pa.table(
        {
            "user": [row[0] for row in rows],
            "query": [row[1] for row in rows],
            "time": [_NOON + timedelta(minutes=row[2]) for row in rows],
            "rank": [row[3] for row in rows],
            "url": [None if row[3] is None else f"http://{row[3]}.example" for row in rows],
        },
        schema=SCHEMA,
    )
    pq.write_table(log, path)
    return path


def test_figures_of_a_small_log_by_hand(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "log.parquet",
        [
            ("a", "java", 0, 1),
            ("a", "java", 0, 2),  # a second click on the same asking
            ("a", "java", 30, None),  # asked again, in the same session
            ("a", "rare", 60.1, None),  # a new session
            ("b", "java", 0, 3),
            ("b", "other", 0, None),
        ],
    )
    with opened_for_statistics(path) as source:
        found = source.statistics()
        assert source.statistics(SessionCut.of(29)).sessions == 4
        assert source.statistics(SessionCut()).sessions == 3
    assert (found.records, found.users, found.queries, found.distinct_queries) == (6, 2, 5, 3)
    assert (found.clicks, found.sessions, found.queries_per_session) == (3, 3, 5 / 3)
    assert (found.occurring_once, found.of_one_user, found.top_percent) == (2 / 3, 2 / 3, 3 / 5)
    assert found.records_per_user == {"mean": 3, "median": 2, "90%": 4, "99%": 4, "max": 4}
    assert found.zipf_exponent is None
    assert (found.first, found.last) == (_NOON, _NOON + timedelta(minutes=60.1))


def test_only_queries_of_enough_users_are_shown(tmp_path: Path) -> None:
    rows = [(f"u{n}", "popular", n, None) for n in range(7)]
    rows += [(f"u{n}", "liked", 90 + n, None) for n in range(5)]
    # Asked more often than any other query, but by four users.
    rows += [(f"u{n % 4}", "canary", 200 + n, None) for n in range(50)]
    with opened_for_statistics(_write(tmp_path / "log.parquet", rows)) as source:
        found = [(q.query, q.users, q.searches) for q in source.frequent_queries(10, 5)]
        assert found == [("popular", 7, 7), ("liked", 5, 5)]
        assert [q.query for q in source.frequent_queries(1, 5)] == ["popular"]
        assert source.frequent_queries(10) == []
        for most, users in ((10, 4), (0, 5), (10, -1)):
            with pytest.raises(ParameterError):
                source.frequent_queries(most, users)


def test_an_empty_log_is_refused(tmp_path: Path) -> None:
    with opened_for_statistics(_write(tmp_path / "log.parquet", [])) as source, pytest.raises(LogError):
        source.statistics()


def test_counting_spills_to_disk_within_little_memory(tmp_path: Path) -> None:
    """A million distinct queries, which do not fit in the memory allowed."""
    size = 1_000_000
    numbers = np.arange(size)
    queries = pa.array(np.char.add("a query of quite some length ", numbers.astype(str)))
    log = pa.table(
        {
            "user": pa.array((numbers % 1_000).astype(str)),
            "query": queries,
            "time": pa.array(numbers.astype("datetime64[s]").astype("datetime64[us]")),
            "rank": pa.nulls(size, pa.int32()),
            "url": pa.nulls(size, pa.string()),
        },
        schema=SCHEMA,
    )
    pq.write_table(log, tmp_path / "log.parquet")
    with opened_for_statistics(tmp_path / "log.parquet", memory="60MB") as source:
        assert source._rows("SELECT current_setting('threads')") == [(1,)]  # each would hold blocks in memory
        found = source.statistics()
        ((spilt,),) = source._rows("SELECT sum(size) FROM duckdb_temporary_files()")
        assert spilt > 1_000_000
    assert (found.users, found.distinct_queries, found.queries) == (1_000, size, size)


def test_top_share_splits_ties() -> None:
    spectrum = Spectrum(np.array([1, 5, 10]), np.array([100, 4, 1]))
    assert (spectrum.distinct, spectrum.total) == (105, 130)
    assert spectrum.top_share(0.01) == 10 / 130
    assert spectrum.top_share(3 / 105) == 20 / 130
    assert spectrum.top_share(1) == 1


@pytest.mark.parametrize("exponent", [1.5, 2.0, 2.5])
def test_the_zipf_exponent_is_found_again(exponent: float) -> None:
    """Counts drawn from a power law: standard error (a - 1)/sqrt(n), allowed five times that (1 in 10^6)."""
    drawn = np.random.default_rng(7).zipf(exponent, 400_000)
    found = Spectrum(*np.unique(drawn[drawn < 2**40], return_counts=True)).zipf_exponent()
    assert found is not None
    tail = int((drawn >= 5).sum())
    assert 1 + 1 / found == pytest.approx(exponent, abs=5 * (exponent - 1) / tail**0.5 + 1e-3)


def test_too_little_memory_and_a_damaged_log_are_said_plainly(tmp_path: Path) -> None:
    rows = [(f"user {n}", f"canary {n}", n, None) for n in range(50_000)]
    path = _write(tmp_path / "log.parquet", rows)
    with pytest.raises(InfeasibleError, match="more than 1MB"), opened_for_statistics(path, "1MB") as source:
        source.statistics()
    with pytest.raises(ParameterError, match="memory must be a size"), opened_for_statistics(path, "some"):
        pass
    content = bytearray(path.read_bytes())
    content[100:4_000] = bytes(3_900)
    path.write_bytes(content)
    with pytest.raises(LogError) as caught, opened_for_statistics(path) as source:
        source.statistics()
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("gap", ["nan", "inf", "1e300", "-1"])
def test_a_gap_that_is_no_time_is_refused(
    gap: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tacit", "stats", "absent.parquet", "--session-gap", gap])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert "--session-gap must be from 0" in capsys.readouterr().err
