"""Compile inner loops to machine code with numba, and keep the machine code on disk.

The cache lies in Tacit's cache folder, keyed by a fingerprint of all sources in the folder of the loop.
Numba itself notices only a change in the file of the loop that is called, not in the loops it calls: it
could go on enforcing a criterion that has since been corrected.
"""

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event as numba_event

from tacit.files import cache_directory

Loop = TypeVar("Loop", bound=Callable[..., Any])


@cache
def _folder_for(package: Path) -> str | None:
    """Return where machine code of exactly this package's sources is kept; None where nothing can be kept."""
    identity = hashlib.sha256(numba.__version__.encode())
    for source in sorted(package.glob("*.py")):
        identity.update(source.read_bytes())
    try:
        folder = cache_directory() / f"compiled-{package.name}-{identity.hexdigest()[:16]}"
        folder.mkdir(exist_ok=True)
    except OSError:
        return None
    return str(folder)


class _Announced(numba_event.Listener):  # type: ignore[misc]  # numba has no types
    """Announces on a terminal, once per process, that a loop is being compiled, which takes seconds."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: Any) -> None:
        """A loop is not in the cache."""
        del event
        if not self._said and sys.stderr.isatty():
            sys.stderr.write("compiling inner loops for this machine, once; this takes some seconds …\n")
        self._said = True

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        del event


numba_event.register("numba:compile", _Announced())


def compiled(loop: Loop) -> Loop:
    """Compile ``loop`` on its first call; it then runs without the interpreter's lock.

    Division by zero gives infinity, as in numpy. Ordinary floating-point rules hold (no ``fastmath``): a risk
    must mean the same number in a loop and in its definition.

    Args:
        loop: the function; what it calls must be compiled too, and live in the same package.
    """
    folder = _folder_for(Path(loop.__code__.co_filename).parent)
    usual = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder or usual  # read while decorating only
    try:
        jit = numba.njit(nogil=True, cache=folder is not None, error_model="numpy")
        return cast(Loop, jit(loop))
    finally:
        numba.config.CACHE_DIR = usual
