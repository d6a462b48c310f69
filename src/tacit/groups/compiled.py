"""Loops compiled to machine code (numba), with their Python types kept for the type checker.

Compiled code is kept in Tacit's cache folder for the next process, under a digest of all sources of
this package. numba itself notices only a change in the file of the function that is called, not in the
functions it calls: it could go on enforcing a criterion that has since been corrected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

from tacit.files import cache_directory

__all__ = ["compiled", "is_raised"]

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def _compiled_folder() -> str | None:
    """Where compiled code of exactly these sources is kept; None where nothing can be kept."""
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    try:
        folder = cache_directory() / f"compiled-groups-{digest.hexdigest()}"
        folder.mkdir(exist_ok=True)
    except OSError:
        return None
    return str(folder)


def compiled(function: Function) -> Function:
    """Compile ``function`` on its first call and keep the machine code for the next process."""
    folder, elsewhere = _compiled_folder(), numba.config.CACHE_DIR
    if folder is None:
        return cast(Function, numba.njit(nogil=True)(function))
    try:
        numba.config.CACHE_DIR = folder  # read when a function is decorated, so only ours see it
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    finally:
        numba.config.CACHE_DIR = elsewhere


@intrinsic  # type: ignore[untyped-decorator]
def is_raised(_context: Any, flag: Any) -> Any:
    """Inside a compiled loop: has another thread set ``flag[0]``, a bool, since?

    A plain ``flag[0]`` may be read once before the loop begins, because nothing in the loop changes it;
    an atomic load is made every time.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte = ir.IntType(8)
        value = builder.load_atomic(builder.bitcast(array.data, byte.as_pointer()), "monotonic", 1)
        return builder.icmp_unsigned("!=", value, ir.Constant(byte, 0))

    return types.boolean(flag), generate
