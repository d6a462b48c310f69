"""Evaluation: what each guard costs in search quality.

Five functions, each of which gives :class:`Results`::

    tacit.evaluate_release(log, "costs")    every way to release a log, on retrieval tasks
    tacit.evaluate_groups()                 search by the profile of a group
    tacit.evaluate_device()                 search by a profile generalised on the device
    tacit.evaluate_pool()                   search by a region that k people online share
    tacit.evaluate_personalised()           all ways to personalise, on the same queries

Inside, imports run one way::

    data, task, results, charts    parts of a log and released tables; tasks; results; charts
    tasks/                         the retrieval tasks, a file each
    sweep/                         mechanisms, budgets and parameters on all tasks, resumable, with tests
    report/                        figures, sentences, pages
    release, guards/               the evaluations

The public names load when they are first used: they need the packages of ``tacit[report]``.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.evaluate.data import LogPart, ReleasedData, folds, released_whole
    from tacit.evaluate.guards.device import evaluate_device
    from tacit.evaluate.guards.groups import evaluate_groups
    from tacit.evaluate.guards.personalised import evaluate_personalised
    from tacit.evaluate.guards.pool import evaluate_pool
    from tacit.evaluate.release import evaluate_release
    from tacit.evaluate.results import Results
    from tacit.evaluate.task import Task, run_task
    from tacit.evaluate.tasks import task_class, task_names

_HOMES = {
    "data": ("LogPart", "ReleasedData", "folds", "released_whole"),
    "guards.device": ("evaluate_device",),
    "guards.groups": ("evaluate_groups",),
    "guards.personalised": ("evaluate_personalised",),
    "guards.pool": ("evaluate_pool",),
    "release": ("evaluate_release",),
    "results": ("Results",),
    "task": ("Task", "run_task"),
    "tasks": ("task_class", "task_names"),
}
_NEEDED = ("altair", "ir_measures", "vl_convert")

__all__ = [
    "LogPart", "ReleasedData", "Results", "Task", "evaluate_device", "evaluate_groups",
    "evaluate_personalised", "evaluate_pool", "evaluate_release", "folds", "released_whole",
    "run_task", "task_class", "task_names",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    missing = [package for package in _NEEDED if find_spec(package) is None]
    if missing:
        raise InputError(
            f"evaluation needs {', '.join(missing)}, not installed here.", "Install tacit[report]."
        )
    return getattr(import_module(f"{__name__}.{home}"), name)
