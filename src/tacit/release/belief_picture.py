"""The verdict as a picture: from an even chance, how far a belief can move when a release is seen."""

from __future__ import annotations

from html import escape

from markupsafe import Markup

from tacit.release.verdict import ReleaseVerdict

__all__ = ["draw_belief"]

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
