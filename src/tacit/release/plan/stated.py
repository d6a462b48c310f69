"""A plan, stated: its parameters beside the paper's, its guarantee, its words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tacit.release.analysis.charge import Charge
from tacit.release.analysis.statement import (
    Statement,
    guarantee_document,
    parameters_document,
    parts_document,
)
from tacit.release.plan.setting import Plan

__all__ = ["state_plan"]

_HIDDEN = {
    "clicks",
    "transitions",
    "once_per_user",
    "mode",
    "histograms",
    "pool_probability",
    "minimum_frequency",
}


def _show(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def state_plan(
    mechanism: str, plan: Plan[Any], charges: Iterable[Charge] = (), **requested: float | None
) -> Statement:
    """The plan as one document: every parameter by name, what they give, and the paper's under ``paper``.

    ``charges`` says how ε and δ are split; ``requested`` is repeated under ``requested_…``.
    """
    parameters = parameters_document(plan.parameters)
    paper = plan.paper
    printed: dict[str, float] = dict(paper.values) if paper is not None else {}
    promise = guarantee_document(plan.guarantee)
    document: dict[str, Any] = {
        "mechanism": mechanism,
        **{f"requested_{name}": value for name, value in requested.items()},
        **parameters,
        **promise,
        "parts": parts_document(charges, plan.guarantee.neighbours),
        "utility": dict(plan.figures),
        "words": list(plan.words),
        "paper": {**printed, "source": paper.source, "why": paper.why} if paper is not None else None,
    }
    rows = [
        (name.replace("_", " "), _show(value), _show(printed.get(name)))
        for name, value in parameters.items()
        if name not in _HIDDEN and value is not None
    ]
    if parameters.get("clicks"):
        rows += [
            ("clicks: " + name.replace("_", " "), _show(value), "")
            for name, value in parameters["clicks"].items()
            if value is not None
        ]
    for name in ("epsilon", "delta"):
        if promise[name] is not None:
            rows.append((name, f"{promise[name]:.6g}", _show(printed.get(f"provable_{name}"))))
    promised = plan.guarantee
    return Statement(
        f"Plan for {mechanism} ({promised.kind.value}, neighbours: {promised.neighbours.value})",
        document,
        rows,
        plan.words,
        paper.why if paper is not None else "",
        ours="plan",
    )
