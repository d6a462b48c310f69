"""The steps of a release as a picture: from the log that stays to the tables that leave, as inline SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from tacit.release.mechanism import DescribedStep

__all__ = ["draw_steps"]

_WIDTH = 720
_LEFT = 20
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
        f'<line class="border" x1="0" x2="{_WIDTH}" y1="{top + 16}" y2="{top + 16}"/>'
        f'<text class="border-text" x="{_WIDTH}" y="{top + 12}" text-anchor="end">'
        "only what is below leaves</text>"
    )
    parts.append(_arrow(top, 40))
    top = _box(parts, top + 40, "Published", ["tables, manifest and this page"], "store")
    described = "; ".join(f"{number}. {step.title}: {step.detail}" for number, step in enumerate(steps, 1))
    return Markup(
        f'<svg class="steps" role="img" viewBox="0 0 {_WIDTH} {top + 8}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>What is done to the log</title>'
        f"<desc>{escape(described)}</desc>{''.join(parts)}</svg>"
    )


def _box(parts: list[str], top: int, title: str, lines: Sequence[str], style: str) -> int:
    height = _TITLE + _LINE * len(lines) + 12
    parts.append(
        f'<rect class="{style}" x="{_LEFT}" y="{top}" width="{_BOX}" height="{height}" rx="6"/>'
        f'<text class="title" x="{_LEFT + 14}" y="{top + _TITLE}">{escape(title)}</text>'
    )
    if style == "noise":
        parts.append(
            f'<text class="tag" x="{_LEFT + _BOX - 14}" y="{top + _TITLE}" text-anchor="end">noise</text>'
        )
    for number, line in enumerate(lines, start=1):
        y = top + _TITLE + _LINE * number
        parts.append(f'<text class="detail" x="{_LEFT + 14}" y="{y}">{escape(line)}</text>')
    return top + height


def _arrow(top: int, length: int = _GAP) -> str:
    middle, end = _WIDTH // 2, top + length
    return (
        f'<line class="arrow" x1="{middle}" x2="{middle}" y1="{top}" y2="{end - 5}"/>'
        f'<path class="head" d="M{middle - 5} {end - 8} L{middle + 5} {end - 8} L{middle} {end} Z"/>'
    )
