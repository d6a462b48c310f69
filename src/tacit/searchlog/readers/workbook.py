"""Excel workbooks (.xlsx): the first sheet, as the lines of a CSV file that other readers take.

A workbook is a zip archive of XML. Rows are read as they come; the texts that cells share are held in memory,
up to a bound. A number that the sheet shows as a date is written as a time.
"""

import csv
import io
import re
import zlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import IO
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from tacit.errors import LogError

_FIRST_DAY = datetime(1899, 12, 30)
"""Day 0 of the numbers that stand for dates, from March 1900 on."""
_DATES = frozenset({*range(14, 23), *range(45, 48)})
"""Formats of numbers, of those built in, that show dates or times."""
_MOST_SHARED = 256 << 20
_DAMAGES = (BadZipFile, ElementTree.ParseError, zlib.error, EOFError, ValueError, LookupError, OverflowError)
_REMEDY = "Save the sheet as CSV and import that."
_STRINGS, _STYLES, _WORKBOOK = "xl/sharedStrings.xml", "xl/styles.xml", "xl/workbook.xml"


def is_workbook(stored: IO[bytes]) -> bool:
    """Tell whether a file that can be read anywhere is a workbook; it stands at its beginning again then."""
    try:
        return _WORKBOOK in ZipFile(stored).namelist()
    except BadZipFile:
        return False
    finally:
        stored.seek(0)


def rows_as_csv(stored: IO[bytes], name: str) -> Iterator[bytes]:
    """The rows of the first sheet as lines of CSV; ``name`` is what to call a workbook that is damaged."""
    try:
        with ZipFile(stored) as archive:
            yield from _lines(archive, name)
    except _DAMAGES as error:
        raise LogError(f"{name} is an Excel workbook that is damaged.", _REMEDY) from error


def _lines(archive: ZipFile, name: str) -> Iterator[bytes]:
    parts = {part.filename: part.file_size for part in archive.infolist()}
    if parts.get(_STRINGS, 0) > _MOST_SHARED:
        raise LogError(f"{name} has more text than a workbook is read with.", _REMEDY)
    sheets = [part for part in parts if re.fullmatch(r"xl/worksheets/[^/]+\.xml", part)]
    if not sheets:
        raise LogError(f"{name} is an Excel workbook without a sheet of cells.", _REMEDY)
    shared = [_text(each) for each in _elements(archive, _STRINGS, "si")] if _STRINGS in parts else []
    dates = _date_styles(archive) if _STYLES in parts else []
    first, width = min(sheets, key=lambda part: (len(part), part)), 0  # sheet2 before sheet10
    for row in _elements(archive, first, "row"):
        cells = _cells(row, shared, dates)
        width = width or len(cells)  # empty cells at the end are left out of a sheet
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells + [""] * (width - len(cells)))
        yield line.getvalue().encode()


def _elements(archive: ZipFile, part: str, tag: str) -> Iterator[ElementTree.Element]:
    """The elements of one kind of a part, each forgotten when the next is asked for."""
    with archive.open(part) as file:
        for _, element in ElementTree.iterparse(file):
            if _tag(element) == tag:
                yield element
                element.clear()


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _text(element: ElementTree.Element) -> str:
    """The text of a cell, of one run or several; how it sounds is left out."""
    runs = (run for run in element if _tag(run) in ("t", "r"))
    return "".join(each.text or "" for run in runs for each in run.iter() if _tag(each) == "t")


def _date_styles(archive: ZipFile) -> list[bool]:
    """Whether each style of a cell shows a number as a date."""
    named, found = set(_DATES), []
    for element in _elements(archive, _STYLES, "numFmt"):
        shown = re.sub(r'"[^"]*"|\[[^\]]*\]|\\.', "", element.get("formatCode", ""))
        if re.search("[ymdhs]", shown, re.IGNORECASE):
            named.add(int(element.get("numFmtId", 0)))
    for element in _elements(archive, _STYLES, "cellXfs"):
        found += [int(each.get("numFmtId", 0)) in named for each in element]
    return found


def _cells(row: ElementTree.Element, shared: list[str], dates: list[bool]) -> list[str]:
    """The texts of a row's cells, those that are left out as empty ones."""
    found: list[str] = []
    for cell in row:
        letters = re.match("[A-Z]+", cell.get("r", ""))
        place = len(found)
        if letters:
            place = 0
            for letter in letters[0]:
                place = 26 * place + ord(letter) - 64
            place -= 1
        value = next((each.text or "" for each in cell if _tag(each) == "v"), "")
        kind, style = cell.get("t", "n"), int(cell.get("s", 0))
        if kind == "s":
            value = shared[int(value)]
        elif kind == "inlineStr":
            value = "".join(_text(each) for each in cell)
        elif kind == "n" and value and style < len(dates) and dates[style]:
            moment = _FIRST_DAY + timedelta(milliseconds=round(float(value) * 86_400_000))
            value = moment.isoformat(" ", "milliseconds").removesuffix(".000")
        found += [""] * (place - len(found)) + [" ".join(value.splitlines())]
    return found
