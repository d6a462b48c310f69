"""Build src/tacit/data/adult/people.parquet from UCI Adult's training records.

The file ``adult.data`` (or the same with a header line) comes from the UCI Machine Learning Repository; the
Python package ``fairness`` 0.1.8 carries it in its wheel::

    pip download --no-deps fairness==0.1.8
    python scripts/build_adult.py fairness-0.1.8-py3-none-any.whl

Takes such a wheel, ``adult.data`` or ``adult.csv``. The same input gives the same bytes.
"""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.pool.protocol.template import read_template

FOLDER = Path(__file__).parent.parent / "src/tacit/data/adult"
IN_WHEEL = "fairness/data/raw/adult.csv"
COLUMNS = {
    "age": 0,
    "work class": 1,
    "education": 3,
    "marital status": 5,
    "occupation": 6,
    "race": 8,
    "gender": 9,
    "native country": 13,
}
COMPLETE = 30_162


def records(path: Path) -> list[list[str]]:
    """The complete records, in the file's order, all fifteen columns."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            text = wheel.read(IN_WHEEL).decode("ascii")
    else:
        text = path.read_text("ascii")
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text)) if len(row) == 15]
    return [row for row in rows if row[0].isdigit() and "?" not in row]


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = records(Path(sys.argv[1]))
    if len(found) != COMPLETE:
        sys.exit(f"found {len(found):,} complete records; Adult's training part has {COMPLETE:,}")
    template = read_template(FOLDER / "template.toml")
    columns = {}
    for attribute in template.attributes:
        values = [row[COLUMNS[attribute.name]] for row in found]
        codes = pa.array([attribute.code(value) for value in values], pa.int16())
        columns[attribute.name] = (
            pa.array([int(value) for value in values], pa.int16())
            if attribute.numeric
            else pa.DictionaryArray.from_arrays(codes, pa.array(attribute.labels))
        )
    pq.write_table(pa.table(columns), FOLDER / "people.parquet", compression="zstd", compression_level=19)
    print(f"{len(found):,} records, {(FOLDER / 'people.parquet').stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
