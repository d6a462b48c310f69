"""Query substitution and index caching against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.evaluate_log import part, release

from tacit.evaluate import run_task
from tacit.evaluate.tasks.index_caching import Cache, IndexCaching, PostingLists
from tacit.evaluate.tasks.index_caching import having as documents_with
from tacit.evaluate.tasks.substitution import Phrases, Substitution, Substitutions, likelihood_ratio

COUNTS = {"new york hotels": 10, "new york weather": 10, "cheap hotels": 10, "blue weather": 10, "sun": 60}


def cut(counts: dict[str, int], query: str) -> tuple[str, ...]:
    """The phrases of a query, by these counts of queries."""
    phrases = Phrases(pa.array(list(counts), pa.string()), np.array(list(counts.values()), float))
    return tuple(phrases.cut(pa.array([query]))[1].to_pylist())


def test_words_that_meet_20_times_as_often_as_by_chance_are_a_phrase() -> None:
    # Of 160 words new and york are 20 each, of 60 pairs theirs 20: (1/3) / (1/8)² = 21.3 times chance.
    assert cut(COUNTS, "new york hotels") == ("new york", "hotels")  # york hotels: 10.7 times
    assert cut(COUNTS, "cheap hotels") == ("cheap hotels",)  # 21.3 times, hotels being twice cheap
    assert cut(COUNTS, "hotels york new") == ("hotels", "york", "new")
    assert cut(COUNTS, "") == ()


def test_a_phrase_is_weighed_by_how_often_it_was_asked() -> None:
    others = {f"some{number} thing{number}": 1 for number in range(50)}
    # Of 280 words ice and tea are 40 each, of 90 pairs theirs 40: (4/9) / (1/7)² = 21.8 times chance.
    assert cut({"ice tea": 40, "sun": 100} | others, "cold ice tea") == ("cold", "ice tea")
    # Of 210 words big is 100, apple 10; theirs is the only pair: 1 / (100/210 · 10/210) = 44 times.
    assert cut({"big apple": 10, "big": 90, "sun": 100}, "big apple") == ("big apple",)


def test_a_phrase_may_have_more_than_two_words() -> None:
    # Of 130 words each is 10, of 20 pairs each is 10: (1/2) / (1/13)² = 84.5 times chance.
    assert cut({"new york city": 10, "sun": 100}, "new york city map") == ("new york city", "map")


def test_queries_and_phrases_are_replaced_by_what_followed_them() -> None:
    found = Substitutions(
        release(
            queries=COUNTS,
            steps={("new york hotels", "new york weather"): 4, ("sun", "moon"): 3, ("sun", "star"): 1},
        )
    )
    assert found.best(["new york hotels"])[0] == ["new york weather"]
    assert found.best(["paris hotels"])[0] == ["paris weather"]  # one phrase, everything else kept
    assert found.best(["sun"])[0] == ["moon", "star"]
    assert found.best(["sun"], most=1)[0] == ["moon"]
    assert found.best(["paris"])[0] == []


@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 50), st.integers(1, 50))
def test_the_likelihood_ratio_is_the_g_test(a: int, b: int, c: int, d: int) -> None:
    first, second = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    found = likelihood_ratio(first, second, np.array([a, b, c, d], float))
    table = np.array([[a, b], [c, d]])
    expected = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert abs(found) == pytest.approx(np.full(4, expected.statistic), abs=1e-8)
    assert (found[0] >= 0) == (a >= expected.expected_freq[0, 0])


def test_substitution_by_hand() -> None:
    pairs = {("sun", "moon"): 6, ("sun", "star"): 3, ("sun", "sky"): 1, ("tea", "coffee"): 5}
    rows = [
        (f"u{number}", 0 if order == 0 else 1, pair[order], None, None)
        for number, pair in enumerate(pair for pair, users in pairs.items() for _ in range(users))
        for order in (0, 1)
    ]
    original = part(*rows)
    test = part(("eve", 0, "sun", None, None), ("fay", 0, "tea", None, None), ("gus", 0, "ice", None, None))
    released = release(steps={("sun", "star"): 6, ("sun", "moon"): 2, ("sun", "rain"): 1})
    found = {
        name: measured.values for name, measured in run_task(Substitution(), original, released, test).items()
    }
    # Units: sun (moon, star, sky by the original; star, moon, rain by the release) and tea (nothing).
    nothing = {"nan_ok": True}
    assert found["top 2: precision"] == pytest.approx([1, np.nan], **nothing)
    assert found["top 2: recall"] == pytest.approx([1, np.nan], **nothing)
    assert found["top 2: MAP"] == pytest.approx([1 / 2, np.nan], **nothing)  # both are one place off
    assert found["top 5: precision"] == pytest.approx([2 / 3, np.nan], **nothing)
    assert found["top 5: recall"] == pytest.approx([2 / 3, np.nan], **nothing)
    assert found["top 5: MAP"] == pytest.approx([1 / 3, np.nan], **nothing)
    assert found["top 5: coverage"] == pytest.approx([1, 0])


def test_the_paper_s_map_rewards_a_reversed_list_and_ours_does_not() -> None:
    pairs = {("sun", word): 9 - 2 * place for place, word in enumerate("abcde")}
    original = part(
        *(
            (f"u{place}-{number}", minute, query, None, None)
            for place, (pair, users) in enumerate(pairs.items())
            for number in range(users)
            for minute, query in enumerate(pair)
        )
    )
    test = part(("eve", 0, "sun", None, None))
    backwards = release(steps={("sun", word): 1 + 2 * place for place, word in enumerate("abcde")})
    forwards = release(steps=pairs)
    printed = sum(rank / (6 - rank) for rank in range(1, 6))
    assert printed > 5  # a perfect list has 5
    scores = [run_task(Substitution(), original, r, test)["top 5: MAP"].mean for r in (forwards, backwards)]
    assert scores[0] == pytest.approx(1)
    assert scores[1] == pytest.approx((1 / 5 + 2 / 4 + 1 + 2 / 4 + 1 / 5) / 5)


def test_lists_are_chosen_by_score_while_they_fit() -> None:
    asked = {"common": 10.0, "middling": 6.0, "rare": 5.0}
    having = {"common": 100.0, "middling": 3.0, "rare": 1.0}.__getitem__
    lists = PostingLists(having, {})
    # Scores 0.1, 2 and 5. Memory for 50 postings: 1 + 3 + the longest list of 40 fit, one of 60 does not.
    assert lists.chosen(asked, Cache(400, 8, 40)) == {"common", "middling", "rare"}
    assert lists.chosen(asked, Cache(400, 8, 60)) == {"middling", "rare"}
    assert lists.chosen(asked, Cache(16, 8, 60)) == {"rare"}
    assert lists.chosen({}, Cache()) == frozenset()


def test_index_caching_by_hand() -> None:
    having = {"java": 6.0, "tea": 4.0, "sun": 100.0}.__getitem__
    task = IndexCaching(Cache(8 * 10, 8, 200), having, {})
    test = part(
        ("eve", 0, "java tea", None, None),
        ("eve", 5, "java sun", None, None),
        ("eve", 6, "the", None, None),  # no keyword: no unit
        ("fay", 0, "java", None, None),
    )
    found = run_task(task, part(), release(keywords={"java": 3, "tea": 1, "sun": 9}), test)
    assert found["greedy cache: hit probability"].values == pytest.approx([1, 1 / 2, 1])
    assert found["greedy cache: whole queries"].values == pytest.approx([1, 0, 1])
    nothing = run_task(task, part(), release(), test)
    assert nothing["greedy cache: hit probability"].values == pytest.approx([0, 0, 0])
    # With a public list, tea and sun are behind what was released: java is first, then tea has room.
    listed = IndexCaching(Cache(8 * 10, 8, 200), having, {"tea": 0.1, "sun": 0.9})
    alone = run_task(listed, part(), release(), test)
    assert alone["greedy cache: hit probability"].values == pytest.approx([1 / 2, 0, 0])
    backed = run_task(listed, part(), release(keywords={"java": 40}), test)
    assert backed["greedy cache: hit probability"].values == pytest.approx([1, 1 / 2, 1])


def test_document_frequencies_follow_the_corpus() -> None:
    assert documents_with("the") > documents_with("java") > documents_with("no such word") > 0
