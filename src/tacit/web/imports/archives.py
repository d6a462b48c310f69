"""Google's archive (Takeout): the browser's history or the activity, as JSON or in the zip it comes in."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacit.errors import InputError
from tacit.web.imports.visit import Visit, from_epoch, readable

__all__ = ["takeout_visits"]

_LARGEST = 500_000_000


def takeout_visits(path: str | Path) -> Iterator[Visit]:
    """The pages in an archive.

    Raises:
        InputError: it holds neither a browser history nor an activity.
    """
    path = Path(path)
    if not zipfile.is_zipfile(path):
        yield from _visits(path.read_bytes())
        return
    found = 0
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            name = entry.filename.rsplit("/", 1)[-1]
            if name in {"BrowserHistory.json", "History.json", "MyActivity.json", "My Activity.json"}:
                if entry.file_size > _LARGEST:
                    raise InputError(f"{name} in the archive is larger than {_LARGEST / 1e6:g} MB.")
                found += 1
                with archive.open(entry) as opened:
                    content = opened.read(_LARGEST + 1)
                if len(content) > _LARGEST:
                    raise InputError(f"{name} in the archive is larger than {_LARGEST / 1e6:g} MB.")
                yield from _visits(content)
    if not found:
        raise InputError(
            "the archive holds neither History.json nor MyActivity.json.",
            "Ask Takeout for Chrome or My Activity, in the format JSON.",
        )


def _visits(content: bytes) -> Iterator[Visit]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError("the file is not JSON.") from error
    if isinstance(data, dict) and isinstance(data.get("Browser History"), list):
        return readable(_history(data["Browser History"]))
    if isinstance(data, list):
        return readable(_activity(data))
    raise InputError("the file is neither a browser history nor an activity of Google's archive.")


def _history(rows: list[Any]) -> Iterator[Visit]:
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("url"), str):
            time = row.get("time_usec")
            moment = from_epoch(time if isinstance(time, int | float) else 0)
            yield Visit(row["url"], str(row.get("title") or ""), moment)


def _activity(rows: list[Any]) -> Iterator[Visit]:
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("titleUrl"), str):
            continue
        title = str(row.get("title") or "")
        if title.startswith("Visited "):
            url = row["titleUrl"].removeprefix("https://www.google.com/url?q=").partition("&usg=")[0]
            yield Visit(url, title.removeprefix("Visited "), _moment(row.get("time")))
        elif title.startswith("Watched "):
            yield Visit(row["titleUrl"], title.removeprefix("Watched "), _moment(row.get("time")))


def _moment(text: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return from_epoch(0)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
