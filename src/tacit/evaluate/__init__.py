"""Evaluation: what each guard costs in search quality.

Three functions, each of which gives :class:`Results`::

    tacit.evaluate_release(log, "costs")    every way to release a log, on retrieval tasks
    tacit.evaluate_personalised()           all ways to personalise, on the same queries
    tacit.evaluate_series(log)              a year of weekly publications, week by week

The public names load when they are first used: they need the packages of ``tacit[report]``.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.evaluate.data import LogPart, ReleasedData, folds, released_whole
    from tacit.evaluate.personalised import evaluate_personalised
    from tacit.evaluate.release import evaluate_release
    from tacit.evaluate.results import Results
    from tacit.evaluate.series import evaluate_series
    from tacit.evaluate.task import Task, run_task
    from tacit.evaluate.tasks import task_class, task_names

_HOMES = {
    "data": ("LogPart", "ReleasedData", "folds", "released_whole"),
    "personalised": ("evaluate_personalised",),
    "release": ("evaluate_release",),
    "results": ("Results",),
    "series": ("evaluate_series",),
    "task": ("Task", "run_task"),
    "tasks": ("task_class", "task_names"),
}
_NEEDED = ("ir_measures", "vl_convert")

__all__ = [
    "LogPart", "ReleasedData", "Results", "Task", "evaluate_personalised", "evaluate_release",
    "evaluate_series", "folds", "released_whole", "run_task", "task_class", "task_names",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    missing = [package for package in _NEEDED if find_spec(package) is None]
    if missing:
        problem = f"evaluation needs {', '.join(missing)}, not installed here."
        raise InputError(problem, "Install tacit[report].")
    return getattr(import_module(f"{__name__}.{home}"), name)
