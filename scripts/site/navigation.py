"""A hook of the documentation site: a folder in the navigation stands for its pages.

``nav`` in mkdocs.yml names pages in the order in which they should be read. An entry that ends in ``/`` is
replaced by the pages right in that folder that no other entry names, in the order of their names; a heading
under which none is left goes. So a new page appears without any line, and gets its proper place with one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Expand the folders of ``nav``."""
    if config["nav"]:
        named = set(_pages(config["nav"]))
        config["nav"] = _expanded(config["nav"], Path(config["docs_dir"]), named)
    return config


def _pages(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            if isinstance(value, list):
                yield from _pages(value)
            else:
                yield value


def _expanded(entries: list[Any], docs: Path, named: set[str]) -> list[Any]:
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, str) and entry.endswith("/"):
            pages = sorted(path.relative_to(docs).as_posix() for path in (docs / entry).glob("*.md"))
            found += [page for page in pages if page not in named]
        elif isinstance(entry, dict):
            inner = {
                title: _expanded(value, docs, named) if isinstance(value, list) else value
                for title, value in entry.items()
            }
            if filled := {title: value for title, value in inner.items() if value}:
                found.append(filled)
        else:
            found.append(entry)
    return found
