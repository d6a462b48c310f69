"""Tacit: private search, from the query to the published log.

A query is guarded at the four places of its life where it leaves somebody's hands::

    person ──▶ device ──▶ pool ──▶ service ──▶ log ──▶ release ──▶ researcher
               │          │        │                   │
               │          │        │                   └ release: the log is published under
               │          │        │                     differential privacy
               │          │        └ groups: profiles are bundled until no term links to a person
               │          └ pool: personal data is coarsened until k people online share it
               └ device: the interest profile is generalised per query under a risk bound

Shared parts: :mod:`tacit.searchlog` (what was searched), :mod:`tacit.taxonomy` (topic trees),
:mod:`tacit.text` (words), :mod:`tacit.privacy` (guarantees, ledger, noise), :mod:`tacit.retrieval`
(search), :mod:`tacit.world` (a synthetic world to try everything on).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.errors import TacitError

if TYPE_CHECKING:
    from tacit.device import Guard

__version__ = "0.1.0"

__all__ = ["Guard", "TacitError", "__version__"]

_HOMES = {"Guard": "tacit.device"}
"""Public names that are loaded when they are first asked for, and where they live."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
