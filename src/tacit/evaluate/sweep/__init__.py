"""Sweeps: mechanisms, budgets and parameters against each other, on every task, with repeated draws."""

from tacit.evaluate.sweep.measurements import Measurements
from tacit.evaluate.sweep.runs import sweep_folder
from tacit.evaluate.sweep.settings import BUDGETS, DELTA, KS, NOTHING, ORIGINAL, ReleaseSetting, grid
from tacit.evaluate.sweep.sweeping import SweepPlan, run_sweep

__all__ = [
    "BUDGETS", "DELTA", "KS", "NOTHING", "ORIGINAL", "Measurements", "ReleaseSetting", "SweepPlan", "grid",
    "run_sweep", "sweep_folder",
]  # fmt: skip
