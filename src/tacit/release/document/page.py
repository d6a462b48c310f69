"""The page of a release, to be signed by a data protection officer: one file, no network, prints well.

It shows what the manifest says, the steps and the reach of a belief as inline SVG, and the largest
published counts. All of it is published anyway.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import jinja2
from markupsafe import Markup

from tacit.privacy import Guarantee, GuaranteeKind
from tacit.release.document.words import (
    ReleaseVerdict,
    belief_after,
    meaning_of,
    percent,
    still_learns,
    verdict_on,
)
from tacit.release.execution import Tables
from tacit.release.mechanism import DescribedStep, Mechanism
from tacit.release.preparation import LONGEST_KEY

_WIDTH, _LEFT, _RIGHT = 640, 20, 620


def _x(belief: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * belief


def draw_belief(verdict: ReleaseVerdict) -> Markup:
    """An SVG of the scale from "surely not" to "surely", with the reach of a belief that began in the
    middle.
    """
    low, high, middle = _x(1 - verdict.after), _x(verdict.after), _x(0.5)
    style = "reach warns" if verdict.warns else "reach"
    described = f"Before: an even chance. After seeing the release one can be {verdict.sure}."
    parts = [
        f'<line class="scale" x1="{_LEFT}" x2="{_RIGHT}" y1="58" y2="58"/>',
        f'<rect class="{style}" x="{low:.1f}" y="46" width="{max(high - low, 4):.1f}" height="24" rx="4"/>',
        f'<line class="before" x1="{middle}" x2="{middle}" y1="36" y2="80"/>',
        f'<text x="{middle}" y="28" text-anchor="middle">before: an even chance</text>',
        f'<text class="detail" x="{_LEFT}" y="96">surely not</text>',
        f'<text class="detail" x="{_RIGHT}" y="96" text-anchor="end">surely</text>',
        f'<text class="title" x="{min(high, _RIGHT - 4):.1f}" y="126" text-anchor="end">after: '
        f"{escape(verdict.sure)}</text>",
    ]
    return Markup(
        f'<svg class="belief" viewBox="0 0 {_WIDTH} 136" role="img" aria-label="{escape(described)}">'
        f"<title>{escape(described)}</title>{''.join(parts)}</svg>"
    )


_STEPS_WIDTH = 720
_STEPS_LEFT = 20
_BOX = 680
_TITLE = 22
_LINE = 18
_GAP = 26
_CHARACTERS = 84


def draw_steps(steps: Sequence[DescribedStep]) -> Markup:
    """Boxes from top to bottom, noise marked, and the line that only published things cross."""
    boxes = [("The log", ["user, query, time, rank, url; it does not leave its owner"], "store")]
    boxes += [
        (step.title, textwrap.wrap(step.detail, _CHARACTERS), "noise" if step.noisy else "step")
        for step in steps
    ]
    parts: list[str] = []
    top = 8
    for number, (title, lines, style) in enumerate(boxes):
        if number:
            parts.append(_arrow(top))
            top += _GAP
        top = _box(parts, top, f"{number}. {title}" if number else title, lines, style)
    parts.append(
        f'<line class="border" x1="0" x2="{_STEPS_WIDTH}" y1="{top + 16}" y2="{top + 16}"/>'
        f'<text class="border-text" x="{_STEPS_WIDTH}" y="{top + 12}" text-anchor="end">'
        "only what is below leaves</text>"
    )
    parts.append(_arrow(top, 40))
    top = _box(parts, top + 40, "Published", ["tables, manifest and this page"], "store")
    described = "; ".join(f"{number}. {step.title}: {step.detail}" for number, step in enumerate(steps, 1))
    return Markup(
        f'<svg class="steps" role="img" viewBox="0 0 {_STEPS_WIDTH} {top + 8}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>What is done to the log</title>'
        f"<desc>{escape(described)}</desc>{''.join(parts)}</svg>"
    )


def _box(parts: list[str], top: int, title: str, lines: Sequence[str], style: str) -> int:
    height = _TITLE + _LINE * len(lines) + 12
    parts.append(
        f'<rect class="{style}" x="{_STEPS_LEFT}" y="{top}" width="{_BOX}" height="{height}" rx="6"/>'
        f'<text class="title" x="{_STEPS_LEFT + 14}" y="{top + _TITLE}">{escape(title)}</text>'
    )
    if style == "noise":
        parts.append(
            f'<text class="tag" x="{_STEPS_LEFT + _BOX - 14}" y="{top + _TITLE}"'
            ' text-anchor="end">noise</text>'
        )
    for number, line in enumerate(lines, start=1):
        y = top + _TITLE + _LINE * number
        parts.append(f'<text class="detail" x="{_STEPS_LEFT + 14}" y="{y}">{escape(line)}</text>')
    return top + height


def _arrow(top: int, length: int = _GAP) -> str:
    middle, end = _STEPS_WIDTH // 2, top + length
    return (
        f'<line class="arrow" x1="{middle}" x2="{middle}" y1="{top}" y2="{end - 5}"/>'
        f'<path class="head" d="M{middle - 5} {end - 8} L{middle + 5} {end - 8} L{middle} {end} Z"/>'
    )


PAGE = "release.html"
_SHOWN = 10
_MEASURES = ("count", "deviation")
_PRIORS = (0.001, 0.01, 0.1, 0.5)


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
    verdict = verdict_on(guarantee)
    return environment.get_template("release.html.j2").render(
        title=mechanism.title,
        manifest=manifest,
        about=manifest["about"],
        budget=_budget(manifest["budget"]),
        guarantee=guarantee,
        protected=guarantee.kind is not GuaranteeKind.K_QUERY,
        verdict=verdict,
        belief_picture=draw_belief(verdict),
        meaning=meaning_of(guarantee),
        learns=[*still_learns(guarantee), *mechanism.still_learns()],
        beliefs=_beliefs(guarantee),
        picture=draw_steps(mechanism.steps()),
        steps=mechanism.steps(),
        parameters=mechanism.words(),
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
