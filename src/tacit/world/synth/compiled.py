"""Loops compiled to machine code, which release the interpreter's lock while they run.

Machine code is kept in Tacit's cache folder, under a fingerprint of all of this package's source.
Numba's own rule looks only at the file of the outermost loop, and would go on using a stale inner loop
after its file has changed: a log must be a function of its seed and of the code that is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from tacit.files import cache_directory

__all__ = ["compiled"]

Loop = TypeVar("Loop", bound=Callable[..., Any])


@cache
def _folder() -> str:
    identity = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        identity.update(source.read_bytes())
    return str(cache_directory() / f"compiled-{identity.hexdigest()[:16]}")


def compiled(loop: Loop) -> Loop:
    """Compile ``loop`` on first use, and keep the machine code on disk for the next process."""
    usual = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _folder()  # read while decorating only
    try:
        return cast(Loop, numba.njit(loop, nogil=True, cache=True))
    finally:
        numba.config.CACHE_DIR = usual
