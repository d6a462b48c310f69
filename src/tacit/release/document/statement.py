"""A plan or a guarantee, stated: one document for machines, one small table for people.

Keys named ``epsilon`` and ``delta`` outside ``paper`` are always the provable ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.display import Displayed
from tacit.privacy import Guarantee, GuaranteeKind
from tacit.release import prose
from tacit.release.document.words import meaning_of
from tacit.release.prose import PaperFigure

if TYPE_CHECKING:
    from tacit.release.mechanism import Plan


@dataclass(frozen=True, repr=False)
class Statement(Displayed):
    """What a command says: the document, and the rows (name, ours, the paper's if it has any) a person sees.

    ``ours`` heads the column of our values.
    """

    title: str
    document: Mapping[str, Any]
    rows: Sequence[tuple[str, ...]]
    words: Sequence[str]
    why: str
    ours: str = "provable"

    def _summary(self) -> str:
        return self.title

    def _heading(self) -> tuple[str, ...]:
        return ("", self.ours, "paper")[: len(self.rows[0])]

    def _rows(self) -> Sequence[tuple[str, ...]]:
        return self.rows

    def _notes(self) -> list[str]:
        return [f"• {line}" for line in self.words]


def _guarantee_document(found: Guarantee) -> dict[str, Any]:
    """A guarantee as JSON holds it; without differential privacy neither ε nor δ says anything."""
    document = found.to_dict()
    if not math.isfinite(found.epsilon):
        document["delta"] = None
    return document


def _show(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def state_plan(mechanism: Plan[Any]) -> Statement:
    """The parameters by name, what they give and mean, and under ``paper`` the paper's own figures.

    That is its choice for the same request where the thesis has a table of it, else what it prints for ours.
    """
    figure = None if (setting := prose.paper_setting(mechanism)) else prose.paper_figure(mechanism)
    paper = figure.to_dict() if figure else setting
    printed, promise = paper or {}, _guarantee_document(mechanism.guarantee)
    parameters, words = mechanism.given.to_dict(), list(prose.words(mechanism))
    document = {
        "requested_epsilon": getattr(mechanism.mechanism, "epsilon", None),
        "requested_delta": getattr(mechanism.mechanism, "delta", None),
        **_by_name(parameters),
        "utility": prose.figures(mechanism),
        **_stated(mechanism, words, paper),
    }
    rows: list[tuple[str, ...]] = [
        (name.replace("_", " "), _show(value), _show(printed.get(name)))
        for name, value in parameters.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    for name in ("epsilon", "delta"):
        if promise[name] is not None:
            rows.append((name, f"{promise[name]:.6g}", _show(printed.get(name))))
    title = f"Plan for {mechanism.title}: {mechanism.guarantee}"
    rows = rows if paper else [row[:2] for row in rows]
    return Statement(title, document, rows, words, printed.get("why", ""), ours="plan")


def _by_name(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON holds them, public sets by their names."""
    return {name: getattr(value, "name", value) for name, value in parameters.items()}


def _stated(mechanism: Plan[Any], words: Sequence[str], paper: Any) -> dict[str, Any]:
    """State what a plan and a guarantee have in common."""
    return {
        "mechanism": mechanism.name,
        **_guarantee_document(mechanism.guarantee),
        "parts": mechanism.parts(),
        "schedule": mechanism.schedule.to_dict(),
        "words": words,
        "paper": paper,
    }


def state_guarantee(mechanism: Plan[Any]) -> Statement:
    """State what the parameters provably give, part by part, beside what the paper prints for them."""
    found, figure, more = mechanism.guarantee, prose.paper_figure(mechanism), prose.notes(mechanism)
    paper = {**(figure.to_dict() if figure is not None else {}), **more.paper}
    words = [*meaning_of(found), *more.words]
    document = {
        "parameters": _by_name(mechanism.given.to_dict()),
        **more.document,
        **_stated(mechanism, words, paper or None),
    }
    rows = [*_rows(found, figure), *more.rows]
    return Statement(more.title or mechanism.title, document, rows, words, str(paper.get("why", "")))


def _rows(found: Guarantee, figure: PaperFigure | None) -> list[tuple[str, ...]]:
    if found.kind is GuaranteeKind.K_QUERY:
        return [("epsilon", "none", "none")]
    both = zip(*(_figures(each) for each in (found, figure) if each is not None), strict=True)
    return [(name, *row) for name, row in zip(("epsilon", "delta", "neighbours"), both, strict=True)]


def _figures(of: Guarantee | PaperFigure) -> tuple[str, str, str]:
    return f"{of.epsilon:.4g}", f"{of.delta:.3g}", of.neighbours.value
