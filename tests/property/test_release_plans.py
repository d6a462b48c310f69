"""A plan keeps its promise, and nothing smaller would: plan → guarantee, round trip."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.claims import click, session, zealous
from tests.short_forms import plan_click, plan_session, plan_zealous

from tacit import Guarantee, KQuery, ParameterError
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.release.mechanisms.click import ClickMode
from tacit.release.planning import Portion, larger, noise_for, split
from tacit.release.thresholds import smallest, survival

epsilons = st.floats(0.05, 20.0)
deltas = st.floats(-12, -1).map(lambda exponent: 10.0**exponent)
neighbours = st.sampled_from(list(Neighbours))


def broken(found: Guarantee, epsilon: float, delta: float) -> bool:
    return found.epsilon > epsilon or found.delta > delta


@settings(max_examples=150, deadline=None)
@given(epsilons, deltas, st.integers(1, 40), st.integers(1, 4), neighbours)
def test_zealous_approximate(
    epsilon: float, delta: float, m: int, histograms: int, relation: Neighbours
) -> None:
    plan = plan_zealous(epsilon, delta, m, histograms=histograms, neighbours=relation)
    p = plan.given
    assert not broken(plan.guarantee, epsilon, delta)
    assert not broken(plan.event.guarantee, epsilon, delta)
    if p.at_epsilon is not None:  # by exact loss: still the least threshold for its noise
        lower = zealous.exact_event(replace(p, threshold_2=p.threshold_2 - 1), epsilon)
        assert broken(lower.guarantee, epsilon, delta) and p.neighbours is Neighbours.ADD_REMOVE
        return
    assert plan.guarantee == zealous.guarantee(p, relation)
    assert not broken(zealous.event(p, relation).guarantee, epsilon, delta)
    if p.threshold_2 > p.threshold_1:
        assert broken(zealous.guarantee(replace(p, threshold_2=p.threshold_2 - 1), relation), epsilon, delta)
    assert broken(zealous.guarantee(replace(p, noise=p.noise * 0.9999), relation), epsilon, delta)


@settings(max_examples=80, deadline=None)
@given(epsilons, deltas, st.integers(1, 20), st.integers(1, 10**6), neighbours)
def test_zealous_probabilistic(
    epsilon: float, delta: float, m: int, users: int, relation: Neighbours
) -> None:
    plan = plan_zealous(epsilon, delta, m, kind=GuaranteeKind.PROBABILISTIC, users=users, neighbours=relation)
    p = plan.given
    assert not broken(plan.guarantee, epsilon, delta)
    assert plan.guarantee == zealous.probabilistic_guarantee(p, users, relation)
    if p.threshold_2 > p.threshold_1:
        lower = zealous.probabilistic_guarantee(replace(p, threshold_2=p.threshold_2 - 1), users, relation)
        assert broken(lower, epsilon, delta)


@pytest.mark.parametrize(("noise", "users"), [(1.4, 500), (3.2, 1000), (7.0, 4000), (12.5, 20_000)])
def test_no_first_threshold_gives_a_lower_second_one(noise: float, users: int) -> None:
    """Every τ is tried here; the planner's narrow range loses nothing."""
    m, delta = 1, 1e-6
    epsilon = 1 / noise
    plan = plan_zealous(epsilon, delta, m, kind=GuaranteeKind.PROBABILISTIC, users=users)
    best = min(
        smallest(
            lambda t, tau=tau: (
                not broken(
                    zealous.probabilistic_guarantee(
                        replace(plan.given, threshold_1=tau, threshold_2=t), users
                    ),
                    epsilon,
                    delta,
                )
            ),
            tau,
        )
        for tau in range(1, math.ceil(8 * noise) + 10)
    )
    assert plan.given.threshold_2 == best
    # The continuous criterion: n + 1 wins over n = floor(λ) iff λ > 1/ln(1 + 1/n), and either is within one.
    n = math.floor(plan.given.noise)
    rule = n + 1 if plan.given.noise > 1 / math.log(1 + 1 / n) else n
    by_rule = smallest(
        lambda t: (
            not broken(
                zealous.probabilistic_guarantee(replace(plan.given, threshold_1=rule, threshold_2=t), users),
                epsilon,
                delta,
            )
        ),
        rule,
    )
    assert by_rule <= best + 1


@settings(max_examples=100, deadline=None)
@given(
    epsilons,
    st.one_of(st.just(0.0), deltas),
    st.integers(1, 30),
    st.one_of(st.none(), st.integers(0, 30)),
    st.booleans(),
    st.booleans(),
    neighbours,
    st.sampled_from([1_000, 1_000_000]),
)
def test_click(
    epsilon: float,
    delta: float,
    queries: int,
    clicks: int | None,
    transitions: bool,
    same: bool,
    relation: Neighbours,
    pool: int,
) -> None:
    plan = plan_click(
        epsilon,
        queries,
        clicks,
        delta=delta,
        transitions=transitions,
        same_counts=same,
        neighbours=relation,
        domain_size=pool,
    )
    p = plan.given
    assert plan.guarantee == click.guarantee(p, relation)
    assert not broken(click.event(p, relation).guarantee, epsilon, delta)
    assert not broken(plan.guarantee, epsilon, delta)
    assert plan.guarantee.epsilon > 0.9999 * epsilon
    assert plan.guarantee.kind is (GuaranteeKind.APPROXIMATE if delta else GuaranteeKind.PURE)
    assert pool * survival(p.noise, p.threshold + 1) <= 10
    used = (
        ["noise"]
        + ["noise_clicks"] * (p.clicks_per_user > 0)
        + ["noise_transitions"] * (p.steps_per_user > 0)
    )
    for name in used + ["noise_counts"] * (not same):
        assert broken(
            click.guarantee(replace(p, **{name: getattr(p, name) * 0.99}), relation), epsilon, delta
        )
    if p.threshold:
        lower = replace(p, threshold=p.threshold - 1)
        too_many = pool * survival(p.noise, p.threshold) > 10
        assert too_many or broken(click.guarantee(lower, relation), epsilon, delta)
    if delta:
        for name, present in (
            ("threshold_clicks", p.clicks_per_user),
            ("threshold_transitions", p.steps_per_user),
        ):
            if present and getattr(p, name):
                lower = replace(p, **{name: getattr(p, name) - 1})
                assert broken(click.guarantee(lower, relation), epsilon, delta)


@settings(max_examples=100, deadline=None)
@given(
    epsilons,
    deltas,
    st.integers(1, 3),
    st.integers(2, 6),
    st.integers(0, 10),
    st.booleans(),
    st.booleans(),
    neighbours,
)
def test_session(
    epsilon: float,
    delta: float,
    sessions: int,
    queries: int,
    clicks: int,
    once: bool,
    same: bool,
    relation: Neighbours,
) -> None:
    plan = plan_session(
        epsilon, delta, sessions, queries, clicks, once_per_user=once, same_counts=same, neighbours=relation
    )
    p = plan.given
    assert plan.guarantee == session.guarantee(p, relation)
    assert not broken(session.event(p, relation).guarantee, epsilon, delta)
    assert not broken(plan.guarantee, epsilon, delta)
    assert broken(session.guarantee(replace(p, noise=p.noise * 0.99), relation), epsilon, delta)
    if p.threshold:
        assert broken(session.guarantee(replace(p, threshold=p.threshold - 1), relation), epsilon, delta)
    if p.clicks_per_user and p.threshold_clicks:
        lower = replace(p, threshold_clicks=p.threshold_clicks - 1)
        assert broken(session.guarantee(lower, relation), epsilon, delta)


def test_counting_a_user_once_never_needs_a_higher_threshold() -> None:
    twice, once = (plan_session(40, 1e-6, 2, 4, 0, once_per_user=flag).given for flag in (False, True))
    assert once.threshold < twice.threshold


def test_the_split_beats_equal_noise_and_neighbouring_splits() -> None:
    """The stated loss (thresholds plus expected errors) of the plan, against 400 other ways to spend ε."""
    plan = plan_click(1.0, 5, delta=1e-6, domain_size=0, same_counts=False)
    p = plan.given

    def total(shares: tuple[float, ...]) -> float:
        records = (5, 5, 5, 4)
        b, b_q, b_c, b_t = (n / share for n, share in zip(records, shares, strict=True))
        paying = b + b_c + b_t
        lost = 0.0
        for noise, d in ((b, 5), (b_c, 5), (b_t, 4)):
            part = replace(
                p,
                mode=ClickMode.APPROXIMATE,
                noise=noise,
                queries_per_user=d,
                clicks_per_user=0,
                transitions=False,
            )
            mine = 1e-6 * noise / paying
            lost += smallest(
                lambda K, part=part, mine=mine: click.guarantee(replace(part, threshold=K)).delta <= mine
            )
        return lost + b_q + b_c + b_t

    ours = p.threshold + p.threshold_clicks + p.threshold_transitions
    ours += p.noise_counts + p.noise_clicks + p.noise_transitions
    steps = [0.5, 0.75, 1.0, 1.5, 2.0]
    base = (5 / p.noise, 5 / p.noise_counts, 5 / p.noise_clicks, 4 / p.noise_transitions)
    others = []
    for i in steps:
        for j in steps:
            for k in steps:
                raw = (base[0] * i, base[1] * j, base[2] * k, base[3])
                others.append(total(tuple(share / sum(raw) for share in raw)))
    equal = total((0.25, 0.25, 0.25, 0.25))
    assert ours <= min(others) + 3  # three thresholds are rounded up to whole counts
    assert ours < 0.9 * equal


def test_a_part_with_nothing_to_publish_gets_nothing() -> None:
    shares = split([Portion(4), Portion(0)], 2.0)
    assert shares[0].noise == 2.0


@given(st.integers(1, 500), st.floats(1e-3, 50))
def test_noise_is_readable_enough_and_least(records: int, epsilon: float) -> None:
    scale = noise_for(records, epsilon)
    assert records / scale <= epsilon
    assert float(f"{scale:.6g}") == scale
    assert scale <= records / epsilon * (1 + 2.1e-5)
    assert larger(scale) > scale


def test_a_sampled_pool_that_costs_everything_is_refused() -> None:
    with pytest.raises(ParameterError, match="all of epsilon"):
        plan_click(1.0, 10, pool_probability=0.5)
    with pytest.raises(ParameterError, match="public domain"):
        plan_click(1.0, 10, domain_size=0)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_senseless_requests_are_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon must be"):
        plan_zealous(epsilon, 1e-6, 5)
    with pytest.raises(ParameterError, match="epsilon must be"):
        plan_click(epsilon, 5)
    with pytest.raises(ParameterError, match="epsilon must be"):
        plan_session(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
def test_delta_must_be_a_probability_above_zero(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta must be"):
        plan_zealous(1.0, delta, 5)
    with pytest.raises(ParameterError, match="delta must be"):
        plan_session(1.0, delta)


def test_k_query_has_no_epsilon() -> None:
    plan = KQuery(k=15).plan()
    assert plan.k == plan.given.k == 15
    assert plan.guarantee.epsilon == math.inf
    assert plan.guarantee.kind is GuaranteeKind.K_QUERY


@pytest.mark.parametrize("epsilon", [1e-4, 1e-2, 50.0, 1e3])
def test_extreme_requests_are_planned_too(epsilon: float) -> None:
    for delta in (1e-300, 0.5):
        assert not broken(plan_zealous(epsilon, delta, 7).guarantee, epsilon, delta)
        assert not broken(plan_session(epsilon, delta, 2, 5, 3).guarantee, epsilon, delta)
        assert not broken(plan_click(epsilon, 9, delta=delta).guarantee, epsilon, delta)
    assert not broken(plan_click(epsilon, 9).guarantee, epsilon, 0.0)
    likely = plan_zealous(epsilon, 1e-9, 7, kind=GuaranteeKind.PROBABILISTIC, users=10**6)
    assert not broken(likely.guarantee, epsilon, 1e-9)
