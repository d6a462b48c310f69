"""What a sweep found, in sentences computed from its results."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy import stats

from tacit.evaluate.report.figures import (
    MEANINGS,
    UNITS,
    headlines,
    kept_rows,
    share_of_original,
    without_units,
)
from tacit.evaluate.sweep.results import Measurement, Results

_ALPHA = 0.01
"""The level of the thesis's tests."""
_FEW = 4
_AGREE = 0.5
"""From this rank correlation on, more data goes with more utility."""


def summarise(results: Results) -> list[str]:
    """Sentences for a reader who looks at nothing else."""
    empty = without_units(results)
    found = [
        f"{_named(task)}: nothing to judge, for the log has no {UNITS[task]}."
        if task in empty
        else _reached(results, task, measure)
        for task, measure in headlines(results).items()
    ]
    found.append(_more_epsilon(results))
    found.append(_like_the_original(results))
    found.append(_kept(results))
    return [sentence for sentence in found if sentence]


def _named(task: str) -> str:
    return MEANINGS[task].partition(":")[0].capitalize()


def _budget(results: Results, task: str, measure: str) -> list[tuple[str, float, Measurement]]:
    """Mechanism, ε and result of the budget series."""
    return [
        (results.settings[key]["mechanism"], results.settings[key]["asked_epsilon"], result)
        for key, result in results.of(task, measure).items()
        if results.settings[key]["series"] == "budget" and results.settings[key]["asked_epsilon"] is not None
    ]


def _reached(results: Results, task: str, measure: str) -> str:
    """The best mechanism at the middle budget, against the original."""
    rows = _budget(results, task, measure)
    epsilons = sorted({epsilon for _, epsilon, _ in rows})
    if not epsilons:
        return ""
    middle = epsilons[len(epsilons) // 2]
    here = [(name, r) for name, epsilon, r in rows if epsilon == middle and math.isfinite(r.mean_of_all)]
    what = _named(task)
    useful = [(name, r) for name, r in here if r.mean_of_all > 0]
    if not useful:
        return f"{what}: at ε = {middle:g} no mechanism released anything of use."
    name, best = max(useful, key=lambda pair: pair[1].mean_of_all)
    share = share_of_original(results, best, of_all=True)
    if task == "statistics":
        return (
            f"{what}: at ε = {middle:g}, {name} keeps most, {_percent(share)} of the log's different queries."
        )
    sentence = (
        f"{what}: at ε = {middle:g}, {name} keeps most, {_percent(share)} of what the original log gives "
        f"over all test units"
    )
    if best.answered < 1:
        where_answered = best.mean / share_of_original(results, best)
        sentence += (
            f". It can serve {_percent(best.answered)} of them, with {measure.rpartition(': ')[2]} of "
            f"{best.mean:.3f} there (the original: {where_answered:.3f} where it can)"
        )
    return sentence + "."


def _percent(share: float) -> str:
    """Whole percent, and two digits of what is less than one."""
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.2g}%"


def _more_epsilon(results: Results) -> str:
    """Whether more ε gives more, mechanism by mechanism and task by task."""
    rising, all_of_them = 0, 0
    exceptions: list[str] = []
    for task, measure in headlines(results).items():
        rows = _budget(results, task, measure)
        for name in dict.fromkeys(name for name, _, _ in rows):
            mine = sorted(
                (e, r.mean_of_all) for n, e, r in rows if n == name and math.isfinite(r.mean_of_all)
            )
            if len(mine) < 2 or not any(value for _, value in mine):
                continue  # nothing at any ε
            all_of_them += 1
            if mine[-1][1] > mine[0][1]:
                rising += 1
            else:
                exceptions.append(f"{name} in {task}")
    if not all_of_them:
        return ""
    sentence = f"More ε gives more in {rising} of {all_of_them} pairs of mechanism and task"
    return f"{sentence}; not for {', '.join(exceptions)}." if exceptions else f"{sentence}."


def _like_the_original(results: Results) -> str:
    """Where no difference from the original is seen, on the units that both answer."""
    near, tested = [], 0
    for task, measure in headlines(results).items():
        if task in ("statistics", "substitution"):
            continue
        for name, epsilon, result in _budget(results, task, measure):
            difference = result.to_original
            if difference is None or difference.units < _FEW or not math.isfinite(result.p_corrected):
                continue
            tested += 1
            if result.p_corrected >= _ALPHA:
                near.append((abs(difference.mean), task, name, epsilon, difference))
    if not tested:
        return ""
    level = f"from the original log at the {_ALPHA:.0%} level of a paired t-test, corrected"
    if not near:
        return f"On the units that both can serve, all {tested} private releases differ {level}."
    sentence = (
        f"On the units that both can serve, {len(near)} of {tested} private releases do not differ {level}"
    )
    _, task, name, epsilon, difference = max(near)
    widest = max(abs(difference.low), abs(difference.high))
    return (
        f"{sentence}; not to differ is no proof of being equal: for {name} at ε = {epsilon:g} in {task} the "
        f"difference may be up to {widest:.3f}."
    )


def _kept(results: Results) -> str:
    """Do data kept and utility agree?"""
    parts = list(_correlations(results))
    if not parts:
        return ""
    clauses = []
    for answer, low, high in (("yes", _AGREE, 2.0), ("hardly", 0.0, _AGREE), ("no", -2.0, 0.0)):
        mine = [f"{task} ({rho:+.2f})" for task, rho in parts if low < rho <= high]
        if mine:
            clauses.append(f"{answer} in {', '.join(mine)}")
    return (
        "Is more data more utility, where there is an answer? By rank correlation over the releases "
        f"{'; '.join(clauses)}."
    )


def _correlations(results: Results) -> Iterator[tuple[str, float]]:
    rows = kept_rows(results)
    for task in dict.fromkeys(row["task"] for row in rows):
        mine = [(row["kept"], row["share"]) for row in rows if row["task"] == task]
        kept, share = np.array(mine).T
        if len(mine) >= _FEW and len(set(kept)) > 1 and len(set(share)) > 1:
            yield task, float(stats.spearmanr(kept, share).statistic)
