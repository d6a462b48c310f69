"""Compiled inner loops: one way to declare them, so that their options never differ.

Machine code is kept in Tacit's cache folder under a fingerprint of all of this package's source. Numba's
own rule looks only at the file of the outermost loop: after a change to a function that it calls, it
would go on using the old one, and a risk bound must never be checked by code that is no longer there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

import numba

from tacit.files import cache_directory

__all__ = ["kernel"]

_Function = TypeVar("_Function", bound=Callable[..., object])


@cache
def _folder() -> str | None:
    """Where the machine code of exactly this source lies; None where there is no place to keep it."""
    identity = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        identity.update(source.read_bytes())
    try:
        return str(cache_directory() / f"kernels-{identity.hexdigest()[:16]}")
    except OSError:
        return None


def kernel(function: _Function) -> _Function:
    """Compile ``function`` on its first call and keep the machine code on disk for the next process.

    Ordinary floating-point rules hold (no ``fastmath``): a risk must mean the same number in a kernel
    and in its definition.
    """
    folder = _folder()
    if folder is None:
        return cast(_Function, numba.njit(nogil=True, error_model="numpy")(function))
    usual = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder  # read while decorating only
    try:
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        numba.config.CACHE_DIR = usual
    return cast(_Function, compiled)
