"""Topics: counts by hand, sums that hold, errors as stated, and a map that looks at one query at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawn import SeededRandomness
from tests.schedule_cases import Log, asked, log_table
from typer.testing import CliRunner

from tacit import InputError, ParameterError, Topics
from tacit.commands import application
from tacit.engines import Engine, open_engine
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.document.tables import write_cells
from tacit.release.execution import Tables
from tacit.release.mechanism import run
from tacit.release.mechanisms.topics import TopicsPlan
from tacit.release.mechanisms.topics_counting import (
    NOWHERE,
    NearestTopics,
    PeoplesTopics,
    topics_of_queries,
)
from tacit.release.mechanisms.topics_tree import (
    TOP,
    PublishedTopics,
    estimate,
    noise_variance,
    published_topics,
    take_topics,
    whole_counts,
)
from tacit.release.verify import verify_release
from tacit.taxonomy import TopicTree

PATHS = """Top/Arts/Music\t3
Top/Arts/Movies\t5
Top/Science/Physics\t2
Top/Science/Physics/Quantum\t1
Top/Sports\t4
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with open_engine(threads=1) as opened:
        yield opened


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("taxonomy") / "small.tsv"
    path.write_text(PATHS)
    return path


def made(engine: Engine, log: Log, taxonomy: Path, **options: Any) -> dict[str, int]:
    """The published counts that are not 0."""
    asked_for = Topics(taxonomy=str(taxonomy), **options)
    tables = run(asked_for, engine, engine.load(log_table(log)), SeededRandomness(1))
    rows = tables["topics"].to_pylist()
    return {row["topic"]: row["count"] for row in rows if row["count"]}


class TestCounts:
    def test_a_user_counts_for_what_they_search_most_and_for_one_topic_below(
        self, engine: Engine, small: Path
    ) -> None:
        log = {
            "a": asked("music", "movies", "music", "sports"),
            "b": asked("sports", "physics", "sports", "movies"),
            "c": asked("xyzzy", "plugh"),
        }
        assert made(engine, log, small, noise=0.0, levels=1) == {"Arts": 1, "Sports": 1}
        assert made(engine, log, small, noise=0.0, levels=1, per_user=3) == {
            "Arts": 2,
            "Sports": 2,
            "Science": 1,
        }
        assert made(engine, log, small, noise=0.0, levels=2)["Arts/Music"] == 1

    def test_the_counts_below_a_topic_are_its_people_divided(self, engine: Engine, small: Path) -> None:
        words = ["music", "movies", "quantum physics", "sports"]
        log = {f"u{n}": asked(*words[n % 3 : n % 4 + 1]) for n in range(9)}
        found = made(engine, log, small, noise=0.0, levels=3, per_user=3)
        assert len(found) > 5
        for topic, count in found.items():
            below = [n for other, n in found.items() if other.rpartition("/")[0] == topic]
            assert not below or sum(below) == count

    def test_first_and_last_choose_by_time(self, engine: Engine, small: Path) -> None:
        log = {"a": asked("music", "sports", "sports", "physics")}
        for take, topic in (("first", "Arts"), ("frequent", "Sports"), ("last", "Science")):
            assert made(engine, log, small, noise=0.0, levels=1, take=take) == {topic: 1}

    def test_a_log_without_records_and_one_without_topics_have_only_zeros(
        self, engine: Engine, small: Path
    ) -> None:
        for log in ({}, {"a": asked("xyzzy")}):
            assert made(engine, log, small, noise=0.0) == {}


class TestTree:
    def test_every_topic_has_one_place_and_inner_ones_an_other(self, small: Path) -> None:
        topics = take_topics(str(small), 2)
        assert set(topics.labels) == {
            *("Arts", "Arts/Movies", "Arts/Music", "Arts/other"),
            *("Science", "Science/Physics", "Science/other", "Sports"),
        }
        at = {topics.tree.label(node): topics.labels[topics.place[node]] for node in range(1, 8)}
        assert at["Top/Arts"] == "Arts/other" and at["Top/Sports"] == "Sports"
        assert at["Top/Science/Physics/Quantum"] == "Science/Physics"

    def test_names_that_look_like_somebody_are_not_published(self) -> None:
        tree = TopicTree.from_paths([(("A", "call 555-123-4567"), 1.0), (("A", "B"), 1.0)])
        topics = published_topics(tree, 2, name="t", source="")
        assert set(topics.labels) == {"A", "A/B", "A/other"}


class TestMapping:
    QUERIES = ("cheap flights to new york", "new york", "beagle photos", "the", "", "xyzzy", "dogs and cats")

    def test_the_peoples_taxonomy_places_what_people_search_for(self) -> None:
        public, places = take_topics("people", 2), PeoplesTopics()
        assert topics_of_queries(public.tree).__class__ is PeoplesTopics
        queries = ["used honda civic", "sourdough bread", "www.auto.com", "www.com", "xyzzy", ""]
        path = public.tree.path
        found = places(queries)
        first = [path(topic)[1] if topic != NOWHERE else "" for topic in found.tolist()]
        assert first == ["Cars & Vehicles", "Food & Drink", "Cars & Vehicles", "", "", ""]
        assert places(queries[:1]).tolist() == found[:1].tolist(), "other queries have no say"
        assert Topics(epsilon=1).plan().to_dict()["taxonomy"]["name"] == "people"

    @settings(max_examples=20, deadline=None)
    @given(st.permutations(QUERIES), st.integers(0, 6))
    def test_other_queries_have_no_say(self, queries: list[str], size: int) -> None:
        tree = TopicTree.from_paths([((name,), 1.0) for name in ("Travel", "Music", "Pets", "Sports")])
        topics_of = NearestTopics(tree)
        together = topics_of(queries)
        assert together[:size].tolist() == topics_of(queries[:size]).tolist()
        assert together.tolist() == [int(topics_of([query])[0]) for query in queries]

    def test_products_of_rounded_directions_are_exact(self) -> None:
        nearest = NearestTopics(TopicTree.from_paths([((name,), 1.0) for name in ("Travel", "Music")]))
        left, right = nearest._rounded(self.QUERIES), nearest._directions
        assert np.array_equal(left, np.rint(left)) and np.array_equal(right, np.rint(right))
        assert np.abs(left).max() <= 127 and len(right) * 127 * 127 < 2**24
        exact = left.astype(np.int64) @ right.astype(np.int64)
        assert np.array_equal(left @ right, exact)


@st.composite
def trees(draw: Any) -> PublishedTopics:
    """Any small tree, each topic after the one above it."""
    above = [TOP]
    for number in range(1, draw(st.integers(1, 25))):
        above.append(draw(st.integers(-1, number - 1)))
    level: list[int] = []
    for upper in above:
        level.append(1 if upper == TOP else level[upper] + 1)
    tree = TopicTree.from_paths([(("a",), 1.0)])
    numbers = np.array(level, np.int32)
    labels = tuple(map(str, range(len(above))))
    return PublishedTopics(labels, np.array(above, np.int32), numbers, tree, "t", "", numbers)


def sums_of_leaves(topics: PublishedTopics) -> np.ndarray:
    """A row a topic: which leaves it sums."""
    leaves = [n for n in range(len(topics)) if n not in topics.above]
    matrix = np.zeros((len(topics), len(leaves)))
    for column, leaf in enumerate(leaves):
        while leaf != TOP:
            matrix[leaf, column] = 1
            leaf = int(topics.above[leaf])
    return matrix


class TestConsistency:
    @settings(max_examples=60, deadline=None)
    @given(trees(), st.integers(0, 2**32 - 1), st.floats(0.5, 90))
    def test_estimates_are_those_of_least_squares(self, topics, seed: int, variance: float) -> None:
        noisy = np.random.default_rng(seed).integers(-30, 300, len(topics))
        found, sums = estimate(topics, noisy, variance), sums_of_leaves(topics)
        projection = sums @ np.linalg.pinv(sums)
        assert np.allclose(found.counts, projection @ noisy)
        assert np.allclose(found.variances, variance * np.diag(projection))

    @settings(max_examples=100, deadline=None)
    @given(trees(), st.integers(0, 2**32 - 1))
    def test_whole_counts_satisfy_the_sums_and_are_near(self, topics, seed: int) -> None:
        counts = np.random.default_rng(seed).normal(3, 20, len(topics))
        found = whole_counts(topics, estimate(topics, np.rint(counts).astype(int), 1.0).counts)
        assert found.min() >= 0
        for upper in set(topics.above.tolist()) - {TOP}:
            assert found[topics.above == upper].sum() == found[upper]

    @settings(max_examples=60, deadline=None)
    @given(trees(), st.integers(0, 2**32 - 1))
    def test_true_counts_stay_as_they_are(self, topics, seed: int) -> None:
        sums = sums_of_leaves(topics)
        true = (sums @ np.random.default_rng(seed).integers(0, 50, sums.shape[1])).astype(np.int64)
        assert np.array_equal(whole_counts(topics, estimate(topics, true, 4.0).counts), true)

    def test_the_stated_errors_are_those_of_the_noise(self, engine: Engine) -> None:
        """At 5 standard errors over 100 draws, all topics together; 30% more or less noise is told."""
        counting = Topics(noise=3.0).plan().count(engine, engine.load(log_table({"a": asked("xyzzy")})))

        def ratio(drawn: float, stated: float) -> float:
            release, topics = Topics(noise=drawn).plan(), take_topics("people", 2)
            squares = []
            for _ in range(100):
                noisy: list[np.ndarray] = []
                seen = remember_drawn(release, noisy)
                seen.publish(engine, counting, OperatingSystemRandomness())
                found = estimate(topics, noisy[0], noise_variance(stated))
                squares.append((found.counts**2 / found.variances).mean())
            mean, error = np.mean(squares), np.std(squares) / math.sqrt(len(squares))
            return float((mean - 1) / error)

        assert abs(ratio(3.0, 3.0)) < 5
        assert ratio(3.0 * 0.7, 3.0) < -5 and ratio(3.0 * 1.3, 3.0) > 5


def remember_drawn(release: TopicsPlan, noisy: list[np.ndarray]) -> TopicsPlan:
    """The release, which notes what was drawn before it is made consistent; nobody counts for anything."""

    class Seen(TopicsPlan):
        def finish(self, tables: Tables) -> Tables:
            order = {label: place for place, label in enumerate(self.topics.labels)}
            drawn = np.zeros(len(order), np.int64)
            for row in tables["topics"].to_pylist():
                drawn[order[row["topic"]]] = row["count"]
            noisy.append(drawn)
            return super().finish(tables)

    return Seen(mechanism=release.mechanism, schedule=release.schedule)


class TestCommand:
    def tacit(self, *words: object) -> Any:
        return CliRunner().invoke(application(), [str(word) for word in words], env={"COLUMNS": "100"})

    def test_a_taxonomy_file_is_planned_released_verified_and_shown(
        self, tmp_path: Path, small: Path
    ) -> None:
        log = tmp_path / "log.parquet"
        history = asked("music", "physics of music", "quantum physics", "sports", "movies")
        pq.write_table(log_table({f"u{n}": history[n % 5 :] for n in range(40)}), log)
        words = ("--epsilon", 2, "--taxonomy", small, "--levels", 3, "--per-user", 2, "--json")
        plan = json.loads(self.tacit("plan", "topics", *words).stdout)
        assert (plan["noise"], plan["kind"], plan["epsilon"]) == (3.0, "pure", 2.0)
        out = tmp_path / "out"
        budget = ("--budget-epsilon", 3, "-o", out, "--threads", 1)
        released = json.loads(self.tacit("release", "topics", log, *words, *budget).stdout)
        assert released["schedule"] == plan["schedule"] and released["guarantee"]["delta"] == 0
        assert released["published"]["topics"]["columns"] == ["topic", "count", "deviation"]
        assert all(check.holds for check in verify_release(out, f"{log}.ledger"))
        assert "Science" in (out / "release.html").read_text()

    def test_sums_that_do_not_hold_are_found(self, tmp_path: Path, small: Path) -> None:
        log, out = tmp_path / "log.parquet", tmp_path / "out"
        pq.write_table(log_table({"u": asked("music")}), log)
        asked_for = ("--epsilon", 1, "--taxonomy", small, "--budget-epsilon", 3, "-o", out, "--threads", 1)
        assert self.tacit("release", "topics", log, *asked_for).exit_code == 0
        table = pq.read_table(out / "topics.parquet")
        counts = [
            n + (t == "Arts/Music")
            for n, t in zip(table["count"].to_pylist(), table["topic"].to_pylist(), strict=True)
        ]
        changed = table.set_column(1, "count", [counts])
        pq.write_table(changed, out / "topics.parquet", store_schema=False)
        write_cells(changed, out / "topics.tsv")
        wrong = [check.what for check in verify_release(out) if not check.holds]
        assert "each count of topics is the sum of those right below it" in wrong

    @pytest.mark.parametrize("forgery", ["a row more", "a row renamed", "rows of 0 left out", "errors of 0"])
    def test_a_table_that_is_not_of_the_taxonomy_is_found(
        self, forgery: str, tmp_path: Path, small: Path
    ) -> None:
        log, out = tmp_path / "log.parquet", tmp_path / "out"
        pq.write_table(log_table({"u": asked("music")}), log)
        asked_for = ("--epsilon", 8, "--taxonomy", small, "--budget-epsilon", 9, "-o", out, "--threads", 1)
        assert self.tacit("release", "topics", log, *asked_for).exit_code == 0
        rows = pq.read_table(out / "topics.parquet")
        listed = rows.to_pylist()
        if forgery == "a row more":
            listed.append({"topic": "somebody is ill", "count": 0, "deviation": 1})
        elif forgery == "a row renamed":
            listed = [
                row | {"topic": "somebody is ill"} if row["topic"] == "Sports" else row for row in listed
            ]
        elif forgery == "rows of 0 left out":
            listed = [row for row in listed if row["topic"] != "Sports"]
        else:
            listed = [row | {"deviation": 0} for row in listed]
        changed = pa.Table.from_pylist(listed, schema=rows.schema)
        pq.write_table(changed, out / "topics.parquet", store_schema=False)
        wrong = [check.what for check in verify_release(out) if not check.holds]
        expected = "topics lists the topics of the taxonomy stated, with the errors that follow"
        assert expected in wrong

    def test_what_cannot_be_is_refused(self, tmp_path: Path, small: Path) -> None:
        with pytest.raises(TypeError, match="delta"):
            Topics(epsilon=1, delta=1e-6)  # type: ignore[call-arg]
        with pytest.raises(ParameterError, match="no more than 3 to publish"):
            Topics(epsilon=1, taxonomy=str(small), levels=4).plan().check()
        with pytest.raises(InputError, match="no taxonomy"):
            Topics(epsilon=1, taxonomy=str(tmp_path / "none.tsv")).plan().check()


def test_names_of_sites_and_brands_are_looked_up() -> None:
    from tacit.release.mechanisms.topics_counting import PeoplesTopics
    from tacit.taxonomy import people_taxonomy

    tree, found = people_taxonomy(), PeoplesTopics()
    asked = ["qvc", "www.qvc.com", "http://www.imdb.com", "bank of america"]
    names = [tree.names[topic] for topic in found(asked).tolist()]
    assert names == ["Online Shopping & Marketplaces"] * 2 + ["Films", "Banking"]
    assert found(["apple pie"]).tolist() != found(["apple"]).tolist()  # only a name by itself is one
