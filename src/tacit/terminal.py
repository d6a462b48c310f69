"""The terminal: results on stdout (readable, or one JSON document), progress and errors on stderr."""

import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from rich import progress as rich_progress
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text


class ResultsConsole(Console):
    """A console that unfolds tables which do not fit."""

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print as :meth:`rich.console.Console.print` does."""
        super().print(*(self._fitting(each) for each in objects), **settings)

    def _fitting(self, shown: Any) -> Any:
        if not isinstance(shown, Table) or not shown.show_header:
            return shown
        unlimited = self.options.update(width=10_000)
        return _unfolded(shown) if self.measure(shown, options=unlimited).minimum > self.width else shown


def _unfolded(table: Table) -> RenderableType:
    """Unfold each row into lines of a column's name and its value; rows without a value leave it out."""
    headers = [column.header for column in table.columns]
    rows: list[RenderableType] = []
    for cells in zip(*(list(column.cells) for column in table.columns), strict=True):
        lines = Table.grid(padding=(0, 2))
        lines.add_column(style="bold", overflow="fold")
        lines.add_column(overflow="fold")
        for header, cell in zip(headers, cells, strict=True):
            if cell != "":
                lines.add_row(header, cell)
        rows += [lines, ""]
    return Group(*rows[:-1])


def stdout(*, markup: bool = True) -> Console:
    """Return the console for results (made anew each time, so that tests may replace ``sys.stdout``)."""
    return ResultsConsole(file=sys.stdout, highlight=False, markup=markup)


def stderr() -> Console:
    """Return the console for progress and errors."""
    return Console(file=cast("IO[str]", _Unfailing(sys.stderr)), highlight=False)


class _Unfailing:
    """A stream of words beside the result: where it is full or closed they are lost, and nothing else is."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, said: str) -> None:
        """Write what can be written."""
        with suppress(OSError, ValueError):
            self._stream.write(said)

    def flush(self) -> None:
        """Pass on what can be passed on."""
        with suppress(OSError, ValueError):
            self._stream.flush()


Value = TypeVar("Value")

_speaks_json: ContextVar[bool] = ContextVar("speaks_json", default=False)
speaks_json = _speaks_json.get
"""Whether the command that runs was asked for ``--json``."""


@contextmanager
def _set(variable: ContextVar[Value], value: Value) -> Iterator[Value]:
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def speaking(json: bool) -> AbstractContextManager[bool]:
    """Print the results of the block as JSON, or for people."""
    return _set(_speaks_json, json)


def emit(result: Mapping[str, Any], *shown: RenderableType, even_if_unasked: bool = False) -> None:
    """Print ``result`` as JSON if that was asked for, else show it to a person; both must say the same.

    Args:
        result: the JSON document.
        shown: text, printed as it is (the terminal wraps it), and tables or trees.
        even_if_unasked: print the document in any case.
    """
    if (results := _gathered.get(None)) is not None:
        results.append(result)
    if speaks_json() or even_if_unasked:
        sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        sys.stdout.flush()
        return
    for each in shown:
        stdout(markup=False).print(each, soft_wrap=isinstance(each, str | Text))


_gathered: ContextVar[list[Mapping[str, Any]]] = ContextVar("gathered")


def gathered() -> AbstractContextManager[list[Mapping[str, Any]]]:
    """Gather the results of the commands that run in the block, however they are printed."""
    return _set(_gathered, [])


def table(headings: Sequence[str], rows: Iterable[Iterable[Any]], *, right: bool = False) -> Table:
    """Lay rows out in columns, without a frame.

    Args:
        headings: one for each column; empty ones show none.
        rows: their cells, each text or anything that rich can draw.
        right: align all columns but the first to the right, as figures are.
    """
    made = Table(*headings, box=None, pad_edge=False, show_header=any(headings))
    for column in made.columns[1:] if right else ():
        column.justify = "right"
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else str(cell) for cell in row))
    return made


def give_up_on_stdout() -> None:
    """Send what is still to be printed nowhere, so that ending the process cannot fail over it."""
    with Path(os.devnull).open("w") as nowhere, suppress(OSError, ValueError):
        os.dup2(nowhere.fileno(), 1)


def ready_streams() -> None:
    """Make both streams take any letter, and stand for nothing where they were closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - for as long as it lives
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


_A_LINE = 20.0
"""Seconds between lines of progress where there is no terminal."""


class Progress:
    """A running count that a worker advances. Without a display a line says now and then how far it is."""

    def __init__(
        self,
        update: Callable[..., None] | None,
        said: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._update = update
        self._said, self._last = said, time.monotonic()
        self.done = 0

    def advance(self, steps: int = 1) -> None:
        """``steps`` more units are done."""
        self.done += steps
        if self._update is not None:
            self._update(advance=steps)

    def reach(self, done: int, total: int) -> None:
        """``done`` of ``total`` units are done."""
        self.done = done
        if self._update is not None:
            self._update(completed=done, total=total)
        elif time.monotonic() - self._last >= _A_LINE and done < total:
            self._last = time.monotonic()
            self._said(f"{done:,} of {total:,}")

    def describe(self, description: str) -> None:
        """Change what is said to be under way."""
        if self._update is not None:
            self._update(description=description)


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

    On a terminal this is a live bar; elsewhere a line now and then says how far it is, where that is known,
    and a closing one how much was done and how fast.
    """
    console = stderr()
    if not console.is_terminal:

        def say(line: str) -> None:
            console.print(f"{description}: {line} {unit}", markup=False)

        plain = Progress(None, say)
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
        yield Progress(partial(display.update, display.add_task(description, total=total)))
