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
    """What a command says: the document, and the rows (name, ours, the paper's) a person sees.

    ``ours`` heads the column of our values.
    """

    title: str
    document: Mapping[str, Any]
    rows: Sequence[tuple[str, str, str]]
    words: Sequence[str]
    why: str
    ours: str = "provable"

    def _summary(self) -> str:
        return self.title

    def _heading(self) -> tuple[str, str, str]:
        return ("", self.ours, "paper")

    def _rows(self) -> Sequence[tuple[str, str, str]]:
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
    promised, setting, figure = mechanism.guarantee, prose.paper_setting(mechanism), None
    if setting is None:
        figure = prose.paper_figure(mechanism)
    parameters = mechanism.given.to_dict()
    printed: dict[str, Any] = dict(setting.values) if setting else figure.to_dict() if figure else {}
    source = setting or figure
    promise = _guarantee_document(promised)
    document: dict[str, Any] = {
        "mechanism": mechanism.name,
        "requested_epsilon": getattr(mechanism.mechanism, "epsilon", None),
        "requested_delta": getattr(mechanism.mechanism, "delta", None),
        **{name: _by_name(value) for name, value in parameters.items()},
        **promise,
        "parts": mechanism.parts(),
        "schedule": mechanism.schedule.to_dict(),
        "utility": prose.figures(mechanism),
        "words": list(prose.words(mechanism)),
        "paper": {**printed, "source": source.source, "why": source.why} if source is not None else None,
    }
    rows = [
        (name.replace("_", " "), _show(value), _show(printed.get(name)))
        for name, value in parameters.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    for name in ("epsilon", "delta"):
        if promise[name] is not None:
            rows.append((name, f"{promise[name]:.6g}", _show(printed.get(name))))
    why = source.why if source is not None else ""
    title = f"Plan for {mechanism.title}: {promised}"
    return Statement(title, document, rows, document["words"], why, ours="plan")


def _by_name(value: object) -> object:
    """A public set by its name."""
    return getattr(value, "name", value)


def state_guarantee(mechanism: Plan[Any]) -> Statement:
    """Say what the parameters provably give, part by part, beside what the paper prints for them."""
    found, figure, more = mechanism.guarantee, prose.paper_figure(mechanism), prose.notes(mechanism)
    paper = {**(figure.to_dict() if figure is not None else {}), **more.paper}
    words = [*meaning_of(found), *more.words]
    document = {
        "mechanism": mechanism.name,
        **_guarantee_document(found),
        "parameters": {name: _by_name(value) for name, value in mechanism.given.to_dict().items()},
        "parts": mechanism.parts(),
        "schedule": mechanism.schedule.to_dict(),
        **more.document,
        "words": words,
        "paper": paper or None,
    }
    rows = [*_rows(found, figure, paper), *more.rows]
    return Statement(more.title or mechanism.title, document, rows, words, str(paper.get("why", "")))


def _rows(
    found: Guarantee, figure: PaperFigure | None, paper: Mapping[str, Any]
) -> list[tuple[str, str, str]]:
    if found.kind is GuaranteeKind.K_QUERY:
        return [("epsilon", "none", "none")]
    if figure is None:
        printed = ("", "", "")
    else:
        printed = (f"{paper['epsilon']:.4g}", f"{paper['delta']:.3g}", str(paper["neighbours"]))
    return [
        ("epsilon", f"{found.epsilon:.4g}", printed[0]),
        ("delta", f"{found.delta:.3g}", printed[1]),
        ("neighbours", found.neighbours.value, printed[2]),
    ]
