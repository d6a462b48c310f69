"""The parameters of an A_Session release."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from tacit.errors import ParameterError
from tacit.release.parameters import (
    GIVEN,
    Choice,
    Parameters,
    check_given_together,
    declared,
    declared_noise,
    declared_take,
    refuse_given_alone,
    refuse_two_kinds_of_counts,
)
from tacit.release.schedule import Contribution

__all__ = ["LONGEST", "PARAMETERS", "PLANNED_CLICKS", "THESIS_CLICKS", "SessionParameters"]

LONGEST = 8
"""The largest l_q that is counted: 247 subsequences per session."""

PLANNED_CLICKS = 1
"""l where a plan is asked for and nothing is said."""
THESIS_CLICKS = 4
"""The clicks per user in the thesis's runs (section 4.4.2)."""

_PLANNED_WITH_THE_REST = ("noise_counts", "noise_clicks", "threshold_clicks", "noise_click_counts")


@dataclass(frozen=True, kw_only=True)
class SessionParameters(Parameters):
    """l_s, l_q, b, K, the noise of the counts, and the click part.

    Where noise and threshold are given, what is left open is as in the thesis: no click part, each
    occurrence of a sequence counts, counts get fresh noise. Where they are planned it is what publishes
    most.
    """

    name: ClassVar[str] = "session"
    title: ClassVar[str] = "A_Session"
    summary: ClassVar[str] = "A_Session: counts of query sequences within sessions, and of clicks."
    example: ClassVar[str] = "--epsilon 8 --delta 1e-6"
    given_example: ClassVar[str] = "--noise 1 --threshold 20 --sessions-per-user 1 --queries-per-session 3"

    sessions_per_user: int = declared(1, "l_s: how many sessions of a user count.", least=1)
    queries_per_session: int = declared(
        2, "l_q: the first queries of a session that count.", least=2, most=20
    )
    clicks_per_user: int | None = declared(
        None, "l: clicks a user gives to the click part; 0 leaves it out (planned: 1; given: 0).", least=0
    )
    once_per_user: bool | None = declared(
        None,
        "Count a user once for a sequence, or each time it occurs (planned: once; given: each).",
        option="--once-per-user/--count-each",
    )
    same_counts: bool | None = declared(
        None,
        "Publish the numbers that were compared, or fresh ones under noise of their own (planned: compared).",
        option="--same-counts/--fresh-counts",
    )
    take: Choice = declared_take()
    noise: float | None = declared_noise("b: the scale of the selection's noise.")
    threshold: float | None = declared(
        None, "K: a sequence with a noisy count above it is published.", least=0, panel=GIVEN
    )
    noise_counts: float | None = declared_noise("Fresh noise of the sequence counts (as `noise`).")
    noise_clicks: float | None = declared_noise("Noise of the clicks' selection (as `noise`).")
    threshold_clicks: float | None = declared(
        None, "Clicks with a noisy count above it are published (as `threshold`).", least=0, panel=GIVEN
    )
    noise_click_counts: float | None = declared_noise("Fresh noise of the click counts (as `noise_clicks`).")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_given_together(self, "noise", "threshold")
        given = [name for name in _PLANNED_WITH_THE_REST if getattr(self, name) is not None]
        if not self.given:
            refuse_given_alone(given, "noise", "threshold")
        if self.given and not self.clicks_per_user and any("click" in name for name in given):
            raise ParameterError(
                "the click part's noise or threshold was given, but not how many clicks a user gives.",
                "Add `clicks_per_user`.",
            )
        refuse_two_kinds_of_counts(self.same_counts, self.noise_counts, self.noise_click_counts)

    @property
    def given(self) -> bool:
        """Whether noise and threshold were given."""
        return self.noise is not None

    @property
    def sensitivity(self) -> int:
        """Δf = l_s (2^l_q - 1 - l_q), the most counts a user adds (eq. 4.4)."""
        return self.sessions_per_user * ((1 << self.queries_per_session) - 1 - self.queries_per_session)

    @property
    def largest_move(self) -> int:
        """M, the most that a user moves one count."""
        return self.contribution().largest

    def counts_by_length(self) -> tuple[int, ...]:
        """l_s C(l_q, j) for j = 2 … l_q: how many counts of sequences of each length a user adds.

        Sequences of different length are different keys. A session of different queries spreads the counts of
        a length over as many keys; how many fall on one key is counted over all sessions that can be.
        """
        l_s, l_q = self.sessions_per_user, self.queries_per_session
        return tuple(l_s * math.comb(l_q, j) for j in range(2, l_q + 1))

    def contribution(self) -> Contribution:
        """What a user adds to the counts of sequences.

        Sessions longer than can be released are analysed as if all counts of a length could fall on one key.
        """
        counted = not self.once_per_user and self.queries_per_session <= LONGEST
        sessions = (self.sessions_per_user, self.queries_per_session) if counted else None
        return Contribution(self.counts_by_length(), bool(self.once_per_user), sessions)

    def completed(self) -> SessionParameters:
        """With everything settled that does not depend on a plan."""
        clicks, once = self.clicks_per_user, self.once_per_user
        if self.noise is None or self.threshold is None:
            return replace(
                self,
                clicks_per_user=PLANNED_CLICKS if clicks is None else clicks,
                once_per_user=True if once is None else once,
            )
        K, same, of_clicks = math.floor(self.threshold), bool(self.same_counts), self.threshold_clicks
        noise_clicks = (self.noise if self.noise_clicks is None else self.noise_clicks) if clicks else None
        counts = self.noise if self.noise_counts is None else self.noise_counts
        fresh = noise_clicks if self.noise_click_counts is None else self.noise_click_counts
        return replace(
            self,
            clicks_per_user=clicks or 0,
            once_per_user=bool(once),
            same_counts=same,
            threshold=K,
            noise_counts=None if same else counts,
            noise_clicks=noise_clicks,
            threshold_clicks=(K if of_clicks is None else math.floor(of_clicks)) if clicks else None,
            noise_click_counts=None if same else fresh,
        )


PARAMETERS = SessionParameters
