"""Loops compiled to machine code, which release the interpreter's lock while they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["compiled"]

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """Compile ``loop`` on first use, and keep the machine code on disk for the next process."""
    return cast(Loop, numba.njit(loop, nogil=True, cache=True))
