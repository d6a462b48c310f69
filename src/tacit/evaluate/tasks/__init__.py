"""The tasks, by name."""

from collections.abc import Callable

from tacit.evaluate.task import Task
from tacit.evaluate.tasks.adhoc import Adhoc
from tacit.evaluate.tasks.session_search import SessionSearch
from tacit.evaluate.tasks.statistics import Statistics
from tacit.evaluate.tasks.suggestion import Suggestion

__all__ = ["TASKS", "Adhoc", "SessionSearch", "Statistics", "Suggestion"]

TASKS: dict[str, Callable[[], Task]] = {
    task.name: task for task in (Adhoc, Suggestion, SessionSearch, Statistics)
}
"""How each task is made, with the papers' settings."""
