"""The noise of cohorts under attack."""

from __future__ import annotations

import pytest
from tests.drawn import SeededRandomness

from tacit.audit.groups import Learnt, Observer, lower_bound
from tacit.groups.words import Generation


def test_what_an_observer_learnt_by_hand() -> None:
    watching = Observer({1: {"tea": 0.5, "rice": 0.5}, 2: {"jazz": 1.0, "golf": 1.0}})
    assert watching.learnt() == Learnt(0, 0, 0.0, 0.0, 0.0, 0, 0.0)
    watching.step({1: {"tea": 0.4, "corn": 0.5}}, ["tea", "corn", "jazz", "oats"])  # rice is laid to her too
    watching.step({1: {"tea": 0.4, "corn": 0.6}}, ["milk"])
    assert watching.learnt() == Learnt(2, 4, 2 / 4, 1 / 2, 2 / 5, 2, 1 / 2)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_what_is_proved_of_epsilon_is_below_it(epsilon: float) -> None:
    generation = Generation(epsilon)
    proved = lower_bound(generation, source=SeededRandomness(1))
    assert proved <= epsilon and (proved > 0.3 or epsilon < 1)


def test_half_the_noise_is_found_out() -> None:
    careless = Generation(2.0)
    careless.__dict__["sigma"] = Generation(2.0).sigma // 3
    assert lower_bound(careless, source=SeededRandomness(1)) > 2.0
