"""What a release can be expected to publish, as ``tacit plan`` and ``tacit release`` say it."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from tacit.terminal import stderr


def users_option(parameters: type[Any]) -> list[inspect.Parameter]:
    """``--users``, for mechanisms whose parameters do not have it already."""
    if any(field.name == "users" for field in dataclasses.fields(parameters)):
        return []
    says = "About how many users the log has (public knowledge): say how many rows to expect."
    kind = Annotated[int | None, typer.Option("--users", min=1, help=says)]
    return [inspect.Parameter("log_users", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)]


def foreseen(mechanism: Any, users: int) -> dict[str, float]:
    """By table, how many rows to expect; what takes long is said."""
    from tacit.release.forecast import expected_rows

    return expected_rows(mechanism, users, lambda stage: stderr().print(f"{stage} …", markup=False))


def in_words(expected: Mapping[str, float], users: int) -> str:
    """The expectation as a sentence."""
    from tacit.release.forecast import WORLDS, is_rough

    listed = ", ".join(f"{name} {_about(rows)}" for name, rows in expected.items())
    rough = f" This is rough: it is judged by a log of {WORLDS[-1]:,} users." if is_rough(users) else ""
    return f"To expect of a log of {users:,} users of AOL's shape, in rows: {listed}.{rough}"


def _about(rows: float) -> str:
    return "next to none" if rows < 0.5 else f"about {rows:,.0f}"
