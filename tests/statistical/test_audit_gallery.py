"""Every broken mechanism of the gallery is caught by the check it names, which the sound one passes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.careless_series import LOOKED_FOR

from tacit import Series
from tacit.audit.checks import Fault, checked
from tacit.audit.gallery import BROKEN, Broken, caught, claiming
from tacit.audit.series import CHECKED, DELTA, EPSILON, costs_as_claimed, delta_at
from tacit.privacy.noise.randomness import OperatingSystemRandomness


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_mechanism_is_caught_and_the_sound_one_is_not(broken: Broken) -> None:
    assert caught(broken)
    assert not caught(broken, sound=True)


@pytest.mark.parametrize("careless", CHECKED)
def test_a_careless_series_is_caught_and_the_sound_one_is_not(careless: str) -> None:
    (stream, check), source = CHECKED[careless], OperatingSystemRandomness()
    assert not checked(check, stream, source, LOOKED_FOR[careless]).holds
    assert checked(check, stream, source).holds


def test_a_past_that_is_not_charged_is_caught() -> None:
    asked = Series(epsilon=EPSILON, delta=DELTA, weeks=5, with_history=True)
    sound = asked.plan()
    costs_as_claimed(sound)
    claimed = sound.guarantee.delta
    assert claimed * 0.999 < delta_at(sound.rounds, EPSILON) <= claimed
    forgotten = claiming(lambda s: replace(s, series=replace(s.series, history=None)))  # type: ignore[type-var]
    with forgotten(), pytest.raises(Fault, match="is promised"):
        costs_as_claimed(asked.plan())


def test_names_are_told_apart() -> None:
    assert len({broken.name for broken in BROKEN}) == len(BROKEN) >= 27
