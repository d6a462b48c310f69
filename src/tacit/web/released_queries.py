"""The queries of a released log, for suggestions: public already, and protected by the release itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tacit.errors import InputError

__all__ = ["released_queries"]

_LONGEST = 200


def released_queries(folder: str | Path) -> Counter[str]:
    """The queries in the tables of a folder made by ``tacit release``, with their published counts.

    Raises:
        InputError: the folder holds no release, or no table of it has queries.
    """
    folder = Path(folder)
    if not (folder / "manifest.json").is_file():
        raise InputError(f"{folder} holds no release.", "Give a folder made by `tacit release`.")
    found: Counter[str] = Counter()
    tables = 0
    for path in sorted(folder.glob("*.tsv")):
        tables += _add(path, found)
    if not tables:
        raise InputError(
            f"no table of the release at {folder} has queries with counts.",
            "Give one that counts queries, clicks or pairs.",
        )
    return found


def _add(path: Path, found: Counter[str]) -> bool:
    """Add the queries of a table; gives whether it has any."""
    with path.open(encoding="utf-8") as lines:
        names = next(lines, "").rstrip("\n").split("\t")
        if "query" not in names or "count" not in names:
            return False
        query, count = names.index("query"), names.index("count")
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if len(cells) != len(names):
                raise InputError(f"{path} is damaged: a line has {len(cells)} cells, not {len(names)}.")
            text = cells[query]
            if text[:1] == "'" and text[1:2] in {"=", "+", "-", "@"}:
                text = text[1:]  # kept a spreadsheet from running it
            number = _number(cells[count])
            if text and len(text) <= _LONGEST and number > 0:
                found[text] = max(found[text], number)  # the same query may stand in several tables
    return True


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise InputError("a count in a table of the release is no whole number.") from error
