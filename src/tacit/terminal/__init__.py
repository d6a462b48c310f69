"""How commands speak: results on stdout, progress and errors on stderr."""

from tacit.terminal.output import emit, stderr, stdout
from tacit.terminal.progress import Progress, progress
from tacit.terminal.showing import shown_as_html, shown_as_text

__all__ = [
    "Progress",
    "emit",
    "progress",
    "shown_as_html",
    "shown_as_text",
    "stderr",
    "stdout",
]
