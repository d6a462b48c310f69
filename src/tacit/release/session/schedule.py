"""What A_Session draws: which sequences, their counts; and, where wanted, which clicks and theirs."""

from __future__ import annotations

from tacit.release.schedule import Column, Contribution, Noise, Part, Schedule, text_columns
from tacit.release.session.parameters import SessionParameters

__all__ = ["session_schedule"]


def session_schedule(p: SessionParameters) -> Schedule:
    """Sequences, then clicks. Sequences of different length are different keys."""
    assert p.noise is not None and p.threshold is not None
    parts = [
        Part(
            table="sessions",
            columns=(Column("queries", several=True),),
            contribution=p.contribution(),
            noise=Noise(p.noise),
            least=int(p.threshold) + 1,
            fresh=None if p.noise_counts is None else Noise(p.noise_counts),
        )
    ]
    if p.clicks_per_user:
        assert p.noise_clicks is not None and p.threshold_clicks is not None
        parts.append(
            Part(
                table="clicks",
                columns=text_columns("query", "url"),
                contribution=Contribution((p.clicks_per_user,), once=False),
                noise=Noise(p.noise_clicks),
                least=int(p.threshold_clicks) + 1,
                fresh=None if p.noise_click_counts is None else Noise(p.noise_click_counts),
            )
        )
    return Schedule(tuple(parts))
