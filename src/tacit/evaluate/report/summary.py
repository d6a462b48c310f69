"""What a sweep found, in sentences computed from its results."""

from __future__ import annotations

import math

from tacit.evaluate.sweep.measurements import Measurement, Measurements
from tacit.evaluate.task import Task

_ALPHA = 0.01
"""The level of the thesis's tests."""
_FEW = 4


def summarise(found: Measurements) -> list[str]:
    """Sentences for a reader who looks at nothing else."""
    sentences = [
        _reached(found, task)
        if found.has_units(name)
        else f"{task.title.capitalize()}: nothing to judge, for the log has no {task.unit}."
        for name, task in found.tasks.items()
    ]
    return [sentence for sentence in [*sentences, _like_the_original(found)] if sentence]


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
    original = found.original(task.name)
    share = best.mean_of_all / original.mean_of_all if original.mean_of_all else math.nan
    sentence = f"{what}: at ε = {middle:g}, {name} keeps most, {_percent(share)} of {task.headline_of}"
    if best.answered < 1:
        sentence += (
            f". It can serve {_percent(best.answered)} of them, with {task.headline.rpartition(': ')[2]} of "
            f"{best.mean:.3f} there (the original: {original.mean:.3f} where it can)"
        )
    return sentence + "."


def _percent(share: float) -> str:
    """Whole percent, and two digits of what is less than one."""
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.2g}%"


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
