"""Topics: how many people search for each topic of a public tree. Parameters and schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.errors import ParameterError
from tacit.release.parameters import Choice, Parameters, declared, declared_noise, declared_take
from tacit.release.schedule import Contribution, Keys, Noise, Part, Schedule, text_columns


@dataclass(frozen=True, kw_only=True)
class TopicsParameters(Parameters):
    """The taxonomy and how deep it goes, m and λ."""

    name: ClassVar[str] = "topics"
    title: ClassVar[str] = "Topics"
    summary: ClassVar[str] = (
        "Topics: how many people search for what, over a public taxonomy. For small logs too."
    )
    example: ClassVar[str] = "--epsilon 1"
    given_example: ClassVar[str] = "--noise 4 --levels 2 --per-user 2"
    publishes_queries: ClassVar[bool] = False

    taxonomy: Any = declared(
        "wordnet",
        "The public taxonomy: wordnet, or a file (Open Directory, Topics table, paths, tiers).",
        option_type=str,
    )
    levels: int = declared(
        2, "How many levels of it are published; each costs its share of ε.", least=1, most=8
    )
    per_user: int = declared(
        1, "m: for how many topics of the first level a user counts; below, for one in each.", least=1
    )
    take: Choice = declared_take()
    noise: float | None = declared_noise("λ: the scale of the noise.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta:
            raise ParameterError(
                f"a release of topics costs no delta; {self.delta!r} was given.",
                "Leave `delta` out: all topics are public, and none is selected.",
            )

    @property
    def given(self) -> bool:
        """Whether the noise was given."""
        return self.noise is not None

    @property
    def counts_per_user(self) -> int:
        """The most counts that a user adds 1 to: m on every level."""
        return self.per_user * self.levels

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """What the mechanism wrote; the taxonomy by name and digest."""
        from tacit.release.mechanisms.topics_tree import StatedTopics

        return super().from_dict({**form, "taxonomy": StatedTopics(form["taxonomy"])})


PARAMETERS = TopicsParameters


def topics_schedule(p: TopicsParameters) -> Schedule:
    """One part: public topics of all levels, of which a user adds 1 to at most m a level."""
    assert p.noise is not None
    return Schedule(
        (
            Part(
                table="topics",
                columns=text_columns("topic"),
                contribution=Contribution((p.counts_per_user,), once=True),
                noise=Noise(p.noise),
                least=None,
                keys=Keys.PUBLIC,
                measures=("count", "deviation"),
                nested=True,
            ),
        )
    )
