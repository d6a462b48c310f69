"""What a sweep found: gains and measures by ε and k as figures, the advice, and a sentence for each task."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from tacit.evaluate import charts
from tacit.evaluate.results import Figure, columns
from tacit.evaluate.sweep.measurements import SURE, Measurement, Measurements
from tacit.evaluate.sweep.settings import NOTHING, ORIGINAL
from tacit.evaluate.task import Task
from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.release.document.words import verdict_on

COLUMNS = columns(
    "label = release | epsilon = ε | delta = δ | k | rows | value | low = from | high = to | "
    "gain = gain over nothing {+.4f} | p {p} | share = of the whole log's {.0%} | "
    "answered = share answered {.1%} | where_answered = mean where answered"
)


def all_figures(found: Measurements, people: int) -> list[Figure]:
    """Draw every figure, in the order of the page, first that of a log of so many people."""
    curves = [figure for task in found.tasks.values() for figure in _curves(found, task)]
    return [*_gains(found, people), *curves]


def task_tables(found: Measurements) -> list[Figure]:
    """A table of each task's headline measure, for a terminal."""
    shown = columns(
        "label = release | epsilon = ε | rows | value | low = from | high = to | "
        "share = of the whole log's gain {.0%}"
    )
    return [
        Figure(
            name,
            f"{name} {task.headline}",
            shown,
            [table_row(found, result) for result in found.headline(name).values()],
        )
        for name, task in found.tasks.items()
        if found.has_units(name)  # the summary says so where there is nothing
    ]


def table_row(found: Measurements, result: Measurement) -> dict[str, Any]:
    """A measurement as a row of a table, with what its setting is."""
    about = found.settings[result.setting]
    row = {name: about[name] for name in ("label", "mechanism", "epsilon", "delta", "k")}
    row["rows"] = found.released_rows(result.setting)
    row |= {f.name: getattr(result, f.name) for f in fields(result) if f.name not in ("setting", "gain")}
    return row | {"gain": result.gain.value, "p": result.gain.p}


def _gains(found: Measurements, people: int) -> Iterator[Figure]:
    """On top: for each task and ε the best release on the scale from nothing released to the whole log."""
    rows, beside = [], []
    for name, task in found.tasks.items():
        best_at = found.best_at(name)
        if not best_at or not found.has_units(name):
            continue
        nothing, whole = (found.anchor(name, which) for which in (NOTHING, ORIGINAL))
        if not (whole.gain.value > 0 and whole.gain.p < SURE):
            beside.append(task.title)
            continue
        common = {"task": task.title, "nothing": nothing.value, "original": whole.value}
        for epsilon, (mechanism, best) in best_at.items():
            rows.append(
                common
                | {"epsilon": epsilon, "mechanism": mechanism if best.gain.value > 0 else "none"}
                | {"value": best.value}
                | {"share": best.share, **_bounds(best.share_low, best.share_high)}
            )
    if rows:
        missing = f" Not drawn, for not even the whole log surely gains: {', '.join(beside)}."
        yield Figure(
            "gains",
            f"What a release of {people:,} people's searches gains over nothing released",
            columns(
                "task | epsilon = ε | mechanism = best mechanism | nothing = nothing released | "
                "value = the release | original = the whole log | share = gained {.1%} | "
                "low = from {.1%} | high = to {.1%}"
            ),
            rows,
            "",
            "At each ε the mechanism that came out best, with public knowledge behind its release, over all "
            "test units. At 0% a task is served as well as without any log, at 100% as well as with all "
            f"of it. Lines: 95% intervals of the gain, noise included.{missing * bool(beside)}",
            partial(charts.gains, rows),
        )


def _curves(found: Measurements, task: type[Task]) -> Iterator[Figure]:
    """The headline measure over all test units, by ε and by k, between the anchors."""
    results = found.headline(task.name)
    anchors = {
        name: results[setting.key]
        for name, setting in (("nothing released", NOTHING), ("the whole log", ORIGINAL))
        if setting.key in results
    }
    nothing = anchors["nothing released"].value if "nothing released" in anchors else math.nan
    for key, axis, privacy in (
        ("asked_epsilon", "ε", "Less privacy to the right (a larger ε)."),
        ("k", "k", "More people behind each query to the right; k-query anonymity guarantees no privacy."),
    ):
        drawn = [r for r in results.values() if found.settings[r.setting][key] is not None and r.units]
        if not drawn:
            continue
        series: dict[str, list[Measurement]] = {}
        for r in drawn:
            series.setdefault(found.settings[r.setting]["mechanism"], []).append(r)
        useless = [name for name, listed in series.items() if all(r.value == nothing for r in listed)]
        rows = [
            {"series": name, "x": found.settings[r.setting][key], "y": r.value, **_bounds(r.low, r.high)}
            for name in series
            if name not in useless
            for r in series[name]
        ]
        left_out = f" Not drawn: {', '.join(useless)}, of no use at any {axis} tried." * bool(useless)
        measure = task.headline.rpartition(": ")[2]
        yield Figure(
            f"{task.name}-by-{key.removeprefix('asked_')}",
            f"{measure} by {axis}, over all {drawn[0].units:,} units",
            COLUMNS,
            [table_row(found, r) for r in [*anchors.values(), *drawn]],
            task.name,
            f"{privacy} A unit is a {task.unit}. Nothing released: {task.nothing}. Lines through points are "
            f"95% intervals, noise included.{left_out}",
            partial(
                charts.curve,
                rows,
                axis,
                measure,
                levels={name: anchor.value for name, anchor in anchors.items()},
                logarithmic=True,
            )
            if rows
            else None,
        )


def _bounds(low: float, high: float) -> dict[str, float | None]:
    """An interval to draw; none where one unit says nothing of others."""
    there = math.isfinite(low) and math.isfinite(high)
    return {"low": low if there else None, "high": high if there else None}


def section_titles(found: Measurements) -> dict[str, str]:
    """Titles of the page's sections, by name."""
    tasks = found.tasks.items()
    return {name: f"{task.title[:1].upper()}{task.title[1:]}: {task.description}" for name, task in tasks}


WORTH = 0.1
"""The least share of the whole log's gain over nothing for which a release is worth its ε."""
_SHOWN = 0.00005
"""What is less is 0 in the tables."""


@dataclass(frozen=True)
class Verdict:
    """From which ε on a task is served.

    Args:
        epsilon: the least ε tried at and above which some release serves it; None if none does.
        mechanism: the best there.
        most: the largest ε that was tried.
        useless: whether not even the whole log surely gains anything over nothing.
        people: how many an ε of 1 would need, about; ``at_least`` of them where no release served.
    """

    task: str
    epsilon: float | None
    mechanism: str | None
    most: float
    useless: bool
    people: float
    at_least: bool


def verdict(found: Measurements, task: str, released_people: float) -> Verdict | None:
    """Judge a task by the rule of the advice ("The advice" in docs/reference/evaluation/tasks.md).

    None where nothing has an ε, or there is nothing to judge.

    Args:
        released_people: of how many people the releases of the sweep were made.
    """
    tried = found.at_budgets(task)
    if not tried or not found.has_units(task):
        return None
    budgets = sorted({epsilon for _, epsilon, _ in tried}, reverse=True)
    whole = found.anchor(task, ORIGINAL).gain
    useless = not (whole.value > 0 and whole.p < SURE)
    from_here, mechanism = None, None
    for budget in budgets:
        at = [(result, name) for name, epsilon, result in tried if epsilon == budget]
        sure = [(r.share, name) for r, name in at if r.share >= WORTH and r.gain.p * len(at) < SURE]
        if useless or not sure:
            break
        from_here, mechanism = budget, max(sure)[1]
    people = released_people * (from_here or budgets[0])
    return Verdict(task, from_here, mechanism, budgets[0], useless, people, from_here is None)


def advice(found: Measurements, people: int, released_people: float) -> str:
    """Advise in one sentence from which ε on each task is served with so many people."""
    said: dict[tuple[float, str], list[str]] = {}
    for name, task in found.tasks.items():
        judged = verdict(found, name, released_people)
        if judged is None:
            continue
        least = min(epsilon for _, epsilon, _ in found.at_budgets(name))
        if judged.useless:
            chance = found.anchor(name, ORIGINAL).gain.value > 0
            how = math.inf, f"{'unclear' if chance else 'not'} even with the whole log"
        elif judged.epsilon is None:
            how = 2 * judged.most, f"not at all up to ε = {judged.most:g}"
        else:
            begins = "from" if judged.epsilon == least else "not before"
            how = judged.epsilon, f"{begins} ε = {judged.epsilon:g}"
        said.setdefault(how, []).append(task.title)
    if not said:
        return f"With {counted(people)}: no release with an ε was tried."
    parts = [f"{_listed(titles)} {how}" for (_, how), titles in sorted(said.items())]
    return f"With {counted(people)}: {'; '.join(parts)}."


def protection(found: Measurements) -> str:
    """Say of each ε tried how well one release at it protects a user, as its own page would."""
    said: dict[str, list[str]] = {}
    tried = {about["asked_epsilon"]: about["delta"] for about in found.settings.values()}
    for epsilon in sorted(epsilon for epsilon in tried if epsilon is not None):
        promise = Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, epsilon, tried[epsilon])
        said.setdefault(verdict_on(promise).strength.value, []).append(f"{epsilon:g}")
    listed = "; ".join(f"{how} at ε = {_listed(budgets)}" for how, budgets in said.items())
    return f"What one release leaves a user of protection: {listed}." if said else ""


def counted(people: int) -> str:
    """Write how many people there are, in words."""
    return "1 person" if people == 1 else f"{people:,} people"


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def summarise(found: Measurements, released_people: float) -> list[str]:
    """Sentences for a reader who looks at nothing else."""
    sentences = [
        _reached(found, task, verdict(found, name, released_people))
        if found.has_units(name)
        else f"{task.title.capitalize()}: nothing to judge, for the log has no {task.unit}."
        for name, task in found.tasks.items()
    ]
    return [sentence for sentence in [_needed(found, released_people), *sentences] if sentence]


def _needed(found: Measurements, released_people: float) -> str:
    """Estimate how many people each task would need at ε = 1."""
    said = []
    for name, task in found.tasks.items():
        judged = verdict(found, name, released_people)
        if judged is not None and not judged.useless:
            sure = judged.epsilon == min(epsilon for _, epsilon, _ in found.at_budgets(name))
            about = "more than" if judged.at_least else "at most" if sure else "about"
            said.append(f"{task.title} {about} {_rounded(judged.people)}")
    if not said:
        return ""
    return (
        f"People needed at ε = 1: {'; '.join(said)}. Extrapolated: counts grow with people and noise "
        "shrinks with ε, so that a release depends on people times ε, about."
    )


def _signed(gain: float) -> str:
    return f"{gain:+.2g}" if abs(gain) >= 1e-4 else f"{gain:+.5f}"


def _rounded(people: float) -> str:
    """Two digits of a number."""
    digits = max(0, math.floor(math.log10(people)) - 1) if people >= 1 else 0
    return f"{round(people, -digits):,.0f}"


def _reached(found: Measurements, task: type[Task], judged: Verdict | None) -> str:
    """Describe what the best mechanism gains at the least, the advised and the largest budget."""
    nothing, whole = (found.anchor(task.name, which) for which in (NOTHING, ORIGINAL))
    measure, best_at = task.headline.rpartition(": ")[2], found.best_at(task.name)
    clicked = "order" in task.nothing and not task.judged
    unknown = ", unknown without ranks of clicks" * (clicked and nothing.value == 0)
    listed = [f"{nothing.value:.3g} with nothing released ({task.nothing}{unknown})"]
    tried = [*best_at]
    advised = [judged.epsilon] if judged and judged.epsilon else []
    for epsilon in sorted({*tried[:1], *advised, *tried[-1:]}):
        name, best = best_at[epsilon]
        gain = best.gain
        between = f", {_signed(gain.low)} to {_signed(gain.high)}" if math.isfinite(gain.low) else ""
        more = f"at best {best.value:.3g} ({name}: {_signed(gain.value)}{between})"
        listed.append(f"at ε = {epsilon:g} {more if abs(gain.value) >= _SHOWN else 'no more'}")
    listed.append(f"{whole.value:.3g} with the whole log")
    return f"{task.title.capitalize()} ({measure}): {'; '.join(listed)}."
