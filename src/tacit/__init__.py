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
    plan = tacit.Zealous(epsilon=1).plan()                      # plan.epsilon, plan.delta; print(plan)
    week = log.release(plan, to="week-01", budget_epsilon=4, budget_delta=4e-6)
    tacit.verify("week-01", "log.parquet.ledger")
    tacit.resample("week-01", to="synthetic.parquet")
    groups = log.bundle(p=0.4)
    guard = tacit.Guard("me.profile")

Shared parts: :mod:`tacit.searchlog` (what was searched), :mod:`tacit.taxonomy` (topic trees),
:mod:`tacit.text` (words), :mod:`tacit.privacy` (guarantees, ledger, noise), :mod:`tacit.retrieval`
(search), :mod:`tacit.world` (a synthetic world to try everything on).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.errors import (
    BudgetError,
    InfeasibleError,
    InputError,
    IntegrityError,
    ParameterError,
    PrivacyWarning,
    TacitError,
)

if TYPE_CHECKING:
    from tacit import audit
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
    from tacit.privacy.ledger import Ledger
    from tacit.release.forecast import expected_rows
    from tacit.release.mechanism import Plan
    from tacit.release.mechanisms.adaptive import Adaptive
    from tacit.release.mechanisms.click import Click
    from tacit.release.mechanisms.k_query import KQuery
    from tacit.release.mechanisms.session import Session
    from tacit.release.mechanisms.topics import Topics
    from tacit.release.mechanisms.zealous import Zealous
    from tacit.release.publication import Release
    from tacit.release.resampling import resample
    from tacit.release.verify import verify

__version__ = "0.1.0"

_HOMES = {
    "Adaptive": "tacit.release.mechanisms.adaptive",
    "Agent": "tacit.pool",
    "Click": "tacit.release.mechanisms.click",
    "Groups": "tacit.groups",
    "Guarantee": "tacit.privacy",
    "Guard": "tacit.device",
    "KQuery": "tacit.release.mechanisms.k_query",
    "Ledger": "tacit.privacy.ledger",
    "Log": "tacit.log",
    "Plan": "tacit.release.mechanism",
    "Pool": "tacit.pool",
    "Release": "tacit.release.publication",
    "Session": "tacit.release.mechanisms.session",
    "Topics": "tacit.release.mechanisms.topics",
    "Zealous": "tacit.release.mechanisms.zealous",
    "audit": "tacit.audit",
    "evaluate_device": "tacit.evaluate",
    "evaluate_groups": "tacit.evaluate",
    "evaluate_personalised": "tacit.evaluate",
    "evaluate_pool": "tacit.evaluate",
    "evaluate_release": "tacit.evaluate",
    "expected_rows": "tacit.release.forecast",
    "read_log": "tacit.log",
    "resample": "tacit.release.resampling",
    "simulate_pool": "tacit.pool",
    "synthetic_log": "tacit.log",
    "verify": "tacit.release.verify",
}
"""Public names, loaded when they are first asked for, and where they live."""

__all__ = [
    "Adaptive",
    "Agent",
    "BudgetError",
    "Click",
    "Groups",
    "Guarantee",
    "Guard",
    "InfeasibleError",
    "InputError",
    "IntegrityError",
    "KQuery",
    "Ledger",
    "Log",
    "ParameterError",
    "Plan",
    "Pool",
    "PrivacyWarning",
    "Release",
    "Session",
    "TacitError",
    "Topics",
    "Zealous",
    "__version__",
    "audit",
    "evaluate_device",
    "evaluate_groups",
    "evaluate_personalised",
    "evaluate_pool",
    "evaluate_release",
    "expected_rows",
    "read_log",
    "resample",
    "simulate_pool",
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
