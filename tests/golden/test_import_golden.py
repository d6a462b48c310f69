"""Exact counts of what an import finds: a file with every defect, and Excite's real log."""

from __future__ import annotations

import itertools
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.realdata import shared_data

from tacit.errors import LogError
from tacit.searchlog import check_log
from tacit.searchlog.importing import ImportOptions, import_log
from tacit.searchlog.readers.protocol import Reason
from tacit.searchlog.readers.source import find_sources
from tacit.searchlog.statistics import opened_for_statistics

_DEFECTS = Path(__file__).parent / "aol-defects.txt"


def test_every_defect_is_counted_under_its_reason(tmp_path: Path) -> None:
    report = import_log([_DEFECTS], tmp_path / "log.parquet", force=True)
    assert (report.lines, report.records, report.bad_lines) == (32, 13, 16)
    (file,) = report.files
    assert file.format_name == "aol"
    assert file.passed_over == {"headers": 2, "blank": 1}
    assert file.bad.counts == {
        Reason.COLUMNS: 1,
        Reason.ENCODING: 2,
        Reason.USER: 3,
        Reason.QUERY: 3,
        Reason.TIME: 4,
        Reason.RANK: 3,
    }
    assert file.bad.first == {
        Reason.COLUMNS: [12],
        Reason.ENCODING: [28, 29],
        Reason.USER: [13, 14, 31],
        Reason.QUERY: [15, 16, 17],
        Reason.TIME: [18, 19, 20],
        Reason.RANK: [22, 24, 25],
    }


def test_the_good_lines_between_the_defects_come_through(tmp_path: Path) -> None:
    log = import_log([_DEFECTS], tmp_path / "log.parquet", force=True).output
    check_log(log)
    rows = [tuple(row.values()) for row in pq.read_table(log).to_pylist()]
    assert rows == [
        ("1", "java coffee", datetime(2006, 3, 1, 7, 17, 12), None, None),
        ("1", 'how to say "hello" in welsh', datetime(2006, 3, 1, 7, 18), 2, "http://welsh.example"),
        ("1", "java island", datetime(2006, 3, 1, 9), 1, "http://island.example"),
        ("2", "no trailing tabs", datetime(2006, 3, 2, 10), None, None),
        ("2", '5" nails', datetime(2006, 3, 2, 10, 1), None, None),
        ("2", "-", datetime(2006, 3, 2, 10, 2), None, None),
        # Rank or url may be missing, and columns that nobody asked for may follow.
        ("3", "canary four columns", datetime(2006, 3, 3), 1, None),
        ("3", "canary six columns", datetime(2006, 3, 3), 1, "http://canary.example"),
        ("3", "canary rank nought", datetime(2006, 3, 3), None, "http://canary.example"),
        ("3", "canary rank without url", datetime(2006, 3, 3), 4, None),
        ("3", "canary url without rank", datetime(2006, 3, 3), None, "http://canary.example"),
        ("4", "café zürich", datetime(2006, 3, 4, 23, 59, 59), 10, "http://zürich.example"),
        ("4", "last line without an end", datetime(2006, 5, 31, 23, 59, 59), None, None),
    ]


def test_without_normalising_queries_stay_as_written(tmp_path: Path) -> None:
    options = ImportOptions(normalise=False)
    report = import_log([_DEFECTS], tmp_path / "log.parquet", options, force=True)
    assert report.counts()[Reason.QUERY] == 3
    assert "  CAFÉ   Zürich " in pq.read_table(report.output)["query"].to_pylist()


def test_latin_1_is_taken_when_it_is_said(tmp_path: Path) -> None:
    report = import_log([_DEFECTS], tmp_path / "log.parquet", ImportOptions(encoding="latin-1"), force=True)
    assert Reason.ENCODING not in report.counts()
    assert "canary café" in pq.read_table(report.output)["query"].to_pylist()


def test_strict_reading_stops_at_the_first_bad_line(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"line 12 is a bad line \(columns"):
        import_log([_DEFECTS], tmp_path / "log.parquet", ImportOptions(strict=True), force=True)
    assert not list(tmp_path.iterdir())


def test_counts_hold_wherever_blocks_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = import_log([_DEFECTS], tmp_path / "whole.parquet")
    for size in (1, 7, 64, 500):
        monkeypatch.setattr("tacit.searchlog.readers.source.BLOCK_BYTES", size)
        cut = import_log([_DEFECTS], tmp_path / "cut.parquet", force=True)
        assert cut.files[0].bad == whole.files[0].bad
        assert pq.read_table(cut.output).equals(pq.read_table(whole.output))


def test_excite_gives_its_exact_counts(tmp_path: Path) -> None:
    source = shared_data("excite-small.log")
    report = import_log([source], tmp_path / "log.parquet", force=True)
    (file,) = report.files
    assert (file.format_name, file.lines, file.records) == ("excite", 4_501, 4_501)
    assert report.bad_lines == 0
    with opened_for_statistics(report.output) as opened:
        found = opened.statistics()
    assert (found.records, found.users, found.queries, found.distinct_queries) == (4_501, 891, 4_482, 2_096)
    assert (found.clicks, found.sessions) == (0, 1_108)
    assert (found.first, found.last) == (datetime(1997, 9, 16, 0, 10, 11), datetime(1997, 9, 17, 0, 9, 23))
    assert found.occurring_once == 1_360 / 2_096
    assert found.of_one_user == 2_072 / 2_096
    assert found.records_per_user == pytest.approx(
        {"mean": 4_501 / 891, "median": 3, "90%": 11, "99%": 38, "max": 78}
    )
    # The 533 requests without words are written as AOL writes them.
    assert pq.read_table(report.output)["query"].to_pylist().count("-") == 533


def test_excite_figures_agree_with_a_plain_count(tmp_path: Path) -> None:
    """The same figures, counted line by line without any of the machinery."""
    histories: dict[str, list[datetime]] = {}
    asked: set[tuple[str, str, str]] = set()
    for line in shared_data("excite-small.log").read_text("utf-8").splitlines():
        user, time, query = line.split("\t")
        query = " ".join(query.lower().split()) or "-"
        histories.setdefault(user, []).append(datetime.strptime(f"19{time}", "%Y%m%d%H%M%S"))
        asked.add((user, time, query))
    sessions = 0
    for times in histories.values():
        times.sort()
        pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
        sessions += 1 + sum(pause.total_seconds() > 1_800 for pause in pauses)
    assert (len(histories), sessions, len(asked)) == (891, 1_108, 4_482)
    assert len({query for _, _, query in asked}) == 2_096


def test_several_files_folders_and_gzip_come_in_order(tmp_path: Path) -> None:
    import gzip

    folder = tmp_path / "collection"
    (folder / "deeper").mkdir(parents=True)
    (folder / "b.txt.gz").write_bytes(gzip.compress(b"2\tsecond\t2006-03-01 00:00:00\t\t\n"))
    (folder / "a.txt").write_bytes(b"1\tfirst\t2006-03-01 00:00:00\t\t\n")
    (folder / "deeper" / "c.txt").write_bytes(b"3\tthird\t2006-03-01 00:00:00\t\t\n")
    (folder / "README.txt").write_text("These are the files of the collection.\n")
    (folder / ".hidden").write_bytes(b"9\thidden\t2006-03-01 00:00:00\t\t\n")
    extra = tmp_path / "extra.txt"
    extra.write_bytes(b"0\tzeroth\t2006-03-01 00:00:00\t\t\n")
    # The second import finds the first one's output in the folder, and leaves it alone.
    for _ in range(2):
        report = import_log([extra, folder], folder / "log.parquet", force=True)
        found = pq.read_table(report.output)["query"].to_pylist()
        assert found == ["zeroth", "first", "second", "third"]
        assert [path.name for path in report.not_logs] == ["README.txt"]
    assert len(find_sources([folder])) == 5
