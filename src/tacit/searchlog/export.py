"""Export: a search log back to text, for tools that read nothing else.

In ``aol`` and ``tsv`` a tab or line end inside a value is written as a space, and counted; AOL's times are
whole seconds, so fractions are cut there. Otherwise, importing what was exported gives the same log.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacit.errors import InputError, ParameterError
from tacit.files import atomic_file
from tacit.searchlog.readers.delimited import HEADER
from tacit.searchlog.schema import COLUMNS, check_log
from tacit.validation import shown

EXPORT_FORMATS = ("aol", "tsv", "jsonl")
_BATCH = 1 << 17
_SEPARATOR = r"[\t\r\n]"


@dataclass(frozen=True)
class ExportReport:
    """What an export did."""

    records: int
    values_with_separators: int  # values in which tabs or line ends were written as spaces


def _time_texts(time: pa.Array, whole_seconds: bool) -> pa.StringArray:
    """Times as text: to the second, with a fraction only where there is one and it is wanted."""
    seconds = pc.cast(pc.floor_temporal(time, unit="second"), pa.timestamp("s"))
    text, whole = pc.cast(seconds, pa.string()), pc.equal(pc.cast(seconds, pa.timestamp("us")), time)
    if whole_seconds or pc.all(whole).as_py() is not False:
        return text
    return pc.if_else(whole, text, pc.cast(time, pa.string()))


def _between_tabs(batch: pa.RecordBatch, whole_seconds: bool) -> tuple[memoryview, int]:
    """The lines of ``batch``, and how many of its values held separators."""
    texts, replaced = {}, 0
    for name in ("user", "query", "url"):
        texts[name] = batch.column(name)
        if held := pc.sum(pc.match_substring_regex(texts[name], _SEPARATOR)).as_py():
            texts[name] = pc.replace_substring_regex(texts[name], _SEPARATOR, " ")
            replaced += held
    join = partial(pc.binary_join_element_wise, null_handling="replace", null_replacement="")
    time, rank = _time_texts(batch.column("time"), whole_seconds), pc.cast(batch.column("rank"), pa.string())
    lines = join(texts["user"], texts["query"], time, rank, join(texts["url"], "\n", ""), "\t")
    _, offsets, data = lines.buffers()
    length = memoryview(offsets).cast("i")[len(lines)]
    return memoryview(data)[:length], replaced


def _as_objects(batch: pa.RecordBatch) -> tuple[bytes, int]:
    """The lines of ``batch``, an object each; a query without a click has no rank and url."""
    columns = [column.to_pylist() for column in batch.columns]
    columns[COLUMNS.index("time")] = _time_texts(batch.column("time"), False).to_pylist()
    lines = []
    for values in zip(*columns, strict=True):
        found = {name: value for name, value in zip(COLUMNS, values, strict=True) if value is not None}
        lines.append(json.dumps(found, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines).encode(), 0


@contextmanager
def _opened(output: str | Path | IO[bytes]) -> Iterator[IO[bytes]]:
    """Find where to write the text to: a stream as it is, or a file that appears whole or not at all."""
    if not isinstance(output, str | Path):
        yield output
        output.flush()
        return
    with atomic_file(output, mode=0o600) as temporary, temporary.open("wb") as stored:
        if Path(output).suffix != ".gz":
            yield stored
            return
        # No name and time inside, so that the same log gives the same file.
        with gzip.GzipFile("", "wb", 6, stored, mtime=0) as text:
            yield text  # type: ignore[misc]  # GzipFile writes bytes as a file does


def export_log(
    log: str | Path,
    output: str | Path | IO[bytes],
    format_name: str,
    watch: Callable[[int], None] = lambda _records: None,
) -> ExportReport:
    """Write ``log`` to ``output`` as text, gzipped if the name ends in ``.gz``.

    Args:
        log: a search log in canonical Parquet.
        output: the file to make or replace, which appears whole or not at all, readable by its owner only;
            or a stream, which takes the text as it comes.
        format_name: one of :data:`EXPORT_FORMATS`.
        watch: told how many more records were written.
    """
    if not isinstance(format_name, str) or format_name not in EXPORT_FORMATS:
        raise ParameterError.outside("format", shown(format_name), f"one of {', '.join(EXPORT_FORMATS)}")
    if isinstance(output, str | Path) and Path(output).is_dir():
        raise InputError(f"the output {output} is a folder.", "Name a file in it.")
    headers = {"aol": "\t".join(HEADER) + "\n", "tsv": "\t".join(COLUMNS) + "\n", "jsonl": ""}
    records = replaced = 0
    with (
        pq.ParquetFile(check_log(log)) as file,
        _opened(output) as text,
    ):
        text.write(headers[format_name].encode())
        for batch in file.iter_batches(_BATCH, columns=list(COLUMNS)):
            if not batch.num_rows:
                continue
            if format_name == "jsonl":
                lines, held = _as_objects(batch)
                text.write(lines)
            else:
                view, held = _between_tabs(batch, whole_seconds=format_name == "aol")
                text.write(view)
            records += batch.num_rows
            replaced += held
            watch(batch.num_rows)
    return ExportReport(records, replaced)
