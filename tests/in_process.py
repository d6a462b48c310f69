"""The ``tacit`` command inside the test's own process: the same exit codes and words, without a new start."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

from tacit.commands import main

__all__ = ["tacit"]


def tacit(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run ``tacit`` with these arguments; what it said and how it ended."""
    words, usual = ["tacit", *map(str, arguments)], (sys.argv, signal.getsignal(signal.SIGTERM))
    status = 0
    sys.argv = words
    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()) as complained:
        try:
            main()
        except SystemExit as stop:
            status = int(stop.code or 0)
        finally:
            sys.argv = usual[0]
            signal.signal(signal.SIGTERM, usual[1])
    return subprocess.CompletedProcess(words, status, said.getvalue(), complained.getvalue())
