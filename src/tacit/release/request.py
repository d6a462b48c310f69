"""What is asked of a release, and the mechanism that answers it.

Either ε (and δ) are given, and the parameters are planned (:mod:`tacit.release.plan`); or the noise is, and
the guarantee follows from the parameters (:mod:`tacit.release.analysis`). If both are given, the guarantee
that follows must keep to what was asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tacit.errors import InfeasibleError, ParameterError
from tacit.privacy import Kind, Neighbours
from tacit.release.analysis import (
    ClickMode,
    ClickParameters,
    KQueryParameters,
    SessionClicks,
    SessionParameters,
    ZealousParameters,
)
from tacit.release.click import Click
from tacit.release.contribution import Choice
from tacit.release.k_query import KQuery
from tacit.release.mechanism import Mechanism
from tacit.release.plan import plan_click, plan_session, plan_zealous
from tacit.release.pool import take_domain
from tacit.release.session import Session
from tacit.release.surfaced import take_surfaced
from tacit.release.zealous import Item, Zealous

__all__ = ["MECHANISMS", "Request", "mechanism_for"]

_GIVEN = (
    "noise_counts",
    "noise_clicks",
    "noise_transitions",
    "threshold_1",
    "threshold_clicks",
    "threshold_transitions",
)


@dataclass(frozen=True)
class Request:
    """The options of a release; what is None was not given."""

    mechanism: str
    epsilon: float | None = None
    delta: float | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    choice: Choice = Choice.FIRST
    items: tuple[Item, ...] = ()
    kind: Kind = Kind.INDISTINGUISHABILITY
    users: int | None = None
    per_user: int = 5
    queries_per_user: int = 5
    clicks_per_user: int | None = None
    transitions: bool = True
    domain: str | None = None
    surfaced: str | None = None
    pool_probability: float = 1.0
    minimum_frequency: int = 1
    sessions_per_user: int = 1
    queries_per_session: int = 3
    once_per_user: bool = True
    same_counts: bool = False
    k: int | None = None
    noise: float | None = None
    noise_counts: float | None = None
    noise_clicks: float | None = None
    noise_transitions: float | None = None
    threshold: int | None = None
    threshold_1: int | None = None
    threshold_clicks: int | None = None
    threshold_transitions: int | None = None

    def __post_init__(self) -> None:
        if self.mechanism not in MECHANISMS:
            raise ParameterError.outside("the mechanism", self.mechanism, "one of " + ", ".join(MECHANISMS))
        if self.epsilon is not None and not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ParameterError.outside("epsilon", self.epsilon, "a finite number above 0")
        if self.delta is not None and not 0 <= self.delta <= 1:
            raise ParameterError.outside("delta", self.delta, "at least 0 and at most 1")
        for name in ("noise", "noise_counts", "noise_clicks", "noise_transitions"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ParameterError.outside(name.replace("_", "-"), value, "greater than 0")
        if (self.noise is None) != (self.threshold is None):
            raise ParameterError(
                "noise and threshold are given together, or neither.",
                "Give --epsilon (and --delta) alone to have both planned.",
            )

        given = [name for name in _GIVEN if getattr(self, name) is not None]
        if self.planned and (given or self.minimum_frequency > 1):
            named = ", ".join(f"--{name.replace('_', '-')}" for name in given) or "--minimum-frequency"
            raise ParameterError(
                f"{named} given without --noise and --threshold, where all parameters are planned.",
                "Give --noise and --threshold too, or leave it out.",
            )

    @property
    def planned(self) -> bool:
        """Whether parameters are planned from ε and δ."""
        return self.noise is None

    def asked(self) -> tuple[float, float]:
        """ε and δ to plan for."""
        if self.epsilon is None:
            raise ParameterError(
                "a release needs --epsilon, or its parameters (--noise and --threshold).",
                f"See what an epsilon means with `tacit plan {self.mechanism}`.",
            )
        return self.epsilon, self.delta or 0.0


def mechanism_for(request: Request) -> Mechanism:
    """The mechanism with its parameters, planned or as given."""
    mechanism = MECHANISMS[request.mechanism](request)
    found = mechanism.guarantee()
    if found.kind is Kind.K_QUERY or request.planned:
        return mechanism
    for name, limit, value in (
        ("epsilon", request.epsilon, found.epsilon),
        ("delta", request.delta, found.delta),
    ):
        if limit is not None and value > limit:
            raise InfeasibleError(
                f"these parameters cost {name} {value!r}; at most {limit!r} was asked for.",
                "Give more noise or a higher threshold, or leave them out to have them planned.",
            )
    return mechanism


def _zealous(r: Request) -> Zealous:
    items = r.items or (Item.QUERIES,)
    if r.planned:
        epsilon, delta = r.asked()
        plan = plan_zealous(
            epsilon,
            delta,
            r.per_user,
            histograms=len(items),
            kind=r.kind,
            users=r.users,
            neighbours=r.neighbours,
        )
        parameters = plan.parameters
    else:
        assert r.noise is not None and r.threshold is not None
        parameters = ZealousParameters(r.per_user, r.noise, r.threshold_1 or 1, r.threshold, len(items))
    return Zealous(parameters, items, r.kind, r.users, r.neighbours, r.choice)


def _click(r: Request) -> Click:
    pure = not r.delta
    domain = take_domain(r.domain or ("wordnet" if pure else None))
    surfaced = take_surfaced(r.surfaced)
    clicks = r.queries_per_user if r.clicks_per_user is None else r.clicks_per_user
    if pure and surfaced is None and r.clicks_per_user is None:
        clicks = 0  # no public urls, so no clicks, and nothing paid for them
    if r.planned:
        epsilon, delta = r.asked()
        parameters = plan_click(
            epsilon,
            r.queries_per_user,
            clicks,
            delta=delta,
            transitions=r.transitions,
            pool_size=len(domain) if domain else 0,
            pool_probability=r.pool_probability,
            same_counts=r.same_counts,
            neighbours=r.neighbours,
        ).parameters
    else:
        assert r.noise is not None and r.threshold is not None
        parameters = ClickParameters(
            r.queries_per_user,
            clicks,
            r.noise,
            r.threshold,
            None if r.same_counts else r.noise_counts or r.noise,
            r.noise_clicks or r.noise,
            r.noise_transitions or r.noise,
            r.transitions,
            r.threshold_clicks,
            r.threshold_transitions,
            r.pool_probability,
            r.minimum_frequency,
            ClickMode.PURE if pure else ClickMode.APPROXIMATE,
        )
    mechanism = Click(parameters, domain, surfaced, r.neighbours, r.choice)
    mechanism.check()
    return mechanism


def _session(r: Request) -> Session:
    clicks = 4 if r.clicks_per_user is None else r.clicks_per_user
    if r.planned:
        epsilon, delta = r.asked()
        parameters = plan_session(
            epsilon,
            delta,
            r.sessions_per_user,
            r.queries_per_session,
            clicks,
            once_per_user=r.once_per_user,
            same_counts=r.same_counts,
            neighbours=r.neighbours,
        ).parameters
    else:
        assert r.noise is not None and r.threshold is not None
        noise = r.noise_clicks or r.noise
        threshold = r.threshold if r.threshold_clicks is None else r.threshold_clicks
        counts = None if r.same_counts else r.noise_counts or r.noise
        part = SessionClicks(clicks, noise, threshold, counts and noise) if clicks else None
        parameters = SessionParameters(
            r.sessions_per_user, r.queries_per_session, r.noise, r.threshold, counts, r.once_per_user, part
        )
    return Session(parameters, r.neighbours, r.choice)


def _k_query(r: Request) -> KQuery:
    if r.epsilon is not None or r.delta is not None:
        raise InfeasibleError(
            "k-query anonymity gives no differential privacy; no epsilon can be had from it.",
            "Leave --epsilon and --delta out and give --k, or choose zealous, click or session.",
        )
    if r.k is None:
        raise ParameterError("a k-query release needs --k, the least number of users of a published query.")
    return KQuery(KQueryParameters(r.k), r.items or tuple(Item))


MECHANISMS: dict[str, Callable[[Request], Mechanism]] = {
    "zealous": _zealous,
    "click": _click,
    "session": _session,
    "k-query": _k_query,
}
"""How each mechanism is made from a request."""
