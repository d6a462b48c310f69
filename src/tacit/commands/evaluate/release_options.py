"""What ``tacit evaluate release`` may be told, one name for each option."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.commands.options import WORK
from tacit.release.registry import MECHANISMS, mechanism_class

_WHAT = "What to try"
_HOW = "How to try it"

if TYPE_CHECKING:
    _MechanismName = str
else:
    _MechanismName = StrEnum(
        "_MechanismName", {name: name for name in MECHANISMS if mechanism_class(name).publishes_queries}
    )


class TaskName(StrEnum):
    """As :data:`tacit.evaluate.tasks.TASKS`, which takes long to load."""

    ADHOC = "adhoc"
    SUGGESTION = "suggestion"
    SESSION_SEARCH = "session-search"
    SUBSTITUTION = "substitution"
    INDEX_CACHING = "index-caching"
    STATISTICS = "statistics"


ReportFolder = Annotated[
    Path,
    typer.Option("--output", "-o", help="The folder of the report; an unfinished one is gone on with."),
]
MechanismNames = Annotated[
    list[_MechanismName] | None,
    typer.Option("--mechanism", "-m", help="Only this mechanism; repeat it.", rich_help_panel=_WHAT),
]
TaskNames = Annotated[
    list[TaskName] | None,
    typer.Option("--task", "-t", help="Only this task; repeat it.", rich_help_panel=_WHAT),
]
Budgets = Annotated[
    list[float] | None,
    typer.Option(
        "--epsilon", help="An ε to try (default: 1, 2, 4, 8, 16); repeat it.", rich_help_panel=_WHAT
    ),
]
Delta = Annotated[float, typer.Option(help="δ of every release.", rich_help_panel=_WHAT)]
Ks = Annotated[
    list[int] | None,
    typer.Option("--k", help="A k of k-query anonymity (default: 5, 10, 20, 50).", rich_help_panel=_WHAT),
]
Impact = Annotated[
    bool,
    typer.Option("--impact/--no-impact", help="Also the impact of K, b, q_f and m.", rich_help_panel=_WHAT),
]
ResampledFlag = Annotated[
    bool,
    typer.Option(
        "--resampled", help="Also the log that `tacit resample` makes of each.", rich_help_panel=_WHAT
    ),
]
ShownQueries = Annotated[
    int,
    typer.Option(
        min=0,
        help="Name so many queries that lose most in the report, as people typed them (default: none).",
        rich_help_panel=_HOW,
    ),
]
Folds = Annotated[
    int, typer.Option(min=2, help="Cut the users into so many parts, test on each.", rich_help_panel=_HOW)
]
Draws = Annotated[
    int, typer.Option(min=1, help="Draws of noise for each fold and setting.", rich_help_panel=_HOW)
]
FoldSeed = Annotated[int, typer.Option(min=0, help="Of the cut into folds.", rich_help_panel=_HOW)]
SyntheticFlag = Annotated[
    bool,
    typer.Option("--synthetic", help="You vouch that nobody real is in the log: the report may be shared."),
]
Workers = Annotated[
    int | None,
    typer.Option(help="Processes (default: one per processor, two at most).", min=1, rich_help_panel=WORK),
]
