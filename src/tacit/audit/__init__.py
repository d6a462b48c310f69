"""Audit: attack every guard, and show what still leaks.

``tacit.audit(plan)`` attacks a release mechanism with its parameters: exact checks first, then lower bounds
on ε from many runs of the real code on neighbouring logs. Nothing is charged, and no log is needed::

    found = tacit.audit(tacit.Zealous(epsilon=1))
    found.verdict        # "held", or "broken" where a leak exceeds the claim
    print(found)

Args:
    plan: a mechanism, or its plan.
    runs: of each log of a pair, 100,000 unless given (of adaptive rounds 4,000,000); half of them choose the
        event, the others measure it.
    seconds: make fewer runs where these would take longer.

The bounds are in :mod:`tacit.audit.bounds`, the exact checks in :mod:`tacit.audit.checks`, mechanisms that
must be caught in :mod:`tacit.audit.gallery`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.audit.found import GuardAudit
    from tacit.release.mechanism import Mechanism, Plan


class _Audit(ModuleType):
    """This package, which is a function too: ``tacit.audit(plan)``."""

    def __call__(
        self, plan: Mechanism | Plan[Any], *, runs: int | None = None, seconds: float | None = None
    ) -> GuardAudit:
        from tacit.audit.release import audit_release

        return audit_release(plan, runs=runs, seconds=seconds)


audit = sys.modules[__name__]
audit.__class__ = _Audit
