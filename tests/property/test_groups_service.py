"""Whoever leaves: the bound holds for every shown term after each step, and groups of words stay."""

import json
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from benchmarks.groups_of_words import interest_profiles
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit import InfeasibleError, InputError, ParameterError
from tacit.audit.groups import Learnt, Observer
from tacit.groups import Bundler, Profiles
from tacit.groups.bundles import Bundles, fill
from tacit.groups.store import FILE

WORDS = [f"word{n}" for n in range(14)]
SHARES = {"2/5": 0.4, "1/2": 0.5}
terms = st.sets(st.sampled_from(WORDS), min_size=1, max_size=5)


def make(folder: Path, population: dict[str, set[str]], p: float, *, fewest_in_group: int = 1) -> Bundles:
    people = {user: dict.fromkeys(sorted(held), 1.0) for user, held in population.items()}
    bundler = Bundler(p=p, fewest_in_group=fewest_in_group)
    (folder / "operator").mkdir(parents=True)
    fill(folder / "operator" / FILE, bundler.fit(Profiles.from_mappings(people)), bundler).close()
    return Bundles(folder)


def check(groups: Bundles, population: dict[str, set[str]], p: Fraction) -> None:
    """The invariants, from what is shown and who is where, with sets and fractions only."""
    places = {user: groups.place(user) for user in population}
    assert len(groups) == len(population)
    shown = {group.group: group for group in groups.representatives()}
    for user, place in places.items():
        assert place is not None, "nobody is lost"
        assert place.group is None or user in groups.members(place.group)
    for number, group in shown.items():
        members = groups.members(number)
        assert len(members) >= 1 / p
        assert group.terms
        for term in group.terms:
            assert Fraction(sum(term in population[user] for user in members), len(members)) <= p
        for user in members:
            assert Fraction(len(group.terms.keys() & population[user]), len(group.terms)) <= p


@given(
    st.lists(terms, min_size=8, max_size=20),
    st.sampled_from(list(SHARES)),
    st.lists(st.integers(0, 99), max_size=14),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_bound_holds_after_every_step_and_nobody_is_lost(
    tmp_path_factory: pytest.TempPathFactory, people: list[set[str]], share: str, leavers: list[int]
) -> None:
    population = {f"user-{n}": held for n, held in enumerate(people)}
    try:
        groups = make(tmp_path_factory.mktemp("groups") / "g", population, SHARES[share])
    except InfeasibleError:
        return
    with groups:
        before = {user: groups.of(user) for user in population}
        for pick in leavers[: len(population) - 1]:
            user = sorted(population)[pick % len(population)]
            del population[user]
            groups.remove(user)
            check(groups, population, Fraction(share))
            assert all(groups.of(user) in (before[user], None) for user in population), "no second group"


def population_of(count: int, seed: int) -> dict[str, set[str]]:
    draw = random.Random(seed)
    topics = [[f"t{topic}w{n}" for n in range(12)] for topic in range(8)]
    return {
        f"user-{n}": {
            draw.choice(topics[draw.randrange(8)] if draw.random() < 0.3 else topics[n % 8]) for _ in range(7)
        }
        for n in range(count)
    }


def naive(groups: Bundles, population: dict[str, set[str]]) -> dict[int, dict[str, float]]:
    """What groups would show if each were computed anew from everybody it serves."""
    shown: dict[int, dict[str, float]] = {}
    served: dict[int, list[str]] = {}
    for user in population:
        group = groups.of(user)
        if group is not None:
            served.setdefault(group, []).append(user)
    for group, users in served.items():
        counts = Counter(term for user in users for term in population[user])
        shown[group] = {term: n / len(users) for term, n in counts.items() if n / len(users) <= 0.4}
    return shown


def test_an_observer_of_successive_representatives_learns_no_term_of_who_leaves(tmp_path: Path) -> None:
    population = population_of(160, 3)
    draw = random.Random(4)
    with make(tmp_path / "g", population, 0.4) as groups:
        here, anew = Observer(Observer.look(groups)), Observer(naive(groups, population))
        for _ in range(60):
            user = draw.choice(sorted(population))
            held = population.pop(user)
            groups.remove(user)
            here.step(Observer.look(groups), held)
            anew.step(naive(groups, population), held)
        assert here.learnt().right == here.learnt().terms == 0.0
        assert anew.learnt().people > 0.4
        assert anew.learnt().terms > 0.25


def observed(folder: Path, held: list[set[str]], p: float) -> Learnt:
    """What the observer learns while 80 people leave."""
    population = {f"user-{row}": terms for row, terms in enumerate(held)}
    draw = random.Random(4)
    with make(folder, population, p) as groups:
        observer = Observer(Observer.look(groups))
        for _ in range(80):
            user = draw.choice(sorted(population))
            own = population.pop(user)
            groups.remove(user)
            observer.step(Observer.look(groups), own)
    return observer.learnt()


def test_a_group_that_vanishes_tells_no_more_of_who_left_than_it_showed(tmp_path: Path) -> None:
    everybody = interest_profiles(400, 12, seed=3)
    found = observed(tmp_path / "g", [set(everybody.profile(row)) for row in range(400)], 0.4)
    assert found.right == found.terms == 0.0
    assert found.vanished > 100
    # Condition 2: nobody holds more than a share p of what a group shows.
    assert found.vanished_right <= 0.4


def test_groups_of_words_are_stable(tmp_path: Path) -> None:
    with make(tmp_path / "g", population_of(80, 5), 0.4) as groups:
        before = Observer.look(groups)
        for change in (
            lambda: groups.rebundle(),
            lambda: groups.update("user-3", {"t1w1": 1.0}),
        ):
            with pytest.raises(ParameterError, match="groups of words"):
                change()
        assert Observer.look(groups) == before and len(groups) == 80


def test_an_erased_person_is_in_no_file(tmp_path: Path) -> None:
    population = population_of(40, 6) | {"erase-me-7341": {"onlymine7341", "t1w1", "t1w2"}}
    with make(tmp_path / "g", population, 0.4) as groups:
        groups.publish()
        groups.remove("erase-me-7341")
        with pytest.raises(InputError, match="no such user"):
            groups.remove("erase-me-7341")
    for path in (tmp_path / "g").rglob("*"):
        if path.is_file():
            assert b"erase-me-7341" not in path.read_bytes(), path.name
            assert b"onlymine7341" not in path.read_bytes(), path.name
    lines = (tmp_path / "g/operator/membership.jsonl").read_text().splitlines()
    assert {json.loads(line)["user"] for line in lines} == population.keys() - {"erase-me-7341"}


def test_people_without_a_group_get_the_engines_order(tmp_path: Path) -> None:
    with make(tmp_path / "g", population_of(120, 7), 0.4) as groups:
        user = "user-0"
        group = groups.of(user)
        assert group is not None
        results = [{"title": "nothing"}, {"title": " ".join(groups.representative(group).terms)}]
        assert groups.rerank(user, results)[0] is results[1]
        assert groups.rerank("nobody", results) == results
        for other in groups.members(group):
            if other != user:
                groups.remove(other)
        assert groups.of(user) is None, "a group of one dissolves"
        assert groups.rerank(user, results) == results
