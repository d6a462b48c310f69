"""Bookmarks as every browser exports them: an HTML file of links."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from tacit.errors import InputError
from tacit.web.imports.visit import Visit, from_epoch, readable

__all__ = ["bookmark_visits"]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Visit] = []
        self._folders: list[str] = []
        self._open: dict[str, str] | None = None
        self._heading = False
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._open, self._text = {name: value or "" for name, value in attrs}, ""
        elif tag == "h3":
            self._heading, self._text = True, ""

    def handle_data(self, data: str) -> None:
        if self._open is not None or self._heading:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._open is not None:
            added = self._open.get("add_date", "")
            seconds = float(added) if added.isdigit() else 0.0
            seconds = seconds / 1e6 if seconds > 1e14 else seconds  # Firefox writes microseconds at times
            folder = self._folders[-1] if self._folders else ""
            self.found.append(
                Visit(self._open.get("href", ""), self._text.strip(), from_epoch(seconds * 1e6), folder)
            )
            self._open = None
        elif tag == "h3":
            self._heading = False
            self._folders.append(self._text.strip())
        elif tag == "dl" and self._folders:
            self._folders.pop()


def bookmark_visits(path: str | Path) -> Iterator[Visit]:
    """The pages among the bookmarks; the name of a bookmark's folder counts as its text.

    Raises:
        InputError: the file has no links.
    """
    parser = _Links()
    parser.feed(Path(path).read_text(encoding="utf-8", errors="replace"))
    parser.close()
    if not parser.found:
        raise InputError("the file has no bookmarks.", "Export them from your browser as HTML.")
    return readable(parser.found)
