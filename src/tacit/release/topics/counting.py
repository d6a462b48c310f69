"""Who counts for which topics: bounded, a function of one user's records and public data.

Each search has a place among the published topics, or none. Of the first level a user counts for the m topics
chosen (those searched most, unless said otherwise). In each of them the user counts for one topic right
below, again the one searched most there, and so on down: at most m paths, each in another topic of the first
level. So nobody counts twice for a topic, and the people who count for a topic are divided among those
right below it.
"""

from __future__ import annotations

from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from tacit.release.contribution import bounded_within, searches_of
from tacit.release.engines import Engine
from tacit.release.parameters import Choice
from tacit.release.topics.mapping import NOWHERE, TopicsOf
from tacit.release.topics.tree import TOP, PublishedTopics

__all__ = ["count_topics"]


def count_topics(
    engine: Engine, log: Any, topics: PublishedTopics, topics_of: TopicsOf, per_user: int, take: Choice
) -> Any:
    """How many users count for each published topic: (topic, count), of all of them."""
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
    """Each search that has a place: (user, time, level_1 …), ``TOP`` below the end of its path."""

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
    """At most m paths a user, none with another's topic of the first level: (user, level_1 …)."""
    chosen = bounded_within(placed, ("user",), ("level_1",), per_user, take)
    for level in range(2, levels + 1):
        group = ["user", *(f"level_{n}" for n in range(1, level))]
        mine = placed.semi_join(chosen, group)
        chosen = bounded_within(mine, group, (f"level_{level}",), 1, take)
    return chosen
