"""Whatever the population: everybody is in one group, and every group withstands the attack it must.

The attack is enumerated from the profiles and the labels with dictionaries and sets; none of the
package's counting is used.
"""

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import InfeasibleError
from tacit.groups import Bundler, Bundling, Criterion, Profiles
from tacit.groups.criterion import Judge

WORDS = ["java", "coffee", "kitten", "pup", "riding", "tea", "dog", "island", "opera", "piano", "cat", "ship"]
People = dict[str, dict[str, float]]
SHARES = {"1/4": 0.25, "2/5": 0.4, "1/2": 0.5, "2/3": 2 / 3}

people = st.dictionaries(
    st.text("0123456789", min_size=1, max_size=4),
    st.dictionaries(st.sampled_from(WORDS), st.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=5),
    min_size=2,
    max_size=24,
)
settings_of_bundler = st.fixed_dictionaries(
    {
        "p": st.sampled_from(list(SHARES)),
        "augment": st.sampled_from([0, 1, 2]),
        "seed": st.integers(0, 3),
        "fewest_holders": st.sampled_from([1, 2, 2, 3]),
        "fewest_in_group": st.sampled_from([1, 1, 2]),
    }
)


def bundle(population: People, chosen: dict[str, object]) -> Bundling | None:
    """The bundling, or None where it is refused."""
    try:
        return Bundler(**chosen | {"p": SHARES[str(chosen["p"])]}).fit(  # type: ignore[arg-type]
            Profiles.from_mappings(population)
        )
    except InfeasibleError:
        return None


def groups_of(bundling: Bundling) -> list[list[str]]:
    """Who is in which group, from the labels."""
    found: dict[int, list[str]] = {}
    for user, label in zip(bundling.profiles.users, bundling.labels.tolist(), strict=True):
        found.setdefault(label, []).append(user)
    assert sorted(found) == list(range(len(bundling.representatives)))
    return [found[label] for label in sorted(found)]


def linked(term: str, members: list[str], population: People, p: Fraction) -> bool:
    """Do more than a share p of the members hold the term?"""
    return Fraction(sum(term in population[user] for user in members), len(members)) > p


@given(
    st.dictionaries(
        st.integers(0, 99).map(str), st.sets(st.sampled_from("abcdefg"), min_size=1), min_size=2, max_size=14
    ),
    st.sampled_from(list(SHARES)),
)
@settings(max_examples=150)
def test_a_group_releases_exactly_what_is_not_linked(held: dict[str, set[str]], share: str) -> None:
    population = {user: dict.fromkeys(sorted(terms), 1.0) for user, terms in held.items()}
    profiles = Profiles.from_mappings(population)
    criterion = Criterion(SHARES[share], fewest_holders=1, fewest_in_group=1)
    shown = Judge(criterion, profiles).judge(np.arange(len(profiles))).terms
    if len(profiles) < criterion.fewest_members:
        assert shown.size == 0
        return
    members, p = list(population), Fraction(share)
    assert {profiles.vocabulary[term] for term in shown} == {
        term for term in profiles.vocabulary if not linked(term, members, population, p)
    }


@given(people, settings_of_bundler)
@settings(max_examples=200)
def test_strict_groups_withstand_every_attacker_and_withhold_no_more_than_needed(
    population: People, chosen: dict[str, object]
) -> None:
    bundling = bundle(population, chosen)
    if bundling is None:
        return
    p = Fraction(str(chosen["p"]))
    groups = groups_of(bundling)
    assert sorted(user for members in groups for user in members) == sorted(population)
    for members, representative in zip(groups, bundling.representatives, strict=True):
        shown = set(representative.terms)
        assert shown
        assert representative.members == len(members)
        for term in {term for user in members for term in population[user]}:
            everywhere = sum(term in held for held in population.values())
            inside = sum(term in population[user] for user in members)
            enough = everywhere >= int(str(chosen["fewest_holders"])) and inside >= int(
                str(chosen["fewest_in_group"])
            )
            assert (term in shown) == (enough and not linked(term, members, population, p))
        for user in members:
            assert Fraction(len(shown & population[user].keys()), len(shown)) <= p
        for term, weight in representative.terms.items():
            holders = sum(term in population[user] for user in members)
            assert weight == pytest.approx(holders / len(members), rel=1e-5)


@given(people, settings_of_bundler)
@settings(max_examples=100)
def test_groups_under_the_papers_criterion_have_enough_terms_after_leftovers_too(
    population: People, chosen: dict[str, object]
) -> None:
    bundling = bundle(population, chosen | {"criterion": "paper"})
    if bundling is None:
        return
    mean = Fraction(sum(map(len, population.values())), len(population))
    groups = groups_of(bundling)
    assert sorted(user for members in groups for user in members) == sorted(population)
    for members, representative in zip(groups, bundling.representatives, strict=True):
        assert representative.terms.keys() == {term for user in members for term in population[user]}
        assert mean / len(representative.terms) <= Fraction(str(chosen["p"]))


@given(people, settings_of_bundler, st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_the_order_of_the_input_does_not_matter(
    population: People, chosen: dict[str, object], chance: random.Random
) -> None:
    shuffled = list(population.items())
    chance.shuffle(shuffled)
    turned = {user: dict(reversed(terms.items())) for user, terms in shuffled}
    first, second = bundle(population, chosen), bundle(turned, chosen)
    if first is None or second is None:
        assert first is second
        return
    assert list(map(set, groups_of(first))) == list(map(set, groups_of(second)))
    assert list(first.representatives) == list(second.representatives)
