"""The JavaScript that draws charts, to be put into a page: Vega, Vega-Lite and Vega-Embed in one."""

from __future__ import annotations

import hashlib
from importlib import metadata

from tacit.files import atomic_file, cache_directory

__all__ = ["vega_script"]


def vega_script() -> str:
    """The bundle; made once a version of vl-convert, and kept in the cache."""
    import vl_convert

    version = metadata.version("vl-convert-python")
    path = cache_directory() / f"vega-{hashlib.sha256(version.encode()).hexdigest()[:12]}.js"
    if path.exists():
        return path.read_text(encoding="utf-8")
    script = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace(
        "</script", "<\\/script"
    )
    with atomic_file(path) as temporary:
        temporary.write_text(script, encoding="utf-8")
    return script
