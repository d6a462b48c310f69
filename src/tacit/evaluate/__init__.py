"""What each guard costs in search quality, on retrieval tasks: one file per task.

::

    folds            users in parts: some are released, others tested
    released         the tables of a release, whichever mechanism made them; the log itself as such tables
    tasks/           adhoc, suggestion, session_search, substitution, index_caching, statistics
    sweep/           mechanisms, budgets and parameters on all tasks, with intervals and tests
    report/          the page
    personalised*, device_*    search by group profiles, and by profiles generalised on the device
"""

from tacit.evaluate.data import LogPart, ReleasedData, folds, released_whole, split
from tacit.evaluate.task import Measured, Measures, Task, Trial, run_task
from tacit.evaluate.tasks import (
    TASKS,
    Adhoc,
    IndexCaching,
    SessionSearch,
    Statistics,
    Substitution,
    Suggestion,
)

__all__ = [
    "TASKS",
    "Adhoc",
    "IndexCaching",
    "LogPart",
    "Measured",
    "Measures",
    "ReleasedData",
    "SessionSearch",
    "Statistics",
    "Substitution",
    "Suggestion",
    "Task",
    "Trial",
    "folds",
    "released_whole",
    "run_task",
    "split",
]
