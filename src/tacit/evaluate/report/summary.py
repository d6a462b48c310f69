"""What a sweep found, in sentences computed from its results."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy import stats

from tacit.evaluate.report.figures import kept_rows
from tacit.evaluate.sweep.measurements import Measurement, Measurements
from tacit.evaluate.task import Task

_ALPHA = 0.01
"""The level of the thesis's tests."""
_FEW = 4
_AGREE = 0.5
"""From this rank correlation on, more data goes with more utility."""


def summarise(found: Measurements) -> list[str]:
    """Sentences for a reader who looks at nothing else."""
    sentences = [
        _reached(found, task)
        if found.has_units(name)
        else f"{task.title.capitalize()}: nothing to judge, for the log has no {task.unit}."
        for name, task in found.tasks.items()
    ]
    sentences += [_more_epsilon(found), _like_the_original(found), _kept(found)]
    return [sentence for sentence in sentences if sentence]


def _budget(found: Measurements, task: str) -> list[tuple[str, float, Measurement]]:
    """Mechanism, ε and headline of the budget series."""
    return [
        (about["mechanism"], about["asked_epsilon"], result)
        for about, result in ((found.settings[key], r) for key, r in found.headline(task).items())
        if about["series"] == "budget" and about["asked_epsilon"] is not None
    ]


def _reached(found: Measurements, task: type[Task]) -> str:
    """The best mechanism at the middle budget, against the original."""
    rows = _budget(found, task.name)
    epsilons = sorted({epsilon for _, epsilon, _ in rows})
    if not epsilons:
        return ""
    middle, what = epsilons[len(epsilons) // 2], task.title.capitalize()
    useful = [(name, r) for name, epsilon, r in rows if epsilon == middle and r.mean_of_all > 0]
    if not useful:
        return f"{what}: at ε = {middle:g} no mechanism released anything of use."
    name, best = max(useful, key=lambda pair: pair[1].mean_of_all)
    share = found.share_of_original(best, of_all=True)
    sentence = f"{what}: at ε = {middle:g}, {name} keeps most, {_percent(share)} of {task.headline_of}"
    if best.answered < 1:
        where_answered = best.mean / found.share_of_original(best)
        sentence += (
            f". It can serve {_percent(best.answered)} of them, with {task.headline.rpartition(': ')[2]} of "
            f"{best.mean:.3f} there (the original: {where_answered:.3f} where it can)"
        )
    return sentence + "."


def _percent(share: float) -> str:
    """Whole percent, and two digits of what is less than one."""
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.2g}%"


def _more_epsilon(found: Measurements) -> str:
    """Whether more ε gives more, mechanism by mechanism and task by task."""
    rising, all_of_them = 0, 0
    exceptions: list[str] = []
    for task in found.tasks:
        rows = _budget(found, task)
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


def _like_the_original(found: Measurements) -> str:
    """Where no difference from the original is seen, on the units that both answer."""
    near, tested = [], 0
    for task in (name for name, task in found.tasks.items() if task.truth == "test"):
        for name, epsilon, result in _budget(found, task):
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


def _kept(found: Measurements) -> str:
    """Do data kept and utility agree?"""
    parts = list(_correlations(found))
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


def _correlations(found: Measurements) -> Iterator[tuple[str, float]]:
    rows = kept_rows(found)
    for task in dict.fromkeys(row["task"] for row in rows):
        mine = [(row["kept"], row["share"]) for row in rows if row["task"] == task]
        kept, share = np.array(mine).T
        if len(mine) >= _FEW and len(set(kept)) > 1 and len(set(share)) > 1:
            yield task, float(stats.spearmanr(kept, share).statistic)
