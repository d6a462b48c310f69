"""The published tables against the manifest and the schedule: columns, sums, thresholds, the two forms."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacit.release import prose
from tacit.release.document.manifest import describe_table, require_plain
from tacit.release.document.page import PAGE
from tacit.release.execution import column_types
from tacit.release.mechanism import Plan
from tacit.release.schedule import Part, Schedule


def as_text(table: pa.Table) -> pa.Table:
    """Lists as JSON text, which a cell of a TSV file can hold."""
    for place, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            texts = [json.dumps(row, ensure_ascii=False) for row in table.column(place).to_pylist()]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def cells(table: pa.Table) -> list[pa.Array]:
    """Write the columns as cells of a TSV file, in which nothing is quoted and no spreadsheet runs.

    Tabs and line ends inside a text are written as spaces. A text that begins like a formula (``=``, ``+``,
    ``-``, ``@``) gets an apostrophe before it, which spreadsheets take for "this is text".
    """
    made = []
    for column in as_text(table).columns:
        texts = column.combine_chunks().cast(pa.string())
        if pa.types.is_string(column.type):
            texts = pc.replace_substring_regex(texts, r"[\t\r\n]", " ")
            texts = pc.replace_substring_regex(texts, r"^([=+\-@])", r"'\1")
        made.append(pc.fill_null(texts, ""))
    return made


def _tsv(table: pa.Table) -> str:
    lines = ["\t".join(table.column_names)]
    if table.num_rows:
        lines += pc.binary_join_element_wise(*cells(table), "\t").to_pylist()
    return "\n".join([*lines, ""])


def write_cells(table: pa.Table, path: Path) -> None:
    """Write a table as TSV: a line a row, no quotes, as ``tacit import`` reads TSV."""
    path.write_text(_tsv(table), encoding="utf-8", newline="\n")


def write_parquet(table: pa.Table, path: Path, meanings: Mapping[str, str]) -> None:
    """Write a table as Parquet, with what its columns of numbers mean as the file's only notes."""
    with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False) as file:
        file.write_table(table)
        if meanings:
            file.add_key_value_metadata(dict(meanings))


def table_checks(folder: Path, manifest: Mapping[str, Any], plan: Plan[Any]) -> prose.Checks:
    """List what is to be checked of each table, and how; a check may raise anything if the file is broken."""
    tables = [part.table for part in plan.schedule]
    listed = "the tables are those that the mechanism publishes"
    yield listed, lambda: (list(manifest["published"]) == tables, "")
    for part in plan.schedule:
        yield from _checks_of(part, folder, manifest, prose.columns(plan).get(part.table, {}))


def _checks_of(
    part: Part, folder: Path, manifest: Mapping[str, Any], meanings: Mapping[str, str]
) -> prose.Checks:
    name = part.table

    def table(of: str = name) -> pa.Table:
        return read_table(folder / f"{of}.parquet")

    def stated() -> prose.Finding:
        found = describe_table(table())
        same = json.dumps(found) == json.dumps(manifest["published"][name])
        return same and _shows(part, table().schema, meanings), f"{found['rows']:,} rows"

    def keys() -> prose.Finding:
        texts, names = as_text(table()), [column.name for column in part.columns]
        missing = any(texts.column(each).null_count for each in names)
        once = texts.group_by(names).aggregate([]).num_rows == texts.num_rows
        return not missing and once and _whole(texts), ""

    def published(column: str, other: str) -> prose.Finding:
        known = table(other).column(0).combine_chunks()
        return bool(pc.all(pc.is_in(table().column(column), value_set=known), min_count=0).as_py()), ""

    def same_text() -> prose.Finding:
        require_plain(folder / f"{name}.tsv")
        return (folder / f"{name}.tsv").read_bytes() == _tsv(table()).encode(), ""

    yield f"{name} has the columns, rows and sum stated", stated
    if part.lowest is not None:
        passes = partial(_passes, least=part.lowest)
        yield f"every count of {name} is {part.lowest:,} or more", lambda: passes(table().column("count"))
    yield f"{name} lists each key once", keys
    yield f"{name}.tsv says the same as {name}.parquet", same_text
    if part.nested:
        yield f"each count of {name} is the sum of those right below it", lambda: (_adds_up(table()), "")
    for column, other in part.within:
        said = f"each {column} of {name} is published among the {other}"
        yield said, partial(published, column, other)


def expected_files(schedule: Schedule) -> set[str]:
    """The files beside the manifest: each table twice, and the page."""
    return {f"{part.table}.{form}" for part in schedule for form in ("parquet", "tsv")} | {PAGE}


def _shows(part: Part, schema: pa.Schema, meanings: Mapping[str, str]) -> bool:
    """Tell whether a file has the columns of the part, what they mean, and nothing else."""
    found = [(field.name, field.type) for field in schema]
    measures = [(name, pa.int64()) for name in part.measures]
    notes = {name.decode(): text.decode() for name, text in (schema.metadata or {}).items()}
    return found == [*column_types(part), *measures] and notes == meanings


def read_table(path: Path) -> pa.Table:
    """A published table; what is not a plain file is refused."""
    require_plain(path)
    with pq.ParquetFile(path) as file:
        return file.read()


def _passes(counts: pa.ChunkedArray, least: int) -> prose.Finding:
    smallest = pc.min(counts).as_py()
    return (True, "") if smallest is None else (smallest >= least, f"the smallest is {smallest:,}")


def _whole(table: pa.Table) -> bool:
    """Tell whether every row has its numbers: all, or in their place what a withheld count is fewer than."""
    withheld = pc.is_valid(table.column("fewer_than")) if "fewer_than" in table.column_names else None
    for name in set(table.column_names) & {"count", "deviation"}:
        missing = pc.is_null(table.column(name))
        if pc.sum(missing).as_py() if withheld is None else not missing.equals(withheld):
            return False
    return True


def _adds_up(table: pa.Table) -> bool:
    """Tell whether the count of every path with others below it is their sum, and none is below 0."""
    counts = dict(zip(table.column(0).to_pylist(), table.column("count").to_pylist(), strict=True))
    below: dict[str, int] = {}
    for path, count in counts.items():
        above, slash, _ = path.rpartition("/")
        if slash:
            below[above] = below.get(above, 0) + count
    return min(counts.values(), default=0) >= 0 and all(counts.get(p) == n for p, n in below.items())
