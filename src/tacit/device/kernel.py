"""Compiled inner loops of the device: one way to declare them, so that their options never differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tacit.compiled import compiled

__all__ = ["kernel"]

_Function = TypeVar("_Function", bound=Callable[..., object])


def kernel(function: _Function) -> _Function:
    """Compile ``function``.

    Ordinary floating-point rules hold (no ``fastmath``): a risk must mean the same number in a kernel
    and in its definition. Division by zero gives infinity, as in numpy.
    """
    return compiled(function, error_model="numpy")
