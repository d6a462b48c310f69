"""Parameters of A_Click for a requested ε (and δ, where keys outside the public sets are wanted)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tacit.errors import ParameterError
from tacit.release.analysis.accounting import fresh_keys_loss
from tacit.release.analysis.threshold import appearance, survival
from tacit.release.click import analysis
from tacit.release.click.parameters import BUNDLED_SIZE, ClickParameters
from tacit.release.planning.setting import PaperSetting, asked_budget, larger, smallest
from tacit.release.planning.split import Portion, split
from tacit.release.schedule import Contribution

__all__ = ["URLS_PER_QUERY", "domain_size", "figures", "paper_setting", "plan", "spurious_at"]

URLS_PER_QUERY = 10
"""Public urls of a query: a page of results."""


def domain_size(domain: Any) -> int:
    """How many queries the public domain has; the bundled one need not be made to know it."""
    if domain is None:
        return 0
    if domain == "wordnet":
        return BUNDLED_SIZE
    if isinstance(domain, str):
        from tacit.release.public_domain import take_domain

        domain = take_domain(domain)
    return len(domain)


def spurious_at(p: ClickParameters, noise: float, threshold: int) -> float:
    """How many public queries of count 0 are expected above the threshold, at most."""
    return domain_size(p.domain) * p.pool_probability * survival(noise, threshold + 1)


@dataclass(frozen=True)
class _Request:
    """What is asked of a plan: settled parameters, ε and δ, and the size of the public domain."""

    p: ClickParameters
    epsilon: float
    delta: float
    size: int
    same_counts: bool

    @property
    def clicks(self) -> int:
        return self.p.clicks_per_user or 0

    @property
    def one_way(self) -> float:
        """ε for a single history."""
        return self.epsilon / self.p.neighbours.histories

    @property
    def sampling(self) -> float:
        """What a pool of p_g < 1 costs: q_f ln(1/p_g)."""
        return -self.p.queries_per_user * math.log(self.p.pool_probability)

    def spurious_at(self, noise: float, threshold: int) -> float:
        return self.size * self.p.pool_probability * survival(noise, threshold + 1)


def plan(asked: ClickParameters) -> ClickParameters:
    """Split ε among selection, query counts, clicks and transitions with the least loss; choose thresholds.

    Parameters that were given are completed, not planned.
    """
    settled = asked.completed()
    if asked.given:
        return settled
    epsilon, delta = asked_budget(asked, pure=asked.pure)
    size = domain_size(settled.domain)
    request = _Request(settled, epsilon, delta, size, asked.same_counts is not False)
    if asked.pure and not size:
        raise ParameterError(
            "a pure release publishes queries of a public domain only; there is none.",
            "Name one with `domain`, or give a `delta` above 0 to publish what lies outside a domain.",
        )
    if request.sampling >= request.one_way:
        raise ParameterError(
            f"sampling the public queries with chance {settled.pool_probability} alone costs "
            f"{request.sampling:.3g}, all of epsilon.",
            "Leave `pool_probability` at 1, which costs nothing.",
        )
    return _choose(request)


def _choose(request: _Request) -> ClickParameters:
    selection, counts, clicks, steps = split(
        _portions(request), request.one_way - request.sampling, request.delta
    )
    p = request.p
    parameters = replace(
        p,
        noise=selection.noise,
        threshold=selection.threshold,
        same_counts=request.same_counts,
        noise_counts=None if request.same_counts else counts.noise,
        noise_clicks=clicks.noise if request.clicks else None,
        noise_transitions=steps.noise if p.steps_per_user else None,
        threshold_clicks=clicks.threshold if request.clicks else None,
        threshold_transitions=steps.threshold if p.steps_per_user else None,
    )
    return _settle(request, parameters)


def _portions(request: _Request) -> list[Portion]:
    """Selection, query counts, clicks, transitions."""
    p, paying = request.p, not request.p.pure
    q_f = p.queries_per_user

    def appears(records: int, noise: float, K: int) -> float:
        return appearance(fresh_keys_loss(Contribution((records,), p.once_per_user), noise, K))

    def query_threshold(noise: float, delta: float) -> int:
        return smallest(
            lambda K: (
                request.spurious_at(noise, K) <= p.spurious
                and (not paying or appears(q_f, noise, K) <= delta)
            )
        )

    def key_portion(name: str, records: int, public: int) -> Portion:
        def threshold(noise: float, delta: float) -> int:
            if paying:
                return smallest(lambda K: appears(records, noise, K) <= delta)
            return smallest(lambda K: public * survival(noise, K + 1) <= p.spurious)

        return Portion(name, records, threshold, pays_delta=paying)

    pairs = p.expected_queries * (p.expected_queries - 1)
    return [
        Portion("which queries", q_f, query_threshold, pays_delta=paying, published=request.same_counts),
        Portion("query counts", 0 if request.same_counts else q_f),
        key_portion("clicks", request.clicks, p.expected_queries * URLS_PER_QUERY),
        key_portion("transitions", p.steps_per_user, pairs),
    ]


def _settle(request: _Request, parameters: ClickParameters) -> ClickParameters:
    """Keep the promise to the last bit, then lower each threshold that what is left of δ still affords."""

    def kept(candidate: ClickParameters) -> bool:
        assert candidate.noise is not None and candidate.threshold is not None
        found = analysis.guarantee(candidate)
        zero = request.spurious_at(candidate.noise, int(candidate.threshold))
        return (
            found.epsilon <= request.epsilon and found.delta <= request.delta and zero <= candidate.spurious
        )

    def cost(candidate: ClickParameters) -> float:
        stated, charged = analysis.guarantee(candidate), analysis.event(candidate).guarantee
        return max(stated.epsilon, charged.epsilon)

    while cost(parameters) > request.epsilon:
        assert parameters.noise is not None
        parameters = replace(parameters, noise=larger(parameters.noise))
    if parameters.pure:
        return parameters
    while not kept(parameters):
        parameters = replace(parameters, threshold=int(parameters.threshold or 0) + 1)
    # each as low as the others leave it; none can then be lowered alone
    parameters = _lowest(parameters, lambda p, K: replace(p, threshold=K), kept)
    if parameters.clicks_per_user:
        parameters = _lowest(parameters, lambda p, K: replace(p, threshold_clicks=K), kept)
    if parameters.steps_per_user:
        parameters = _lowest(parameters, lambda p, K: replace(p, threshold_transitions=K), kept)
    return parameters


def _lowest(
    parameters: ClickParameters,
    change: Callable[[ClickParameters, int], ClickParameters],
    kept: Callable[[ClickParameters], bool],
) -> ClickParameters:
    """The parameters with one threshold as low as the promise allows."""
    return change(parameters, smallest(lambda K: kept(change(parameters, K))))


def figures(p: ClickParameters) -> dict[str, float]:
    """What the parameters cost in utility."""
    assert p.noise is not None and p.threshold is not None
    noise, K = p.noise, int(p.threshold)
    sure = smallest(lambda x: survival(noise, -x) >= 0.95)
    return {
        "spurious_queries": spurious_at(p, noise, K),
        "even_chance_at": K + 1,
        "nearly_sure_at": K + 1 + sure,
        "expected_error": noise if p.noise_counts is None else p.noise_counts,
    }


def paper_setting(asked: ClickParameters) -> PaperSetting | None:
    """The thesis's choice: one noise scale for all, K at the turning point (eq. 3.11), p_g = 1.

    With as many clicks as queries and with transitions this is Table 3.10: b = (4 q_f - 1)/ε.
    """
    if asked.epsilon is None:
        return None
    clicks = asked.queries_per_user if asked.clicks_per_user is None else asked.clicks_per_user
    noise = (2 * asked.queries_per_user + clicks + asked.steps_per_user) / asked.epsilon
    threshold = analysis.turning_point(noise)
    # noisy counts are whole: > K is > floor(K)
    zero = domain_size(asked.domain_asked) * survival(noise, math.floor(threshold) + 1)
    values = dict.fromkeys(("noise", "noise_counts", "noise_clicks", "noise_transitions"), noise)
    return PaperSetting(
        {**values, "threshold": threshold, "spurious_queries": zero},
        "thesis 002, Table 3.10 (Theorem 1 with a transition term, K at eq. 3.11)",
        "one noise scale for all, and a K that balances two terms of which one is an artefact; K costs no "
        f"privacy, and at the thesis's about {zero:,.0f} domain queries that nobody asked would get in.",
    )
