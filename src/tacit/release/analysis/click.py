"""A_Click: what its parameters guarantee, provably, and what the thesis (002) prints for them.

A user gives the first q_f queries (in the domain or not, one budget), the first c_f clicks on them, and
the q_f - 1 steps between them. Query q is **selected** iff its count + X > K, X of scale b; then its count
is published with noise b_q, its clicks with b_c, its transitions with b_t. Two modes:

- ``pure``: queries, urls and transitions come from sets that are public and do not depend on the log. Every
  key of the sets gets noise, whether it occurs or not. Thresholds are post-processing: they cost nothing.
- ``approximate``: what occurs outside the public sets is published too, if its noisy count passes a
  threshold. Clicks and transitions are published with the very count that was compared. That costs δ.

Derivation: docs/guarantees/click.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, Neighbours
from tacit.release.analysis.charge import Charge, PaperFigure, total
from tacit.release.analysis.ranges import check_noise, check_probability, check_whole
from tacit.release.analysis.theorem_1 import log_alpha, turning_point
from tacit.release.analysis.threshold import fresh_key_delta, largest_sum, miss_loss, survival

__all__ = ["ClickMode", "ClickParameters", "charges", "guarantee", "paper_figure", "turning_point"]


class ClickMode(StrEnum):
    """Whether only public keys may be published."""

    PURE = "pure"
    APPROXIMATE = "approximate"


@dataclass(frozen=True)
class ClickParameters:
    """The parameters of an A_Click release.

    Args:
        queries_per_user: q_f, the first queries of a user that count (a query asked twice counts twice).
        clicks_per_user: c_f, the first clicks on those queries that count; 0 publishes no clicks.
        noise: b, the noise of the selection.
        threshold: K; a query is selected iff its noisy count is greater.
        noise_queries: b_q, fresh noise of the published query counts. None publishes the very count that
            was compared with K, which costs nothing more (and leans upwards near K).
        noise_clicks: b_c.
        noise_transitions: b_t; used if ``transitions``.
        transitions: whether steps from a query to the next are published.
        threshold_clicks: a click count is published iff its noisy value is greater; K unless given.
        threshold_transitions: the same for transitions; K unless given.
        pool_probability: p_g, the chance that a domain query which nobody asked takes part.
        minimum_frequency: queries with a smaller bounded count do not take part in the selection (the
            thesis's τ, here after limiting users; 1 leaves all in).
        mode: ``pure`` or ``approximate``.
    """

    queries_per_user: int
    clicks_per_user: int
    noise: float
    threshold: int
    noise_queries: float | None
    noise_clicks: float
    noise_transitions: float
    transitions: bool = True
    threshold_clicks: int | None = None
    threshold_transitions: int | None = None
    pool_probability: float = 1.0
    minimum_frequency: int = 1
    mode: ClickMode = ClickMode.PURE

    def __post_init__(self) -> None:
        check_whole("queries_per_user", self.queries_per_user, 1)
        check_whole("clicks_per_user", self.clicks_per_user, 0)
        check_whole("threshold", self.threshold, 0)
        check_noise("noise", self.noise)
        for name in ("noise_clicks", "noise_transitions"):
            check_noise(name, getattr(self, name))
        if self.noise_queries is not None:
            check_noise("noise_queries", self.noise_queries)
        for name in ("threshold_clicks", "threshold_transitions"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, self.threshold)
            check_whole(name, getattr(self, name), 0)
        check_probability("pool_probability", self.pool_probability)
        check_whole("minimum_frequency", self.minimum_frequency, 1)
        if self.mode not in tuple(ClickMode):
            raise ParameterError.outside("mode", self.mode, "pure or approximate")
        object.__setattr__(self, "mode", ClickMode(self.mode))

    @classmethod
    def uniform(
        cls,
        queries_per_user: int,
        clicks_per_user: int,
        noise: float,
        threshold: int,
        *,
        transitions: bool = True,
    ) -> ClickParameters:
        """One noise scale for everything, pure, p_g = 1: the setting of the thesis's tables."""
        return cls(queries_per_user, clicks_per_user, noise, threshold, noise, noise, noise, transitions)

    @property
    def steps_per_user(self) -> int:
        """The most transitions of a user: q_f queries have q_f - 1 steps between them."""
        return self.queries_per_user - 1 if self.transitions else 0


def _selection(p: ClickParameters) -> Charge:
    """Which queries are selected.

    A user's k records of a query move its eligible count by at most τ-1+k. A domain query that nobody asked
    takes part with chance p_g only: appearing tells ln(1/p_g) more, and not appearing tells
    φ + ln(1 - p_g s(0)). All of these are convex in k, so the worst users are the two extremes.
    """
    what, t, d = "which queries", p.threshold + 1, p.queries_per_user
    approximate = p.mode is ClickMode.APPROXIMATE
    if p.noise == 0:
        return Charge(what, math.inf, 1.0 if approximate else 0.0)
    delta = fresh_key_delta(p.noise, t, d, p.minimum_frequency) if approximate else 0.0
    if p.pool_probability == 1:  # what not appearing tells is then never more: d keys moved by τ each
        return Charge.of_counts(what, d * p.minimum_frequency, p.noise, delta)

    def loss(records: int) -> float:
        moved = p.minimum_frequency - 1 + records
        appearing = moved / p.noise - math.log(p.pool_probability)
        idle = math.log1p(-p.pool_probability * survival(p.noise, t))
        return max(appearing, miss_loss(p.noise, t - moved) + idle)

    # Logarithms are off by their last bits; a part of 10⁻¹² more is far beyond that.
    return Charge(what, largest_sum(loss(d), loss(1), d) * (1 + 1e-12), delta)


def _histogram(p: ClickParameters, what: str, contributions: int, noise: float, threshold: int) -> Charge:
    """Counts published with the noisy value that was compared with the threshold."""
    if p.mode is ClickMode.PURE or contributions == 0:
        return Charge.of_counts(what, contributions, noise)
    return Charge.of_counts(what, contributions, noise, fresh_key_delta(noise, threshold + 1, contributions))


def charges(parameters: ClickParameters) -> tuple[Charge, ...]:
    """What each published thing costs: selection, query counts, clicks, transitions."""
    p = parameters
    assert p.threshold_clicks is not None and p.threshold_transitions is not None  # set on construction
    counts = Charge("query counts", 0.0)
    if p.noise_queries is not None:
        counts = Charge.of_counts("query counts", p.queries_per_user, p.noise_queries)
    listed = [_selection(p), counts]
    if p.clicks_per_user:
        listed.append(_histogram(p, "clicks", p.clicks_per_user, p.noise_clicks, p.threshold_clicks))
    if p.steps_per_user:
        listed.append(
            _histogram(p, "transitions", p.steps_per_user, p.noise_transitions, p.threshold_transitions)
        )
    return tuple(listed)


def guarantee(parameters: ClickParameters, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Guarantee:
    """The provable guarantee: pure, or (ε,δ)-indistinguishability in ``approximate`` mode.

    With p_g = 1: ε = q_f/b + q_f/b_q + c_f/b_c + (q_f - 1)/b_t for any K, doubled under replacing.
    """
    return total(charges(parameters), neighbours, pure=parameters.mode is ClickMode.PURE)


def paper_figure(parameters: ClickParameters, threshold: float | None = None) -> PaperFigure:
    """What the thesis prints: Theorem 1 (eq. 3.4), with the transition term of Table 3.10 where asked for.

    Args:
        parameters: the release's parameters; mode and minimum frequency do not enter the printed formula.
        threshold: K as the thesis has it, a real number, where it differs from the whole one.
    """
    p = parameters
    if (
        p.noise == 0
        or p.noise_queries == 0
        or p.noise_clicks == 0
        or (p.transitions and p.noise_transitions == 0)
    ):
        raise ParameterError.outside("noise", 0, "above 0 for the paper's figure")
    K = p.threshold if threshold is None else threshold
    epsilon = (
        p.queries_per_user * log_alpha(p.noise, K, p.pool_probability) + p.clicks_per_user / p.noise_clicks
    )
    epsilon += p.queries_per_user / (p.noise if p.noise_queries is None else p.noise_queries)
    if p.steps_per_user:
        epsilon += p.steps_per_user / p.noise_transitions
    return PaperFigure(
        epsilon,
        0.0,
        Neighbours.ADD_REMOVE,
        "thesis 002, Theorem 1 (eq. 3.4)"
        + (" with the transition term of Table 3.10" if p.transitions else ""),
        "the second term of Theorem 1's α is an artefact: over a public domain a threshold is "
        "post-processing, and a query costs 1/b whatever K is; outside a public domain δ is not 0."
        if p.mode is ClickMode.PURE
        else "Theorem 1 claims δ = 0, which holds only for queries, urls and transitions of a public domain.",
    )
