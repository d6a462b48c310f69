"""Every broken mechanism of the gallery is caught by the check it names, which the sound one passes."""

from __future__ import annotations

import pytest

from tacit.audit.gallery import BROKEN, Broken, caught, caught_series
from tacit.audit.series import CARELESS


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_mechanism_is_caught_and_the_sound_one_is_not(broken: Broken) -> None:
    assert caught(broken)
    assert not caught(broken, sound=True)


@pytest.mark.parametrize("name", CARELESS)
def test_a_careless_series_is_caught_and_the_sound_one_is_not(name: str) -> None:
    assert caught_series(name)
    assert not caught_series(name, sound=True)


def test_names_are_told_apart() -> None:
    assert len({broken.name for broken in BROKEN}) == len(BROKEN) >= 27
