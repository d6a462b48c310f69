"""ZEALOUS's claims, held against exact divergences over all neighbouring count patterns of small logs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import exact_pairs
from tests.claims import zealous
from tests.short_forms import zealous_parameters

from tacit.audit import exact
from tacit.privacy import Neighbours

HALF = Fraction(1, 2)
NOISE = 1 / math.log(2)
"""The scale whose a = exp(-1/b) is one half: every probability is a fraction."""


def publish(count: int, tau: int) -> int | None:
    """What takes part in the noisy step: the count, or nothing below τ."""
    return count if count >= tau else None


def item(base: int, one: bool, other: bool, tau: int, t: int, a: float | Fraction = HALF) -> exact.Pair:
    """An item that ``base`` other users have, and the user in question has in one log or the other."""
    return exact_pairs.thresholded(a, publish(base + one, tau), publish(base + other, tau), t)


def patterns(m: int, bases: range, neighbours: Neighbours) -> list[list[tuple[int, bool, bool]]]:
    """All ways a user with at most m items can differ: which items, and how many others have each."""
    mine = list(itertools.combinations_with_replacement(bases, m))
    if neighbours is Neighbours.ADD_REMOVE:
        return [[(base, True, False) for base in chosen] for chosen in mine]
    return [
        [(base, True, False) for base in one] + [(base, False, True) for base in two]
        for one, two in itertools.combinations_with_replacement(mine, 2)  # divergence takes both directions
    ]


def exact_delta(a: Fraction, m: int, tau: int, t: int) -> Fraction:
    return 1 - (1 - Fraction(exact.survival(a, t - tau))) ** m


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    ("m", "tau", "t"), [(1, 1, 4), (2, 1, 4), (2, 2, 5), (3, 1, 4), (2, 3, 4), (2, 1, 2)]
)
def test_differential_privacy_holds_and_is_attained(neighbours: Neighbours, m: int, tau: int, t: int) -> None:
    claim = zealous.guarantee(zealous_parameters(m, NOISE, tau, t), neighbours)
    bases = range(max(0, tau - 2), t + 2)
    factor = Fraction(math.exp(claim.epsilon)).limit_denominator(10**6)
    assert float(factor) == pytest.approx(math.exp(claim.epsilon), rel=1e-9)
    worst = max(
        exact.divergence(exact.product(item(*kind, tau, t) for kind in pattern), factor)
        for pattern in patterns(m, bases, neighbours)
    )
    delta = exact_delta(HALF, m, tau, t)
    assert worst == delta  # no pattern leaks more, and m items that only this user has leak as much
    assert claim.delta == pytest.approx(float(delta), rel=1e-12)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_epsilon_is_tight_without_fresh_items(neighbours: Neighbours) -> None:
    m, tau, t = 2, 1, 4
    claim = zealous.guarantee(zealous_parameters(m, NOISE, tau, t), neighbours)
    ratios = [
        exact_pairs.largest_ratio(exact.product(item(*kind, tau, t) for kind in pattern))
        for pattern in patterns(m, range(tau, t + 2), neighbours)
    ]
    assert max(ratios) == 2 ** round(claim.epsilon * NOISE)


def test_a_low_second_threshold_tells_by_what_does_not_appear() -> None:
    """T - τ = 0: an item of one user fails to appear with chance 1/3 only. Output by output that costs ln 3,
    more than the ln 2 of the noise; as (ε, δ)-differential privacy δ = 2/3 already covers it."""
    parameters = zealous_parameters(1, NOISE, 1, 1)
    pair = item(0, False, True, 1, 1)
    assert exact_pairs.largest_ratio(pair.flipped()) == math.inf
    assert exact_pairs.largest_ratio(pair) == 3
    for relation, ratio in ((Neighbours.ADD_REMOVE, 3), (Neighbours.REPLACE, 6)):
        likely = zealous.probabilistic_guarantee(parameters, 10, relation)
        assert likely.epsilon == pytest.approx(math.log(ratio))
    sure = zealous.guarantee(parameters)
    assert sure.epsilon == pytest.approx(math.log(2))
    assert exact.divergence(pair, Fraction(2)) == Fraction(2, 3)
    assert sure.delta == pytest.approx(2 / 3)


@pytest.mark.parametrize("relation", list(Neighbours))
def test_no_threshold_is_too_low_for_the_claim(relation: Neighbours) -> None:
    """The lemma on fresh keys has no condition on the threshold: all patterns, down to T = τ."""
    for t in (1, 2):
        parameters = zealous_parameters(2, NOISE, 1, t)
        claim = zealous.guarantee(parameters, relation)
        factor = Fraction(2) ** round(claim.epsilon * NOISE)
        worst = max(
            exact.divergence(exact.product(item(*kind, 1, t) for kind in pattern), factor)
            for pattern in patterns(2, range(4), relation)
        )
        assert worst == exact_delta(HALF, 2, 1, t)


def probabilistic_failure(counts: list[int], tau: int, t: int, a: Fraction) -> Fraction:
    """The chance of an output that some neighbour cannot give: an item held by exactly τ users appears."""
    edge = sum(1 for count in counts if count == tau)
    return 1 - (1 - Fraction(exact.survival(a, t - tau))) ** edge


@pytest.mark.parametrize(("users", "m", "tau", "t"), [(3, 1, 1, 4), (3, 2, 2, 6), (4, 2, 3, 6), (4, 3, 2, 7)])
def test_probabilistic_delta_over_all_logs(users: int, m: int, tau: int, t: int) -> None:
    """All logs of so many users over six items: the bound holds, and some log attains it."""
    claim = zealous.probabilistic_guarantee(zealous_parameters(m, NOISE, tau, t), users, Neighbours.REPLACE)
    histories = [tuple(h) for h in itertools.combinations(range(6), m)]
    worst = Fraction(0)
    seen: set[tuple[int, ...]] = set()
    for log in itertools.combinations_with_replacement(histories, users):
        counts = tuple(sorted(sum(i in history for history in log) for i in range(6)))
        if counts not in seen:
            seen.add(counts)
            worst = max(worst, probabilistic_failure(list(counts), tau, t, HALF))
    assert claim.delta == pytest.approx(float(worst), rel=1e-12)


def test_probabilistic_ratio_holds_output_by_output() -> None:
    """Outside the bad outputs, the ratio stays within e^ε for every neighbour, by replacing."""
    m, tau, t = 2, 2, 5
    claim = zealous.probabilistic_guarantee(zealous_parameters(m, NOISE, tau, t), 10, Neighbours.REPLACE)
    bound = Fraction(math.exp(claim.epsilon)).limit_denominator(10**6)
    for pattern in patterns(m, range(tau - 2, t + 2), Neighbours.REPLACE):
        pair = exact.product(item(*kind, tau, t) for kind in pattern)
        assert all(p <= bound * q and q <= bound * p for p, q in pair.atoms if p and q)


def test_the_printed_threshold_leaks() -> None:
    """m = 5, ε = 1, δ = 1e-6: the printed τ' = 78.66 with noise 2m/ε leaks a thousand times δ."""
    m, epsilon, delta = 5, 1.0, 1e-6
    noise = 2 * m / epsilon
    printed = m * (1 - math.log(2 * delta / m) / epsilon)
    assert printed == pytest.approx(78.66, abs=0.005)
    continuous = 1 - (1 - math.exp(-(printed - 1) / noise) / 2) ** m
    assert continuous == pytest.approx(1.06e-3, abs=0.005e-3)
    parameters = zealous_parameters(m, noise, 1, math.ceil(printed))
    assert zealous.paper_figure(parameters).delta <= delta
    fresh = exact.product(exact_pairs.thresholded(math.exp(-1 / noise), None, 1, 79) for _ in range(m))
    leak = exact.divergence(fresh, math.exp(epsilon))
    assert leak > 1000 * delta
    assert zealous.guarantee(parameters, Neighbours.REPLACE).delta == pytest.approx(leak, rel=1e-9)


def test_the_printed_threshold_holds_with_the_noise_it_belongs_to() -> None:
    """With noise m/ε and add-remove neighbours the printed constant is safe (m - 1 too large)."""
    m, epsilon, delta = 5, 1.0, 1e-6
    printed = m * (1 - math.log(2 * delta / m) / epsilon)
    parameters = zealous_parameters(m, m / epsilon, 1, math.floor(printed) + 1)
    assert zealous.guarantee(parameters).delta <= delta
    needed = 1 + m / epsilon * math.log(m / (2 * delta))
    assert printed - needed == pytest.approx(m - 1)


def test_a_continuous_threshold_rounded_up_is_not_safe_with_at_least() -> None:
    """λ = 1, m = 1: δ chosen so that the continuous threshold is 15 already. '>= 15' leaks 1.46 times δ."""
    noise = 1.0
    threshold = 15
    delta = math.exp(-(threshold - 1) / noise) / 2
    assert math.ceil(round(1 + noise * math.log(1 / (2 * delta)), 9)) == threshold
    at_least = zealous.guarantee(zealous_parameters(1, noise, 1, threshold)).delta
    assert at_least == pytest.approx(2 / (1 + math.exp(-1)) * delta)
    assert at_least > 1.4 * delta
    assert zealous.guarantee(zealous_parameters(1, noise, 1, threshold + 1)).delta < delta  # '>' is '>= 16'


def log_counts(log: dict[str, list[str]], m: int) -> dict[str, int]:
    """Step 1 on a log: the first m distinct items of each user, counted by users."""
    counts: dict[str, int] = {}
    for history in log.values():
        for chosen in list(dict.fromkeys(history))[:m]:
            counts[chosen] = counts.get(chosen, 0) + 1
    return counts


histories = st.lists(st.sampled_from("abcde"), max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    others=st.lists(histories, max_size=5),
    one=histories,
    two=histories,
    m=st.integers(1, 3),
    tau=st.integers(1, 3),
    gap=st.integers(0, 4),
    noise=st.sampled_from([0.7, NOISE, 3.0]),
)
def test_on_logs_from_records_to_divergence(
    others: list[list[str]], one: list[str], two: list[str], m: int, tau: int, gap: int, noise: float
) -> None:
    """From the records of two neighbouring logs to the exact divergence of what ZEALOUS publishes."""
    parameters = zealous_parameters(m, noise, tau, tau + gap)
    log = {str(number): history for number, history in enumerate(others)}
    logs = [log, {**log, "u": one}, {**log, "u": two}]
    for (left, right), neighbours in (
        ((logs[0], logs[1]), Neighbours.ADD_REMOVE),
        ((logs[1], logs[2]), Neighbours.REPLACE),
    ):
        claim = zealous.guarantee(parameters, neighbours)
        counts, other = log_counts(left, m), log_counts(right, m)
        pair = exact.product(
            exact_pairs.thresholded(
                math.exp(-1 / noise),
                publish(counts.get(key, 0), tau),
                publish(other.get(key, 0), tau),
                parameters.threshold_2,
            )
            for key in sorted(counts.keys() | other.keys())
        )
        assert exact.divergence(pair, math.exp(claim.epsilon)) <= claim.delta * (1 + 1e-9) + 1e-14


def test_several_histograms_add() -> None:
    """A user's fresh items in two histograms: δ = 1 - (1-p)^(2m), ε doubles."""
    single, double = zealous_parameters(2, NOISE, 1, 5), zealous_parameters(2, NOISE, 1, 5, histograms=2)
    fresh = exact.product(item(0, True, False, 1, 5) for _ in range(4))
    claim = zealous.guarantee(double)
    assert claim.delta == pytest.approx(float(exact.divergence(fresh, Fraction(16))), rel=1e-12)
    assert claim.epsilon == pytest.approx(2 * zealous.guarantee(single).epsilon)
    shared = exact.product(item(4, True, False, 1, 5) for _ in range(4))
    assert (
        exact.divergence(shared, Fraction(4)) > zealous.guarantee(single).delta
    )  # charging one is not enough


def most_popular_first(log: dict[str, list[str]], m: int) -> dict[str, int]:
    """The wrong step 1: each user gives the m items that most users have."""
    raw: dict[str, int] = {}
    for history in log.values():
        for found in set(history):
            raw[found] = raw.get(found, 0) + 1
    chosen = {user: sorted(set(history), key=lambda i: (-raw[i], i)) for user, history in log.items()}
    return log_counts(chosen, m)


def test_choosing_by_global_counts_breaks_the_bound() -> None:
    """Twenty users have x and y; one more user with y alone makes all of them give y instead of x."""
    parameters = zealous_parameters(1, 2.0, 1, 25)
    log = {str(number): ["x", "y"] for number in range(20)}
    neighbour = {**log, "v": ["y"]}
    claim = zealous.guarantee(parameters)

    def leak(count: Callable[[dict[str, list[str]], int], dict[str, int]]) -> float:
        left, right = count(log, 1), count(neighbour, 1)
        pair = exact.product(
            exact_pairs.thresholded(math.exp(-1 / 2.0), left.get(key) or None, right.get(key) or None, 25)
            for key in sorted(left.keys() | right.keys())
        )
        return float(exact.divergence(pair, math.exp(claim.epsilon)))

    assert leak(log_counts) <= claim.delta
    assert most_popular_first(neighbour, 1) == {"y": 21}
    assert leak(most_popular_first) > 1000 * claim.delta
