"""The tasks, by name."""

from collections.abc import Callable

from tacit.evaluate.task import Task
from tacit.evaluate.tasks.adhoc import Adhoc
from tacit.evaluate.tasks.index_caching import IndexCaching
from tacit.evaluate.tasks.session_search import SessionSearch
from tacit.evaluate.tasks.statistics import Statistics
from tacit.evaluate.tasks.substitution import Substitution
from tacit.evaluate.tasks.suggestion import Suggestion

__all__ = ["TASKS", "Adhoc", "IndexCaching", "SessionSearch", "Statistics", "Substitution", "Suggestion"]

TASKS: dict[str, Callable[[], Task]] = {
    task.name: task for task in (Adhoc, Suggestion, SessionSearch, Substitution, IndexCaching, Statistics)
}
"""How each task is made, with the papers' settings."""
