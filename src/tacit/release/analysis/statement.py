"""How a guarantee or a plan is stated: one document for machines, one small table for people.

Keys named ``epsilon`` and ``delta`` outside ``paper`` are always the provable ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

from tacit.privacy import Guarantee, Neighbours
from tacit.release.analysis.charge import Charge, PaperFigure

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Statement", "figure_document", "guarantee_document", "parameters_document", "parts_document"]


@dataclass(frozen=True)
class Statement:
    """What a command says: the document, and the rows (name, ours, the paper's) a person sees.

    ``ours`` heads the column of our values.
    """

    title: str
    document: Mapping[str, Any]
    rows: Sequence[tuple[str, str, str]]
    words: Sequence[str]
    why: str
    ours: str = "provable"

    def render(self, console: Console) -> None:
        """Draw the statement: a table of ours beside the paper's, then the words."""
        from rich.table import Table

        console.print(self.title, style="bold", markup=False)
        table = Table(show_edge=False, pad_edge=False)
        table.add_column("")
        table.add_column(self.ours, justify="right")
        table.add_column("paper", justify="right", style="dim")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        console.print()
        for line in self.words:
            console.print(f"• {line}", markup=False)
        if self.why:
            console.print(f"\nWhy the paper differs: {self.why}", markup=False, style="dim")


def guarantee_document(found: Guarantee) -> dict[str, Any]:
    """A guarantee as JSON holds it; an infinite ε (no differential privacy) is null."""
    document: dict[str, Any] = {
        "kind": found.kind.value,
        "neighbours": found.neighbours.value,
        "epsilon": found.epsilon if math.isfinite(found.epsilon) else None,
        "delta": found.delta if math.isfinite(found.epsilon) else None,
    }
    if found.k is not None:
        document["k"] = found.k
    return document


def figure_document(figure: PaperFigure) -> dict[str, Any]:
    """What the paper prints, as JSON holds it."""
    return {
        "epsilon": figure.epsilon,
        "delta": figure.delta,
        "neighbours": figure.neighbours.value,
        "source": figure.source,
        "why": figure.why,
    }


def parts_document(charges: Iterable[Charge], neighbours: Neighbours) -> list[dict[str, Any]]:
    """The charges that make up a guarantee; replacing a user doubles each ε."""
    factor = 2 if neighbours is Neighbours.REPLACE else 1
    return [{"part": c.what, "epsilon": factor * c.epsilon, "delta": c.delta} for c in charges]


def parameters_document(parameters: Any) -> dict[str, Any]:
    """Parameters by name, as they go into a manifest."""
    assert is_dataclass(parameters) and not isinstance(parameters, type)
    return asdict(parameters)
