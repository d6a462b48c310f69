"""How objects show themselves: ``repr`` is one line; ``print`` and notebooks show a table of the same rows.

Colours are left to the reader's theme.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

Row = Sequence[object]


class Displayed(ABC):
    """A value that shows itself. A dataclass that derives from it is declared with ``repr=False``."""

    @abstractmethod
    def _summary(self) -> str:
        """Describe the object in one line."""

    @abstractmethod
    def _rows(self) -> Sequence[Row]:
        """The table below the summary."""

    def _heading(self) -> Sequence[str]:
        """The headings of the table, if it has any."""
        return ()

    def _notes(self) -> Sequence[str]:
        """Sentences below the table."""
        return ()

    def __repr__(self) -> str:
        return f"<{self._summary()}>"

    def __str__(self) -> str:
        heading = self._heading()
        rows = [heading, *self._rows()] if any(heading) else self._rows()
        return as_text(self._summary(), rows, self._notes())

    def _repr_html_(self) -> str:
        from tacit.pages import render

        return render(
            "tacit",
            "object.html.j2",
            title=self._summary(),
            rows=self._rows(),
            heading=self._heading(),
            notes=self._notes(),
        )


def as_text(title: str, rows: Iterable[Row], notes: Iterable[str] = ()) -> str:
    """Return a title, and below it the rows with their cells one under the other."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)] if cells else []
    lines = [title]
    for row in cells:
        padded = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        lines.append(("  " + "  ".join(padded)).rstrip())
    return "\n".join([*lines, *notes])
