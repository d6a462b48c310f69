"""A_Click (thesis 002, chapter 3): parameters, schedule, guarantee and plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Self

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, Neighbours
from tacit.privacy.accounting.events import Event
from tacit.release.analysis import (
    Charge,
    PaperFigure,
    appearance,
    charges_of,
    event_of,
    fresh_keys_loss,
    guarantee_of,
    log_alpha,
    survival,
    turning_point,
)
from tacit.release.parameters import (
    GIVEN,
    Choice,
    Parameters,
    check_given_together,
    declared,
    declared_noise,
    declared_take,
    refuse_given_alone,
    refuse_two_kinds_of_counts,
)
from tacit.release.planning import PaperSetting, Portion, asked_budget, larger, smallest, split
from tacit.release.schedule import Contribution, Keys, Noise, Part, Schedule, text_columns

BUNDLED_SIZE = 150_913
"""Queries in the bundled public domain (:func:`tacit.release.public_sets.bundled_domain`)."""

_PLANNED_WITH_THE_REST = (
    "noise_counts",
    "noise_clicks",
    "noise_transitions",
    "threshold_clicks",
    "threshold_transitions",
)


class ClickMode(StrEnum):
    """Whether only public keys may be published."""

    PURE = "pure"
    """Queries, urls and transitions come from public sets; thresholds are post-processing. δ = 0."""
    APPROXIMATE = "approximate"
    """What occurs outside the public sets is published too, if its noisy count passes a threshold."""


@dataclass(frozen=True)
class StatedSet:
    """A public set as a manifest states it: enough for the guarantee, not to publish."""

    form: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.form.get("name", ""))

    def __len__(self) -> int:
        size = self.form.get("queries", 0)
        return size if type(size) is int and size > 0 else 0

    def __bool__(self) -> bool:
        return True

    def to_dict(self) -> dict[str, Any]:
        """As it was stated."""
        return dict(self.form)


@dataclass(frozen=True, kw_only=True)
class ClickParameters(Parameters):
    """q_f, c_f, b, K, b_q, b_c, b_t, p_g, the public sets and the mode."""

    name: ClassVar[str] = "click"
    title: ClassVar[str] = "A_Click"
    summary: ClassVar[str] = "A_Click: counts of queries, of clicks on them, and of steps between them."
    example: ClassVar[str] = "--epsilon 1 --queries-per-user 5"
    given_example: ClassVar[str] = (
        "--noise 10 --threshold 10 --queries-per-user 5 --clicks-per-user 5 --no-transitions"
    )

    queries_per_user: int = declared(
        1, "q_f: how many searches of a user count; steps between them need two.", least=1
    )
    clicks_per_user: int | None = declared(
        None, "c_f: how many clicks on them count (as many as queries; 0 without public urls).", least=0
    )
    once_per_user: bool = declared(
        False,
        "Count a user once for a query, a click or a step, or each time.",
        option="--once-per-user/--count-each",
    )
    transitions: bool = declared(
        True, "Whether steps from a query to the next are published.", option="--transitions/--no-transitions"
    )
    mode: ClickMode | None = declared(
        None, "pure: public keys only; approximate: others too, for a delta (by whether a delta is given)."
    )
    domain: Any = declared(
        None,
        "Public queries: wordnet, none or a file with one query per line (wordnet in the pure mode).",
        option_type=str | None,
    )
    surfaced: Any = declared(
        None,
        "Public urls of queries, for the pure mode: wordnet, none or a file of query, tab, url.",
        option_type=str | None,
    )
    spurious: float = declared(
        10.0, "How many keys that nobody used may be expected in each table.", above=0, planning=True
    )
    expected_queries: int = declared(
        1_000,
        "About how many queries will be selected; their urls and pairs are public.",
        least=1,
        planning=True,
    )
    pool_probability: float = declared(
        1.0,
        "p_g: chance that a public query which nobody asked takes part; below 1 it costs ε.",
        above=0,
        most=1,
    )
    same_counts: bool | None = declared(
        None,
        "Publish the number that was compared, or a fresh one under noise of its own (planned: compared).",
        option="--same-counts/--fresh-counts",
    )
    take: Choice = declared_take()
    noise: float | None = declared_noise("b: the scale of the selection's noise.")
    threshold: float | None = declared(
        None, "K: a query with a noisy count above it is published.", least=0, panel=GIVEN
    )
    noise_counts: float | None = declared_noise("b_q: fresh noise of the query counts (as `noise`).")
    noise_clicks: float | None = declared_noise("b_c: noise of the clicks (as `noise`).")
    noise_transitions: float | None = declared_noise("b_t: noise of the transitions (as `noise`).")
    threshold_clicks: float | None = declared(
        None, "Click counts above it are published (as `threshold`).", least=0, panel=GIVEN
    )
    threshold_transitions: float | None = declared(
        None, "Counts of transitions above it are published (as `threshold`).", least=0, panel=GIVEN
    )
    minimum_frequency: int = declared(
        1, "Queries with a smaller bounded count take no part in the selection.", least=1, panel=GIVEN
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_given_together(self, "noise", "threshold")
        given = [name for name in _PLANNED_WITH_THE_REST if getattr(self, name) is not None]
        if not self.given:
            rarest = ["minimum_frequency"] if self.minimum_frequency > 1 else []
            refuse_given_alone(given or rarest, "noise", "threshold")
        refuse_two_kinds_of_counts(self.same_counts, self.noise_counts)

    @property
    def given(self) -> bool:
        """Whether noise and threshold were given."""
        return self.noise is not None

    @property
    def pure(self) -> bool:
        """Whether only public keys are published: said so, or no δ is granted."""
        return self.mode is ClickMode.PURE if self.mode is not None else not self.delta

    @property
    def domain_asked(self) -> Any:
        """The public queries: in the pure mode those of WordNet unless others are named."""
        if self.domain is None and self.pure:
            return "wordnet"
        return None if self.domain == "none" else self.domain

    @property
    def surfaced_asked(self) -> Any:
        """The public urls."""
        return None if self.surfaced == "none" else self.surfaced

    @property
    def steps_per_user(self) -> int:
        """The most transitions of a user: q_f queries have q_f - 1 steps between them."""
        return self.queries_per_user - 1 if self.transitions else 0

    def completed(self) -> ClickParameters:
        """With everything settled that does not depend on a plan: mode, clicks, what ``noise`` stands for."""
        from dataclasses import replace

        clicks = self.clicks_per_user
        if clicks is None:
            clicks = self.queries_per_user if not self.pure or self.surfaced_asked is not None else 0
        settled = replace(
            self,
            clicks_per_user=clicks,
            mode=ClickMode.PURE if self.pure else ClickMode.APPROXIMATE,
            domain=self.domain_asked,
            surfaced=self.surfaced_asked,
        )
        if self.noise is None or self.threshold is None:
            return settled
        K, same = math.floor(self.threshold), bool(self.same_counts)
        of_clicks, of_steps = self.threshold_clicks, self.threshold_transitions
        return replace(
            settled,
            same_counts=same,
            threshold=K,
            noise_counts=None if same else _first(self.noise_counts, self.noise),
            noise_clicks=_first(self.noise_clicks, self.noise) if clicks else None,
            noise_transitions=_first(self.noise_transitions, self.noise) if self.steps_per_user else None,
            threshold_clicks=(K if of_clicks is None else math.floor(of_clicks)) if clicks else None,
            threshold_transitions=(
                (K if of_steps is None else math.floor(of_steps)) if self.steps_per_user else None
            ),
        )

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """What the mechanism wrote; the public sets by name and digest."""
        sets = {name: StatedSet(form[name]) if form[name] else "none" for name in ("domain", "surfaced")}
        return super().from_dict({**form, **sets})


def _first(given: float | None, otherwise: float) -> float:
    return otherwise if given is None else given


PARAMETERS = ClickParameters


def click_schedule(p: ClickParameters) -> Schedule:
    """Queries, clicks, transitions. Strictly greater than K is K + 1 or more."""
    assert p.noise is not None and p.threshold is not None
    beside = Keys.PUBLIC if p.pure else Keys.OCCURRING
    parts = [
        Part(
            table="queries",
            columns=text_columns("query"),
            contribution=Contribution((p.queries_per_user,), once=p.once_per_user),
            noise=Noise(p.noise),
            least=int(p.threshold) + 1,
            fresh=None if p.noise_counts is None else Noise(p.noise_counts),
            keys=Keys.BOTH if not p.pure and p.domain is not None else beside,
            minimum=p.minimum_frequency,
            chance=p.pool_probability,
        )
    ]
    if p.clicks_per_user:
        assert p.noise_clicks is not None and p.threshold_clicks is not None
        parts.append(
            Part(
                table="clicks",
                columns=text_columns("query", "url"),
                contribution=Contribution((p.clicks_per_user,), once=p.once_per_user),
                noise=Noise(p.noise_clicks),
                least=int(p.threshold_clicks) + 1,
                keys=beside,
                within=(("query", "queries"),),
            )
        )
    if p.steps_per_user:
        assert p.noise_transitions is not None and p.threshold_transitions is not None
        parts.append(
            Part(
                table="transitions",
                columns=text_columns("query", "next_query"),
                contribution=Contribution((p.steps_per_user,), once=p.once_per_user),
                noise=Noise(p.noise_transitions),
                least=int(p.threshold_transitions) + 1,
                keys=beside,
                within=(("query", "queries"), ("next_query", "queries")),
            )
        )
    return Schedule(tuple(parts))


def charges(parameters: ClickParameters) -> tuple[Charge, ...]:
    """What each published thing costs: which queries (and their counts), clicks, transitions."""
    return charges_of(click_schedule(parameters))


def guarantee(parameters: ClickParameters, neighbours: Neighbours | None = None) -> Guarantee:
    """The provable guarantee: pure, or (ε,δ)-indistinguishability in ``approximate`` mode.

    With p_g = 1: ε = q_f/b + q_f/b_q + c_f/b_c + (q_f - 1)/b_t for any K, twice as much under replacing. δ is
    the most that one user attains in the three tables together, less than what each could alone.
    """
    return guarantee_of(click_schedule(parameters), neighbours or parameters.neighbours)


def event(parameters: ClickParameters, neighbours: Neighbours | None = None) -> Event:
    """Selection, query counts, clicks and transitions; outside the public sets, a rare disclosure."""
    return event_of(click_schedule(parameters), neighbours or parameters.neighbours)


def paper_figure(parameters: ClickParameters, threshold: float | None = None) -> PaperFigure:
    """What the thesis prints: Theorem 1 (eq. 3.4), with the transition term of Table 3.10 where asked for.

    Args:
        parameters: the release's parameters; mode and minimum frequency do not enter the printed formula.
        threshold: K as the thesis has it, a real number, where it differs from the whole one.
    """
    p = parameters
    scales = (p.noise, p.noise_counts, p.noise_clicks, p.noise_transitions)
    if p.noise is None or p.threshold is None or 0 in scales:
        raise ParameterError.outside("noise", 0, "above 0 for the paper's figure")
    K = p.threshold if threshold is None else threshold
    epsilon = p.queries_per_user * log_alpha(p.noise, K, p.pool_probability)
    epsilon += p.queries_per_user / (p.noise if p.noise_counts is None else p.noise_counts)
    if p.clicks_per_user and p.noise_clicks is not None:
        epsilon += p.clicks_per_user / p.noise_clicks
    if p.steps_per_user and p.noise_transitions is not None:
        epsilon += p.steps_per_user / p.noise_transitions
    return PaperFigure(
        epsilon,
        0.0,
        Neighbours.ADD_REMOVE,
        "thesis 002, Theorem 1 (eq. 3.4)"
        + (" with the transition term of Table 3.10" if p.transitions else ""),
        "the second term of Theorem 1's α is an artefact: over a public domain a threshold is "
        "post-processing, and a query costs 1/b whatever K is; outside a public domain δ is not 0."
        if p.pure
        else "Theorem 1 claims δ = 0, which holds only for queries, urls and transitions of a public domain.",
    )


URLS_PER_QUERY = 10
"""Public urls of a query: a page of results."""


def domain_size(domain: Any) -> int:
    """How many queries the public domain has; the bundled one need not be made to know it."""
    if domain is None:
        return 0
    if domain == "wordnet":
        return BUNDLED_SIZE
    if isinstance(domain, str):
        from tacit.release.public_sets import take_domain

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
        return self.epsilon / self.p.neighbours.users_changed

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
        found = guarantee(candidate)
        zero = request.spurious_at(candidate.noise, int(candidate.threshold))
        return (
            found.epsilon <= request.epsilon and found.delta <= request.delta and zero <= candidate.spurious
        )

    def cost(candidate: ClickParameters) -> float:
        stated, charged = guarantee(candidate), event(candidate).guarantee
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
    threshold = turning_point(noise)
    # noisy counts are whole: > K is > floor(K)
    zero = domain_size(asked.domain_asked) * survival(noise, math.floor(threshold) + 1)
    values = dict.fromkeys(("noise", "noise_counts", "noise_clicks", "noise_transitions"), noise)
    return PaperSetting(
        {**values, "threshold": threshold, "spurious_queries": zero},
        "thesis 002, Table 3.10 (Theorem 1 with a transition term, K at eq. 3.11)",
        "one noise scale for all, and a K that balances two terms of which one is an artefact; K costs no "
        f"privacy, and at the thesis's about {zero:,.0f} domain queries that nobody asked would get in.",
    )
