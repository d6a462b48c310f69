"""The published tables against the manifest and the mechanism: columns, sums, thresholds, the two forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

from tacit.release.expected import ExpectedTable
from tacit.release.manifest import describe_table

__all__ = ["as_text", "table_checks"]

Outcome = tuple[bool, str]


def as_text(table: pa.Table) -> pa.Table:
    """Lists as JSON text, which a cell of a TSV file can hold."""
    for place, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            texts = [json.dumps(row, ensure_ascii=False) for row in table.column(place).to_pylist()]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def table_checks(
    folder: Path, manifest: Mapping[str, Any], mechanism: str, expected: Mapping[str, ExpectedTable]
) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """What is to be checked of each table, and how; a check may raise anything if the file is broken."""
    yield (
        "the tables are those that the mechanism publishes",
        lambda: (list(manifest["published"]) == list(expected), ""),
    )
    for name, table in expected.items():
        path = folder / f"{name}.parquet"

        def stated(name: str = name, table: ExpectedTable = table, path: Path = path) -> Outcome:
            read = _read(path)
            found = describe_table(read)
            same = json.dumps(found) == json.dumps(manifest["published"][name])
            return same and table.shows(pq.read_schema(path)), f"{found['rows']:,} rows"

        def threshold(table: ExpectedTable = table, path: Path = path) -> Outcome:
            return _passes(_read(path).column("count"), table.least)

        def keys(table: ExpectedTable = table, path: Path = path) -> Outcome:
            return _distinct(as_text(_read(path)), [key for key, _ in table.keys]), ""

        def text(name: str = name, path: Path = path) -> Outcome:
            return _same_text(_read(path), folder / f"{name}.tsv"), ""

        yield f"{name} has the columns, rows and sum stated", stated
        if table.least is not None:
            yield f"no count of {name} lies below its threshold", threshold
        yield f"{name} lists each key once", keys
        yield f"{name}.tsv says the same as {name}.parquet", text
    if mechanism == "click":
        for name, column in (("clicks", "query"), ("transitions", "query"), ("transitions", "next_query")):
            if name in expected:

                def published(name: str = name, column: str = column) -> Outcome:
                    known = _read(folder / "queries.parquet").column("query").combine_chunks()
                    listed = _read(folder / f"{name}.parquet").column(column)
                    return bool(pc.all(pc.is_in(listed, value_set=known), min_count=0).as_py()), ""

                yield f"each {column} of {name} is a published query", published


def _read(path: Path) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read()


def _passes(counts: pa.ChunkedArray, least: int | None) -> Outcome:
    smallest = pc.min(counts).as_py()
    if smallest is None or least is None:
        return counts.null_count == 0, ""
    return counts.null_count == 0 and smallest >= least, f"{smallest:,} against {least:,}"


def _distinct(table: pa.Table, keys: list[str]) -> bool:
    missing = any(table.column(name).null_count for name in table.column_names)
    return not missing and table.group_by(keys).aggregate([]).num_rows == table.num_rows


def _same_text(table: pa.Table, path: Path) -> bool:
    names = table.column_names
    read = csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter="\t", newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    written = as_text(table).cast(pa.schema([(name, pa.string()) for name in names]))
    return read.column_names == names and all(
        read.column(name).to_pylist() == written.column(name).to_pylist() for name in names
    )
