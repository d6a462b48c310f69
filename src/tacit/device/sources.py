"""Where a profile comes from: a click log, a browsing history, or plain documents (Offline-1)."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tacit.errors import InputError, LogError

__all__ = ["SourceDocument", "browsing_history", "clicked_documents", "plain_documents"]


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """Something the user read: its text, and the query that led to it if there was one."""

    identity: tuple[str, ...]
    """What makes it the same document on a second reading, so that it counts once."""
    query: str
    text: str
    url: str = ""
    title: str = ""
    time: datetime | None = None
    """When it was read, where that is known."""


def clicked_documents(
    log: str | Path, user: str | None, text_of: Callable[[str], str | None]
) -> Iterator[SourceDocument]:
    """The documents that one user of a search log clicked on, with their queries.

    Args:
        log: a search log.
        user: whose clicks; may be None if the log holds only one user's.
        text_of: the text behind an address; None where it is not known, and the click is left out.

    Raises:
        LogError: the log has no clicks of that user, or it has several users and none was named, or no
            clicked address has a known text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from tacit.searchlog import check_log

    path = check_log(log)
    if user is None:
        users = pc.unique(pq.read_table(path, columns=["user"], partitioning=None)["user"])
        if len(users) != 1:
            raise LogError(
                f"{path} holds {len(users):,} users; a profile is one person's.", "Name one with `user`."
            )
        user = users[0].as_py()
    table = pq.read_table(
        path,
        columns=["query", "time", "url"],
        partitioning=None,
        filters=(pc.field("user") == user) & pc.field("url").is_valid(),
    )
    if table.num_rows == 0:
        raise LogError(f"{path} has no clicks of that user.", "Check the name given with `user`.")
    known = 0
    times = pc.cast(pc.cast(table["time"], pa.timestamp("us", "UTC")), "int64").to_pylist()
    for query, time, url in zip(table["query"].to_pylist(), times, table["url"].to_pylist(), strict=True):
        text = text_of(url)
        if text is not None:
            known += 1
            moment = datetime.fromtimestamp(time / 1_000_000, UTC)
            yield SourceDocument(("click", query, str(time), url), query, text, url, "", moment)
    if not known:
        raise LogError(
            f"none of the {table.num_rows:,} clicks leads to a document of the corpus, so no text is known.",
            "Give the pages with their text as `history` instead.",
        )


def browsing_history(path: str | Path) -> Iterator[SourceDocument]:
    """The pages of a browsing history: CSV with a header, or JSON lines, with url, title and text.

    Either title or text may be missing or empty; a row without both is an error.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no browsing history at {path}.")
    rows: Iterator[Mapping[str, object]] = (
        _json_lines(path) if path.suffix in {".jsonl", ".ndjson"} else _csv_rows(path)
    )
    for number, row in enumerate(rows, start=1):
        url, title, text = (str(row.get(name) or "") for name in ("url", "title", "text"))
        if not title and not text:
            raise InputError(
                f"page {number} of {path} has neither title nor text.",
                "Give the columns url, title and text; leave out pages without either.",
            )
        yield SourceDocument(("page", url, title, text), "", text, url, title)


def _csv_rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as lines:
        reader = csv.DictReader(lines)
        if not {"title", "text"} & set(reader.fieldnames or ()):
            raise InputError(
                f"{path} has no column title or text.",
                "Its first line must name the columns url, title, text.",
            )
        yield from reader


def _json_lines(path: Path) -> Iterator[dict[str, object]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"line {number} of {path} is not JSON.") from error
            if not isinstance(row, dict):
                raise InputError(f"line {number} of {path} is not a JSON object.")
            yield row


def plain_documents(folder: str | Path) -> Iterator[SourceDocument]:
    """The text files (``.txt``, ``.md``) of a folder and its subfolders."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}.")
    paths = sorted(p for p in folder.rglob("*") if p.suffix.lower() in {".txt", ".md"} and p.is_file())
    if not paths:
        raise InputError(f"{folder} holds no .txt or .md files.")
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        yield SourceDocument(("file", text), "", text, path.name)
