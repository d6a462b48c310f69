"""A_Session: what its parameters guarantee, provably, and what the thesis (002) prints for them.

Part 1 counts, for each user's first l_s sessions cut to l_q queries, all ordered subsequences of two
queries and more. A sequence is released iff its count + X > K (noise b), with the count that was compared
or a fresh one. Part 2, optional, does the same with the first l clicks (query, url) of a user. The two
parts add.

Derivation: docs/guarantees/session.md.
"""

from __future__ import annotations

import math

from tacit.privacy import Guarantee, Neighbours
from tacit.privacy.events import Event
from tacit.release.analysis.accounting import charges_of, event_of, guarantee_of
from tacit.release.analysis.charge import Charge, PaperFigure
from tacit.release.analysis.theorem_1 import log_alpha
from tacit.release.session.parameters import SessionParameters
from tacit.release.session.schedule import session_schedule

__all__ = ["charges", "event", "guarantee", "paper_figure", "paper_with_clicks"]


def charges(parameters: SessionParameters) -> tuple[Charge, ...]:
    """What each published thing costs: sequences and, with part 2, clicks; fresh counts apart."""
    return charges_of(session_schedule(parameters))


def guarantee(parameters: SessionParameters, neighbours: Neighbours | None = None) -> Guarantee:
    """(ε,δ)-indistinguishability of what these parameters publish: part 1, and part 2 if it is there.

    ε = Δf/b + Δf/b_q (+ l/b + l/b_q); δ is the largest chance that a sequence (or a click) of one user alone
    appears, over all sessions that are ever counted.
    """
    return guarantee_of(session_schedule(parameters), neighbours or parameters.neighbours)


def event(parameters: SessionParameters, neighbours: Neighbours | None = None) -> Event:
    """Sequences by length (different lengths are different keys), their counts, clicks, and a disclosure."""
    return event_of(session_schedule(parameters), neighbours or parameters.neighbours)


def _printed(records: int, noise: float, threshold: float) -> tuple[float, float]:
    """Eq. 4.5 and 4.6: ε = d (ln α + 1/b), δ = d/2 exp((d-K)/b)."""
    epsilon = records * (log_alpha(noise, threshold) + 1 / noise)
    return epsilon, records / 2 * math.exp(min(700.0, (records - threshold) / noise))


def paper_figure(parameters: SessionParameters, threshold: float | None = None) -> PaperFigure:
    """What the thesis prints for part 1 alone: eq. 4.5, the figures of Table 4.4."""
    K = parameters.threshold if threshold is None else threshold
    assert parameters.noise is not None and K is not None
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
    p = parameters
    if not p.clicks_per_user:
        return None
    assert p.noise is not None and p.threshold is not None
    assert p.noise_clicks is not None and p.threshold_clicks is not None
    epsilon, delta = _printed(p.sensitivity, p.noise, p.threshold)
    more_epsilon, more_delta = _printed(p.clicks_per_user, p.noise_clicks, p.threshold_clicks)
    return PaperFigure(
        epsilon + more_epsilon,
        min(1.0, delta + more_delta),
        Neighbours.ADD_REMOVE,
        "thesis 002, eq. 4.7",
        "section 4.4 states the weaker of the two parts for its runs; independent noises add.",
    )
