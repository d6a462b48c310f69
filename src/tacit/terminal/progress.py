"""Progress with rate and time left, on stderr, for work that takes more than a moment."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich import progress as rich_progress
from rich.text import Text

from tacit.terminal.output import stderr

__all__ = ["Progress", "progress"]


class Progress:
    """A running count that a worker advances. Without a display it only counts."""

    def __init__(self, display: rich_progress.Progress | None, task: rich_progress.TaskID | None) -> None:
        self._display = display
        self._task = task
        self.done = 0

    def advance(self, steps: int = 1) -> None:
        """``steps`` more units are done."""
        self.done += steps
        if self._display is not None and self._task is not None:
            self._display.update(self._task, advance=steps)

    def describe(self, description: str) -> None:
        """Change what is said to be under way."""
        if self._display is not None and self._task is not None:
            self._display.update(self._task, description=description)


class _Rate(rich_progress.ProgressColumn):
    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: rich_progress.Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:,.0f} {self._unit}/s", style="progress.data.speed")


@contextmanager
def progress(description: str, *, total: float | None = None, unit: str = "records") -> Iterator[Progress]:
    """Show progress while the block runs; the block calls :meth:`Progress.advance`.

    On a terminal this is a live bar; elsewhere one closing line says how much was done and how fast.
    """
    console = stderr()
    if not console.is_terminal:
        plain = Progress(None, None)
        begun = time.monotonic()
        yield plain
        seconds = max(time.monotonic() - begun, 1e-9)
        if plain.done:
            console.print(f"{description}: {plain.done:,} {unit} in {seconds:.1f} s", markup=False)
        return
    columns = [
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        _Rate(unit),
        rich_progress.TimeRemainingColumn(),
    ]
    with rich_progress.Progress(*columns, console=console, transient=True) as display:
        yield Progress(display, display.add_task(description, total=total))
