"""What a release says of itself: which records of a user it took, and chances as people say them."""

from __future__ import annotations

from typing import Any

import pytest

import tacit
from tacit import Guarantee
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.release import prose
from tacit.release.document.words import meaning_of, one_in, residual_risks, taken
from tacit.release.parameters import Choice


@pytest.mark.parametrize("take", list(Choice))
@pytest.mark.parametrize("mechanism", [tacit.Zealous, tacit.Click, tacit.Session])
def test_words_and_steps_say_which_records_were_taken(mechanism: Any, take: Choice) -> None:
    made = mechanism(epsilon=2, delta=1e-6, take=take).plan()
    others = [each.words for each in Choice if each is not take]
    bound = next(step.detail for step in prose.steps(made) if step.title == "Bound")
    assert f"of each user the {take.words} " in bound
    assert not [other for other in others if f"the {other} " in bound]
    assert not [other for other in others if f"gives the {other} " in prose.words(made)[0]]


def test_one_thing_is_not_counted_and_several_are() -> None:
    assert taken(Choice.FREQUENT, 1, "query", "queries") == "most frequent query"
    assert taken(Choice.FIRST, 5, "query", "queries") == "first 5 queries"


@pytest.mark.parametrize(
    ("chance", "said"),
    [
        (0.5, "50%"),
        (0.261, "27%"),
        (1e-3, "1 in 1,000"),
        (3e-7, "1 in 3,330,000"),
        (1e-13, "1 in a million million"),
    ],
)
def test_a_chance_is_said_as_people_say_it_and_never_too_small(chance: float, said: str) -> None:
    assert one_in(chance) == said


@pytest.mark.parametrize(
    ("epsilon", "times"), [(1, "2.72"), (8, "2,981"), (15, "3,269,018"), (100, "over a thousand million")]
)
def test_factors_are_numbers_that_a_person_can_judge(epsilon: float, times: str) -> None:
    promise = Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, epsilon, 1e-6)
    said = " ".join([*meaning_of(promise), *residual_risks(promise)])
    assert f"at most {times} (e^{epsilon}) times" in said and "plus 1 in 1,000,000" in said
    assert "e-" not in said and "e+" not in said
