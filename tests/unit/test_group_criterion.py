"""The two criteria on populations small enough to count by hand."""

import numpy as np
import pytest

from tacit import InfeasibleError, ParameterError
from tacit.groups import Bundler, Criterion, Profiles
from tacit.groups.bundling import place_leftovers
from tacit.groups.criterion import Judge, release

ANYONES = Criterion(0.4, fewest_holders=1, fewest_in_group=1)
"""p alone decides."""


def population(*profiles: str) -> Profiles:
    """One user for each string, one term for each of its words."""
    return Profiles.from_mappings(
        {f"user {number}": dict.fromkeys(terms.split(), 1.0) for number, terms in enumerate(profiles)}
    )


def verdict(profiles: Profiles, criterion: Criterion) -> tuple[bool, set[str]]:
    """Is everybody together a good group, and what may it release?"""
    found = Judge(criterion, profiles).judge(np.arange(len(profiles)))
    return found.holds, {profiles.vocabulary[term] for term in found.terms}


def test_the_papers_criterion_passes_one_user_alone() -> None:
    # |U|_avg = 150 and p = 0.4 ask for 375 distinct terms: a user who holds that many is a "group".
    talkative = {f"t{number}": 1.0 for number in range(375)}
    terse = {f"user {n}": {f"t{number}": 1.0 for number in range(75)} for n in range(3)}
    profiles = Profiles.from_mappings({"talkative": talkative, **terse})
    assert profiles.sizes.mean() == 150
    alone = np.array([0])
    assert Judge(Criterion(0.4, "paper"), profiles).judge(alone).holds
    assert not Judge(ANYONES, profiles).judge(alone).holds


def test_strict_withholds_what_too_many_hold() -> None:
    profiles = population("a b c", "a d e", "a f g", "b h i", "c j k")
    holds, shown = verdict(profiles, ANYONES)
    assert holds
    assert shown == set("bcdefghijk")  # a: 3 of 5; b and c: 2 of 5, exactly p


def test_strict_refuses_a_member_who_owns_more_than_p() -> None:
    assert not verdict(population("a b c d", "e", "f"), ANYONES)[0]
    assert verdict(population("a b", "c d", "e f"), ANYONES)[0]


def test_equality_with_p_holds_for_every_fraction() -> None:
    for n in range(2, 30):
        for k in range(1, n):
            p = k / n
            profiles = population(*(["t " + f"x{i}" for i in range(k)] + [f"x{i}" for i in range(k, n)]))
            assert "t" in verdict(profiles, Criterion(p, fewest_holders=1, fewest_in_group=1))[1]


@pytest.mark.parametrize(
    "wrong",
    [{"p": 0.0}, {"p": 1.0}, {"p": float("nan")}, {"p": 0.4, "kind": "k"}, {"p": 0.4, "fewest_in_group": 0},
     {"p": 0.4, "fewest_holders": 0}],
)  # fmt: skip
def test_parameters_outside_their_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        Criterion(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [{"p": 2}, {"augment": -1}, {"seed": -1}, {"fewest_in_group": 0}],
)
def test_a_bundler_refuses_wrong_parameters_before_any_work(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} must be"):
        Bundler(**wrong)  # type: ignore[arg-type]


def test_a_leftover_does_not_break_the_group_it_joins() -> None:
    # The last user owns more terms than three others together: joining the closest group breaks it.
    big = " ".join(f"z{n}" for n in range(8))
    profiles = population("a b", "c d", "e f", "g h", "i j", "k l", "a " + big)
    judge = Judge(ANYONES, profiles)
    similarities = np.zeros((7, 7), np.float32)
    similarities[6, 0] = similarities[0, 6] = 1
    users = np.arange(7)
    grown = np.array([0, 0, 0, 1, 1, 1, -1], np.int32)
    assert not judge.judge(np.array([0, 1, 2, 6])).holds
    placed = place_leftovers(grown, similarities, users, judge)
    # Even everybody together gives that user 8 of 19 terms, more than 0.4: nothing is given.
    assert placed is None
    smaller = population("a b", "c d", "e f", "g h", "i j", "k l", "a z0 z1 z2 z3 z4")
    judge = Judge(ANYONES, smaller)
    assert not judge.judge(np.array([0, 1, 2, 6])).holds
    merged = place_leftovers(grown, similarities, users, judge)
    assert merged is not None
    assert merged.tolist() == [0] * 7


def test_a_leftover_takes_the_next_group_where_the_closest_cannot_hold_it() -> None:
    profiles = population("a b", "c d", "e f", "g h", "i j", "k l m n", "o p q r", "a y z w v")
    judge = Judge(ANYONES, profiles)
    similarities = np.zeros((8, 8), np.float32)
    similarities[7, 0] = 1
    grown = np.array([0, 0, 0, 1, 1, 1, 1, -1], np.int32)
    assert not judge.judge(np.array([0, 1, 2, 7])).holds
    placed = place_leftovers(grown, similarities, np.arange(8), judge)
    assert placed is not None
    assert placed.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("criterion", ["strict", "paper"])
def test_what_cannot_be_met_is_refused(criterion: str) -> None:
    alike = population("a b", "a b", "a b", "a b")
    with pytest.raises(InfeasibleError):
        Bundler(p=0.4, criterion=criterion, fewest_in_group=1).fit(alike)


def test_too_few_users_and_too_few_terms_say_so() -> None:
    with pytest.raises(InfeasibleError, match=r"at least 10 users; there are 2"):
        Bundler(p=0.1, fewest_in_group=1).fit(population("a b", "c d"))
    with pytest.raises(InfeasibleError, match=r"at least 10 distinct terms; there are 2"):
        Bundler(p=0.1, fewest_in_group=1).fit(population(*["a", "b"] * 10))


def test_what_too_few_people_hold_is_not_released() -> None:
    profiles = population("a x", "b x", "c d", "e d", "f g", "a h")
    assert verdict(profiles, Criterion(0.4, fewest_in_group=1))[1] == {"a", "d", "x"}
    assert verdict(profiles, ANYONES)[1] == set("abcdefghx")
    assert verdict(profiles, Criterion(0.4, fewest_holders=3, fewest_in_group=1))[1] == set()
    half = np.arange(3)  # two of its members hold x, one holds a, which somebody outside holds too
    for fewest, shown in ((1, {"a", "d", "x"}), (2, {"x"})):
        found = Judge(Criterion(0.7, fewest_in_group=fewest), profiles).judge(half)
        assert {profiles.vocabulary[term] for term in found.terms} == shown
    assert Criterion(0.4, fewest_in_group=2).fewest_members == 5
    assert Criterion(0.4).fewest_in_group == 3 and Criterion(0.4).fewest_members == 8


def test_groups_are_numbered_by_what_they_show_alone() -> None:
    """Of two groups that differ in their terms only, in whichever order they were formed."""
    profiles = population("a b", "a c", "b c", "d e", "d f", "e f")
    judge = Judge(Criterion(0.7, fewest_in_group=1), profiles)
    found = []
    for rows in ([0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2]):
        released, groups, hold = release([np.array(rows[:3]), np.array(rows[3:])], judge)
        assert hold
        found.append((released.terms.tolist(), [group.tolist() for group in groups]))
    assert found[0] == found[1]
