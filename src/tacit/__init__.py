"""Tacit: private search, from the query to the published log.

A query is guarded at four places where others could see it::

    person ──▶ device ──▶ pool ──▶ service ──▶ log ──▶ release ──▶ researcher
               │          │        │                   │
               │          │        │                   └ release: the log is published under
               │          │        │                     differential privacy
               │          │        └ groups: a service ranks by public cohorts, not by profiles
               │          └ pool: personal data is sent only as at least k people share it
               └ device: at most three readable topics are sent with a query

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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit import audit as audit
    from tacit.device import Guard as Guard
    from tacit.errors import BudgetError as BudgetError
    from tacit.errors import InfeasibleError as InfeasibleError
    from tacit.errors import InputError as InputError
    from tacit.errors import IntegrityError as IntegrityError
    from tacit.errors import ParameterError as ParameterError
    from tacit.errors import PrivacyWarning as PrivacyWarning
    from tacit.errors import TacitError as TacitError
    from tacit.evaluate import evaluate_personalised as evaluate_personalised
    from tacit.evaluate import evaluate_release as evaluate_release
    from tacit.evaluate import evaluate_series as evaluate_series
    from tacit.groups import Groups as Groups
    from tacit.log import Log as Log
    from tacit.log import read_log as read_log
    from tacit.log import synthetic_log as synthetic_log
    from tacit.pool.agent import Agent as Agent
    from tacit.pool.server.pool import Pool as Pool
    from tacit.pool.simulation.traffic import simulate_pool as simulate_pool
    from tacit.privacy import Guarantee as Guarantee
    from tacit.privacy.ledger import Ledger as Ledger
    from tacit.release.forecast import expected_rows as expected_rows
    from tacit.release.mechanism import Plan as Plan
    from tacit.release.mechanisms.adaptive import Adaptive as Adaptive
    from tacit.release.mechanisms.click import Click as Click
    from tacit.release.mechanisms.k_query import KQuery as KQuery
    from tacit.release.mechanisms.series import Series as Series
    from tacit.release.mechanisms.session import Session as Session
    from tacit.release.mechanisms.topics import Topics as Topics
    from tacit.release.mechanisms.zealous import Zealous as Zealous
    from tacit.release.publication import Release as Release
    from tacit.release.resampling import resample as resample
    from tacit.release.verify import verify as verify

__version__ = "0.1.0"

_NAMES = {
    "tacit.audit": "audit",
    "tacit.device": "Guard",
    "tacit.errors": "BudgetError InfeasibleError InputError IntegrityError "
    "ParameterError PrivacyWarning TacitError",
    "tacit.evaluate": "evaluate_personalised evaluate_release evaluate_series",
    "tacit.groups": "Groups",
    "tacit.log": "Log read_log synthetic_log",
    "tacit.pool.agent": "Agent",
    "tacit.pool.server.pool": "Pool",
    "tacit.pool.simulation.traffic": "simulate_pool",
    "tacit.privacy": "Guarantee",
    "tacit.privacy.ledger": "Ledger",
    "tacit.release.forecast": "expected_rows",
    "tacit.release.mechanism": "Plan",
    "tacit.release.mechanisms.adaptive": "Adaptive",
    "tacit.release.mechanisms.click": "Click",
    "tacit.release.mechanisms.k_query": "KQuery",
    "tacit.release.mechanisms.series": "Series",
    "tacit.release.mechanisms.session": "Session",
    "tacit.release.mechanisms.topics": "Topics",
    "tacit.release.mechanisms.zealous": "Zealous",
    "tacit.release.publication": "Release",
    "tacit.release.resampling": "resample",
    "tacit.release.verify": "verify",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
"""Where public names live, loaded when they are first asked for."""

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
