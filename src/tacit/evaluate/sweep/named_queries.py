"""Which test queries lose most under privacy, by name: only for an owner who asks for it.

Runs hold values of numbered units. Here the units of ad-hoc search on the first fold get their texts back,
from the log. Everything else about a report names no query.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.errors import ParameterError
from tacit.evaluate.folds import split
from tacit.evaluate.sweep.runs import RunStore
from tacit.evaluate.sweep.setting import ReleaseSetting
from tacit.evaluate.sweep.sweeping import SweepPlan, identity_of
from tacit.evaluate.tasks import Adhoc

__all__ = ["NamedQueries", "named_queries"]

_MEASURE = f"adhoc/{Adhoc().headline}"


@dataclass(frozen=True)
class NamedQueries:
    """Queries with what each release makes of them.

    Args:
        measure: what the figures are.
        releases: the columns: the original, then each mechanism at the middle ε, or the middle k.
        rows: a query and its figures, None where the release has no answer; the greatest losses first.
    """

    measure: str
    releases: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]


def named_queries(log: Path, folder: Path, plan: SweepPlan, number: int) -> NamedQueries:
    """The ``number`` queries of the first fold that lose most, the mean over releases, unanswered as 0."""
    if "adhoc" not in plan.tasks:
        raise ParameterError("naming queries needs the task adhoc.", "Plan it with that task.")
    store = RunStore(folder, identity_of(log, plan))
    chosen = _middle(plan)
    values = np.stack([store.load(setting, 0, 0).values[_MEASURE] for setting in chosen.values()])
    _, test = split(plan.records(log), 0, plan.folds, plan.seed, plan.preparation.sessions)
    units = np.unique(test.clicks.query)  # the units of ad-hoc search: different queries with a click
    found = np.nan_to_num(values)
    lost = found[0] - found[1:].mean(axis=0) if len(found) > 1 else found[0]
    order = np.argsort(-lost, kind="stable")[:number]
    texts = test.queries.take(units[order]).to_pylist()
    columns = [[None if np.isnan(value) else float(value) for value in row[order]] for row in values]
    rows = tuple(zip(texts, zip(*columns, strict=True), strict=True))
    return NamedQueries(_MEASURE.partition("/")[2], tuple(chosen), rows)


def _middle(plan: SweepPlan) -> Mapping[str, ReleaseSetting]:
    """By label: the original, and the middle one of each mechanism's budgets."""
    mine: dict[str, list[ReleaseSetting]] = {}
    for setting in plan.settings:
        if setting.series in ("budget", "k"):
            mine.setdefault(setting.name, []).append(setting)
    middle = [listed[len(listed) // 2] for listed in mine.values()]
    return {setting.label(): setting for setting in middle}
