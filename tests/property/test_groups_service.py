"""Whatever comes and goes: the bound holds for every shown term after each step, and nobody is lost."""

import json
import random
from collections import Counter
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import pytest
from benchmarks.groups_of_words import interest_profiles
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit import InfeasibleError, InputError, ParameterError
from tacit.audit.groups import Learnt, Observer
from tacit.groups import Bundler, Profiles
from tacit.groups.bundles import WAITING, Bundles
from tacit.groups.store import FILE, GroupsStore, fill

WORDS = [f"word{n}" for n in range(14)]
SHARES = {"2/5": 0.4, "1/2": 0.5}
terms = st.sets(st.sampled_from(WORDS), min_size=1, max_size=5)
steps = st.lists(
    st.tuples(
        st.sampled_from(["assign", "assign", "remove", "update"]),
        terms,
        st.integers(0, 99),
    ),
    max_size=14,
)


def make(folder: Path, population: dict[str, set[str]], p: float) -> Bundles:
    people = {user: dict.fromkeys(sorted(held), 1.0) for user, held in population.items()}
    bundler = Bundler(p=p, augment=None, fewest_in_group=1)
    bundling = bundler.fit(Profiles.from_mappings(people))
    (folder / "operator").mkdir(parents=True)
    settings = {"settings": asdict(bundler), "key": "00" * 32}
    store = GroupsStore.create(folder / "operator" / FILE, settings)
    with store.transaction():
        fill(store, bundling)
    store.close()
    return Bundles(folder)


def check(groups: Bundles, population: dict[str, set[str]], p: Fraction) -> None:
    """The invariants, from what is shown and who is where, with sets and fractions only."""
    places = {user: groups.place(user) for user in population}
    assert len(groups) == len(population)
    assert all(place is not None for place in places.values())
    shown = {group.group: group for group in groups.representatives()}
    for user, place in places.items():
        assert place is not None
        assert place.group is None or place.group in shown
        assert not place.member or user in groups.members(place.group or 0)
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
    steps,
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_bound_holds_after_every_step_and_nobody_is_lost(
    tmp_path_factory: pytest.TempPathFactory,
    people: list[set[str]],
    share: str,
    taken: list[tuple[str, set[str], int]],
) -> None:
    population = {f"user-{n}": held for n, held in enumerate(people)}
    try:
        groups = make(tmp_path_factory.mktemp("groups") / "g", population, SHARES[share])
    except InfeasibleError:
        return
    arrived = len(population)
    with groups:
        for verb, held, pick in taken:
            weighted = dict.fromkeys(sorted(held), 1.0)
            user = sorted(population)[pick % len(population)]
            if verb == "assign":
                population[f"user-{arrived}"] = held
                groups.assign(f"user-{arrived}", weighted)
                arrived += 1
            elif verb == "update":
                population[user] = held
                groups.update(user, weighted)
            elif verb == "remove" and len(population) > 1:
                del population[user]
                groups.remove(user)
            check(groups, population, Fraction(share))


def population_of(count: int, seed: int) -> dict[str, set[str]]:
    draw = random.Random(seed)
    topics = [[f"t{topic}w{n}" for n in range(12)] for topic in range(8)]
    return {
        f"user-{n}": {
            draw.choice(topics[draw.randrange(8)] if draw.random() < 0.3 else topics[n % 8]) for _ in range(7)
        }
        for n in range(count)
    }


def test_newcomers_change_nothing_that_is_shown_until_a_batch_is_drawn(tmp_path: Path) -> None:
    population = population_of(120, 1)
    with make(tmp_path / "g", population, 0.4) as groups:
        before = {shown.group: shown.terms for shown in groups.representatives()}
        newcomers = {f"new-{user}": held for user, held in population_of(WAITING - 1, 2).items()}
        for user, held in newcomers.items():
            place = groups.assign(user, dict.fromkeys(held, 1.0))
            assert place.group is not None and not place.member
        assert {shown.group: shown.terms for shown in groups.representatives()} == before
        check(groups, population | newcomers, Fraction(2, 5))


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


def test_an_observer_of_successive_representatives_learns_no_term_of_who_comes_or_goes(
    tmp_path: Path,
) -> None:
    population = population_of(160, 3)
    draw = random.Random(4)
    with make(tmp_path / "g", population, 0.4) as groups:
        here, anew = Observer(Observer.look(groups)), Observer(naive(groups, population))
        for number in range(60):
            if number % 2:
                user = draw.choice(sorted(population))
                held = population.pop(user)
                groups.remove(user)
            else:
                user, held = f"late-{number}", population_of(8, 100 + number)[f"user-{number % 8}"]
                population[user] = held
                groups.assign(user, dict.fromkeys(held, 1.0))
            here.step(Observer.look(groups), held)
            anew.step(naive(groups, population), held)
        assert here.learnt().right == here.learnt().terms == 0.0
        assert anew.learnt().people > 0.8
        assert anew.learnt().terms > 0.5


def observed(folder: Path, held: list[set[str]], p: float) -> Learnt:
    """What the observer learns while 80 of 400 people leave and as many come."""
    population = {f"user-{row}": held[row] for row in range(400)}
    draw = random.Random(4)
    with make(folder, population, p) as groups:
        observer = Observer(Observer.look(groups))
        for late in range(400, len(held)):
            user = draw.choice(sorted(population))
            own = population.pop(user)
            groups.remove(user)
            observer.step(Observer.look(groups), own)
            population[f"user-{late}"] = held[late]
            groups.assign(f"user-{late}", dict.fromkeys(held[late], 1.0))
            observer.step(Observer.look(groups), held[late])
    return observer.learnt()


def test_a_group_that_vanishes_tells_no_more_of_who_left_than_it_showed(tmp_path: Path) -> None:
    everybody = interest_profiles(480, 12, seed=3)
    found = observed(tmp_path / "g", [set(everybody.profile(row)) for row in range(480)], 0.4)
    assert found.right == found.terms == 0.0
    assert found.vanished > 300
    # Condition 2: nobody holds more than a share p of what a group shows.
    assert found.vanished_right <= 0.4


def test_nobody_is_ever_counted_in_two_groups(tmp_path: Path) -> None:
    population = population_of(120, 8)
    counted: dict[str, set[int]] = {user: set() for user in population}
    draw = random.Random(9)

    def note(groups: Bundles) -> None:
        for shown in groups.representatives():
            for user in groups.members(shown.group):
                counted[user].add(shown.group)

    with make(tmp_path / "g", population, 0.4) as groups:
        note(groups)
        for number in range(60):
            user = draw.choice(sorted(population))
            if number % 3 == 0:
                del population[user]
                groups.remove(user)
            else:
                groups.update(user, dict.fromkeys(population[user] | {"t1w1"}, 1.0))
            note(groups)
        assert max(len(found) for found in counted.values()) == 1
        places = {user: groups.place(user) for user in population}
        assert not all(place and place.member for place in places.values())
        for user, place in places.items():  # who was counted rests, so that no later batch counts them again
            assert place and place.member != groups._store.rests(user), user


def test_groups_of_words_are_stable(tmp_path: Path) -> None:
    with make(tmp_path / "g", population_of(80, 5), 0.4) as groups:
        before = Observer.look(groups)
        with pytest.raises(ParameterError, match="stable"):
            groups.rebundle()
        assert Observer.look(groups) == before


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
    results = [{"title": "nothing"}, {"title": "t0w1 t0w2 t0w3 t0w4 t0w5 t0w6"}, {"title": "nothing"}]
    with make(tmp_path / "g", population_of(120, 7), 0.4) as groups:
        assert groups.rerank("nobody", results) == results
        assert groups.assign("stranger", {"unheard": 1.0}).group is None
        assert groups.rerank("stranger", results) == results
        near = groups.assign("near", {"t0w1": 1.0, "t0w2": 1.0, "t0w3": 1.0})
        assert near.group is not None
        ranked = groups.rerank("near", results)
        assert ranked[0] is results[1]
        assert len(ranked) == 3
