"""Parameters of the mechanisms in short, by position, for tests that go through many of them."""

from __future__ import annotations

from typing import Any

from tacit import Click, Plan, Session, Zealous
from tacit.release.mechanisms.click import ClickMode
from tacit.release.parameters import Item, StatedSet
from tacit.release.registry import mechanism_class

__all__ = [
    "click_parameters",
    "mechanism_for",
    "plan_click",
    "plan_session",
    "plan_zealous",
    "session_parameters",
    "uniform_click",
    "zealous_parameters",
]

ITEMS = (Item.QUERIES, Item.KEYWORDS, Item.CLICKS, Item.PAIRS)


def zealous_parameters(
    per_user: int, noise: float, threshold_1: int, threshold_2: int, histograms: int = 1, **more: Any
) -> Zealous:
    """m, λ, τ, T and how many histograms."""
    return Zealous(
        per_user=per_user,
        noise=noise,
        threshold_1=threshold_1,
        threshold_2=threshold_2,
        items=ITEMS[:histograms],
        **more,
    )


def click_parameters(
    queries: int,
    clicks: int,
    noise: float,
    threshold: int,
    noise_counts: float | None,
    noise_clicks: float,
    noise_transitions: float,
    transitions: bool = True,
    threshold_clicks: int | None = None,
    threshold_transitions: int | None = None,
    mode: ClickMode = ClickMode.PURE,
    **more: Any,
) -> Click:
    """q_f, c_f, b, K, b_q (None: the compared count), b_c, b_t; complete."""
    return (
        Click(
            queries_per_user=queries,
            clicks_per_user=clicks,
            noise=noise,
            threshold=threshold,
            same_counts=noise_counts is None,
            noise_counts=noise_counts,
            noise_clicks=noise_clicks,
            noise_transitions=noise_transitions,
            transitions=transitions,
            threshold_clicks=threshold_clicks,
            threshold_transitions=threshold_transitions,
            mode=mode,
            **more,
        )
        .plan()
        .given
    )


def uniform_click(
    queries: int, clicks: int, noise: float, threshold: int, *, transitions: bool = True
) -> Click:
    """One noise scale for everything, pure, p_g = 1: the setting of the thesis's tables."""
    return click_parameters(queries, clicks, noise, threshold, noise, noise, noise, transitions)


def session_parameters(
    sessions: int,
    queries: int,
    noise: float,
    threshold: int,
    noise_counts: float | None,
    once: bool = False,
    clicks: tuple[int, float, int, float | None] | None = None,
    **more: Any,
) -> Session:
    """l_s, l_q, b, K, noise of the counts (None: the compared ones), and of clicks l, b, K and theirs."""
    part: dict[str, Any] = {"clicks_per_user": 0}
    if clicks is not None:
        part = {"clicks_per_user": clicks[0], "noise_clicks": clicks[1], "threshold_clicks": clicks[2]}
        part["noise_click_counts"] = clicks[3]
    return (
        Session(
            sessions_per_user=sessions,
            queries_per_session=queries,
            noise=noise,
            threshold=threshold,
            same_counts=noise_counts is None and (clicks is None or clicks[3] is None),
            noise_counts=noise_counts,
            once_per_user=once,
            **part,
            **more,
        )
        .plan()
        .given
    )


def mechanism_for(
    name: str, epsilon: float | None = None, delta: float | None = None, **options: Any
) -> Plan[Any]:
    """The plan of a mechanism of the registry, by name."""
    asked = {"epsilon": epsilon, "delta": delta}
    given = {option: value for option, value in asked.items() if value is not None}
    return mechanism_class(name)(**given, **options).plan()


def plan_zealous(epsilon: float, delta: float, per_user: int, histograms: int = 1, **more: Any) -> Plan[Any]:
    """A plan for so many histograms."""
    return Zealous(epsilon=epsilon, delta=delta, per_user=per_user, items=ITEMS[:histograms], **more).plan()


def plan_click(
    epsilon: float,
    queries: int,
    clicks: int | None = None,
    *,
    delta: float = 0.0,
    domain_size: int | None = None,
    **more: Any,
) -> Plan[Any]:
    """A plan with as many clicks as queries, over a public domain of this size."""
    domain: Any = None
    if domain_size is not None:
        domain = StatedSet({"name": "some", "queries": domain_size}) if domain_size else "none"
    return Click(
        epsilon=epsilon,
        delta=delta,
        queries_per_user=queries,
        clicks_per_user=queries if clicks is None else clicks,
        domain=domain,
        **more,
    ).plan()


def plan_session(
    epsilon: float, delta: float, sessions: int = 1, queries: int = 3, clicks: int = 4, **more: Any
) -> Plan[Any]:
    """A plan for so many sessions of so many queries, and clicks."""
    return Session(
        epsilon=epsilon,
        delta=delta,
        sessions_per_user=sessions,
        queries_per_session=queries,
        clicks_per_user=clicks,
        **more,
    ).plan()
