"""From a requested guarantee to parameters: one module a mechanism, all by the tight analysis.

A plan keeps its promise exactly (:mod:`tacit.release.analysis` says so) and loses as little as it can: lower
thresholds or less noise would break it.
"""

from tacit.release.plan.click import plan_click
from tacit.release.plan.k_query import plan_k_query
from tacit.release.plan.session import plan_session
from tacit.release.plan.setting import PaperSetting, Plan
from tacit.release.plan.zealous import plan_zealous

__all__ = ["PaperSetting", "Plan", "plan_click", "plan_k_query", "plan_session", "plan_zealous"]
