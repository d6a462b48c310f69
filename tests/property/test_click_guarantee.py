"""A_Click's claims, held against exact divergences; and the thesis's, where they fail or are loose."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import exact_pairs
from tests.claims import click
from tests.short_forms import click_parameters

from tacit.audit import exact
from tacit.audit.checks import Atom, compared_outputs, fresh_outputs, shown_together
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.release.analysis import fresh_keys_loss
from tacit.release.mechanisms.click import ClickMode
from tacit.release.schedule import Contribution
from tacit.release.thresholds import appearance, miss_loss

HALF = Fraction(1, 2)
NOISE = 1 / math.log(2)


def partitions(total: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for first in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


def chance_of_own(noise: float, room: int, records: int) -> float:
    """δ of a user with so many records, the first of which leaves ``room`` to the threshold."""
    return appearance(fresh_keys_loss(Contribution((records,), once=False), noise, room))


@pytest.mark.parametrize("noise", [0.3, 1.0, 2.5, 10.0, 40.0])
@pytest.mark.parametrize("threshold", [0, 1, 3, 10, 30])
@pytest.mark.parametrize("minimum", [1, 4])
def test_the_worst_spread_is_an_extreme(noise: float, threshold: int, minimum: int) -> None:
    """max over all partitions of d of Σ φ(k_i) is max(φ(d), d φ(1)), so δ's closed form is exact."""
    t = threshold + 1
    for d in range(1, 13):
        best = max(
            math.fsum(miss_loss(noise, t - (minimum - 1 + k)) for k in parts) for parts in partitions(d)
        )
        assert chance_of_own(noise, t - minimum, d) == pytest.approx(-math.expm1(-best), rel=1e-12)


def test_pure_epsilon_holds_for_any_threshold_and_is_attained() -> None:
    """Two records of a user over a public domain, all base counts, all thresholds: e^ε = 2^(2+2)."""
    for threshold in range(6):
        claim = click.guarantee(click_parameters(2, 0, NOISE, threshold, NOISE, 1.0, 1.0, transitions=False))
        assert claim.kind is GuaranteeKind.PURE
        assert claim.epsilon == pytest.approx(4 * math.log(2))
        worst: float | Fraction = 0
        for parts in partitions(2):
            for bases in itertools.product(range(8), repeat=len(parts)):
                pair = exact.product(
                    exact_pairs.selected(
                        HALF, base + k, base, threshold + 1, exact.noisy(HALF, base + k, base)
                    )
                    for k, base in zip(parts, bases, strict=True)
                )
                worst = max(worst, exact_pairs.largest_ratio(pair), exact_pairs.largest_ratio(pair.flipped()))
        assert worst == 16


def test_theorem_1_second_term_is_an_artefact() -> None:
    """K = b = 10: Theorem 1 has α = 1.255 a query; the exact largest ratio over a domain is 1.105."""
    a = math.exp(-0.1)
    ratios = []
    for base in range(60):
        pair = exact_pairs.selected(a, base + 1, base, 11)
        ratios += [exact_pairs.largest_ratio(pair), exact_pairs.largest_ratio(pair.flipped())]
    assert max(ratios) == pytest.approx(1.105, abs=0.0005)
    parameters = click_parameters(1, 0, 10.0, 10, 1e9, 1e9, 1e9, transitions=False)
    assert math.exp(click.paper_figure(parameters).epsilon) == pytest.approx(1.255, abs=0.0005)
    assert math.exp(click.guarantee(parameters).epsilon) == pytest.approx(max(ratios), rel=1e-6)


def pool_pair(a: float, base: int, records: int, threshold: int, chance: float) -> exact.Pair:
    """A domain query with ``base`` records of others: taking part for sure, or with chance p_g at count 0."""
    t = threshold + 1
    appears, missing = [], []
    for count in (base + records, base):
        share = chance if count == 0 else 1.0
        appears.append(share * exact.survival(a, t - count))
        missing.append(1 - share * exact.survival(a, t - count))
    return exact_pairs.released((appears[0], appears[1]), (missing[0], missing[1]))


@pytest.mark.parametrize("chance", [1.0, 0.7, 0.2])
@pytest.mark.parametrize("noise", [0.8, 3.0, 12.0])
@pytest.mark.parametrize("threshold", [0, 2, 7])
def test_a_sampled_pool_is_charged_exactly_and_gains_nothing(
    chance: float, noise: float, threshold: int
) -> None:
    d = 3
    parameters = click_parameters(d, 0, noise, threshold, None, 1.0, 1.0, False, pool_probability=chance)
    claim = click.guarantee(parameters)
    a = math.exp(-1 / noise)
    worst = 0.0
    for parts in partitions(d):
        for flip in (False, True):
            loss = 0.0
            for k in parts:
                pairs = [pool_pair(a, base, k, threshold, chance) for base in range(threshold + 3)]
                loss += max(
                    math.log(exact_pairs.largest_ratio(pair.flipped() if flip else pair)) for pair in pairs
                )
            worst = max(worst, loss)
    assert claim.epsilon == pytest.approx(worst, rel=1e-9)
    assert claim.epsilon >= click.guarantee(replace(parameters, pool_probability=1.0)).epsilon


@pytest.mark.parametrize(("d", "threshold"), [(1, 3), (2, 3), (3, 4), (4, 6), (3, 1), (3, 0), (2, 0)])
def test_threshold_selection_holds_and_its_delta_is_attained(d: int, threshold: int) -> None:
    """Outside the domain: all spreads of d records over keys with any base count, fresh ones included."""
    parameters = click_parameters(d, 0, NOISE, threshold, NOISE, 1.0, 1.0, False, mode=ClickMode.APPROXIMATE)
    claim = click.guarantee(parameters)
    factor = math.exp(claim.epsilon)
    worst = 0.0
    for parts in partitions(d):
        for bases in itertools.product((0, 1, threshold, threshold + 2), repeat=len(parts)):
            pair = exact.product(
                exact_pairs.selected(
                    0.5,
                    base + k,
                    base or None,
                    threshold + 1,
                    exact.noisy(0.5, base + k, base) if base else None,
                )
                for k, base in zip(parts, bases, strict=True)
            )
            worst = max(worst, float(exact.divergence(pair, factor)))
    assert worst == pytest.approx(claim.delta, rel=1e-9)


def test_the_union_bound_is_close_and_korolova_is_loose() -> None:
    """δ <= max(d a^K, a^(K+1-d))/(1+a) for K >= d; the bound d e^((d-K)/b)/2 is up to 9 times as large."""
    looseness = []
    for d, noise, threshold in itertools.product((1, 2, 5, 10, 20), (1.0, 5.0, 20.0), (20, 50, 100, 200)):
        a = math.exp(-1 / noise)
        delta = chance_of_own(noise, threshold, d)
        assert delta <= max(d * a**threshold, a ** (threshold + 1 - d)) / (1 + a) * (1 + 1e-12)
        korolova = d / 2 * math.exp((d - threshold) / noise)
        continuous = max(d * math.exp((1 - threshold) / noise), math.exp((d - threshold) / noise)) / 2
        assert delta <= continuous
        looseness.append(korolova / continuous)
    assert max(looseness) > 6


def test_publishing_the_compared_count_costs_the_selection_alone() -> None:
    for base in range(9):
        for k in (1, 2, 3):
            pair = exact_pairs.thresholded(HALF, base + k, base, 5)
            assert max(exact_pairs.largest_ratio(pair), exact_pairs.largest_ratio(pair.flipped())) <= 2**k
    same = click_parameters(3, 0, NOISE, 4, None, 1.0, 1.0, transitions=False)
    assert click.guarantee(same).epsilon == pytest.approx(3 * math.log(2))


def test_listing_exactly_what_was_clicked_reveals_a_single_click() -> None:
    """A url that only one user clicked, listed with a noisy count whatever that count is: δ = 1."""
    listed = exact_pairs.released((1.0, 0.0), (0.0, 1.0), exact.noisy(0.9, 1, 1))
    assert exact.divergence(listed, math.exp(50.0)) == pytest.approx(1.0)


Record = tuple[str, str | None]
DOMAIN, PUBLIC_URLS = "ab", ("1", "2")


def bounded_counts(log: list[list[Record]], p) -> list[Counter[str]]:
    """The first q_f queries, the first c_f clicks on them and the steps between them, counted."""
    queries: Counter[str] = Counter()
    clicks: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    for history in log:
        allowed = [r for r in history if p.mode is ClickMode.APPROXIMATE or r[0] in DOMAIN]
        kept = allowed[: p.queries_per_user]
        queries.update(query for query, _ in kept)
        clicked = [
            query + url
            for query, url in kept
            if url is not None and (p.mode is ClickMode.APPROXIMATE or url in PUBLIC_URLS)
        ]
        clicks.update(clicked[: p.clicks_per_user])
        steps.update(one + two for (one, _), (two, _) in itertools.pairwise(kept) if one != two)
    return [queries, clicks, steps]


def key_outputs(p, part: int, key: str, one: int, two: int) -> tuple[Atom, exact.Pair]:
    """One key's output on the two logs: the chances that it is missing, and what shows it."""
    public = (
        key in DOMAIN if part == 0 else key[0] in DOMAIN and key[1] in (PUBLIC_URLS if part == 1 else DOMAIN)
    )
    counts = [
        count if count or (public and not (part and p.mode is ClickMode.APPROXIMATE)) else None
        for count in (one, two)
    ]
    a = math.exp(-1 / (p.noise, p.noise_clicks, p.noise_transitions)[part])
    threshold = (p.threshold, p.threshold_clicks, p.threshold_transitions)[part]
    assert threshold is not None
    if part == 0 and p.noise_counts is not None:
        then = exact.noisy(math.exp(-1 / p.noise_counts), one, two)
        chances = [0.0 if n is None else exact.survival(a, threshold + 1 - n) for n in counts]
        return fresh_outputs(chances[0], chances[1], then)
    return compared_outputs(a, counts[0], counts[1], threshold + 1)


def joint_output(p, left: list[Counter[str]], right: list[Counter[str]]) -> exact.Pair:
    """All keys whose counts differ; clicks and steps with their queries alone."""
    queries, within = {}, []
    for part in range(3):
        for key in sorted(left[part].keys() | right[part].keys()):
            if left[part][key] != right[part][key]:
                missing, shown = key_outputs(p, part, key, left[part][key], right[part][key])
                if part == 0:
                    queries[key] = (missing, shown)
                else:
                    needed = set(key[:1] if part == 1 else key)
                    within.append((needed, exact.Pair.of([missing, *shown.atoms])))
    return shown_together(queries, within)


records = st.tuples(st.sampled_from("abxy"), st.sampled_from([None, "1", "2", "3"]))
histories = st.lists(records, max_size=5)


@settings(max_examples=120, deadline=None)
@given(
    others=st.lists(histories, max_size=3),
    one=histories,
    two=histories,
    bounds=st.tuples(st.integers(1, 2), st.integers(0, 2)),
    thresholds=st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)),
    noises=st.tuples(st.sampled_from([1.0, 2.0]), st.sampled_from([None, 1.5]), st.sampled_from([0.8, 3.0])),
    mode=st.sampled_from(list(ClickMode)),
)
def test_on_logs_from_records_to_divergence(
    others: list[list[Record]],
    one: list[Record],
    two: list[Record],
    bounds: tuple[int, int],
    thresholds: tuple[int, int, int],
    noises: tuple[float, float | None, float],
    mode: ClickMode,
) -> None:
    parameters = click_parameters(
        *bounds,
        noises[0],
        thresholds[0],
        noises[1],
        noises[2],
        1.2,
        True,
        thresholds[1],
        thresholds[2],
        mode=mode,
    )
    for logs, neighbours in (
        ((others, [*others, one]), Neighbours.ADD_REMOVE),
        (([*others, one], [*others, two]), Neighbours.REPLACE),
    ):
        claim = click.guarantee(parameters, neighbours)
        left, right = (bounded_counts(log, parameters) for log in logs)
        pair = joint_output(parameters, left, right)
        assert exact.divergence(pair, math.exp(claim.epsilon)) <= claim.delta * (1 + 1e-9) + 1e-13


def test_a_budget_for_each_side_of_the_domain_would_leak() -> None:
    """q_f queries inside the domain and q_f outside: twice the moved counts, beyond the claimed ε and δ."""
    parameters = click_parameters(1, 0, NOISE, 3, NOISE, 1.0, 1.0, False, mode=ClickMode.APPROXIMATE)
    claim = click.guarantee(parameters)
    both = exact.product(exact_pairs.selected(0.5, 5, 4, 4, exact.noisy(0.5, 5, 4)) for _ in range(2))
    assert exact.divergence(both, math.exp(claim.epsilon)) > claim.delta


def filtered_then_limited(log: list[list[str]], minimum: int, bound: int) -> Counter[str]:
    """The thesis's order (Algorithm 1, steps 3 and 4): rare queries go first, users are limited after."""
    raw = Counter(query for history in log for query in history)
    return Counter(query for history in log for query in [q for q in history if raw[q] >= minimum][:bound])


def limited_then_filtered(log: list[list[str]], minimum: int, bound: int) -> Counter[str]:
    counts = Counter(query for history in log for query in history[:bound])
    return Counter({query: count for query, count in counts.items() if count >= minimum})


def test_the_frequency_filter_before_limiting_breaks_the_bound() -> None:
    """One user with many queries lifts all of them over the line, for any number of queries, at q_f = 1."""
    size, minimum = 30, 5
    queries = [f"q{number}" for number in range(size)]
    others = [[query] for query in queries for _ in range(minimum - 1)]
    user = queries
    moved = filtered_then_limited([*others, user], minimum, 1)
    moved.subtract(filtered_then_limited(others, minimum, 1))
    assert sum(abs(change) for change in moved.values()) >= size * (minimum - 1)
    after = limited_then_filtered([*others, user], minimum, 1)
    after.subtract(limited_then_filtered(others, minimum, 1))
    assert sum(abs(change) for change in after.values()) == minimum

    claim = click.guarantee(click_parameters(1, 0, 10.0, 3, None, 1.0, 1.0, transitions=False))
    pair = exact.product(exact_pairs.selected(math.exp(-0.1), minimum - 1, 0, 4) for _ in range(size))
    assert exact.divergence(pair, math.exp(claim.epsilon)) > 0.5


@pytest.mark.parametrize("mode", list(ClickMode))
def test_the_frequency_filter_after_limiting_is_charged(mode: ClickMode) -> None:
    minimum, threshold = 3, 6
    parameters = click_parameters(
        2, 0, NOISE, threshold, None, 1.0, 1.0, False, minimum_frequency=minimum, mode=mode
    )
    claim = click.guarantee(parameters)
    absent = None if mode is ClickMode.APPROXIMATE else 0
    worst = 0.0
    for parts in partitions(2):
        for bases in itertools.product(range(8), repeat=len(parts)):
            pair = exact.product(
                exact_pairs.thresholded(
                    0.5,
                    base + k if base + k >= minimum else absent,
                    base if base >= minimum else absent,
                    threshold + 1,
                )
                for k, base in zip(parts, bases, strict=True)
            )
            worst = max(worst, float(exact.divergence(pair, math.exp(claim.epsilon))))
    assert worst <= claim.delta * (1 + 1e-9) + 1e-13
    if mode is ClickMode.APPROXIMATE:
        assert worst == pytest.approx(claim.delta, rel=1e-9)
    # Outside a public domain, what falls below the minimum is absent: that costs δ, not ε.
    moved = 2 * minimum if mode is ClickMode.PURE else 2
    assert claim.epsilon == pytest.approx(moved * math.log(2))
