"""Where a sweep works: in its folder, or beside a finished one until it can take that one's place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.evaluate.sweep.runs import MARKS
from tacit.files import check_output_folder, move_directory

__all__ = ["sweep_folder"]


@contextmanager
def sweep_folder(output: str | Path, log: str | Path, *, force: bool) -> Iterator[Path]:
    """The folder to work in; on a clean exit its content is at ``output``.

    Without ``force`` that is ``output`` itself, so that a sweep that was stopped goes on. With it, where a
    report is there already, the work is done in a hidden folder beside it, which takes its place when it is
    whole. Stopped, the hidden folder stays, and the same command goes on with it; the old report is there
    until then.
    """
    output = Path(output)
    if not (force and (output.exists() or output.is_symlink())):
        yield output
        return
    check_output_folder(output, force=True, marks=MARKS, inputs=[log])
    beside = output.with_name(f".{output.name}.next")
    yield beside
    move_directory(beside, output)
