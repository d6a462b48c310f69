"""Whatever comes and goes: the bound holds for every shown term after each step, and nobody is lost."""

import json
import random
from collections import Counter
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.audit.groups import Learnt, Observer
from tacit.errors import InfeasibleError, InputError
from tacit.evaluate.loops import interest_profiles
from tacit.groups import Bundler, Groups, Profiles
from tacit.groups.store import FILE, GroupsStore, fill

WORDS = [f"word{n}" for n in range(14)]
SHARES = {"2/5": 0.4, "1/2": 0.5}
terms = st.sets(st.sampled_from(WORDS), min_size=1, max_size=5)
steps = st.lists(
    st.tuples(
        st.sampled_from(["assign", "assign", "remove", "update", "rebundle"]),
        terms,
        st.integers(0, 99),
    ),
    max_size=14,
)


def make(folder: Path, population: dict[str, set[str]], p: float, known_terms: int = 0) -> Groups:
    people = {user: dict.fromkeys(sorted(held), 1.0) for user, held in population.items()}
    bundler = Bundler(p=p, known_terms=known_terms, augment=None)
    bundling = bundler.fit(Profiles.from_mappings(people))
    (folder / "operator").mkdir(parents=True)
    store = GroupsStore.create(folder / "operator" / FILE, asdict(bundler))
    with store.transaction():
        fill(store, bundling, first=0)
    store.close()
    return Groups.open(folder)


def check(groups: Groups, population: dict[str, set[str]], p: Fraction) -> None:
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
    st.sampled_from([0, 0, 1]),
    steps,
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_bound_holds_after_every_step_and_nobody_is_lost(
    tmp_path_factory: pytest.TempPathFactory,
    people: list[set[str]],
    share: str,
    known_terms: int,
    taken: list[tuple[str, set[str], int]],
) -> None:
    population = {f"user-{n}": held for n, held in enumerate(people)}
    try:
        groups = make(tmp_path_factory.mktemp("groups") / "g", population, SHARES[share], known_terms)
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
            elif verb == "rebundle":
                try:
                    groups.rebundle()
                except InfeasibleError:
                    pass
                else:
                    holders = Counter(term for terms in population.values() for term in terms)
                    assert all(holders[t] >= 2 for shown in groups.representatives() for t in shown.terms)
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


def test_newcomers_form_groups_of_their_own_and_change_nothing_else(tmp_path: Path) -> None:
    population = population_of(120, 1)
    with make(tmp_path / "g", population, 0.4) as groups:
        before = {shown.group: shown.terms for shown in groups.representatives()}
        newcomers = {f"new-{user}": held for user, held in population_of(60, 2).items()}
        for user, held in newcomers.items():
            place = groups.assign(user, dict.fromkeys(held, 1.0))
            assert place.group is not None
        after = {shown.group: shown.terms for shown in groups.representatives()}
        assert {number: after[number] for number in before} == before
        assert len(after) > len(before)
        check(groups, population | newcomers, Fraction(2, 5))


def naive(groups: Groups, population: dict[str, set[str]]) -> dict[int, dict[str, float]]:
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


def observed(folder: Path, held: list[set[str]], p: float, known_terms: int) -> Learnt:
    """What the observer learns while 80 of 400 people leave and as many come."""
    population = {f"user-{row}": held[row] for row in range(400)}
    draw = random.Random(4)
    with make(folder, population, p, known_terms) as groups:
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
    found = observed(tmp_path / "g", [set(everybody.profile(row)) for row in range(480)], 0.4, 0)
    assert found.right == found.terms == 0.0
    assert found.vanished > 300
    # Condition 2: nobody holds more than a share p of what a group shows.
    assert found.vanished_right <= 0.4


def test_nor_does_it_where_attackers_may_know_a_term(tmp_path: Path) -> None:
    draw = random.Random(6)
    found = observed(tmp_path / "g", [set(draw.sample(WORDS, 5)) for _ in range(480)], 0.6, 1)
    assert found.guesses == 0
    assert found.vanished > 10
    assert found.vanished_right <= 0.6


def test_nobody_is_counted_in_two_groups_between_bundlings(tmp_path: Path) -> None:
    population = population_of(120, 8)
    counted: dict[str, set[int]] = {user: set() for user in population}
    draw = random.Random(9)

    def note(groups: Groups) -> None:
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
        groups.rebundle()
        assert all(place is not None and place.member for place in map(groups.place, population))


def test_rebundling_counts_everybody_who_is_here_and_an_impossible_one_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    population = population_of(80, 5)
    with make(tmp_path / "g", population, 0.4) as groups:
        before = Observer.look(groups)
        groups.remove("user-3")
        groups.assign("late", {"t1w1": 1.0, "t1w2": 1.0})
        groups.update("user-5", {"t2w1": 1.0, "t2w2": 1.0})
        del population["user-3"]
        population |= {"late": {"t1w1", "t1w2"}, "user-5": {"t2w1", "t2w2"}}
        shown = Observer.look(groups)

        def impossible(*_: object) -> None:
            raise InfeasibleError("no grouping was found.")

        with monkeypatch.context() as patched:
            patched.setattr(Bundler, "fit", impossible)
            with pytest.raises(InfeasibleError):
                groups.rebundle()
        assert Observer.look(groups) == shown
        groups.rebundle()
        check(groups, population, Fraction(2, 5))
        assert all(place is not None and place.member for place in map(groups.place, population))
        assert not before.keys() & Observer.look(groups).keys(), "a number is never given twice"
        assert "user-3" not in groups


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
