"""Cohorts: where texts fall, what is told, how results are ordered, and what their words cost."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawn import SeededRandomness

from tacit import BudgetError, Groups, InputError, Ledger, ParameterError
from tacit.groups import Profiles
from tacit.groups.cohort_service import CohortGroups, PastRequest, read_clicks, votes_of
from tacit.groups.cohorts import MOST_KEYS, PLACES, Standing, load_cohorts, order_of
from tacit.groups.report import fake_accounts
from tacit.groups.store import CohortStore
from tacit.groups.words import MOST_WORDS, SHOWN_ABOVE, STRENGTHS, UNIT, Generation, marked
from tacit.privacy.accounting.composition import repeated_epsilon

COHORTS = load_cohorts()
TEXTS = [
    "used car dealers",
    "toyota engine repair",
    "sailing boats harbour",
    "chocolate cake recipe",
    "baking bread flour",
    "garden roses pruning",
    "football league scores",
    "basketball playoffs tickets",
    "jazz guitar chords",
    "piano lessons",
    "laptop memory upgrade",
    "linux server kernel",
    "cheap flights paris",
    "dog training puppy",
    "mortgage rates bank",
    "diabetes symptoms insulin",
    "catholic church prayer",
    "zxqv blorf",
]
people = st.dictionaries(
    st.sampled_from([f"user{n}" for n in range(12)]),
    st.dictionaries(st.sampled_from(TEXTS), st.sampled_from([1.0, 2.0, 5.0]), min_size=1, max_size=8),
    min_size=2,
    max_size=12,
)


def standing(population: dict[str, dict[str, float]]) -> dict[str, Standing]:
    evidence = Profiles.from_mappings(population)
    return dict(zip(evidence.users, COHORTS.people(evidence, b"k" * 32), strict=True))


@given(people, st.data())
@settings(max_examples=60, deadline=None)
def test_nobody_else_moves_when_one_person_is_removed(
    population: dict[str, dict[str, float]], data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(sorted(population)))
    before = standing(population)
    after = standing({user: held for user, held in population.items() if user != gone})
    assert after == {user: found for user, found in before.items() if user != gone}
    counts = [marked((found.keys for found in each.values()), COHORTS) for each in (before, after)]
    moved = counts[0] - counts[1]
    assert (moved * moved).sum() <= UNIT * UNIT


def test_places_are_the_commonest_and_never_sensitive() -> None:
    found = standing({"a": {"used car dealers": 5, "baking bread flour": 2, "diabetes symptoms insulin": 50}})
    names = [COHORTS.names[place] for place in found["a"].places]
    assert names[0].startswith("Cars") and names[1].startswith("Food") and len(names) == 2
    turned = standing({"a": {"used car dealers": 2, "baking bread flour": 5}})["a"].places
    assert turned == found["a"].places[::-1], "by how much they count, not by number"
    texts = dict.fromkeys(TEXTS, 1.0)
    assert len(standing({"a": texts})["a"].places) == PLACES
    assert standing({"a": {"catholic church prayer": 1.0, "zxqv blorf": 1.0}})["a"] == Standing((), ())


@pytest.mark.parametrize("text", ["insulin cake", "al-anon garden", "chemo bread", "gay bars berlin"])
def test_a_text_with_a_telling_word_falls_nowhere(text: str) -> None:
    assert COHORTS.sensitive(text)
    assert standing({"a": {text: 1.0}})["a"] == Standing((), ())


@pytest.mark.parametrize("text", ["hospital ward nurse", "kidney stomach liver pain", "headache fever cough"])
def test_a_text_near_a_sensitive_centre_falls_nowhere(text: str) -> None:
    assert not COHORTS.sensitive(text), "no word of it tells by itself"
    assert standing({"a": {text: 1.0}})["a"] == Standing((), ())


def test_no_sensitive_word_can_be_shown() -> None:
    domain = {COHORTS.table.words[number] for number in COHORTS.domain}
    assert not domain & {"diabetes", "insulin", "church", "lesbian", "divorce", "bankruptcy", "cocaine"}
    assert not domain & {"kosher", "wheelchair", "debt", "escort", "foreclosed", "kidney", "headache"}
    assert {"bread", "guitar", "laptop", "sailing"} <= domain
    assert len(COHORTS) == 64 and len(domain) > 10_000


def test_a_person_marks_at_most_fifty_pairs_chosen_by_the_key() -> None:
    nouns = [COHORTS.table.words[number] for number in COHORTS.domain[:3000:3]]
    evidence = Profiles.from_mappings({"a": dict.fromkeys(nouns, 1.0), "b": dict.fromkeys(nouns, 1.0)})
    found = [COHORTS.people(evidence, key) for key in (b"1" * 32, b"1" * 32, b"2" * 32)]
    assert all(len(set(each.keys)) == MOST_KEYS for people in found for each in people)
    assert found[0] == found[1]
    assert found[0][0].keys != found[2][0].keys, "another key chooses others"
    assert found[0][0].keys != found[0][1].keys, "and nobody can know whose"
    assert {cohort for cohort, _ in found[0][0].keys} <= set(found[0][0].places)


def results(*titles: str) -> list[dict[str, str]]:
    return [{"title": title} for title in titles]


CARS, FOOD = (
    next(n for n, name in enumerate(COHORTS.names) if name.startswith(start)) for start in ("Cars", "Food")
)
MIXED = results(
    *(f"court ruling number {word}" for word in "one two three four five six seven eight nine ten".split()),
    *("engine repair car", "truck tyres", "motorcycle engine", "car brakes", "diesel truck", "used cars"),
    *("car insurance motor", "garage car parts"),
)


def test_the_cohort_nearest_to_the_results_is_told() -> None:
    cars = standing({"a": {"toyota engine repair": 1.0}})["a"].places[0]
    told, scores, gate = COHORTS.told((FOOD, cars), {}, MIXED, "")
    assert told == cars and gate > 0.5
    order = order_of(scores, gate, 12.0)
    assert set(order[:8]) == set(range(10, 18)), "results of the cohort come first"
    assert order_of(scores, gate, 0.0) == list(range(len(MIXED)))
    assert COHORTS.told((), {}, MIXED, "")[0] is None
    assert order_of(*COHORTS.told((cars,), {}, [], "")[1:], 12.0) == []


def test_thin_evidence_leaves_the_engines_order() -> None:
    told, scores, gate = COHORTS.told((FOOD,), {}, MIXED[:10], "")
    assert told == FOOD and gate == 0.0
    assert order_of(scores, gate, 12.0) == list(range(10))


def test_where_all_results_are_of_the_cohort_none_stands_out() -> None:
    cars = standing({"a": {"toyota engine repair": 1.0}})["a"].places[0]
    _, scores, gate = COHORTS.told((cars,), {}, MIXED[10:], "")
    assert scores.mean() > 0.4 and gate == 0.0


def test_what_decides_where_a_text_falls_is_a_sum_of_whole_numbers() -> None:
    found = COHORTS._whole(COHORTS.directions([COHORTS.table.bag(text) for text in TEXTS]))
    assert np.array_equal(found, np.rint(found)) and np.abs(found).max() < 2**53


def test_words_of_the_query_do_not_count() -> None:
    cars = standing({"a": {"toyota engine repair": 1.0}})["a"].places[0]
    page = results("toyota", "toyota's weather", "nothing")
    word = COHORTS.table.number("toyota")
    _, with_words, _ = COHORTS.told((cars,), {cars: {word: 9.0}}, page, "")
    assert with_words[0] > 1.0
    for asked in ("toyota", "Toyota's"):
        _, scores, _ = COHORTS.told((cars,), {cars: {word: 9.0}}, page, asked)
        assert scores[0] == 0.0 and scores[1] < with_words[1] / 2


def test_words_of_a_cohort_lift_the_results_that_have_them() -> None:
    cars = standing({"a": {"toyota engine repair": 1.0}})["a"].places[0]
    shown = {cars: {COHORTS.table.number("truck"): 5.0}}
    _, plain, _ = COHORTS.told((cars,), {}, MIXED, "")
    _, lifted, _ = COHORTS.told((cars,), shown, MIXED, "")
    assert (lifted > plain).nonzero()[0].tolist() == [11, 14]


# What is drawn


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_the_noise_gives_the_delta_that_is_charged(epsilon: float) -> None:
    """Exact sums over the integers for m = 1 and, by the largest loss that m pairs can have, for m = 50."""
    generation = Generation(epsilon, 1e-6)
    assert generation.sigma**2 >= (UNIT / Fraction(generation.mu)) ** 2 + 4
    assert generation.event is not None and generation.event.guarantee.delta <= 1e-6
    x = np.arange(-14 * generation.sigma, 14 * generation.sigma + 1)
    mass = np.exp(-(x**2) / (2.0 * generation.sigma**2))
    mass /= mass.sum()
    shifted = (
        np.exp(-((x - UNIT) ** 2) / (2.0 * generation.sigma**2))
        / np.exp(-(x**2) / (2.0 * generation.sigma**2)).sum()
    )
    delta = np.maximum(shifted - math.exp(epsilon) * mass, 0).sum()
    assert 0.97e-6 < delta <= 1e-6
    less = Generation(epsilon, 1e-6)
    object.__setattr__(less, "__dict__", {**less.__dict__, "sigma": int(generation.sigma / 1.3)})
    x = np.arange(-14 * less.sigma, 14 * less.sigma + 1)
    one, other = (np.exp(-((x - shift) ** 2) / (2.0 * less.sigma**2)) for shift in (UNIT, 0))
    assert np.maximum(one - math.exp(epsilon) * other, 0).sum() / other.sum() > 1e-6, "30% less would not do"


def test_weights_make_a_vector_no_longer_than_the_unit() -> None:
    pairs = [(cohort, int(word)) for cohort in range(5) for word in COHORTS.domain[:10]]
    for size in range(1, 51):
        squares = (marked([pairs[:size]], COHORTS) ** 2).sum()
        assert 0.98 * UNIT**2 - 2 * UNIT * math.sqrt(size) <= squares <= UNIT**2


def test_noise_is_on_every_pair_and_only_what_stands_out_is_shown() -> None:
    generation = Generation(2.0)
    nobody = [generation.words([], COHORTS, SeededRandomness(seed)) for seed in range(20)]
    chance = sum(len(found) for words in nobody for found in words.values()) / 20
    assert 1 < chance < 8, "of a million pairs that nobody marked 3.5 pass by chance"
    word = int(COHORTS.domain[100])
    crowd = [[(7, word)]] * 60
    shown = generation.words(crowd, COHORTS, SeededRandomness(1))
    assert shown[7][word] > SHOWN_ABOVE * generation.sigma
    everything = [[(3, int(each))] for each in COHORTS.domain[:400] for _ in range(30)]
    assert len(generation.words(everything, COHORTS, SeededRandomness(2))[3]) == MOST_WORDS
    assert Generation(None).words(crowd, COHORTS, SeededRandomness(1)) == {}


def test_the_noise_has_its_width() -> None:
    """The share of a marked pair's draws over the line, 2,000 draws; a false alarm in 10^9."""
    generation = Generation(2.0)
    word = int(COHORTS.domain[5])
    weight = math.floor(SHOWN_ABOVE * generation.sigma)
    one = type("One", (), {"table": COHORTS.table, "domain": np.array([word]), "__len__": lambda _: 1})()
    source = SeededRandomness(3)
    exact = weight // UNIT
    seen = [bool(generation.words([[(0, word)]] * exact, one, source)) for _ in range(2000)]  # type: ignore[arg-type]
    left = (weight - exact * UNIT) / generation.sigma
    expected = 0.5 * math.erfc(left / math.sqrt(2))
    assert abs(np.mean(seen) - expected) < 6.2 * math.sqrt(0.25 / 2000)


def test_the_vote_goes_to_the_largest_count_and_the_weaker_of_equals() -> None:
    generation = Generation(vote_epsilon=0.25)
    many = {str(n): 6.0 for n in range(200)} | {f"x{n}": 2.0 for n in range(40)}
    assert {generation.strength(many, SeededRandomness(seed)) for seed in range(50)} == {6.0}
    few = Counter(generation.strength({"a": 12.0}, SeededRandomness(seed)) for seed in range(400))
    assert max(few.values()) < 160 and set(few) == set(STRENGTHS), "one vote decides nothing"


def test_the_vote_is_drawn_with_the_noise_that_is_charged() -> None:
    """How often eight votes win against none, in 2,000 draws; a false alarm in 10^9."""
    x = np.arange(-400, 401)
    mass = np.exp(-np.abs(x) * 0.25)
    mass /= mass.sum()
    below = np.cumsum(mass)
    ahead = np.minimum(np.arange(len(x)) + 8, len(x) - 1)
    expected = (mass * below[ahead - 1] * below[ahead] ** 3).sum()  # the weaker of equals wins
    generation, votes, source = (
        Generation(vote_epsilon=0.25),
        {str(n): 0.5 for n in range(8)},
        SeededRandomness(4),
    )
    won = np.mean([generation.strength(votes, source) == 0.5 for _ in range(2000)])
    assert abs(won - expected) < 6.2 * math.sqrt(0.25 / 2000) < 0.1


def test_a_person_votes_once_and_for_the_engine_where_nothing_is_gained(tmp_path: Path) -> None:
    cars = standing({"a": {"toyota engine repair": 1.0}})["a"]
    with CohortStore.create(tmp_path / "s", {}) as store:
        store.add([("a", cars), ("b", cars)])
        last = PastRequest("a", "", MIXED, frozenset([17]))
        first = PastRequest("b", "", MIXED, frozenset([0]))
        unknown = PastRequest("zz", "", MIXED, frozenset([0]))
        votes = votes_of(store.person, COHORTS, {}, [last] * 5 + [first, unknown])
    assert votes.keys() == {"a", "b"}
    assert votes["a"] >= 2 and votes["b"] == 0.0


# A service


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    path = tmp_path / "people.jsonl"
    rows = ({"user": f"u{n}", "terms": {TEXTS[(n + k) % 15]: 1 for k in range(4)}} for n in range(40))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_generations_are_charged_before_they_are_drawn_and_refused_when_spent(
    profiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Groups.bundle(profiles, tmp_path / "g", epsilon=1, budget_epsilon=2.5) as groups:
        ledger = Ledger.open(f"{profiles}.ledger")
        assert len(ledger.state().entries) == 1
        groups.rebundle()
        assert len(ledger.state().entries) == 2 and 1 < ledger.spent.epsilon < 2.5
        for _ in range(9):
            if ledger.state().account.repetitions_left(groups_event := Generation(1.0).event) == 0:  # type: ignore[arg-type]
                break
            groups.rebundle()
        assert groups_event is not None
        with pytest.raises(BudgetError):
            groups.rebundle()
    with pytest.raises(BudgetError):
        Groups.bundle(profiles, tmp_path / "h", epsilon=2, delta=1e-6)
    assert not (tmp_path / "h").exists()


def test_everybody_marks_words_and_the_vote_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    people, clicks = tmp_path / "people.jsonl", tmp_path / "clicks.jsonl"
    names = [f"u{n:02d}" for n in range(40)]
    people.write_text("".join(json.dumps({"user": u, "terms": {"sailing": 1}}) + "\n" for u in names))
    shown = [{"title": "ferry"}, {"title": "sailing boats harbour"}, {"title": "court ruling"}]
    clicks.write_text(
        "".join(json.dumps({"user": u, "results": shown, "clicked": [0]}) + "\n" for u in names)
    )
    spent = {"epsilon": 1, "clicks": clicks, "vote_epsilon": 5, "budget_epsilon": 9}
    with Groups.bundle(people, tmp_path / "g", **spent) as groups:
        words = {word for each in groups.representatives() for word in each.terms}
        assert "sailing" in words, "forty people stand out, ten do not"
        assert groups.report["strength"] == groups._file.meta("strength") == 0.0, "not 2, as without a vote"


def test_the_vote_is_charged_beside_the_words() -> None:
    both, words = Generation(2.0, 1e-6, 0.25), Generation(2.0, 1e-6)
    assert both.event is not None and words.event is not None
    assert both.event.guarantee.epsilon == pytest.approx(2.25)
    assert words.event.guarantee.epsilon == 2.0
    assert Generation(None, vote_epsilon=0.25).event.guarantee.epsilon == pytest.approx(0.25)  # type: ignore[union-attr]
    assert Generation().event is None


def test_words_need_a_ledger_and_nothing_else_does(
    profiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(InputError, match="no ledger"):
        Groups.bundle(profiles, tmp_path / "g", epsilon=2)
    with Groups.bundle(profiles, tmp_path / "g") as groups:
        assert not any(each.terms for each in groups.representatives())
        with pytest.raises(ParameterError, match="no words"):
            groups.rebundle()
    assert not Path(f"{profiles}.ledger").exists()


def test_people_come_and_go_and_nothing_that_is_shown_moves(profiles: Path, tmp_path: Path) -> None:
    with Groups.bundle(profiles, tmp_path / "g") as groups:
        assert isinstance(groups, CohortGroups)
        shown = (tmp_path / "g/representatives.jsonl").read_bytes()
        others = {user: groups.place(user) for user in (f"u{n}" for n in range(1, 40))}
        place = groups.assign("new-7341", {"jazz guitar chords": 2, "piano lessons": 1})
        assert place.places and "Arts" in groups.name(place.places[0])
        groups.update("new-7341", {"used car dealers": 1})
        assert groups.of("new-7341") == groups.place("new-7341").places[0] != place.places[0]  # type: ignore[union-attr]
        groups.publish()
        groups.remove("u0")
        groups.remove("new-7341")
        assert {user: groups.place(user) for user in others} == others
        assert (tmp_path / "g/representatives.jsonl").read_bytes() == shown
        with pytest.raises(InputError, match="no such user"):
            groups.remove("u0")
        with pytest.raises(InputError, match="here already"):
            groups.assign("u1", {"piano": 1})
    for path in (tmp_path / "g").rglob("*"):
        assert not path.is_file() or b"new-7341" not in path.read_bytes()
        assert not path.is_file() or b"used car dealers" not in path.read_bytes(), "no text is kept"


def test_the_report_is_the_operators_and_its_headline_is_the_worst_attacker(
    profiles: Path, tmp_path: Path
) -> None:
    with Groups.bundle(profiles, tmp_path / "g") as groups:
        found = groups.report
    assert not (tmp_path / "g/report.json").exists()
    assert (tmp_path / "g/operator/report.json").stat().st_mode & 0o777 == 0o600
    one = [line for line in found["language"] if line["known_terms"] == 1]
    worst = max(one, key=lambda line: line["gain"])
    assert found["singled_out"]["by_language"] == worst["right"]
    assert found["singled_out"]["without"] == worst["without"]
    assert found["gain_without_words"] == worst["gain"] and found["words_shown"] == 0


def test_words_are_shown_on_request_alone_and_the_report_says_what_places_give_away(tmp_path: Path) -> None:
    """Two hundred people who all ask the same would pass any threshold: without ε nothing is shown."""
    draw = random.Random(1)
    listed = ["piano lessons", "used car dealers", "football scores", "apple pie recipe", "guitar chords"]
    people = {f"u{n}": dict.fromkeys(draw.sample(listed, 3), 1.0) for n in range(200)}
    with Groups.bundle(people, tmp_path / "default") as groups:
        alone = groups.report
        assert not any(shown.terms for shown in groups.representatives())
        assert alone["guarantee"] is None and not list(tmp_path.glob("**/*ledger*"))
    asked = {"epsilon": 20.0, "budget_epsilon": 40.0, "ledger": tmp_path / "l.ledger"}
    with Groups.bundle(people, tmp_path / "words", **asked) as groups:  # type: ignore[arg-type]
        worded = groups.report
    assert worded["words_shown"] > 0
    assert worded["gain_without_words"] == alone["gain_without_words"]
    assert [line["right"] for line in worded["language"]] != [line["right"] for line in alone["language"]]


def test_the_report_says_how_generations_compose(
    profiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Groups.bundle(profiles, tmp_path / "g", epsilon=2, budget_epsilon=9) as groups:
        told = {line["generations"]: line["told_apart"] for line in groups.report["fake_accounts"]}
    assert {number: round(chance, 3) for number, chance in told.items()} == {1: 0.589, 4: 0.673}


def test_a_wrong_past_request_is_named_by_its_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "past.jsonl"
    path.write_text('{"user": "a", "results": [{"title": "secret"}], "clicked": [1]}\n')
    with pytest.raises(InputError, match="line 1") as caught:
        read_clicks(path)
    assert "secret" not in str(caught.value)


def test_fake_accounts_learn_no_more_than_popularity() -> None:
    draw = np.random.default_rng(1)
    popular = [(1, int(word)) for word in COHORTS.domain[:200]]
    chance = 1 / np.arange(1, 201)
    chance /= chance.sum()
    people = [
        Standing((1,), tuple(popular[k] for k in sorted(draw.choice(200, 20, replace=False, p=chance))))
        for _ in range(300)
    ]
    right, without = fake_accounts(people, Generation(2.0), 1, 0)
    alike = [
        Standing((1,), tuple(popular[k] for k in sorted(draw.choice(200, 20, replace=False))))
        for _ in range(300)
    ]
    one, many = (fake_accounts(alike, Generation(2.0), generations, 0)[0] for generations in (1, 400))
    assert one < 0.5 < many, "who sees many generations averages their noise away"
    exact, _ = fake_accounts(people, Generation(20.0, 0.5), 400, 0)
    assert right < without + 0.06 and exact > 0.95


def test_four_generations_compose_as_the_page_says() -> None:
    generation = Generation(2.0)
    event = generation.event
    assert event is not None
    assert 4.2 < repeated_epsilon(event, 4, 1e-6) < 4.4
    normal = 0.5 * (1 + math.erf(generation.mu / 2 / math.sqrt(2)))
    four = 0.5 * (1 + math.erf(generation.mu / math.sqrt(2)))
    assert round(normal, 3) == 0.589 and round(four, 3) == 0.673
