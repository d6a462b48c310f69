"""What a release of topics draws: noise of one scale on every topic's count. Nothing is compared."""

from __future__ import annotations

from tacit.release.schedule import Contribution, Keys, Noise, Part, Schedule, text_columns
from tacit.release.topics.parameters import TopicsParameters

__all__ = ["topics_schedule"]


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
