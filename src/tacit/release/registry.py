"""The mechanisms there are: one line each, loaded when they are needed.

A mechanism is a package with a module ``parameters`` that has ``PARAMETERS`` (light: the command line reads
its declaration for the help) and a module ``mechanism`` that has ``MECHANISM``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.errors import ParameterError
from tacit.release.parameters import Parameters

if TYPE_CHECKING:
    from tacit.release.mechanism import Mechanism

__all__ = ["MECHANISMS", "mechanism_class", "parameters_class"]

MECHANISMS: dict[str, str] = {
    "adaptive": "tacit.release.adaptive",
    "zealous": "tacit.release.zealous",
    "click": "tacit.release.click",
    "session": "tacit.release.session",
    "topics": "tacit.release.topics",
    "k-query": "tacit.release.k_query",
}
"""The package of each mechanism, by its name on the command line."""


def _package(name: str) -> str:
    if name not in MECHANISMS:
        raise ParameterError.outside("the mechanism", name, "one of " + ", ".join(MECHANISMS))
    return MECHANISMS[name]


def parameters_class(name: str) -> type[Parameters]:
    """The declaration of a mechanism's parameters."""
    found: type[Parameters] = import_module(f"{_package(name)}.parameters").PARAMETERS
    return found


def mechanism_class(name: str) -> type[Mechanism[Any]]:
    """The mechanism itself."""
    found: type[Mechanism[Any]] = import_module(f"{_package(name)}.mechanism").MECHANISM
    return found
