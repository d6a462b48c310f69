"""Newcomers to groups of words: random batches that withstand five fakes among their twenty members."""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import chain, count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.test_groups_service import make, population_of

from tacit import InputError, ParameterError
from tacit.audit.groups import Observer
from tacit.groups import Bundler, Criterion, Groups, Profiles, Representative
from tacit.groups.bundles import BATCH, FAKES, MOST_TERMS, POOL, Bundles, batches, brought, still_shown
from tacit.groups.bundling import MOST_USERS

THREE = Criterion(0.4)
ONE = Criterion(0.4, fewest_in_group=1)


def shown_by(people: Sequence[set[str]], rule: Criterion, holders: Counter[str] | None = None) -> set[str]:
    """What a batch shows: of terms that a hundred people hold elsewhere, unless said otherwise."""
    everybody = holders if holders is not None else Counter(dict.fromkeys(chain.from_iterable(people), 100))
    made = still_shown(
        Representative(MOST_USERS, len(people), brought(people, rule, everybody)), people, rule, FAKES
    )
    return set(made.terms) if made else set()


def exposed(shown: Collection[str], real: Sequence[set[str]], p: Fraction) -> list[str]:
    """Rules that are broken among real members, to somebody who takes off what the fakes hold."""
    found = []
    theirs = [term for term in shown if any(term in held for held in real)]
    for term in theirs:
        if Fraction(sum(term in held for held in real), len(real)) > p:
            found.append(f"{term}: linked")
    for held in real:
        if Fraction(len(held & set(theirs)), max(len(theirs), 1)) > p:
            found.append("owns")
    return found


def circle(people: int = BATCH) -> list[set[str]]:
    """People around a circle, each of whom holds 12 of 4 · people terms: a term has three holders."""
    return [{f"t{n}" for n in range(4 * people) if (k - n) % people in (0, 3, 7)} for k in range(people)]


def junk(fakes: int, terms: int) -> list[set[str]]:
    return [{f"junk{n}" for n in range(terms)} for _ in range(fakes)]


def test_a_batch_of_real_people_shows_what_three_of_them_hold() -> None:
    people = circle()
    shown, counts = shown_by(people, THREE), Counter(chain.from_iterable(people))
    assert len(shown) > 50
    assert {counts[term] for term in shown} == {3}
    rare = [held | {f"own{k // 2}"} for k, held in enumerate(people)]  # two hold each of these
    assert not any(term.startswith("own") for term in shown_by(rare, THREE))
    assert any(term.startswith("own") for term in shown_by(rare, Criterion(0.4, fewest_in_group=2)))


@given(
    st.integers(0, 2**32),
    st.integers(0, FAKES),
    st.sampled_from(["empty", "junk", "copies", "common", "greedy"]),
    st.sampled_from([THREE, ONE, Criterion(0.5), Criterion(0.3, fewest_in_group=1)]),
)
@settings(max_examples=300, deadline=None)
def test_as_many_fakes_as_a_batch_withstands_expose_nobody(
    seed: int, fakes: int, kind: str, rule: Criterion
) -> None:
    draw = random.Random(seed)
    words = [f"w{n}" for n in range(draw.choice([40, 75, 120, 300]))]
    size = draw.choice([5, 14, 20, 30])
    real = [set(draw.sample(words, min(size, len(words)))) for _ in range(BATCH - fakes)]
    theirs = {
        "empty": [{f"nothing{n}"} for n in range(fakes)],
        "junk": junk(fakes, draw.choice([20, 33, 200])),
        "copies": [set(real[0]) for _ in range(fakes)],
        "common": [set(draw.sample(words, min(20, len(words)))) for _ in range(fakes)],
        "greedy": [set(words) | {f"junk{n}" for n in range(40)} for _ in range(fakes)],
    }[kind]
    shown = shown_by([*real, *theirs], rule)
    assert exposed(shown, real, Fraction(rule.p).limit_denominator(10)) == []


def test_one_fake_more_can_expose_somebody() -> None:
    """The bound is no larger than it must be: six empty fakes leave fourteen, six of whom hold a term."""
    rows = [held | ({"six"} if k < 6 else set()) for k, held in enumerate(circle(BATCH - FAKES - 1))]
    empty: list[set[str]] = [{f"nothing{n}"} for n in range(FAKES + 1)]
    rule = Criterion(0.4, fewest_in_group=1)
    rows = [held | {f"own{k}-{n}" for n in range(12)} for k, held in enumerate(rows)]
    shown = shown_by([*rows, *empty], rule)
    assert "six" in shown and exposed(shown, rows, Fraction(2, 5)) == ["six: linked"]
    five = [*rows, {"w"}]  # the same with five of them
    shown = shown_by([*five, *empty[:FAKES]], rule)
    assert "six" in shown and exposed(shown, five, Fraction(2, 5)) == []


def test_a_term_is_held_by_at_most_p_of_those_who_are_no_fakes() -> None:
    rows = circle(BATCH - FAKES) + [{f"nothing{n}"} for n in range(FAKES)]
    for holders in range(3, BATCH):
        people = [held | ({"x"} if k < holders else set()) for k, held in enumerate(rows)]
        may = brought(people, ONE, Counter(dict.fromkeys(chain.from_iterable(people), 100)))
        assert ("x" in may) == (holders <= 0.4 * (BATCH - FAKES)), holders


@pytest.mark.parametrize("terms", [MOST_TERMS, 300])
@pytest.mark.parametrize("rule", [THREE, ONE])
def test_fakes_cannot_dilute_what_a_member_holds(terms: int, rule: Criterion) -> None:
    """A member holds 21 of 52 terms that real people brought; terms of the fakes alone are no cover."""
    owner, others = {f"a{n}" for n in range(21)}, [set[str]() for _ in range(BATCH - FAKES - 1)]
    three_each = (term for term in [*sorted(owner), *(f"b{n}" for n in range(31))] for _ in range(3))
    for place, term in enumerate(three_each):
        others[place % len(others)].add(term)
    held, slots = rule.fewest_in_group, FAKES * terms
    # As many terms as the fakes can bring by themselves: each is held by as few as may be.
    spread = [{f"junk{n}" for n in range(slots // held) if (n - k) % FAKES < held} for k in range(FAKES)]
    for fakes in (spread, junk(FAKES, terms)):
        assert not shown_by([owner, *others, *fakes], rule) & owner
    if terms == MOST_TERMS:
        assert shown_by([owner - {"a0"}, *others, *spread], rule) & owner, "20 of 52 are not too many"


def test_no_member_brings_more_than_twenty_terms() -> None:
    rich = [{f"own{k}-{n}" for n in range(60)} for k in range(BATCH)]
    may = brought(rich, ONE, Counter(dict.fromkeys(chain.from_iterable(rich), 100)))
    assert Counter(term.split("-")[0] for term in may) == {f"own{k}": MOST_TERMS for k in range(BATCH)}


def test_fakes_cannot_lend_a_term_its_holders() -> None:
    """A term that one person has, and five fakes, has six holders: seven are needed."""
    people = circle()
    holders = Counter(dict.fromkeys(chain.from_iterable(people), FAKES + 2))
    assert "t0" in shown_by(people, THREE, holders)
    assert "t0" not in shown_by(people, THREE, holders - Counter(t0=1))
    many = Criterion(0.4, fewest_holders=FAKES + 3)
    assert shown_by(people, many, holders) == set(), "what the operator asks for counts where it is more"


def test_batches_are_dealt_by_a_key_alone() -> None:
    names = [f"u{n}" for n in range(POOL + 7)]
    one, same, other = (list(batches(names, key)) for key in (b"1" * 32, b"1" * 32, b"2" * 32))
    assert one == same != other
    assert {len(batch) for batch in one} == {BATCH} and len(one) == POOL // BATCH
    assert list(batches(reversed(names), b"1" * 32)) == one
    beside = Counter(
        len(batch & {"u0", "u1", "u2"})
        for n in range(400)
        for batch in map(set, batches(names[:POOL], n.to_bytes(32, "little")))
        if "u0" in batch
    )
    # Two chosen neighbours both fall into one's batch in 19·18/(99·98) = 3.5 % of deals.
    assert 0.01 < beside[3] / 400 < 0.07


# The service

COMMON = {f"c{n}" for n in range(130)}


def newcomers(people: int, seed: int, name: str = "new") -> dict[str, dict[str, float]]:
    draw = random.Random(seed)
    return {f"{name}-{n}": dict.fromkeys(sorted(draw.sample(sorted(COMMON), 20)), 1.0) for n in range(people)}


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The keys that deals are made with, in order."""
    drawn: list[bytes] = []
    numbers = count(1)

    def next_key(length: int) -> bytes:
        drawn.append(next(numbers).to_bytes(length, "little"))
        return drawn[-1]

    monkeypatch.setattr("tacit.groups.bundles.secrets.token_bytes", next_key)
    return drawn


def folder_with(tmp_path: Path) -> Bundles:
    """Groups of eighty people; at p = 1/2 random batches of these newcomers form with three holders."""
    return make(tmp_path / "g", population_of(80, 5), 0.5, fewest_in_group=3)


def formed(groups: Bundles) -> dict[int, list[str]]:
    """The batches that show something."""
    return {
        each.group: groups.members(each.group)
        for each in groups.representatives()
        if each.group >= MOST_USERS
    }


def test_newcomers_wait_for_a_hundred_and_come_in_batches_of_twenty(
    tmp_path: Path, keys: list[bytes]
) -> None:
    with folder_with(tmp_path) as groups:
        before, people = Observer.look(groups), newcomers(POOL + 10, 1)
        first = dict(list(people.items())[: POOL - 1])
        assert {place.group for place in groups.assign_all(first)} == {None}
        assert Observer.look(groups) == before and keys == []
        assert groups.rerank("new-0", [{"title": "x"}, {"title": "t1w1"}])[0] == {"title": "x"}
        groups.assign_all({user: people[user] for user in people if user not in first})
        there, after = formed(groups), Observer.look(groups)
        assert 0 < len(there) <= 5 and {len(members) for members in there.values()} == {BATCH}
        assert {number: after[number] for number in before} == before, "nothing else moves"
        seated = set(chain.from_iterable(there.values()))
        assert all(groups.of(user) == (n if user in there[n] else None) for n in there for user in there[n])
        assert all(groups.of(user) is None for user in people.keys() - seated)
        # Dealt once, and never topped up or merged: those of a batch that showed nothing stay without.
        waiting = set(people) - set(chain.from_iterable(batches(people, keys[0])))
        assert len(waiting) == 10
        later = newcomers(POOL, 2, "later")
        groups.assign_all(later)
        again = formed(groups)
        assert {n: again[n] for n in there} == there and len(keys) == 2 and keys[0] != keys[1]
        came = set(chain.from_iterable(members for n, members in again.items() if n not in there))
        assert came <= waiting | later.keys() and came


def test_a_batch_that_shows_nothing_takes_a_number_that_no_other_group_gets(
    tmp_path: Path, keys: list[bytes]
) -> None:
    with folder_with(tmp_path) as groups:
        alone = {f"alone-{n}": {f"only{n}": 1.0} for n in range(POOL)}
        assert {place.group for place in groups.assign_all(alone)} == {None}
        assert formed(groups) == {}
        groups.assign_all(newcomers(POOL, 1))
        assert min(formed(groups)) >= MOST_USERS + 5
        largest = max(formed(groups))
        for user in groups.members(largest)[:10]:
            groups.remove(user)
        assert largest not in formed(groups), "too few are left"
        groups.assign_all(newcomers(POOL, 3, "later"))
        assert largest not in formed(groups)


def test_groups_with_fakes_in_batches_hold_after_every_step(tmp_path: Path, keys: list[bytes]) -> None:
    """Ten fakes among a hundred, some of whom leave on purpose; batches with at most five are judged."""
    looked = 0
    for seed in range(3):
        with folder_with(tmp_path / str(seed)) as groups:
            people = newcomers(POOL - 10, seed) | {f"fake-{n}": {"c1": 1.0, "c2": 1.0} for n in range(10)}
            groups.assign_all(people)
            draw, seen = random.Random(seed), Observer(Observer.look(groups))
            for _ in range(40):
                for number, shown in Observer.look(groups).items():
                    if number < MOST_USERS:
                        continue
                    real = [set(people[user]) for user in groups.members(number) if user in people]
                    fakes = [user for user in groups.members(number) if user.startswith("fake")]
                    if len(fakes) <= FAKES:
                        looked += 1
                        honest = [held for held in real if len(held) > 2]
                        assert exposed(shown, honest, Fraction(1, 2)) == []
                members = list(chain.from_iterable(formed(groups).values()))
                if not members:
                    break
                user = draw.choice([u for u in members if u.startswith("fake")] or members)
                held = people.pop(user)
                groups.remove(user)
                seen.step(Observer.look(groups), held)
            assert seen.learnt().right == seen.learnt().terms == 0.0
    assert looked > 20


def test_only_what_seven_people_of_the_population_hold_is_shown(tmp_path: Path, keys: list[bytes]) -> None:
    """Who holds a term is counted among everybody who is here, in whichever batch."""
    people = newcomers(POOL, 1)
    first = list(batches(people, (1).to_bytes(32, "little")))
    old = Counter(chain.from_iterable(population_of(80, 5).values())).most_common(1)[0][0]
    for term, holders in (("six", first[0][:6]), ("seven", first[0][:6] + first[1][:1]), (old, first[0][:3])):
        for user in holders:
            people[user][term] = 1.0
    with folder_with(tmp_path) as groups:
        groups.assign_all(people)
        shown = groups.representative(groups.of(first[0][0]) or 0).terms
        assert "seven" in shown and old in shown and "six" not in shown


def test_an_erased_newcomer_who_waits_is_in_no_file(tmp_path: Path) -> None:
    with folder_with(tmp_path) as groups:
        groups.assign("new-7341", {"only7341": 1.0})
        groups.publish()
        with pytest.raises(InputError, match="here already"):
            groups.assign("new-7341", {"only7341": 1.0})
        groups.remove("new-7341")
        assert groups.place("new-7341") is None
    for path in (tmp_path / "g").rglob("*"):
        assert not path.is_file() or b"7341" not in path.read_bytes(), path.name


def test_the_papers_criterion_takes_in_nobody(tmp_path: Path) -> None:
    people = {user: dict.fromkeys(held, 1.0) for user, held in population_of(80, 5).items()}
    with Groups.bundle(people, tmp_path / "g", criterion="paper") as groups:
        with pytest.raises(ParameterError, match="take in nobody"):
            groups.assign("new", {"t1w1": 1.0})
        assert len(groups) == 80


def common_terms_above(p: float, generations: Sequence[dict[str, set[str]]], people: Profiles) -> float:
    """Of how many people the terms common to all their groups are their own by more than a share p."""
    held = {user: set(people.profile(row)) for row, user in enumerate(people.users)}
    here = [user for user in people.users if all(user in shown for shown in generations)]
    above = 0
    for user in here:
        common = set.intersection(*(shown[user] for shown in generations))
        above += bool(common) and len(common & held[user]) / len(common) > p
    return above / len(here)


def test_four_generations_of_stable_groups_tell_nothing_and_four_bundlings_do(tmp_path: Path) -> None:
    population, draw = population_of(160, 3), random.Random(1)
    everybody = Profiles.from_mappings({u: dict.fromkeys(held, 1.0) for u, held in population.items()})
    stable: list[dict[str, set[str]]] = []
    anew: list[dict[str, set[str]]] = []
    with make(tmp_path / "g", population, 0.4) as groups:
        here = sorted(population)
        for generation in range(4):
            bundling = Bundler(fewest_in_group=1, seed=generation).fit(
                Profiles.from_mappings({user: dict.fromkeys(population[user], 1.0) for user in here})
            )
            told = [set(shown.terms) for shown in bundling.representatives]
            labels = zip(bundling.profiles.users, bundling.labels.tolist(), strict=True)
            anew.append({user: told[label] for user, label in labels})
            shown = Observer.look(groups)
            stable.append({user: set(shown.get(groups.of(user) or 0, {})) for user in here})
            for user in draw.sample(here, len(here) // 10):
                groups.remove(user)
                here.remove(user)
    assert common_terms_above(0.4, stable, everybody) == 0.0
    assert common_terms_above(0.4, anew[:1], everybody) == 0.0
    assert common_terms_above(0.4, anew, everybody) > 0.2
