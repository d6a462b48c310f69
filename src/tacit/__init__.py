"""Tacit: private search, from the query to the published log.

A query is guarded at the four places of its life where it leaves somebody's hands::

    person ──▶ device ──▶ pool ──▶ service ──▶ log ──▶ release ──▶ researcher
               │          │        │                   │
               │          │        │                   └ release: the log is published under
               │          │        │                     differential privacy
               │          │        └ groups: profiles are bundled until no term links to a person
               │          └ pool: personal data is coarsened until k people online share it
               └ device: the interest profile is generalised per query under a risk bound

In a notebook or a program::

    import tacit

    log = tacit.read_log("log.parquet")
    plan = tacit.Zealous(epsilon=1, delta=1e-6)
    ledger = tacit.Ledger.open_or_create("log.ledger", epsilon=4, delta=4e-6)
    week = log.release(plan, ledger=ledger, to="week-01")
    tacit.verify("week-01", ledger)
    groups = log.bundle(p=0.4)
    guard = tacit.Guard("me.profile")

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
    from tacit.evaluate import (
        evaluate_device,
        evaluate_groups,
        evaluate_personalised,
        evaluate_pool,
        evaluate_release,
    )
    from tacit.groups import Groups
    from tacit.log import Log, read_log, synthetic_log
    from tacit.pool import Agent, Pool, simulate_pool
    from tacit.privacy import Guarantee
    from tacit.privacy.ledger.ledger import Ledger
    from tacit.release.mechanisms.adaptive import Adaptive
    from tacit.release.mechanisms.click import Click
    from tacit.release.mechanisms.k_query import KQuery
    from tacit.release.mechanisms.session import Session
    from tacit.release.mechanisms.topics import Topics
    from tacit.release.mechanisms.zealous import Zealous
    from tacit.release.verify import verify


__version__ = "0.1.0"

_HOMES = {
    "Adaptive": "tacit.release.mechanisms.adaptive",
    "Click": "tacit.release.mechanisms.click",
    "Groups": "tacit.groups",
    "simulate_pool": "tacit.pool",
    "Pool": "tacit.pool",
    "Agent": "tacit.pool",
    "Guarantee": "tacit.privacy",
    "Guard": "tacit.device",
    "KQuery": "tacit.release.mechanisms.k_query",
    "Ledger": "tacit.privacy.ledger.ledger",
    "Log": "tacit.log",
    "Session": "tacit.release.mechanisms.session",
    "Topics": "tacit.release.mechanisms.topics",
    "Zealous": "tacit.release.mechanisms.zealous",
    "evaluate_device": "tacit.evaluate",
    "evaluate_groups": "tacit.evaluate",
    "evaluate_personalised": "tacit.evaluate",
    "evaluate_pool": "tacit.evaluate",
    "evaluate_release": "tacit.evaluate",
    "read_log": "tacit.log",
    "synthetic_log": "tacit.log",
    "verify": "tacit.release.verify",
}
"""Public names, loaded when they are first asked for, and where they live."""

__all__ = [
    "Adaptive",
    "Click",
    "Groups",
    "simulate_pool",
    "Pool",
    "Agent",
    "Guarantee",
    "Guard",
    "KQuery",
    "Ledger",
    "Log",
    "Session",
    "TacitError",
    "Topics",
    "Zealous",
    "__version__",
    "evaluate_device",
    "evaluate_groups",
    "evaluate_personalised",
    "evaluate_pool",
    "evaluate_release",
    "read_log",
    "synthetic_log",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
