"""How commands speak: results on stdout, progress and errors on stderr."""

from tacit.terminal.output import JsonFlag, emit, stderr, stdout
from tacit.terminal.progress import Progress, progress

__all__ = ["JsonFlag", "Progress", "emit", "progress", "stderr", "stdout"]
