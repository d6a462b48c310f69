"""Whatever bytes a file holds, an import gives records or says why not, and accounts for every line."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import TacitError
from tacit.searchlog import ImportOptions, check_log, import_log
from tacit.searchlog.readers import FORMATS, ColumnMapping

_VALUES = st.sampled_from(
    [
        b"u",
        b"a query",
        b"2006-03-01 07:17:12",
        b"970916105432",
        b"1141197432",
        b"",
        b" ",
        b"1",
        b"0",
        b"-1",
        b"9" * 20,
        b"http://a.example",
        b'"',
        b'"b"',
        b'""',
        b"\xff",
        "\u3000".encode(),
        "é".encode(),
        b"\x00",
        b"\r",
        b"{}",
    ]
)
_ENDS = st.sampled_from([b"\n", b"\r\n"])
_ROWS = st.tuples(_VALUES, _VALUES, st.just(b"2006-03-01 07:17:12"), _VALUES, _VALUES) | st.tuples(
    _VALUES, st.sampled_from([b"970916105432", b"q"]), _VALUES
)
_FIELDS = st.builds(lambda row, tab, end: tab.join(row) + end, _ROWS, st.sampled_from([b"\t", b","]), _ENDS)
_OBJECTS = st.builds(
    lambda *values: b'{"user": "%b", "query": "%b", "time": %b, "rank": %b, "url": "%b"}\n' % values,
    *[_VALUES] * 5,
)
_HEADERS = st.sampled_from(
    [
        b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n",
        b"user,query,time\n",
        b"user\tquery\ttime\trank\turl\n",
    ]
)
_FILES = st.lists(_FIELDS | _OBJECTS | _HEADERS | _VALUES | st.binary(max_size=4), max_size=30).map(b"".join)
_FILES |= st.builds(bytes.__add__, _HEADERS, _FILES)
_MAPPINGS = {
    "aol": [None],
    "excite": [None],
    "csv": [None, "user=1,query=2,time=3"],
    "tsv": [None, "user=2,query=1,time=3"],
    "jsonl": [None, "user=a,query=b,time=c"],
    "parquet": [None],
}


@pytest.mark.parametrize("format_name", [None, *FORMATS])
@given(content=_FILES, data=st.data())
@settings(max_examples=50, deadline=None)
def test_any_file_is_imported_or_refused(
    format_name: str | None, content: bytes, data: st.DataObject
) -> None:
    mapping = data.draw(st.sampled_from(_MAPPINGS.get(format_name or "aol", [None])))
    options = ImportOptions(ColumnMapping.parse(mapping), format_name=format_name)
    with TemporaryDirectory() as folder:
        source, output = Path(folder) / "source.txt", Path(folder) / "log.parquet"
        source.write_bytes(content)
        try:
            report = import_log([source], output, options)
        except TacitError:
            assert [path.name for path in Path(folder).iterdir()] == ["source.txt"]
            return
        (file,) = report.files
        if format_name != "matomo":  # a visit may hold several searches
            assert file.lines == file.records + file.bad.total + sum(file.passed_over.values())
        check_log(output)
        log = pq.read_table(output)
        assert log.num_rows == report.records > 0
        log.validate(full=True)
        assert all(query.strip() for query in log["query"].to_pylist())
        assert all(rank is None or rank >= 1 for rank in log["rank"].to_pylist())
        assert all(url != "" for url in log["url"].to_pylist())
