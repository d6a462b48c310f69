"""The retrieval tasks: one file each, found by looking into this folder.
 A new file ``my_task.py`` with one subclass of :class:`~tacit.evaluate.task.Task` is the task ``my-task``:
the command line offers it, sweeps run it, and reports draw and describe it by what its class says.
"""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

from tacit.errors import ParameterError

if TYPE_CHECKING:
    from tacit.evaluate.task import Task


def task_names() -> list[str]:
    """Names of all tasks; nothing is loaded for it."""
    return sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(__path__))


def task_class(name: str) -> type[Task]:
    """The task with this name."""
    from tacit.evaluate.task import Task

    if name not in task_names():
        raise ParameterError.outside("the task", name, "one of " + ", ".join(task_names()))
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    [found] = (
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Task) and member.__module__ == module.__name__
    )
    return found
