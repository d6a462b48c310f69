"""The page of a release, to be signed by a data protection officer: one file, no network, prints well.

It shows what the manifest says, the steps and the reach of a belief as inline SVG, and the largest
published counts. All of it is published anyway.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.pages import render
from tacit.privacy import Guarantee, GuaranteeKind
from tacit.release import prose
from tacit.release.document.words import (
    belief_after,
    meaning_of,
    percent,
    residual_risks,
    verdict_on,
)
from tacit.release.execution import Tables
from tacit.release.mechanism import Plan
from tacit.release.preparation import LONGEST_KEY
from tacit.release.prose import DescribedStep

PAGE = "release.html"
_SHOWN = 10
_MEASURES = ("count", "deviation")
_PRIORS = (0.001, 0.01, 0.1, 0.5)
_TITLE, _LINE, _GAP, _CHARACTERS = 22, 18, 26, 84
"""Of the picture of the steps: heights in pixels, and the characters of a line."""


def _boxes(steps: Sequence[DescribedStep]) -> list[dict[str, Any]]:
    """Lay out the picture of the steps: from the log that stays to the tables that leave."""
    boxes: list[dict[str, Any]] = []
    top = 8

    def add(title: str, lines: Sequence[str], style: str, gap: int) -> None:
        nonlocal top
        height = _TITLE + _LINE * len(lines) + 12
        boxes.append(
            {"title": title, "style": style, "top": top + gap, "height": height, "gap": gap}
            | {"lines": [(top + gap + _TITLE + _LINE * n, line) for n, line in enumerate(lines, 1)]}
        )
        top += gap + height

    add("The log", ["user, query, time, rank, url; it does not leave its owner"], "store", 0)
    for number, step in enumerate(steps, 1):
        lines = textwrap.wrap(step.detail, _CHARACTERS)
        add(f"{number}. {step.title}", lines, "noise" if step.noisy else "step", _GAP)
    add("Published", ["tables, manifest and this page"], "store", 40)
    return boxes


def render_page(mechanism: Plan[Any], manifest: Mapping[str, Any], tables: Tables) -> str:
    """The page as HTML."""
    guarantee = mechanism.guarantee
    verdict = verdict_on(guarantee)
    return render(
        "tacit.release.document",
        "release.html.j2",
        title=mechanism.title,
        manifest=manifest,
        about=manifest["about"],
        budget=_budget(manifest["budget"]),
        guarantee=guarantee,
        protected=guarantee.kind is not GuaranteeKind.K_QUERY,
        verdict=verdict,
        meaning=meaning_of(guarantee),
        learns=[*residual_risks(guarantee), *prose.residual_risks(mechanism)],
        beliefs=_beliefs(guarantee),
        boxes=_boxes(prose.steps(mechanism)),
        steps=prose.steps(mechanism),
        parameters=prose.words(mechanism),
        records=_records(manifest["preparation"]),
        samples={name: _sample(table) for name, table in tables.items()},
    )


def _records(preparation: Mapping[str, Any]) -> list[str]:
    """Which records took part, and what was withheld, in words."""
    since, until = (preparation[name] and preparation[name].replace("T", " ") for name in ("since", "until"))
    period = {
        (True, True): f"Only records from {since} to before {until} (UTC) took part.",
        (True, False): f"Only records from {since} (UTC) on took part.",
        (False, True): f"Only records before {until} (UTC) took part.",
        (False, False): "All records of the log took part.",
    }[bool(since), bool(until)]
    scrub = (
        "Rows with e-mail addresses, telephone, card or social security numbers, addresses of computers,"
        " passwords or long"
        " numbers are not published. Names and streets written out cannot be found by a pattern, and are"
        " missed."
        if preparation["scrub"]
        else "Rows that hold e-mail addresses, telephone or card numbers were NOT looked for and removed."
    )
    return [period, scrub, f"Nothing longer than {LONGEST_KEY} characters is published."]


def _budget(budget: Mapping[str, Any]) -> dict[str, Any]:
    """The data set's budget as the page shows it: total, used with this release, and left."""
    total, used, left = (Guarantee.from_dict(budget[name]) for name in ("total", "used", "left"))
    share = min(1.0, used.epsilon / total.epsilon) if total.epsilon else 1.0
    return {"total": total, "used": used, "left": left, "share": f"{share:.0%}"}


def _beliefs(guarantee: Guarantee) -> list[tuple[str, ...]]:
    """How far a belief about one person can move: before, then after seeing the release.

    Under add-remove, odds of the person's being in the log move by at most e^ε. What somebody in the log did
    compares two histories, one taken out and another put in: odds move by e^(2ε). Under replace the
    number of users is public, and the latter is e^ε. Without any ε nothing is bounded.
    """
    if guarantee.kind is GuaranteeKind.K_QUERY:
        return [(percent(prior), "certain", "certain") for prior in _PRIORS]
    losses = {each.neighbours: each.epsilon for each in (guarantee, guarantee.as_replace())}
    return [
        (percent(prior), *(percent(belief_after(prior, loss)) for loss in losses.values()))
        for prior in _PRIORS
    ]


def _sample(table: Any) -> dict[str, Any]:
    """The largest counts of a published table."""
    rows = []
    for row in table.slice(0, _SHOWN).to_pylist():
        rows.append([" → ".join(value) if isinstance(value, list) else value for value in row.values()])
    columns = [name.replace("_", " ") for name in table.schema.names]
    return {"columns": columns, "numbers": [name for name in _MEASURES if name in columns], "rows": rows}
