"""What holds for every synthetic log, whatever its size and seed."""

from collections import Counter
from datetime import timedelta

import numpy as np
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.searchlog import SCHEMA
from tacit.searchlog.sessions import BY_PAUSES
from tacit.text import normalise_column
from tacit.world import wordnet_corpus, wordnet_engine
from tacit.world.lexicon import load_world
from tacit.world.loops.queries import BASE, BEFORE, FIRST, KIND, MEANING, PAUSE, SECOND, SLIP
from tacit.world.synth import BEGINNING, RecordKind, SyntheticLog

logs = st.builds(
    SyntheticLog,
    users=st.integers(1, 60),
    seed=st.integers(0, 2**63 - 1),
    weeks=st.sampled_from([1, 2, 13, 52]),
    sensitive_share=st.sampled_from([0.0, 0.15, 1.0]),
)


@settings(max_examples=25)
@given(logs)
def test_every_log_is_a_log(log: SyntheticLog) -> None:
    table = log.table()
    assert table.schema.equals(SCHEMA)
    user, time = table["user"].to_pylist(), table["time"].to_numpy()
    assert len(set(user)) == log.users
    assert user == sorted(user), "one user's records stand together, users in order"
    same = np.array(user[1:]) == np.array(user[:-1])
    assert (np.diff(time).astype(np.int64)[same] >= 0).all(), "a user's records are in time order"
    assert time.min() >= np.datetime64(BEGINNING)
    assert time.max() < np.datetime64(BEGINNING + timedelta(weeks=log.weeks))
    assert pc.all(pc.equal(table["query"], normalise_column(table["query"]))).as_py()
    assert pc.min(pc.utf8_length(table["query"])).as_py() > 0
    assert pc.all(pc.equal(table["rank"].is_null(), table["url"].is_null())).as_py()


@settings(max_examples=15)
@given(logs)
def test_sessions_are_the_sessions_that_were_meant(log: SyntheticLog) -> None:
    for block in log.blocks():
        meant = np.cumsum(block.rows[:, PAUSE] == 0)[block.of_row]
        cut = BY_PAUSES.numbers(*(block.log[name] for name in ("user", "time")))
        starts_meant = np.flatnonzero(np.diff(meant, prepend=0))
        starts_cut = np.flatnonzero(np.append(True, (np.diff(cut) != 0)))
        first_of_user = np.searchsorted(block.of_row, block.bounds[:-1])
        assert set(starts_meant) == set(starts_cut) | set(first_of_user)


@settings(max_examples=15)
@given(logs)
def test_clicks_are_results_at_their_real_rank(log: SyntheticLog) -> None:
    """A query is answered with the engine's results for its noun, twenty at most."""
    corpus, engine, world = wordnet_corpus(), wordnet_engine(), load_world()
    for block in log.blocks():
        for record in np.flatnonzero(np.asarray(block.log["rank"].is_valid()))[:60]:
            noun = world.lexicon.base[block.rows[block.of_row[record], BASE]]
            found = engine.search(world.phrases[noun], 20)
            rank, url = block.log["rank"][record].as_py(), block.log["url"][record].as_py()
            assert corpus[found[rank - 1].document].url == url
            query = block.log["query"][record].as_py()
            if not block.rows[block.of_row[record], SLIP] and noun == block.rows[block.of_row[record], BASE]:
                assert world.phrases[noun] in query, "the noun stands in the query"


@settings(max_examples=10)
@given(logs)
def test_each_step_does_what_it_is_called(log: SyntheticLog) -> None:
    tree = wordnet_corpus().tree
    words = (BEFORE, FIRST, SECOND)
    for block in log.blocks():
        rows = block.rows
        for user in range(len(block.interests)):
            for at in range(block.bounds[user] + 1, block.bounds[user + 1]):
                row, before, kind = rows[at], rows[at - 1], rows[at, KIND]
                added = sum(row[words,] >= 0) - sum(before[words,] >= 0)
                if kind == RecordKind.SPECIALISE:
                    narrower = tree.parent[row[MEANING]] == before[MEANING]
                    assert narrower or added == 1 or (before[words,] >= 0).all()
                elif kind == RecordKind.GENERALISE:
                    assert added == -1 or row[MEANING] == tree.parent[before[MEANING]] or row[MEANING] < 10
                elif kind == RecordKind.NEXT_PAGE:
                    assert block.hashes[at] == block.hashes[at - 1]
                elif kind == RecordKind.CORRECT:
                    assert before[SLIP] and not row[SLIP]
                elif kind == RecordKind.AGAIN:
                    assert block.hashes[at] in block.hashes[block.bounds[user] : at]
                assert (kind in (RecordKind.NEED, RecordKind.ERRAND, RecordKind.AGAIN)) or rows[at, PAUSE] > 0


@settings(max_examples=10)
@given(logs)
def test_nothing_is_clicked_twice_at_once(log: SyntheticLog) -> None:
    clicks = log.table().drop_null()
    assert len(clicks.group_by(["user", "query", "time", "rank"]).aggregate([])) == len(clicks)


@settings(max_examples=15)
@given(logs)
def test_the_truth_fits_the_interests(log: SyntheticLog) -> None:
    kinds = {kind.name.lower().replace("_", "-") for kind in RecordKind}
    some_sensitive = 0
    table = log.table()
    counts = Counter(table["user"].to_pylist())
    truth = log.truth().to_pylist()
    assert [row["user"] for row in truth] == list(counts)
    for row in truth:
        assert len(row["meanings"]) == counts[row["user"]]
        assert 1 <= len(row["interests"]) == len(row["sensitive"]) <= 6
        assert len(row["meanings"]) == len(row["behind"]) == len(row["kinds"])
        assert set(row["kinds"]) <= kinds
        assert {topic for topic in row["behind"] if topic is not None} <= set(row["interests"])
        some_sensitive += any(row["sensitive"])
    if log.sensitive_share in (0.0, 1.0):
        assert some_sensitive == log.users * log.sensitive_share
