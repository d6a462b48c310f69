"""Lines that are not UTF-8 are found, wherever the bytes stand, and no others."""

from __future__ import annotations

from pathlib import Path
from tempfile import NamedTemporaryFile

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tacit.searchlog.readers.delimited import AolReader
from tacit.searchlog.readers.protocol import Reading, Reason
from tacit.searchlog.readers.source import Source

_BYTES = st.binary(min_size=1, max_size=6).map(lambda b: b"x" + b.translate(None, b"\t\n\r\x00") + b"x")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@given(st.lists(st.tuples(_BYTES, _BYTES, st.none() | _BYTES), min_size=1, max_size=20))
def test_the_lines_that_are_not_utf8_are_counted(rows: list[tuple[bytes, bytes, bytes | None]]) -> None:
    lines = [
        user + b"\t" + query + b"\t2006-03-01 00:00:00\t" + (b"\t" if url is None else b"1\t" + url) + b"\n"
        for user, query, url in rows
    ]
    with NamedTemporaryFile() as file:
        file.write(b"".join(lines))
        file.flush()
        reader = AolReader(Reading())
        (block,) = reader.blocks(Source(Path(file.name)))
        parsed = reader.parse(block)
    sound = [number for number, line in enumerate(lines, start=1) if _is_utf8(line)]
    bad = {reason: found.tolist() for reason, found in parsed.bad if len(found)}
    assert bad.get(Reason.ENCODING, []) == [n for n in range(1, len(lines) + 1) if n not in sound]
    assert set(bad) <= {Reason.ENCODING}
    assert parsed.records.num_rows == len(sound)
    assert parsed.records["user"].to_pylist() == [rows[n - 1][0].decode().strip() for n in sound]
    assert pa.types.is_string(parsed.records["url"].type)
