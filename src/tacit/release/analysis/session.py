"""A_Session: what its parameters guarantee, provably, and what the thesis (002) prints for them.

Part 1 counts, for each user's first l_s sessions cut to l_q queries, all ordered subsequences of two
queries and more. A sequence is released iff its count + X > K (noise b), with its count under noise of its
own. Part 2, optional, does the same with the first l clicks (query, url) of a user. The two parts add.

Derivation: docs/guarantees/session.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, Neighbours
from tacit.privacy.rounding import sum_up
from tacit.release.analysis.charge import Charge, PaperFigure, total
from tacit.release.analysis.ranges import check_noise, check_whole
from tacit.release.analysis.theorem_1 import log_alpha
from tacit.release.analysis.threshold import appearance, largest_sum, miss_loss

__all__ = ["SessionClicks", "SessionParameters", "charges", "guarantee", "paper_figure", "paper_with_clicks"]


@dataclass(frozen=True)
class SessionClicks:
    """Part 2 of A_Session: clicked pairs (query, url), selected by threshold.

    Args:
        clicks_per_user: l, the first clicks of a user that count.
        noise: b of the selection.
        threshold: K; a pair is released iff its noisy count is greater.
        noise_counts: fresh noise of the released counts; None releases the count that was compared.
    """

    clicks_per_user: int
    noise: float
    threshold: int
    noise_counts: float | None

    def __post_init__(self) -> None:
        check_whole("clicks_per_user", self.clicks_per_user, 1)
        check_whole("threshold", self.threshold, 0)
        check_noise("noise", self.noise)
        if self.noise_counts is not None:
            check_noise("noise_counts", self.noise_counts)


@dataclass(frozen=True)
class SessionParameters:
    """The parameters of an A_Session release.

    Args:
        sessions_per_user: l_s, the first sessions of a user that count.
        queries_per_session: l_q, the first queries of a session that count.
        noise: b of the selection.
        threshold: K; a sequence is released iff its noisy count is greater.
        noise_counts: fresh noise of the released counts; None releases the count that was compared.
        once_per_user: count a user once for a sequence, however often it occurs in the user's sessions.
            ε stays, δ falls.
        clicks: part 2, or None.
    """

    sessions_per_user: int
    queries_per_session: int
    noise: float
    threshold: int
    noise_counts: float | None
    once_per_user: bool = False
    clicks: SessionClicks | None = None

    def __post_init__(self) -> None:
        check_whole("sessions_per_user", self.sessions_per_user, 1)
        check_whole("queries_per_session", self.queries_per_session, 2)
        if self.queries_per_session > 20:
            raise ParameterError.outside(
                "queries_per_session",
                self.queries_per_session,
                "at most 20",
                "2^l_q sequences a session are counted.",
            )
        check_whole("threshold", self.threshold, 0)
        check_noise("noise", self.noise)
        if self.noise_counts is not None:
            check_noise("noise_counts", self.noise_counts)

    @property
    def sensitivity(self) -> int:
        """Δf = l_s (2^l_q - 1 - l_q), the most counts a user adds (eq. 4.4)."""
        return self.sessions_per_user * ((1 << self.queries_per_session) - 1 - self.queries_per_session)

    @property
    def largest_move(self) -> int:
        """M, the most that a user moves one count: l_s times the largest C(l_q, j), j >= 2."""
        if self.once_per_user:
            return 1
        return max(self.counts_by_length())

    def counts_by_length(self) -> tuple[int, ...]:
        """l_s C(l_q, j) for j = 2 … l_q: how many counts of sequences of each length a user adds.

        Sequences of different length are different keys. A session of one query repeated puts all C(l_q, j)
        counts of a length on one key; a session of different queries spreads them over as many.
        """
        l_s, l_q = self.sessions_per_user, self.queries_per_session
        return tuple(l_s * math.comb(l_q, j) for j in range(2, l_q + 1))


def _select(what: str, noise: float, threshold: int, moves: tuple[int, ...], once: bool) -> Charge:
    """Selection by noisy count > K of keys in groups; ``moves`` has the records a user adds to each group."""
    if noise == 0:
        return Charge(what, math.inf, 1.0)
    t = threshold + 1
    single = miss_loss(noise, t - 1)
    missing = [n * single if once else largest_sum(miss_loss(noise, t - n), single, n) for n in moves]
    return Charge.of_counts(what, sum(moves), noise, appearance(sum_up(missing)))


def _counts(what: str, noise: float | None, records: int) -> Charge:
    return Charge(what, 0.0) if noise is None else Charge.of_counts(what, records, noise)


def charges(parameters: SessionParameters) -> tuple[Charge, ...]:
    """What each published thing costs: sequences, their counts and, with part 2, clicks and theirs."""
    p = parameters
    listed = [
        _select("which sequences", p.noise, p.threshold, p.counts_by_length(), p.once_per_user),
        _counts("sequence counts", p.noise_counts, p.sensitivity),
    ]
    if p.clicks is not None:
        part = p.clicks
        listed.append(_select("which clicks", part.noise, part.threshold, (part.clicks_per_user,), False))
        listed.append(_counts("click counts", part.noise_counts, part.clicks_per_user))
    return tuple(listed)


def guarantee(parameters: SessionParameters, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Guarantee:
    """(ε,δ)-indistinguishability of what these parameters publish: part 1, and part 2 if it is there.

    ε = Δf/b + Δf/b_q (+ l/b + l/b_q); δ is the chance that a sequence (or a click) of one user alone appears.
    """
    return total(charges(parameters), neighbours)


def _printed(records: int, noise: float, threshold: float) -> tuple[float, float]:
    """Eq. 4.5 and 4.6: ε = d (ln α + 1/b), δ = d/2 exp((d-K)/b)."""
    epsilon = records * (log_alpha(noise, threshold) + 1 / noise)
    return epsilon, records / 2 * math.exp(min(700.0, (records - threshold) / noise))


def paper_figure(parameters: SessionParameters, threshold: float | None = None) -> PaperFigure:
    """What the thesis prints for part 1 alone: eq. 4.5, the figures of Table 4.4."""
    K = parameters.threshold if threshold is None else threshold
    epsilon, delta = _printed(parameters.sensitivity, parameters.noise, K)
    return PaperFigure(
        epsilon,
        min(1.0, delta),
        Neighbours.ADD_REMOVE,
        "thesis 002, eq. 4.5 (Table 4.4), sessions alone",
        "eq. 4.5 lets one sequence move by all Δf counts of a user; it moves by at most "
        f"{parameters.largest_move}, and δ is then the exact chance that a user's own sequence appears.",
    )


def paper_with_clicks(parameters: SessionParameters) -> PaperFigure | None:
    """What the thesis's eq. 4.7 gives for both parts together; its runs state the session part alone."""
    if parameters.clicks is None:
        return None
    epsilon, delta = _printed(parameters.sensitivity, parameters.noise, parameters.threshold)
    part = parameters.clicks
    more_epsilon, more_delta = _printed(part.clicks_per_user, part.noise, part.threshold)
    return PaperFigure(
        epsilon + more_epsilon,
        min(1.0, delta + more_delta),
        Neighbours.ADD_REMOVE,
        "thesis 002, eq. 4.7",
        "section 4.4 states the weaker of the two parts for its runs; independent noises add.",
    )
