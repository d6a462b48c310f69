"""Guard 4: publish a search log under differential privacy, with a guarantee one can check.

::

    a mechanism   adaptive/ · zealous/ · click/ · session/ · topics/ · k_query/     found in the registry
       parameters   declared once: options, help, checks and the manifest come from them
       plan         parameters for an ε and δ
       schedule     what will be drawn and compared, as data
       mechanism    what is counted: bounded, on preparation, contribution and engines (Ibis on DuckDB)
       words        what it means, for the terminal and the page
          │
          ├──▶ analysis      the guarantee, computed from the schedule
          ├──▶ execution     noise and comparison, carried out by the schedule
          ▼
    publication   check, count, charge the ledger, draw noise, write, note
          ▼
    manifest · page · tables · verify

Adding a mechanism: a folder of its own, one line of the registry, its page in the docs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Click": "tacit.release.mechanisms.click",
    "KQuery": "tacit.release.mechanisms.k_query",
    "Preparation": "tacit.release.preparation",
    "Release": "tacit.release.publication",
    "Session": "tacit.release.mechanisms.session",
    "Topics": "tacit.release.mechanisms.topics",
    "Zealous": "tacit.release.mechanisms.zealous",
    "publish": "tacit.release.publication",
    "verify_release": "tacit.release.verify",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """What the package offers, loaded when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
