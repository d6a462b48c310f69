"""What A_Click draws: which queries, their counts, then clicks and transitions of the queries that passed."""

from __future__ import annotations

from tacit.release.click.parameters import ClickParameters
from tacit.release.schedule import Contribution, Keys, Noise, Part, Schedule, text_columns

__all__ = ["click_schedule"]


def click_schedule(p: ClickParameters) -> Schedule:
    """Queries, clicks, transitions. Strictly greater than K is K + 1 or more."""
    assert p.noise is not None and p.threshold is not None
    beside = Keys.PUBLIC if p.pure else Keys.OCCURRING
    parts = [
        Part(
            table="queries",
            columns=text_columns("query"),
            contribution=Contribution((p.queries_per_user,), once=p.once_per_user),
            noise=Noise(p.noise),
            least=int(p.threshold) + 1,
            fresh=None if p.noise_counts is None else Noise(p.noise_counts),
            keys=Keys.BOTH if not p.pure and p.domain is not None else beside,
            minimum=p.minimum_frequency,
            chance=p.pool_probability,
        )
    ]
    if p.clicks_per_user:
        assert p.noise_clicks is not None and p.threshold_clicks is not None
        parts.append(
            Part(
                table="clicks",
                columns=text_columns("query", "url"),
                contribution=Contribution((p.clicks_per_user,), once=p.once_per_user),
                noise=Noise(p.noise_clicks),
                least=int(p.threshold_clicks) + 1,
                keys=beside,
                within=(("query", "queries"),),
            )
        )
    if p.steps_per_user:
        assert p.noise_transitions is not None and p.threshold_transitions is not None
        parts.append(
            Part(
                table="transitions",
                columns=text_columns("query", "next_query"),
                contribution=Contribution((p.steps_per_user,), once=p.once_per_user),
                noise=Noise(p.noise_transitions),
                least=int(p.threshold_transitions) + 1,
                keys=beside,
                within=(("query", "queries"), ("next_query", "queries")),
            )
        )
    return Schedule(tuple(parts))
