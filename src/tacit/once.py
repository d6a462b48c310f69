"""What a process reads or makes once: threads that ask at the same time wait for the first."""

import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_Asked = ParamSpec("_Asked")
_Made = TypeVar("_Made")


def once(make: Callable[_Asked, _Made]) -> Callable[_Asked, _Made]:
    """Keep what a function returns for the same arguments; unlike ``cache``, never run it twice at a time."""
    kept: Callable[_Asked, _Made] = functools.cache(make)  # type: ignore[assignment]  # not of hashables alone
    lock = threading.RLock()

    @functools.wraps(make)
    def made(*args: _Asked.args, **kwargs: _Asked.kwargs) -> _Made:
        with lock:
            return kept(*args, **kwargs)

    return made
