"""Pages that are notebooks: their Python blocks run as cells, one after the other, in one namespace.

As in a notebook, the value of a cell's last expression is shown. Where a block of ``text`` follows a cell it
must be what the cell shows (``…`` stands for anything); where none follows, nothing is compared.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["cells_of", "run_page", "show"]

_CELL = re.compile(r"```python\n(?P<code>.*?)```(?:\s*```text\n(?P<shown>.*?)```)?", re.DOTALL)


def cells_of(page: Path) -> Iterator[tuple[str, str | None]]:
    """The cells of a page with what they are said to show."""
    for found in _CELL.finditer(page.read_text(encoding="utf-8")):
        yield found["code"], found["shown"]


def show(code: str, names: dict[str, Any]) -> str:
    """Run a cell; what it prints, and its last value as a terminal shows it."""
    body = ast.parse(code).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    shown = printed.getvalue()
    if hasattr(value, "_repr_html_"):  # a notebook shows its table, which `print` writes as text
        return f"{shown}{value}\n"
    return shown if value is None else f"{shown}{value!r}\n"


def run_page(page: Path) -> dict[str, Any]:
    """Run all cells of a page; the names they leave behind."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for code, promised in cells_of(page):
        found = show(code, names)
        if promised is not None:
            pattern = ".*?".join(re.escape(part) for part in _plain(promised).split("…"))
            assert re.fullmatch(pattern, _plain(found), re.DOTALL), f"{code}\nshows\n{found}\nnot\n{promised}"
    return names


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
