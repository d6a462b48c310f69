"""Which settings a sweep tries: every mechanism that publishes queries, at every budget, and the impact of
parameters.

A mechanism that is asked for a k is swept over k, any other over ε. One that publishes a choice of items
publishes all of them, so that every task has something to work with; its ε is shared among them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tacit.errors import ParameterError
from tacit.evaluate.sweep.setting import ORIGINAL, ReleaseSetting
from tacit.release.registry import MECHANISMS, parameters_class

__all__ = ["BUDGETS", "DELTA", "IMPACTS", "KS", "budget_settings", "grid", "impact_settings"]

BUDGETS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""ε of the curves, for adding or removing a user."""
DELTA = 1e-6
"""δ of every differentially private release in a sweep."""
KS = (5, 10, 20, 50)
"""k of k-query anonymity."""
_ITEMS = ("keywords", "queries", "clicks", "pairs")
IMPACTS: dict[str, tuple[str, dict[str, Any], dict[str, tuple[Any, ...]]]] = {
    "impact of K and b": (
        "click",
        {"queries_per_user": 5, "mode": "approximate", "delta": None},  # δ follows from K and b, however bad
        {"threshold": (10, 30, 100), "noise": (1.0, 5.0, 10.0, 30.0)},
    ),
    "impact of q_f": ("click", {"epsilon": 8.0}, {"queries_per_user": (1, 2, 5, 10, 20, 40)}),
    "impact of m": ("zealous", {"epsilon": 8.0}, {"per_user": (1, 2, 5, 10, 20, 40)}),
}
"""Series: the mechanism, what is fixed, and the values of what varies."""


def _fields(mechanism: str) -> set[str]:
    return {field.name for field in dataclasses.fields(parameters_class(mechanism))}


def _tried() -> tuple[str, ...]:
    """The registered mechanisms that publish something for a retrieval task to work with."""
    return tuple(name for name in MECHANISMS if parameters_class(name).publishes_queries)


def _base(mechanism: str) -> dict[str, Any]:
    fields = _fields(mechanism)
    return {"items": _ITEMS} if "items" in fields else {}


def budget_settings(
    mechanisms: Iterable[str], epsilons: Sequence[float], ks: Sequence[int], delta: float
) -> Iterator[ReleaseSetting]:
    """Every mechanism at every ε, or k where it has no ε."""
    for name in mechanisms:
        if name not in _tried():
            raise ParameterError.outside("the mechanism", name, "one of " + ", ".join(_tried()))
        if "k" in _fields(name):
            for k in ks:
                yield ReleaseSetting(name, _base(name) | {"k": k}, "k")
        else:
            for epsilon in epsilons:
                yield ReleaseSetting(name, _base(name) | {"epsilon": epsilon, "delta": delta}, "budget")


def impact_settings(mechanisms: Iterable[str], delta: float) -> Iterator[ReleaseSetting]:
    """The impact of K and b, q_f and m, for mechanisms of the sweep that have them."""
    chosen = set(mechanisms)
    for series, (mechanism, fixed, varied) in IMPACTS.items():
        if mechanism in chosen:
            options = {**_base(mechanism), "delta": delta, **fixed}
            for values in _combinations(list(varied.items())):
                yield ReleaseSetting(mechanism, options | values, series)


def _combinations(varied: list[tuple[str, tuple[Any, ...]]]) -> Iterator[dict[str, Any]]:
    if not varied:
        yield {}
        return
    (name, values), rest = varied[0], varied[1:]
    for value in values:
        for other in _combinations(rest):
            yield {name: value} | other


def grid(
    mechanisms: Sequence[str] = (),
    epsilons: Sequence[float] = BUDGETS,
    ks: Sequence[int] = KS,
    delta: float = DELTA,
    *,
    impact: bool = True,
    resampled: bool = False,
) -> tuple[ReleaseSetting, ...]:
    """The original, then all settings; every mechanism that publishes queries unless some are
    named.

    With ``resampled``, the log that `tacit resample` makes of each release is tried too.
    """
    names = tuple(mechanisms) or _tried()
    settings = [ORIGINAL, *budget_settings(names, epsilons, ks, delta)]
    if resampled:
        settings += [dataclasses.replace(setting, resampled=True) for setting in settings[1:]]
    if impact:
        settings += impact_settings(names, delta)
    for setting in settings:  # refused now rather than after an hour
        _ = setting.promise
    return tuple(settings)
