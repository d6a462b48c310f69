"""Tables on a narrow screen: where words would have to be cut, each row becomes lines of its own.

A phone or a split terminal has some 40 columns. A table of six columns squeezed into them shows the
beginnings of words; the same row as ``name value`` lines can be read.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table

__all__ = ["ResultsConsole"]


class ResultsConsole(Console):
    """A console that unfolds tables which do not fit."""

    def print(self, *objects: Any, **settings: Any) -> None:
        """As :meth:`rich.console.Console.print`."""
        super().print(*(self._fitting(each) for each in objects), **settings)

    def _fitting(self, shown: Any) -> Any:
        if not isinstance(shown, Table) or not shown.show_header:
            return shown
        unlimited = self.options.update(width=10_000)
        return _unfolded(shown) if self.measure(shown, options=unlimited).minimum > self.width else shown


def _unfolded(table: Table) -> RenderableType:
    """Each row as lines of a column's name and its value; rows without a value leave it out."""
    headers = [column.header for column in table.columns]
    rows: list[RenderableType] = []
    for cells in zip(*(list(column.cells) for column in table.columns), strict=True):
        lines = Table.grid(padding=(0, 2))
        lines.add_column(style="bold", overflow="fold")
        lines.add_column(overflow="fold")
        for header, cell in zip(headers, cells, strict=True):
            if cell != "":
                lines.add_row(header, cell)
        rows += [lines, ""]
    return Group(*rows[:-1])
