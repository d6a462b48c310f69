"""What must hold of every generalisation, on random trees (UPS, section 5)."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.specimens.optimum import optimal
from device_trees import naive_power, naive_risk, optimum, seed_profiles
from hypothesis import given
from hypothesis import strategies as st

from tacit.device.generalise.algorithms import Algorithm, evaluate, generalise
from tacit.device.profile.user import Flags, SeedProfile

DELTAS = st.one_of(st.sampled_from([0.0, 0.05, 0.1, 0.3, 1.0]), st.floats(0, 1))
SOME_ALGORITHMS = st.sampled_from(list(Algorithm))


def leaves(seed: SeedProfile, kept: Flags) -> list[int]:
    """The topics that can be pruned: kept, not the root, nothing kept below."""
    inner = {int(seed.parent[t]) for t in np.flatnonzero(kept)}
    return [int(t) for t in np.flatnonzero(kept) if t > 0 and t not in inner]


def random_rooted_subtree(seed: SeedProfile, number: int) -> Flags:
    """Some rooted subtree of the seed profile."""
    random = np.random.default_rng(number)
    kept = np.ones(len(seed), np.bool_)
    for _ in range(int(random.integers(0, len(seed)))):
        candidates = leaves(seed, kept)
        if candidates:
            kept[random.choice(candidates)] = False
    return kept


@given(seed_profiles(max_size=30), st.integers(0, 2**32 - 1))
def test_power_and_risk_are_what_the_equations_say(seed: SeedProfile, number: int) -> None:
    kept = random_rooted_subtree(seed, number)
    assert evaluate(seed, kept).power == pytest.approx(naive_power(seed, kept), abs=1e-9)
    if seed.wealth > 0:
        assert evaluate(seed, kept).risk == pytest.approx(naive_risk(seed, kept) / seed.wealth, abs=1e-12)
    assert 0 <= evaluate(seed, kept).power <= 1
    assert 0 <= evaluate(seed, kept).risk <= 1


@given(seed_profiles(max_size=30), st.integers(0, 2**32 - 1))
def test_pruning_a_leaf_never_raises_power_or_risk(seed: SeedProfile, number: int) -> None:
    """Theorem 2, with shadows as leaves; and the monotonicity of risk that heuristic 1 rests on."""
    kept = random_rooted_subtree(seed, number)
    power_before, risk_before = evaluate(seed, kept).power, evaluate(seed, kept).risk
    similarity_before = evaluate(seed, kept).similarity
    candidates = leaves(seed, kept)
    for leaf in candidates:
        kept[leaf] = False
        assert evaluate(seed, kept).power <= power_before + 1e-12
        assert evaluate(seed, kept).risk <= risk_before + 1e-12
        if len(candidates) > 1:
            assert evaluate(seed, kept).similarity == similarity_before
        kept[leaf] = True


@given(seed_profiles(max_size=40, max_sensitive=8), DELTAS)
def test_greedy_il_loses_what_it_says_and_chooses_as_greedy_dp_would(seed: SeedProfile, delta: float) -> None:
    """Equation 16 equals the recomputed difference of PG, and each choice leaves the most power.

    That is where the paper says both algorithms agree; on ties (two prunes that lose equally much)
    either choice is right, and the two may differ from there on.
    """
    result = generalise(seed, delta, Algorithm.GREEDY_IL)
    kept = np.ones(len(seed), np.bool_)
    last_risk = evaluate(seed, kept).risk
    for step in result.steps:
        assert last_risk > delta, "heuristic 1: stop as soon as the bound holds"
        before = evaluate(seed, kept).granularity
        best = -1.0
        for leaf in leaves(seed, kept):
            kept[leaf] = False
            best = max(best, evaluate(seed, kept).power)
            kept[leaf] = True
        assert step.topic in leaves(seed, kept)
        kept[step.topic] = False
        assert step.loss == pytest.approx(before - evaluate(seed, kept).granularity, abs=1e-9)
        assert step.loss >= -1e-12
        assert evaluate(seed, kept).power == pytest.approx(best, abs=1e-9)
        assert evaluate(seed, kept).risk <= last_risk + 1e-12
        last_risk = evaluate(seed, kept).risk
    assert np.array_equal(kept, result.kept)


@given(seed_profiles(max_size=25, max_sensitive=6), DELTAS)
def test_both_paper_algorithms_agree_without_ties(seed: SeedProfile, delta: float) -> None:
    fast = generalise(seed, delta, Algorithm.GREEDY_IL)
    slow = generalise(seed, delta, Algorithm.GREEDY_DP)
    same = [left.topic == right.topic for left, right in zip(fast.steps, slow.steps, strict=False)]
    if all(same):
        assert len(fast.steps) == len(slow.steps)
        assert np.array_equal(fast.kept, slow.kept)
    else:  # the first difference must be a tie
        place = same.index(False)
        assert fast.steps[place].loss == pytest.approx(slow.steps[place].loss, abs=1e-9)


@given(seed_profiles(max_size=40, max_sensitive=8), DELTAS, SOME_ALGORITHMS)
def test_the_bound_holds_or_nothing_is_sent(seed: SeedProfile, delta: float, algorithm: Algorithm) -> None:
    result = generalise(seed, delta, algorithm)
    root_alone = np.zeros(len(seed), np.bool_)
    root_alone[0] = True
    assert result.feasible == (evaluate(seed, root_alone).risk <= delta)
    if result.feasible:
        assert evaluate(seed, result.kept).risk <= delta
        assert result.kept[0]
        assert all(result.kept[seed.parent[t]] for t in np.flatnonzero(result.kept) if t)
    else:
        assert len(result.topics) == 0


@given(seed_profiles(max_size=11), DELTAS)
def test_the_optimum_equals_enumeration_and_nothing_beats_it(seed: SeedProfile, delta: float) -> None:
    exact = optimum(seed, delta)
    if exact < 0:
        return
    assert evaluate(seed, optimal(seed, delta)[0]).power == pytest.approx(exact, abs=1e-12)
    for algorithm in Algorithm:
        assert generalise(seed, delta, algorithm).power <= exact + 1e-12


@given(seed_profiles(max_size=40, max_sensitive=10), DELTAS)
def test_nothing_beats_the_optimum_on_larger_trees(seed: SeedProfile, delta: float) -> None:
    best = evaluate(seed, optimal(seed, delta)[0]).power
    for algorithm in (Algorithm.GREEDY_IL, Algorithm.GREEDY_RATIO):
        assert generalise(seed, delta, algorithm).power <= best + 1e-12


@given(seed_profiles(max_size=30, max_sensitive=6), DELTAS)
def test_greedy_ratio_hides_only_what_lowers_the_risk(seed: SeedProfile, delta: float) -> None:
    """Every topic it leaves out could not be put back: the bound would break."""
    result = generalise(seed, delta)
    if not result.feasible:
        return
    for topic in np.flatnonzero(~result.kept):
        if result.kept[seed.parent[topic]]:
            restored = result.kept.copy()
            restored[topic] = True
            gain = evaluate(seed, restored).power - result.power
            assert gain < 1e-12 or evaluate(seed, restored).risk > delta
