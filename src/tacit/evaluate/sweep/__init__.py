"""Sweeps: mechanisms, budgets and parameters against each other, on every task, with repeated draws."""

from tacit.evaluate.sweep.grid import BUDGETS, DELTA, KS, grid
from tacit.evaluate.sweep.named_queries import NamedQueries, named_queries
from tacit.evaluate.sweep.replacing import sweep_folder
from tacit.evaluate.sweep.setting import ORIGINAL, ReleaseSetting
from tacit.evaluate.sweep.sweeping import SweepPlan, evaluate_release
from tacit.evaluate.sweep.table import Results

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
