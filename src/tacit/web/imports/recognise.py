"""Which kind of history a file is, by what stands in it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tacit.errors import InputError
from tacit.web.imports.archives import takeout_visits
from tacit.web.imports.bookmarks import bookmark_visits
from tacit.web.imports.browsers import browser_visits
from tacit.web.imports.visit import Visit, from_epoch, readable

__all__ = ["visits_of"]


def visits_of(path: str | Path) -> Iterator[Visit]:
    """The pages of any file that can be imported.

    Raises:
        InputError: it is none of the known kinds.
    """
    path = Path(path)
    with path.open("rb") as opened:
        beginning = opened.read(2048)
    if beginning.startswith(b"SQLite format 3\x00"):
        return browser_visits(path)
    if beginning.startswith(b"PK"):
        return takeout_visits(path)
    if beginning.startswith(b"PAR1"):
        return _click_log(path)
    head = beginning.decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    if head[:100].lower().startswith(("<!doctype netscape", "<!doctype html", "<html")):
        return bookmark_visits(path)
    if _is_json_lines(head):
        return readable(_json_lines(path))
    if head.startswith(("{", "[")):
        return takeout_visits(path)
    if "," in head.partition("\n")[0] or "\t" in head.partition("\n")[0]:
        return readable(_table(path))
    raise InputError(
        "the file is of no known kind.",
        "Give History or places.sqlite of a browser, Takeout's JSON or zip, bookmarks as HTML, or a table.",
    )


def _is_json_lines(head: str) -> bool:
    try:
        first = json.loads(head.partition("\n")[0])
    except ValueError:
        return False
    return isinstance(first, dict) and "url" in first


def _json_lines(path: Path) -> Iterator[Visit]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InputError(f"line {number} of the file is not JSON.") from error
            yield _visit(row if isinstance(row, dict) else {})


def _table(path: Path) -> Iterator[Visit]:
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
        first = lines.readline()
        lines.seek(0)
        reader = csv.DictReader(lines, delimiter="\t" if "\t" in first else ",")
        named = {(name or "").strip().lower() for name in reader.fieldnames or ()}
        if "url" not in named or not named & {"title", "text", "query"}:
            raise InputError("the table needs the columns url and title.", "Name them in its first line.")
        try:
            for row in reader:
                yield _visit({(name or "").strip().lower(): value for name, value in row.items()})
        except csv.Error as error:
            raise InputError(f"line {reader.line_num} of the table cannot be read.") from error


def _visit(row: dict[str, object]) -> Visit:
    url, title, text, query, time = (
        str(row.get(name) or "") for name in ("url", "title", "text", "query", "time")
    )
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        moment = from_epoch(0)
    return Visit(url, title or query, moment if moment.tzinfo else moment.replace(tzinfo=UTC), text, query)


def _click_log(path: Path) -> Iterator[Visit]:
    """The clicks of one person's search log in Tacit's own form, with the text where it is known."""
    import pyarrow.parquet as pq

    from tacit.searchlog import check_log
    from tacit.world import wordnet_corpus

    corpus = wordnet_corpus()
    table = pq.read_table(check_log(path), columns=["user", "query", "time", "url"], partitioning=None)
    if len(table["user"].unique()) > 1:
        raise InputError(
            "the log holds several users; a profile is one person's.", "Take one person's records out."
        )
    for row in table.to_pylist():
        if row["url"]:
            number = corpus.number_of(row["url"])
            title, text = (
                (corpus[number].title, corpus[number].text) if number is not None else (row["query"], "")
            )
            moment = row["time"] if row["time"].tzinfo else row["time"].replace(tzinfo=UTC)
            yield Visit(row["url"], title, moment, text, row["query"])
