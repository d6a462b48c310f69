"""Populations to simulate with: the bundled Adult records, or any file with a template."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacit.errors import InputError
from tacit.pool.protocol.template import Template, adult_template, read_template
from tacit.pool.protocol.tree import Codes, template_records


@dataclass(frozen=True)
class Population:
    """Records that follow a template."""

    template: Template
    records: Codes


@cache
def adult() -> Population:
    """The 30,162 complete records of UCI Adult with eight attributes (section 6.1)."""
    template = adult_template()
    with as_file(files("tacit.data") / "adult" / "people.parquet") as path:
        return Population(template, _encoded(pq.read_table(path), template))


def read_population(users: str | Path = "adult", template: str | Path | Template | None = None) -> Population:
    """Read records from a CSV or Parquet file with a column for each of the template's attributes.

    ``users`` is the file, ``adult`` for the bundled one with its own template, or ``template`` for records
    made up from the template alone, where there is no public data.
    """
    if users == "adult":
        return adult()
    if template is None:
        raise InputError("a population from a file needs a template.", "Give `template=template.toml`.")
    template = template if isinstance(template, Template) else read_template(template)
    if users == "template":
        return Population(template, template_records(template))
    path = Path(users)
    try:
        table = pq.read_table(path) if path.suffix == ".parquet" else pa_csv.read_csv(path)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise InputError(f"{path} cannot be read as records.", "Give a CSV or Parquet file.") from error
    if table.num_rows == 0:
        raise InputError(f"{path} holds no record.")
    return Population(template, _encoded(table, template))


def _encoded(table: pa.Table, template: Template) -> Codes:
    missing = [name for name in template.names if name not in table.column_names]
    if missing:
        raise InputError(f"the records have no column {missing[0]!r}, which the template declares.")
    codes = np.empty((table.num_rows, len(template.attributes)), np.uint16)
    for number, attribute in enumerate(template.attributes):
        column = table.column(attribute.name).combine_chunks()
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        if column.null_count:
            raise InputError(f"{column.null_count:,} records have no {attribute.name!r}.", "Leave them out.")
        of_value = np.array([attribute.code(value) for value in column.dictionary.to_pylist()], np.uint16)
        codes[:, number] = of_value[column.indices.to_numpy(zero_copy_only=False)]
    return codes
