"""The synthetic log has AOL's shape, and its people behave like people.

All logs here have fixed seeds, so a test passes always or never; the tolerances say how far a log of
this size may lie from the law.
"""

from collections import Counter

import numpy as np
import pyarrow.compute as pc
import pytest

from tacit.taxonomy import load_wordnet
from tacit.world.loops.queries import BASE, INTEREST
from tacit.world.synth import AOL, HEAPS_EXPONENT, LogShape, SyntheticLog, quotas, target


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> LogShape:
    return SyntheticLog(2000, seed=1).write(tmp_path_factory.mktemp("synth") / "log.parquet")


def test_the_target_at_aols_size_is_aol() -> None:
    assert target(AOL.users, 13) == AOL
    assert pytest.approx(0.9569, abs=1e-4) == HEAPS_EXPONENT


@pytest.mark.parametrize(("users", "weeks"), [(1, 13), (7, 13), (100, 13), (2000, 13), (2000, 2)])
def test_a_log_of_any_size_has_its_records(users: int, weeks: int) -> None:
    records = quotas(9, users, mean=AOL.records / AOL.users * weeks / 13, weeks=weeks)
    assert records.sum() == pytest.approx(target(users, weeks).records, rel=0.01, abs=1)


@pytest.mark.parametrize(
    ("measure", "tolerance"),
    [
        ("records", 0.01),
        ("clicks", 0.05),
        ("distinct_queries", 0.05),
        ("new_queries", 0.05),
        ("next_pages", 0.05),
    ],
)
def test_two_thousand_users_meet_the_target(outcome: LogShape, measure: str, tolerance: float) -> None:
    wanted, got = getattr(target(outcome.users, 13), measure), getattr(outcome, measure)
    assert got == pytest.approx(wanted, rel=tolerance)


def test_activity_is_heavy_tailed() -> None:
    records = np.sort(quotas(3, 100_000, mean=55.35, weeks=13))
    assert records.mean() == pytest.approx(55.35, rel=0.01)
    assert np.median(records) < 20
    assert records[-1] > 5000
    assert records[-1000:].sum() > 0.15 * records.sum(), "the busiest 1% make over 15% of the records"
    assert (records <= 5).mean() > 0.15


def test_queries_have_a_head_and_a_tail() -> None:
    queries = Counter(SyntheticLog(2000, seed=1).table()["query"].to_pylist())
    counts = np.sort(np.array(list(queries.values())))[::-1]
    assert counts[0] > 0.003 * counts.sum()
    assert (counts <= 2).mean() > 0.6


def test_days_and_weeks_have_their_rhythm() -> None:
    time = SyntheticLog(2000, seed=1).table()["time"]
    hours = np.bincount(pc.hour(time).to_numpy(), minlength=24)
    assert hours[3:6].max() < 0.35 * hours[13:22].min()
    days = np.bincount(pc.day_of_week(time).to_numpy(), minlength=7)
    assert days[5:].mean() < 0.95 * days[:5].mean()


AMBIGUOUS = ("mercury", "java", "turkey", "crane", "bass", "python", "china", "pitcher", "bank", "cricket")


def test_an_ambiguous_word_is_clicked_by_interest() -> None:
    """One word, one list of results: a sense is clicked by those whose interest holds it.

    For each sense of each word, two groups click results of the same query: users whose interest behind
    the query holds the sense, and users whose interest holds another sense of the word.
    """
    wordnet = load_wordnet()
    nouns = [wordnet.vocabulary.index(word) for word in AMBIGUOUS]
    holds: Counter[bool] = Counter()
    others: Counter[bool] = Counter()
    for block in SyntheticLog(20_000, seed=1).blocks():
        rows = block.rows[block.of_row]
        behind, clicked_at_all = rows[:, INTEREST], np.asarray(block.log["url"].is_valid())
        for record in np.flatnonzero(np.isin(rows[:, BASE], nouns) & (behind >= 0) & clicked_at_all):
            clicked = wordnet.synset(block.log["url"][record].as_py().rpartition("/")[2])
            senses = wordnet.senses(wordnet.vocabulary[rows[record, BASE]])
            held = [sense for sense in senses if wordnet.tree.is_ancestor(int(behind[record]), sense)]
            for sense in senses if held else ():
                (holds if sense in held else others)[clicked == sense] += 1
    assert holds.total() > 200
    assert others.total() > 200
    assert holds[True] / holds.total() > 3 * others[True] / others.total()


def test_the_share_of_sensitive_users_is_the_one_asked_for() -> None:
    # 2,000 users at 0.3: a standard deviation is 0.0102; four of them are allowed.
    truth = SyntheticLog(2000, seed=1, sensitive_share=0.3).truth()
    share = np.mean([any(row) for row in truth["sensitive"].to_pylist()])
    assert share == pytest.approx(0.3, abs=0.041)
