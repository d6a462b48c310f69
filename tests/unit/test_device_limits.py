"""Where the exact algorithms say that a problem is too large, and parameters out of range."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.specimens.optimum import optimal
from benchmarks.specimens.seed_profiles import seed_profile

from tacit import InputError, ParameterError
from tacit.device import Algorithm, SeedProfile, generalise
from tacit.device.generalise.algorithms import evaluate
from tacit.device.loops.kernels import normalised


def star(leaves: int) -> SeedProfile:
    """All topics under the root, all sensitive, no two alike."""
    random = np.random.default_rng(leaves)
    share = random.exponential(1.0, leaves) + 0.01
    prior = np.concatenate(([1.0], share / share.sum() * 0.8))
    sensitivity = random.exponential(1.0, leaves) + 0.1
    cost = np.concatenate(([float(np.sum(sensitivity * prior[1:]))], sensitivity))
    mass = np.concatenate(([0.0], random.exponential(1.0, leaves)))
    return seed_profile([-1, *[0] * leaves], prior, mass, cost, float(sensitivity.sum()))


def test_the_optimum_refuses_what_would_not_end() -> None:
    with pytest.raises(InputError, match="partial solutions"):
        optimal(star(14), 0.4, limit=20)


@pytest.mark.parametrize("delta", [-0.1, 1.1, float("nan")])
def test_delta_must_be_a_share(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta must be in"):
        generalise(star(3), delta)


def test_without_sensitive_topics_everything_may_be_exposed() -> None:
    seed = seed_profile([-1, 0, 0], [1, 0.4, 0.2], [0, 1, 2], [0, 0, 0], 0.0)
    result = generalise(seed, 0.0)
    assert result.risk == 0.0
    assert result.topics.tolist() == [0, 1, 2]
    assert result.steps == ()


@pytest.mark.parametrize("algorithm", list(Algorithm))
@pytest.mark.parametrize("wealth", [math.inf, math.nan, 0.0, -1.0])
def test_a_total_that_means_nothing_never_lets_a_topic_out(algorithm: Algorithm, wealth: float) -> None:
    result = generalise(replace(star(5), wealth=wealth), 1.0, algorithm)
    assert not result.feasible
    assert result.topics.size == 0


@pytest.mark.parametrize("risk", [math.inf, math.nan, -1.0])
def test_a_risk_that_means_nothing_never_counts_as_within_the_bound(risk: float) -> None:
    assert not normalised(risk, 1.0) <= 1.0


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("cost", [math.inf, math.nan])
def test_a_cost_that_means_nothing_anywhere_makes_the_whole_profile_unacceptable(
    cost: float, place: int
) -> None:
    seed = star(3)
    costs = seed.cost.copy()
    costs[place] = cost
    assert not evaluate(replace(seed, cost=costs)).risk <= 1.0
    found = generalise(replace(seed, cost=costs), 0.5)
    assert not found.feasible or not found.kept[place]
