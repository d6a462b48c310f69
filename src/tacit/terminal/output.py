"""Results on stdout: a readable rendering, or one JSON document when ``--json`` is given."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console

from tacit.terminal.narrow import ResultsConsole

__all__ = ["emit", "stderr", "stdout"]


def stdout() -> Console:
    """The console for results (made anew each time, so that tests may replace ``sys.stdout``)."""
    return ResultsConsole(file=sys.stdout, highlight=False)


def stderr() -> Console:
    """The console for progress and errors."""
    return Console(file=sys.stderr, highlight=False)


def emit(result: Mapping[str, Any], *, as_json: bool, render: Callable[[Console], None]) -> None:
    """Print ``result`` as JSON, or let ``render`` draw it for a person.

    Both must say the same: ``render`` draws from the same values that ``result`` holds.
    """
    if as_json:
        sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        sys.stdout.flush()
    else:
        render(stdout())
