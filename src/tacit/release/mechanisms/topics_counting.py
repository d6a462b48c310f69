"""Which topic a query is about, and who counts for which topics: functions of one user's records and public
data.

The topic of a query must depend on nothing but the query, to the last bit: if queries beside it influenced
it, a user could move others' counts. Sums of floats depend on how many rows are multiplied at once, so
directions are rounded to 1/127 here, and products of whole numbers below 2^24 are exact in any order.

**Bounding.** Of the first level a user counts for the m topics chosen, in each of them for one topic right
below, and so on down: at most m paths, each in another topic of the first level. So nobody counts twice for a
topic, and the people who count for a topic are divided among those right below it.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.engines import Engine
from tacit.release.contribution import bounded_within, searches_of
from tacit.release.mechanisms.topics_tree import TOP, PublishedTopics
from tacit.release.parameters import Choice
from tacit.retrieval.people_topics import PeopleTopics
from tacit.retrieval.topic_vectors import load_topic_vectors
from tacit.taxonomy import TopicTree, load_people, people_taxonomy
from tacit.taxonomy.people import people_lines
from tacit.text import words
from tacit.text.vectors import COMMONEST, load_word_table

NOWHERE = -1
"""In the place of a topic, for a query that has none."""

_STEPS = 127
_NEAR = int(0.6 * _STEPS * _STEPS)
"""The least product of two rounded directions, a cosine of 0.6, at which a topic is near enough."""
_WELL = 0.6
"""The least score in the people's taxonomy: of what lies above it seven in ten were right."""
_ADDRESS = frozenset({"www", "http", "https", "com", "org", "net", "html", "htm"})
"""What is left of addresses when they are cut into words: words to no map."""
_AT_ONCE = 2048

_Numbers = NDArray[np.int32]
TopicsOf = Callable[[Sequence[str]], _Numbers]
"""The topic of each of some queries, or ``NOWHERE``."""


def topics_of_queries(tree: TopicTree) -> TopicsOf:
    """The public map from queries to topics of a taxonomy."""
    return PeoplesTopics() if tree is people_taxonomy() else NearestTopics(tree)


class PeoplesTopics:
    """Queries that name a site or brand by its topic, others by the words that topics of the people's list.

    A scorer of its own, since it remembers the words it has seen, which are people's.
    """

    def __init__(self) -> None:
        self._scorer = PeopleTopics(load_people(), load_word_table())
        tree = people_taxonomy()
        self._names = {
            name: tree.find(f"{tree.names[0]}/{path}")
            for path, named in people_lines("names.txt")
            for name in named
        }
        """Sites and brands, whose names say little to a scorer of words."""

    def __call__(self, queries: Sequence[str]) -> _Numbers:
        return np.fromiter((self._topic(query) for query in queries), np.int32, len(queries))

    def _topic(self, query: str) -> int:
        said = telling_words(query)
        if (named := self._names.get(tuple(said))) is not None:
            return named
        scores = self._scorer.scores([" ".join(said)])[0]
        best = int(scores.argmax())
        return int(self._scorer.topics[best]) if scores[best] >= _WELL else NOWHERE


def telling_words(query: str) -> list[str]:
    """The words of a query without what belongs to an address."""
    return [word for word in words(query) if word not in _ADDRESS]


class NearestTopics:
    """Queries by the topic whose direction among word vectors is nearest to that of their words."""

    def __init__(self, tree: TopicTree) -> None:
        self._tree = tree
        self._table = load_word_table()

    @cached_property
    def _directions(self) -> NDArray[np.float32]:
        """A column a topic, in steps of 1/127."""
        matrix = load_topic_vectors(self._tree).matrix
        return np.ascontiguousarray(np.rint(matrix * _STEPS).astype(np.float32).T)

    def __call__(self, queries: Sequence[str]) -> _Numbers:
        parts = [self._some(queries[at : at + _AT_ONCE]) for at in range(0, len(queries), _AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros(0, np.int32)

    def _some(self, queries: Sequence[str]) -> _Numbers:
        products = self._rounded(queries) @ self._directions
        products[:, 0] = -1  # the root is no answer
        best = products.argmax(axis=1)
        near = products[np.arange(len(best)), best] >= _NEAR
        return np.where(near, best, NOWHERE).astype(np.int32)

    def _rounded(self, queries: Sequence[str]) -> NDArray[np.float32]:
        """The direction of each query's telling words, each number a function of that query alone."""
        sums = np.zeros((len(queries), self._table.dimensions), np.int64)
        for row, query in enumerate(queries):
            numbers = [self._table.number(word.removesuffix("'s")) for word in telling_words(query)]
            known = [number for number in numbers if COMMONEST <= number < len(self._table)]
            if known:
                sums[row] = self._table.vectors[known].sum(axis=0, dtype=np.int64)
        scaled = sums * self._table.scale.astype(np.float64)
        square = np.zeros(len(queries))
        for dimension in range(scaled.shape[1]):  # one by one: a sum of columns has no order of its own
            square += scaled[:, dimension] ** 2
        length = np.sqrt(square)[:, None]
        unit = np.divide(scaled, length, out=np.zeros_like(scaled), where=length > 0)
        rounded: NDArray[np.float32] = np.rint(unit * _STEPS).astype(np.float32)
        return rounded


def count_topics(
    engine: Engine, log: Any, topics: PublishedTopics, topics_of: TopicsOf, per_user: int, take: Choice
) -> Any:
    """Count how many users count for each published topic: (topic, count), of all of them."""
    placed = _placed(engine, log, topics, topics_of)
    listed = pa.table({"number": pa.array(np.arange(len(topics), dtype=np.int32)), "topic": topics.labels})
    names = engine.load(listed)
    if placed is None:
        return engine.keep(names.select("topic", count=names.number.cast("int64") * 0))
    chosen = engine.keep(_chosen(placed, topics.levels, per_user, take))
    by_level = [chosen.select(number=chosen[f"level_{n}"]) for n in range(1, topics.levels + 1)]
    numbers = ibis.union(by_level[0], *by_level[1:]) if len(by_level) > 1 else by_level[0]
    counted = numbers.group_by("number").aggregate(count=numbers.count())
    joined = names.left_join(counted, "number")
    return engine.keep(joined.select("topic", count=joined["count"].fill_null(0)))


def _placed(engine: Engine, log: Any, topics: PublishedTopics, topics_of: TopicsOf) -> Any | None:
    """Select each search that has a place: (user, time, level_1 …), ``TOP`` below the end of its path."""

    def places(batch: pa.RecordBatch) -> pa.Table:
        queries = batch.column("query")
        found = topics_of(queries.to_pylist())
        place = np.where(found == NOWHERE, TOP, topics.place[found])
        has = pa.array(place != TOP)
        return pa.table({"query": queries.filter(has), "place": pa.array(place).filter(has)})

    known = engine.worked_out(log.select("query").distinct(), places)
    if known is None:
        return None
    searches = (
        searches_of(log).inner_join(known, "query").inner_join(engine.load(topics.path_table()), "place")
    )
    return searches.select("user", "time", *(f"level_{n}" for n in range(1, topics.levels + 1)))


def _chosen(placed: Any, levels: int, per_user: int, take: Choice) -> Any:
    """Choose at most m paths a user, none with another's topic of the first level: (user, level_1 …)."""
    chosen = bounded_within(placed, ("user",), ("level_1",), per_user, take)
    for level in range(2, levels + 1):
        group = ["user", *(f"level_{n}" for n in range(1, level))]
        mine = placed.semi_join(chosen, group)
        chosen = bounded_within(mine, group, (f"level_{level}",), 1, take)
    return chosen
