"""Every broken mechanism of the gallery is caught by the check it names, which the sound one passes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit import Series
from tacit.audit.checks import Fault
from tacit.audit.gallery import BROKEN, Broken, caught, caught_series, claiming
from tacit.audit.series import CARELESS, DELTA, EPSILON, costs_as_claimed, delta_at


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_mechanism_is_caught_and_the_sound_one_is_not(broken: Broken) -> None:
    assert caught(broken)
    assert not caught(broken, sound=True)


@pytest.mark.parametrize("name", CARELESS)
def test_a_careless_series_is_caught_and_the_sound_one_is_not(name: str) -> None:
    assert caught_series(name)
    assert not caught_series(name, sound=True)


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
