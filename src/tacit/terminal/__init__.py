"""How commands speak: results on stdout, progress and errors on stderr."""

from tacit.terminal.output import ForceFlag, JsonFlag, emit, stderr, stdout
from tacit.terminal.progress import Progress, progress

__all__ = ["ForceFlag", "JsonFlag", "Progress", "emit", "progress", "stderr", "stdout"]
