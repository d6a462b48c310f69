"""A release of topics, carried out on a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import ParameterError
from tacit.release.document.words import counted
from tacit.release.engines import Engine
from tacit.release.execution import Tables, in_order
from tacit.release.mechanism import Counting, DescribedStep, ScheduledMechanism
from tacit.release.mechanisms import topics_words as words
from tacit.release.mechanisms.topics import TopicsParameters, topics_schedule
from tacit.release.mechanisms.topics_counting import count_topics, topics_of_queries
from tacit.release.mechanisms.topics_tree import (
    PublishedTopics,
    StatedTopics,
    check_table,
    check_topics,
    estimate,
    stated_deviations,
    take_topics,
    whole_counts,
)
from tacit.release.planning import asked_budget, noise_for
from tacit.release.schedule import Schedule


class Topics(ScheduledMechanism[TopicsParameters]):
    """A release of topics."""

    Parameters = TopicsParameters

    def plan(self, asked: TopicsParameters) -> TopicsParameters:
        """The noise that ε asks for, unless given."""
        if asked.given:
            return asked
        epsilon, _ = asked_budget(asked, pure=True)
        return replace(
            asked, noise=noise_for(asked.counts_per_user * asked.neighbours.users_changed, epsilon)
        )

    def schedule(self) -> Schedule:
        """One part over all topics."""
        return topics_schedule(self.parameters)

    @cached_property
    def topics(self) -> PublishedTopics | StatedTopics:
        """The public topics."""
        given = self.parameters.taxonomy
        return take_topics(given, self.parameters.levels) if isinstance(given, str) else given

    def _public(self) -> PublishedTopics:
        topics = self.topics
        assert isinstance(topics, PublishedTopics)  # those that a manifest states are not published again
        return topics

    def _taxonomy(self) -> str:
        """What the taxonomy is called, without reading it."""
        given = self.parameters.taxonomy
        return str(getattr(given, "name", given)).rpartition("/")[2]

    def figures(self) -> dict[str, float]:
        """How far off a count is at most."""
        return words.figures(self.parameters)

    def words(self) -> Sequence[str]:
        """What the parameters mean and cost."""
        return words.words(self.parameters, self._taxonomy(), self.figures())

    def steps(self) -> Sequence[DescribedStep]:
        """What is done to the log."""
        return words.steps(self.parameters, self._taxonomy())

    def still_learns(self) -> Sequence[str]:
        """No texts appear."""
        return words.still_learns()

    def check(self) -> None:
        """Read the taxonomy before anything long is begun; levels that it does not have would be wasted."""
        asked, found = self.parameters.levels, self._public().levels
        if asked > found:
            raise ParameterError(
                f"`levels` is {asked}; the taxonomy has {counted(found, 'level')} to publish.",
                "Ask for no more: each level costs its share of epsilon.",
            )

    def to_dict(self) -> dict[str, Any]:
        """Every parameter; the taxonomy by name and digest."""
        return super().to_dict() | {"taxonomy": self.topics.to_dict()}

    def count(self, engine: Engine, log: Any) -> Counting:
        """Users of each topic."""
        p, public = self.parameters, self._public()
        topics_of = topics_of_queries(public.tree)
        return {"topics": count_topics(engine, log, public, topics_of, p.per_user, p.take)}

    def finish(self, tables: Tables) -> Tables:
        """Counts that agree, each with its standard error."""
        public, drawn = self._public(), tables["topics"]
        place = pc.index_in(pa.array(public.labels), value_set=drawn.column("topic").combine_chunks())
        noisy = np.asarray(drawn.column("count"))[np.asarray(place)]
        assert self.parameters.noise is not None
        variance = words.noise_variance(self.parameters.noise)
        found = estimate(public, noisy, variance or 1.0)
        counts = whole_counts(public, found.counts)
        deviations = stated_deviations(found, variance)
        table = in_order(pa.table({"topic": pa.array(public.labels), "count": pa.array(counts)}))
        order = np.asarray(pc.index_in(table.column("topic"), value_set=pa.array(public.labels)))
        deviation = pa.array(deviations[order])
        schema = drawn.schema.append(pa.field("deviation", pa.int64()))
        return {"topics": table.append_column("deviation", deviation).cast(schema)}

    def checks(self, stated: Mapping[str, Any]) -> Iterable[tuple[str, Callable[[], tuple[bool, str]]]]:
        """The bundled taxonomy can be read again and compared."""
        yield "the taxonomy is named, with its digest", lambda: check_topics(stated)

    def checks_of_tables(
        self, read: Callable[[str], pa.Table]
    ) -> Iterable[tuple[str, Callable[[], tuple[bool, str]]]]:
        """All topics are listed and no others; how far off a count is follows from the noise and the tree."""
        assert self.parameters.noise is not None
        variance = words.noise_variance(self.parameters.noise)
        yield (
            "topics lists the topics of the taxonomy stated, with the errors that follow",
            lambda: check_table(read("topics"), self.topics.to_dict(), variance),
        )


MECHANISM = Topics
