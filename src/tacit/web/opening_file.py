"""Opening the browser without showing the secret to other users of the machine.

Arguments of a process can be read by everyone on the machine, so the browser is given a file that only the
person can read, and the file leads to the address.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import webbrowser
from html import escape
from pathlib import Path

__all__ = ["open_browser", "opening_page"]


def opening_page(address: str, folder: Path) -> Path:
    """A file in ``folder`` that leads to the address."""
    path = folder / "open-tacit.html"
    path.touch(mode=0o600)
    path.write_text(
        "<!doctype html><meta charset=utf-8><title>Tacit</title>"
        f'<meta http-equiv="refresh" content="0; url={escape(address, quote=True)}">'
        f'<p><a href="{escape(address, quote=True)}">Open Tacit</a></p>\n',
        encoding="utf-8",
    )
    return path


def open_browser(address: str) -> bool:
    """Open the address in the person's browser; False where there is none."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-open-"))  # readable by its owner only
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        return webbrowser.open(opening_page(address, folder).as_uri())
    except (webbrowser.Error, OSError):
        return False
