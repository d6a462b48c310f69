"""Compiled inner loops: one way to declare them, so that their options never differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

__all__ = ["kernel"]

_Function = TypeVar("_Function", bound=Callable[..., object])


def kernel(function: _Function) -> _Function:
    """Compile ``function`` on its first call and keep the machine code on disk for the next process.

    Ordinary floating-point rules hold (no ``fastmath``): a risk must mean the same number in a kernel
    and in its definition.
    """
    try:
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # no folder to keep machine code in: compile anew in each process
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    return cast(_Function, compiled)
