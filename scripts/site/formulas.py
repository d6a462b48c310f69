"""A hook of the documentation site: formulas become MathML while the site is built.

A page writes ``$…$`` in a sentence and ``$$…$$`` on lines of its own. Browsers draw MathML by themselves, so
the site needs no script and asks no other server for one.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAYED = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
_SLASH = "<mo>&#x0002F;</mo>"


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Replace the marks that the arithmatex extension leaves by MathML."""

    def drawn(latex: str, display: str) -> str:
        try:
            drawing = str(convert(unescape(latex).strip(), display=display))
        except Exception as error:
            raise ValueError(f"{page.file.src_uri}: the formula {latex!r} cannot be drawn") from error
        return drawing.replace(_SLASH, '<mo lspace="0" rspace="0">/</mo>')  # "1/b", not "1 / b"

    html = _INLINE.sub(lambda found: drawn(found[1], "inline"), html)
    return _DISPLAYED.sub(lambda found: f'<div class="formula">{drawn(found[1], "block")}</div>', html)
