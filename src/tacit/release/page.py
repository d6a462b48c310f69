"""The page of a release, for a data protection officer: one file, no network, light and dark, prints well.

It shows what the manifest says, and the largest published counts. All of it is published anyway.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jinja2

from tacit.privacy import Guarantee, Kind, Neighbours
from tacit.release.execution import Tables
from tacit.release.mechanism import Mechanism
from tacit.release.promise import meaning_of, still_learns
from tacit.release.steps_picture import draw_steps

__all__ = ["PAGE", "render_page"]

PAGE = "release.html"
_SHOWN = 10


def render_page(mechanism: Mechanism[Any], manifest: Mapping[str, Any], tables: Tables) -> str:
    """The page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tacit.release"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    guarantee = mechanism.guarantee()
    return environment.get_template("release.html.j2").render(
        title=mechanism.title,
        manifest=manifest,
        guarantee=guarantee,
        protected=guarantee.kind is not Kind.K_QUERY,
        meaning=meaning_of(guarantee),
        learns=[*still_learns(guarantee), *mechanism.still_learns()],
        beliefs=_beliefs(guarantee),
        picture=draw_steps(mechanism.steps()),
        steps=mechanism.steps(),
        parameters=_rows(manifest["parameters"]),
        preparation=_rows(manifest["preparation"]),
        samples={name: _sample(table) for name, table in tables.items()},
    )


def _rows(form: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """A nested form as lines of name and value."""
    rows: list[tuple[str, str]] = []
    for name, value in form.items():
        label = f"{prefix}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            rows += _rows(value, f"{label}: ")
        elif isinstance(value, list):
            rows.append((label, ", ".join(map(str, value))))
        else:
            shown = {None: "none", True: "yes", False: "no"}.get(value) if _is_flag(value) else f"{value}"
            rows.append((label, shown or ""))
    return rows


def _is_flag(value: object) -> bool:
    return value is None or isinstance(value, bool)


def _beliefs(guarantee: Guarantee) -> list[tuple[str, ...]]:
    """How far a belief about one person can move: before, then after seeing the release.

    Under add-remove, odds of the person's being in the log move by at most e^ε. What somebody in the log did
    compares two histories, one taken out and another put in: odds move by e^(2ε). Under replace the
    number of users is public, and the latter is e^ε.
    """
    added = guarantee.neighbours is Neighbours.ADD_REMOVE
    if guarantee.kind is Kind.K_QUERY or guarantee.epsilon > 350:
        return []
    factors = [math.exp(guarantee.epsilon * times) for times in ((1, 2) if added else (1,))]
    return [
        (
            f"{prior:.0%}" if prior >= 0.01 else f"{prior:.1%}",
            *(f"{prior * factor / (1 + prior * (factor - 1)):.1%}" for factor in factors),
        )
        for prior in (0.001, 0.01, 0.1, 0.5)
    ]


def _sample(table: Any) -> dict[str, Any]:
    """The largest counts of a published table."""
    rows = []
    for row in table.slice(0, _SHOWN).to_pylist():
        rows.append([" → ".join(value) if isinstance(value, list) else value for value in row.values()])
    return {"columns": [name.replace("_", " ") for name in table.schema.names], "rows": rows}
