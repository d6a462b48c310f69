"""Parameters of A_Click for a requested ε (and δ, where keys outside the public sets are wanted)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from tacit.errors import ParameterError
from tacit.privacy import Neighbours
from tacit.release.analysis import click
from tacit.release.analysis.accounting import click_event
from tacit.release.analysis.click import ClickMode, ClickParameters
from tacit.release.analysis.ranges import check_probability, check_whole
from tacit.release.analysis.threshold import fresh_key_delta, survival
from tacit.release.plan.setting import PaperSetting, Plan, check_request, larger, smallest
from tacit.release.plan.split import Part, split
from tacit.release.plan.words import click_words

__all__ = [
    "EXPECTED_QUERIES",
    "POOL_SIZE",
    "SPURIOUS",
    "URLS_PER_QUERY",
    "ClickRequest",
    "paper_setting",
    "plan_click",
]

POOL_SIZE = 150_913
"""Queries in the bundled public domain (:func:`tacit.release.pool.bundled_domain`)."""
SPURIOUS = 10.0
"""How many keys that nobody used may be expected in each table of a pure release."""
EXPECTED_QUERIES = 1_000
"""About how many queries a release selects; its public urls and pairs of queries follow from it."""
URLS_PER_QUERY = 10
"""Public urls of a query: a page of results."""


@dataclass(frozen=True)
class ClickRequest:
    """What is asked of an A_Click release.

    Args:
        epsilon: the total.
        queries_per_user: q_f.
        clicks_per_user: c_f.
        delta: 0 plans the pure mode; above 0 the approximate one.
        transitions: whether transitions are published.
        pool_size: how many queries the public domain has (0: none, approximate mode only).
        spurious: how many keys of count 0 (domain queries, public urls, pairs of queries) may be expected
            in each table; K and, in the pure mode, the other thresholds are chosen by it.
        expected_queries: about how many queries the release will select.
        pool_probability: p_g.
        same_counts: publish the very count that was compared with K instead of a fresh one.
        neighbours: which logs are neighbours.
    """

    epsilon: float
    queries_per_user: int
    clicks_per_user: int
    delta: float = 0.0
    transitions: bool = True
    pool_size: int = POOL_SIZE
    spurious: float = SPURIOUS
    pool_probability: float = 1.0
    same_counts: bool = False
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    expected_queries: int = EXPECTED_QUERIES

    def __post_init__(self) -> None:
        check_request(self.epsilon, self.delta, delta_needed=False)
        check_whole("queries_per_user", self.queries_per_user, 1)
        check_whole("clicks_per_user", self.clicks_per_user, 0)
        check_whole("pool_size", self.pool_size, 0)
        check_whole("expected_queries", self.expected_queries, 1)
        check_probability("pool_probability", self.pool_probability)
        if not self.spurious > 0:
            raise ParameterError.outside("spurious", self.spurious, "above 0")
        if self.mode is ClickMode.PURE and self.pool_size == 0:
            raise ParameterError(
                "a pure release publishes queries of a public domain only; its size was given as 0.",
                "Give --pool-size, or a --delta above 0 to publish what lies outside a domain.",
            )
        if self.sampling >= self.one_way:
            raise ParameterError(
                f"sampling the pool with p_g = {self.pool_probability} alone costs {self.sampling:.3g}, "
                "all of epsilon.",
                "Use p_g = 1, which costs nothing.",
            )

    @property
    def mode(self) -> ClickMode:
        """Pure unless a δ is granted."""
        return ClickMode.APPROXIMATE if self.delta else ClickMode.PURE

    @property
    def one_way(self) -> float:
        """ε for adding or removing a user: half of it where a user is replaced."""
        return self.epsilon / 2 if self.neighbours is Neighbours.REPLACE else self.epsilon

    @property
    def sampling(self) -> float:
        """What a pool of p_g < 1 costs: q_f ln(1/p_g)."""
        return -self.queries_per_user * math.log(self.pool_probability)

    @property
    def public_urls(self) -> int:
        """How many (query, url) get noise in a pure release."""
        return self.expected_queries * URLS_PER_QUERY

    @property
    def public_pairs(self) -> int:
        """How many (query, next query) get noise in a pure release."""
        return self.expected_queries * (self.expected_queries - 1)

    def spurious_at(self, noise: float, threshold: int) -> float:
        """How many domain queries of count 0 are expected above the threshold, at most."""
        return self.pool_size * self.pool_probability * survival(noise, threshold + 1)


def plan_click(
    epsilon: float,
    queries_per_user: int,
    clicks_per_user: int | None = None,
    *,
    delta: float = 0.0,
    transitions: bool = True,
    pool_size: int = POOL_SIZE,
    spurious: float = SPURIOUS,
    pool_probability: float = 1.0,
    same_counts: bool = False,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    expected_queries: int = EXPECTED_QUERIES,
) -> Plan[ClickParameters]:
    """Split ε among selection, query counts, clicks and transitions with the least loss; choose thresholds.

    The arguments are those of :class:`ClickRequest`; as many clicks as queries unless given.
    """
    request = ClickRequest(
        epsilon,
        queries_per_user,
        queries_per_user if clicks_per_user is None else clicks_per_user,
        delta,
        transitions,
        pool_size,
        spurious,
        pool_probability,
        same_counts,
        neighbours,
        expected_queries,
    )
    parameters = _choose(request)
    figures = _figures(request, parameters)
    words = list(click_words(parameters, figures, pool_size))
    if not same_counts:
        other = _choose(replace(request, same_counts=True))
        words.append(
            "With --same-counts (publish the very count that was compared) a query would have an even "
            f"chance at {other.threshold + 1}, and its count be off by about {other.noise:.3g}."
        )
    return Plan(
        parameters,
        click.guarantee(parameters, neighbours),
        figures,
        tuple(words),
        paper_setting(request),
    )


def _choose(request: ClickRequest) -> ClickParameters:
    selection, counts, clicks, steps = split(
        _parts(request), request.one_way - request.sampling, request.delta
    )
    parameters = ClickParameters(
        queries_per_user=request.queries_per_user,
        clicks_per_user=request.clicks_per_user,
        noise=selection.noise,
        threshold=selection.threshold,
        noise_queries=None if request.same_counts else counts.noise,
        noise_clicks=clicks.noise,
        noise_transitions=steps.noise,
        transitions=request.transitions,
        threshold_clicks=clicks.threshold,
        threshold_transitions=steps.threshold,
        pool_probability=request.pool_probability,
        mode=request.mode,
    )
    return _settle(request, parameters)


def _parts(request: ClickRequest) -> list[Part]:
    """Selection, query counts, clicks, transitions."""
    paying = request.mode is ClickMode.APPROXIMATE
    q_f = request.queries_per_user

    def query_threshold(noise: float, delta: float) -> int:
        return smallest(
            lambda K: (
                request.spurious_at(noise, K) <= request.spurious
                and (not paying or fresh_key_delta(noise, K + 1, q_f) <= delta)
            )
        )

    def key_part(name: str, records: int, public: int) -> Part:
        def threshold(noise: float, delta: float) -> int:
            if paying:
                return smallest(lambda K: fresh_key_delta(noise, K + 1, records) <= delta)
            return smallest(lambda K: public * survival(noise, K + 1) <= request.spurious)

        return Part(name, records, threshold, pays_delta=paying)

    return [
        Part("which queries", q_f, query_threshold, pays_delta=paying, published=request.same_counts),
        Part("query counts", 0 if request.same_counts else q_f),
        key_part("clicks", request.clicks_per_user, request.public_urls),
        key_part("transitions", q_f - 1 if request.transitions else 0, request.public_pairs),
    ]


def _settle(request: ClickRequest, parameters: ClickParameters) -> ClickParameters:
    """Keep the promise to the last bit, then lower each threshold that what is left of δ still affords."""

    def kept(candidate: ClickParameters) -> bool:
        found = click.guarantee(candidate, request.neighbours)
        zero = request.spurious_at(candidate.noise, candidate.threshold)
        return found.epsilon <= request.epsilon and found.delta <= request.delta and zero <= request.spurious

    while (
        max(
            click.guarantee(parameters, request.neighbours).epsilon,
            click_event(parameters, request.neighbours).guarantee.epsilon,
        )
        > request.epsilon
    ):
        parameters = replace(parameters, noise=larger(parameters.noise))
    if parameters.mode is ClickMode.PURE:
        return parameters
    while not kept(parameters):
        parameters = replace(parameters, threshold=parameters.threshold + 1)
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


def _figures(request: ClickRequest, parameters: ClickParameters) -> dict[str, float]:
    p = parameters
    sure = smallest(lambda x: survival(p.noise, -x) >= 0.95)
    return {
        "spurious_queries": request.spurious_at(p.noise, p.threshold),
        "even_chance_at": p.threshold + 1,
        "nearly_sure_at": p.threshold + 1 + sure,
        "expected_error": p.noise if p.noise_queries is None else p.noise_queries,
    }


def paper_setting(request: ClickRequest) -> PaperSetting:
    """The thesis's choice: one noise scale for all, K at the turning point (eq. 3.11), p_g = 1.

    With as many clicks as queries and with transitions this is Table 3.10: b = (4 q_f - 1)/ε.
    """
    steps = request.queries_per_user - 1 if request.transitions else 0
    noise = (2 * request.queries_per_user + request.clicks_per_user + steps) / request.epsilon
    threshold = click.turning_point(noise)
    # noisy counts are whole: > K is > floor(K)
    zero = request.pool_size * survival(noise, math.floor(threshold) + 1)
    return PaperSetting(
        {
            "noise": noise,
            "threshold": threshold,
            "noise_queries": noise,
            "noise_clicks": noise,
            "noise_transitions": noise,
            "spurious_queries": zero,
        },
        "thesis 002, Table 3.10 (Theorem 1 with a transition term, K at eq. 3.11)",
        "one noise scale for all, and a K that balances two terms of which one is an artefact; K costs no "
        f"privacy, and at the thesis's about {zero:,.0f} domain queries that nobody asked would get in.",
    )
