"""A hook of the documentation site: no page loads anything from another server."""

from __future__ import annotations

import re
from typing import Any

_LOADED = re.compile(
    r'<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc="(?:https?:)?//[^"]*"'
    r'|<link\b(?=[^>]*\brel="(?:stylesheet|preload|preconnect|icon|modulepreload)")[^>]*\bhref="(?:https?:)?//[^"]*"'
)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that would ask another server for something when it is opened."""
    if found := _LOADED.search(output):
        raise ValueError(f"{page.file.src_uri} loads something from another server: {found[0]}")
    return output
