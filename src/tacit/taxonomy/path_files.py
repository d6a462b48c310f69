"""Topic trees from files that list topics by path.

Three shapes are read, told apart by their content:

- **path lines**: ``Top/Arts/Music<TAB>206``, the count optional (Open Directory extracts);
- **Markdown tables** with a column of paths: ``| 23 | /Arts & Entertainment/Music & Audio |`` (Chrome's
  Topics taxonomy);
- **tier tables**, tab- or comma-separated with columns ``Tier 1``, ``Tier 2``, … (IAB's content taxonomy).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from tacit.errors import TaxonomyError
from tacit.taxonomy.tree import TopicTree

__all__ = ["load_path_file"]

_Paths = Iterator[tuple[tuple[str, ...], float]]


def load_path_file(file: str | Path, root: str = "Top") -> TopicTree:
    """The topic tree in ``file``.

    If every path begins with the same topic, that is the root; otherwise all hang below ``root``. A
    topic without a count weighs nothing by itself; if no topic has one, every leaf weighs the same.

    Raises:
        TaxonomyError: a line cannot be read; its number is said.
    """
    file = Path(file)
    # Old directory extracts hold a few bytes that are not UTF-8; a topic is worth more than its accent.
    lines = file.read_text("utf-8-sig", errors="replace").split("\n")
    content = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not content:
        raise TaxonomyError(f"{file} holds no topics.")
    header = _tier_header(content)
    if header is not None:
        found = list(_tier_paths(file, content, *header))
    elif content[0][1].lstrip().startswith("|"):
        found = list(_markdown_paths(file, content))
    else:
        found = list(_line_paths(file, content))
    if not found:
        raise TaxonomyError(f"{file} holds no topics.")
    shared = {path[0] for path, _ in found}
    if len(shared) == 1 and any(len(path) > 1 for path, _ in found):
        (root,) = shared
        found = [(path[1:], count) for path, count in found]
    return TopicTree.from_paths(found, root=root)


def _split(file: Path, number: int, text: str) -> tuple[str, ...]:
    path = tuple(part.strip() for part in text.strip().strip("/").split("/"))
    if not all(path):
        raise TaxonomyError(f"{file}, line {number}: a path has an empty part.", "Write Top/Arts/Music.")
    return path


def _line_paths(file: Path, content: list[tuple[int, str]]) -> _Paths:
    for number, line in content:
        text, _, count = line.partition("\t")
        try:
            weight = float(count) if count.strip() else 0.0
        except ValueError:
            raise TaxonomyError(f"{file}, line {number}: what follows the tab is not a count.") from None
        yield _split(file, number, text), weight


def _markdown_paths(file: Path, content: list[tuple[int, str]]) -> _Paths:
    for number, line in content:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        paths = [cell for cell in cells if cell.startswith("/")]
        if len(paths) > 1:
            raise TaxonomyError(f"{file}, line {number}: a row has {len(paths)} paths; one is expected.")
        if paths:
            yield _split(file, number, paths[0]), 0.0


def _tier_header(content: list[tuple[int, str]]) -> tuple[int, str, list[int]] | None:
    """(place of the header in ``content``, delimiter, columns of the tiers), if there is one."""
    for place, (_, line) in enumerate(content[:5]):
        for delimiter in ("\t", ","):
            cells = [cell.strip().lower() for cell in line.split(delimiter)]
            tiers = [column for column, cell in enumerate(cells) if cell.startswith("tier ")]
            if tiers:
                return place, delimiter, tiers
    return None


def _tier_paths(
    file: Path, content: list[tuple[int, str]], header: int, delimiter: str, tiers: list[int]
) -> _Paths:
    numbers = [number for number, _ in content[header + 1 :]]
    rows = csv.reader((line for _, line in content[header + 1 :]), delimiter=delimiter)
    for number, row in zip(numbers, rows, strict=False):
        cells = [row[column].strip() if column < len(row) else "" for column in tiers]
        while cells and not cells[-1]:
            cells.pop()
        if not cells or not all(cells):
            raise TaxonomyError(f"{file}, line {number}: a tier is missing above another, or all are.")
        yield tuple(cells), 0.0
