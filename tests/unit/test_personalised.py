"""Personalised search with group profiles: the task, and the experiments as a whole in small."""

from collections.abc import Iterator

import numpy as np
import pytest
from benchmarks.groups_of_words import (
    RELEVANT,
    SearchTask,
    group_results,
    group_weights,
    interest_profiles,
)

from tacit import InputError
from tacit.groups import Bundler, Profiles
from tacit.retrieval import Document, Hit
from tacit.taxonomy import TopicTree


class Corpus:
    """Sixty documents about java, half of them on coffee."""

    tree = TopicTree.from_paths([(("drink",), 1), (("language",), 1)])

    def __len__(self) -> int:
        return 60

    def __getitem__(self, number: int) -> Document:
        coffee = number % 2 == 0
        text = f"mocha bean{number}" if coffee else f"compiler class{number}"
        topic = self.tree.find(("Top", "drink" if coffee else "language"))
        return Document(number, "java", text, f"https://java.example/{number}", topic)

    def __iter__(self) -> Iterator[Document]:
        return (self[number] for number in range(len(self)))


class Engine:
    """Finds everything for java and nothing else, in the order of the documents."""

    def search(self, query: str, k: int = 10) -> list[Hit]:
        return [Hit(number, 1.0) for number in range(60)][:k] if query == "java" else []


PROFILES = Profiles.from_mappings(
    {
        "drinker": {"java": 1.0, "mocha": 1.0, "drink": 1.0, "class1": 0.1, "class3": 0.1},
        "programmer": {"java": 1.0, "compiler": 1.0, "mocha": 0.1},
    }
)


def test_results_are_ranked_by_the_profile_and_ties_stay_in_the_engines_order() -> None:
    task = SearchTask(PROFILES, Corpus(), Engine())
    drinker, programmer = task.ranked(PROFILES.matrix())
    assert len(task) == 2
    assert drinker.tolist() == [*range(0, 60, 2), 1, 3, *range(5, 60, 2)]
    assert programmer.tolist() == [*range(1, 60, 2), *range(0, 60, 2)]
    for order in task.ranked(None):
        assert order.tolist() == list(range(60))


class LongerFirst(Corpus):
    """Documents on mocha between documents that name java alone; the later, the shorter."""

    def __getitem__(self, number: int) -> Document:
        others = " ".join(f"other{number}x{place}" for place in range(60 - number))
        text = f"mocha {others}" if number % 2 == 0 or number == 59 else "java"
        return Document(number, "java", text, f"https://java.example/{number}", 1)


def test_words_of_the_query_do_not_count_and_a_long_text_is_no_better_for_its_length() -> None:
    profiles = Profiles.from_mappings({"drinker": {"java": 50.0, "mocha": 1.0}})
    (order,) = SearchTask(profiles, LongerFirst(), Engine()).ranked(profiles.matrix())
    # Each text on mocha has one word of the profile, and the shorter says it more; all name java.
    assert order.tolist() == [59, *range(58, -1, -2), *range(1, 58, 2)]


def test_precision_is_1_for_the_gold_standard_and_known_for_the_engine() -> None:
    task = SearchTask(PROFILES, Corpus(), Engine())
    gold = task.ranked(PROFILES.matrix())
    assert task.precision(gold, gold).average_precision == 1
    found = task.precision(task.ranked(None), gold)
    # Relevant at every second place: from the first for one user, from the second for the other.
    odd = np.mean([n / (2 * n - 1) for n in range(1, RELEVANT + 1)])
    even = np.mean([n / (2 * n) for n in range(1, RELEVANT + 1)])
    assert found.average_precision == pytest.approx((odd + even) / 2, abs=1e-6)
    assert found.precision_at_10 == pytest.approx(0.5)


def test_users_on_whom_the_engine_finds_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="no term of these users"):
        SearchTask(Profiles.from_mappings({"x": {"tea": 1.0, "milk": 1.0}}), Corpus(), Engine())


def test_group_weights_are_the_representatives() -> None:
    profiles = interest_profiles(30, 20, seed=2)
    bundling = Bundler(p=0.4, augment=0, fewest_in_group=1).fit(profiles)
    weights = group_weights(bundling)
    for user in range(30):
        shown = bundling.representatives[int(bundling.labels[user])].terms
        row = weights[[user]].toarray().ravel()
        assert {profiles.vocabulary[t]: pytest.approx(row[t], rel=1e-5) for t in np.flatnonzero(row)} == shown


def test_interest_profiles_have_the_size_asked_for_and_follow_the_seed() -> None:
    profiles = interest_profiles(50, 40, seed=3)
    assert profiles.sizes.tolist() == [40] * 50
    for row in range(50):
        held = profiles.terms[profiles.offsets[row] : profiles.offsets[row + 1]]
        assert (np.diff(held) > 0).all()
    assert np.array_equal(profiles.terms, interest_profiles(50, 40, seed=3).terms)
    assert not np.array_equal(profiles.terms, interest_profiles(50, 40, seed=4).terms)


def test_all_experiments_in_small_show_what_the_paper_shows() -> None:
    found = group_results(interest_profiles(120, 60), 1)
    precision = {
        (run.criterion, run.p, run.augment): run.precision.average_precision for run in found["runs"]
    }
    assert len(precision) == 14
    assert precision["strict", 0.4, 1] > found["engine"].average_precision
    assert precision["strict", 0.1, 1] < precision["strict", 0.4, 1] < precision["paper", 0.4, 1]
    for run in found["runs"]:
        if run.criterion == "strict":
            assert run.report["linkability"]["max"] <= run.p
            assert all(line["belief_max"] <= run.p for line in run.report["attackers"])
