"""Topics: how many people search for what, at every level of a public taxonomy.

Guarantee: noise of one scale on counts of which a user moves m a level, by 1 each; nothing is compared
(docs/guarantees/topics.md). From the noisy counts alone, each is then moved so that a topic is the sum of
those right below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.errors import ParameterError
from tacit.privacy.guarantee import Neighbours
from tacit.release import parameters
from tacit.release.mechanism import Counting, Mechanism, Plan
from tacit.release.schedule import Contribution, Keys, Noise, Part, Schedule, text_columns

if TYPE_CHECKING:
    from tacit.engines import Engine
    from tacit.release.execution import Tables


@dataclass(frozen=True, kw_only=True, repr=False)
class Topics(Mechanism):
    """Topics: how many people search for what, over a public taxonomy. For small logs too.

    All topics are public and none is selected, so there is no δ.
    """

    name: ClassVar[str] = "topics"
    title: ClassVar[str] = "Topics"
    example: ClassVar[str] = "--epsilon 1"
    together: ClassVar[tuple[str, ...]] = ("noise",)
    given_example: ClassVar[str] = "--noise 4 --levels 2 --per-user 2"
    publishes_queries: ClassVar[bool] = False

    epsilon: float | None = parameters.declared_epsilon()
    neighbours: Neighbours = parameters.declared_neighbours()
    taxonomy: Any = parameters.declared(
        "people",
        "The public taxonomy: people, or a file (Open Directory, Topics table, paths, tiers).",
        option_type=str,
    )
    levels: int = parameters.declared(
        2, "How many levels of it are published; each costs its share of ε.", least=1, most=8
    )
    per_user: int = parameters.declared(
        1, "m: for how many topics of the first level a user counts; below, for one in each.", least=1
    )
    take: parameters.Choice = parameters.declared_take()
    noise: float | None = parameters.declared_noise("λ: the scale of the noise.")

    @property
    def counts_per_user(self) -> int:
        """The most counts that a user adds 1 to: m on every level."""
        return self.per_user * self.levels

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        return super().from_dict({**form, "taxonomy": parameters.StatedSet(form["taxonomy"])})

    def plan(self) -> TopicsPlan:
        """The noise that ε asks for, unless given: one part over the public topics of all levels."""
        from tacit.release.planning import noise_for

        noise = self.noise
        if noise is None:
            noise = noise_for(self.counts_per_user * self.neighbours.users_changed, self.budget()[0])
        part = Part(
            table="topics",
            columns=text_columns("topic"),
            contribution=Contribution((self.counts_per_user,), once=True),
            noise=Noise(noise),
            least=None,
            keys=Keys.PUBLIC,
            measures=("count", "deviation"),
            nested=True,
        )
        return TopicsPlan(mechanism=self, schedule=Schedule((part,), self.neighbours))


@dataclass(frozen=True, kw_only=True, repr=False)
class TopicsPlan(Plan[Topics]):
    """A release of topics, settled."""

    @property
    def noise(self) -> float:
        return self.schedule.parts[0].scale

    @property
    def given(self) -> Topics:
        return self.mechanism.settled(noise=self.noise)

    @cached_property
    def topics(self) -> Any:
        """The topics to publish, read; of a manifest, what it states of them."""
        from tacit.release.mechanisms.topics_tree import take_topics

        named = self.mechanism.taxonomy
        return take_topics(named, self.mechanism.levels) if isinstance(named, str) else named

    def check(self) -> None:
        """Read the taxonomy before anything long is begun; levels that it does not have would be wasted."""
        if isinstance(self.topics, parameters.StatedSet):
            raise ParameterError(
                "this plan was read from a manifest, which states its taxonomy by digest alone.",
                "Make a plan with `taxonomy`, by name or as a file, to release again.",
            )
        asked, found = self.mechanism.levels, self.topics.levels
        if asked > found:
            raise ParameterError(
                f"`levels` is {asked}; this taxonomy has no more than {found} to publish.",
                "Ask for no more: each level costs its share of epsilon.",
            )

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"taxonomy": self.topics.to_dict()}

    def count(self, engine: Engine, log: Any) -> Counting:
        from tacit.release.mechanisms.topics_counting import count_topics, topics_of_queries

        self.check()
        asked, topics_of = self.mechanism, topics_of_queries(self.topics.tree)
        return {"topics": count_topics(engine, log, self.topics, topics_of, asked.per_user, asked.take)}

    def finish(self, tables: Tables) -> Tables:
        from tacit.release.mechanisms.topics_tree import agreed_table

        return {"topics": agreed_table(self.topics, tables["topics"], self.noise)}


MECHANISM = Topics
