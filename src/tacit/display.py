"""Representations of an object for ``print`` and for notebooks, made from the same rows.

Colours are left to the reader's theme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

Row = Sequence[object]


def shown_as_text(title: str, rows: Iterable[Row], notes: Iterable[str] = ()) -> str:
    """A title, and below it the rows with their cells one under the other."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)] if cells else []
    lines = [title]
    for row in cells:
        padded = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        lines.append(("  " + "  ".join(padded)).rstrip())
    return "\n".join([*lines, *notes])


def shown_as_html(
    title: str, rows: Iterable[Row], notes: Iterable[str] = (), *, heading: Sequence[str] = ()
) -> str:
    """The same as a table of HTML, with a row of headings where there are any."""
    head = "".join(f'<th style="text-align:left">{escape(cell)}</th>' for cell in heading)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{escape(str(cell))}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    said = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<div><strong>{escape(title)}</strong><table>{head}<tbody>{body}</tbody></table>{said}</div>"
