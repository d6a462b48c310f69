"""The cost layer and the user's profile."""

from __future__ import annotations

import pytest

from tacit import InputError, ParameterError
from tacit.device import UserProfile
from tacit.device.profile.user import check_requirements
from tacit.taxonomy import TopicTree

TREE = TopicTree.from_paths(
    [
        (("Arts", "Music"), 6),
        (("Arts", "Film"), 2),
        (("Sports", "Skating", "Figure"), 1),
        (("Sports", "Skating", "Speed"), 1),
        (("Sports", "Football"), 2),
    ]
)


def topic(path: str) -> int:
    return TREE.find("Top/" + path)


def test_cost_follows_equation_6() -> None:
    profile = UserProfile(
        TREE,
        {topic("Sports/Skating/Figure"): 3, topic("Arts/Music"): 1},
        {topic("Sports/Skating/Figure"): 2.0, topic("Arts/Film"): 5.0},
    )
    assert profile.cost[topic("Sports/Skating/Figure")] == 2.0
    assert profile.cost[topic("Sports/Skating")] == pytest.approx(1.0)
    assert profile.cost[topic("Sports")] == pytest.approx(0.5)
    assert profile.cost[0] == pytest.approx(2.0 * 1 / 12)
    # Film is sensitive, but the user has no documents about it: nothing to recover, nothing to lose.
    assert profile.cost[topic("Arts")] == 0.0
    assert profile.wealth == 2.0
    assert profile.sensitive == [topic("Sports/Skating/Figure")]


def test_support_counts_documents_at_a_topic_and_below() -> None:
    profile = UserProfile(TREE, {topic("Sports"): 2, topic("Sports/Skating/Figure"): 3}, {})
    assert profile.support[topic("Sports")] == 5
    assert profile.support[0] == 5
    assert [TREE.names[t] for t in profile.topics] == ["Top", "Sports", "Skating", "Figure"]


def test_overlapping_requirements_are_refused_without_naming_them() -> None:
    with pytest.raises(InputError, match="must not overlap") as caught:
        check_requirements(TREE, {topic("Sports"): 1.0, topic("Sports/Skating/Figure"): 1.0})
    assert "Skating" not in str(caught.value)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 1e308, 1.1e6, 1e-320])
def test_a_sensitivity_lies_within_limits(value: float) -> None:
    with pytest.raises(ParameterError, match="sensitivity must be a number from 1e-06 to 1e\\+06"):
        check_requirements(TREE, {topic("Sports"): value})
    with pytest.raises(ParameterError, match="sensitivity"):
        UserProfile(TREE, {topic("Sports"): 1}, {topic("Sports"): value})


def test_the_root_cannot_be_sensitive() -> None:
    with pytest.raises(ParameterError, match="root"):
        check_requirements(TREE, {0: 1.0})
