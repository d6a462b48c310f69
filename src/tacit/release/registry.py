"""The mechanisms there are: one line each, loaded when they are needed.

A mechanism is a module ``NAME`` with its ``PARAMETERS`` (light: the command line reads the declaration
for the
help) and a module ``NAME_release`` with its ``MECHANISM``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.errors import ParameterError
from tacit.release.parameters import Parameters

if TYPE_CHECKING:
    from tacit.release.mechanism import Mechanism


MECHANISMS: dict[str, str] = {
    "adaptive": "tacit.release.mechanisms.adaptive",
    "zealous": "tacit.release.mechanisms.zealous",
    "click": "tacit.release.mechanisms.click",
    "session": "tacit.release.mechanisms.session",
    "topics": "tacit.release.mechanisms.topics",
    "k-query": "tacit.release.mechanisms.k_query",
}
"""The module of each mechanism, by its name on the command line."""


def _module(name: str) -> str:
    if name not in MECHANISMS:
        raise ParameterError.outside("the mechanism", name, "one of " + ", ".join(MECHANISMS))
    return MECHANISMS[name]


def parameters_class(name: str) -> type[Parameters]:
    """The declaration of a mechanism's parameters."""
    found: type[Parameters] = import_module(_module(name)).PARAMETERS
    return found


def mechanism_class(name: str) -> type[Mechanism[Any]]:
    """The mechanism itself."""
    found: type[Mechanism[Any]] = import_module(f"{_module(name)}_release").MECHANISM
    return found
