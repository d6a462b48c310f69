"""Sweeps: mechanisms, budgets and parameters against each other, on every task, with repeated draws."""

from tacit.evaluate.sweep.results import Results
from tacit.evaluate.sweep.runs import sweep_folder
from tacit.evaluate.sweep.settings import BUDGETS, DELTA, KS, ORIGINAL, ReleaseSetting, grid
from tacit.evaluate.sweep.sweeping import NamedQueries, SweepPlan, evaluate_release, named_queries

__all__ = [
    "BUDGETS",
    "DELTA",
    "KS",
    "ORIGINAL",
    "NamedQueries",
    "Results",
    "ReleaseSetting",
    "SweepPlan",
    "evaluate_release",
    "grid",
    "named_queries",
    "sweep_folder",
]
