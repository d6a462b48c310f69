"""Releases as events that compose tightly: noisy counts, and the rare disclosure of a threshold.

A ledger that knows a release by its (ε,δ) alone must assume the worst that (ε,δ) admits. Known as noisy
counts and a rare disclosure, many releases together cost far less by privacy loss distributions. What makes
that right:

- **Counts.** If a user's records move counts by d in all (L1), the worst is that they all move *one* count:
  noise of scale b on a count moved by d dominates independent noises on counts moved by k_1 + … + k_r = d.

  Proof, for two counts; the rest by induction. The likelihood ratio takes the values a^(d-2s), s = 0 … d, in
  both cases. Let w = (1, 1-a, …, 1-a, 1). One count moved by d has s with chance a^s w_s/(1+a), two have it
  with chance a^s Σ_t w_t w'_(s-t)/(1+a)². At s = 0 and s = d the former is larger (1 against 1/(1+a)). In
  between the sum has two terms of at least 1-a at its ends, so the latter is larger: 2(1-a) >= (1-a²). Two
  distributions of equal mean (1) whose difference has the signs +, -, + are in convex order, and that is
  domination.

- **Fresh keys.** By the lemma in :mod:`tacit.release.analysis.threshold`, extended to e^ε below 1 in the same
  way, keys that only one of the logs can show are dominated by a disclosure of probability δ.

A user of ZEALOUS moves m counts by 1 each, which is less than one count by m. Replacing a user takes one
history away and puts another in: twice as many counts.
"""

from __future__ import annotations

from tacit.privacy import Guarantee, Kind, Neighbours
from tacit.privacy.events import Event, GuaranteedRelease, LaplaceCounts, RareDisclosure, Together
from tacit.release.analysis import click, session, zealous
from tacit.release.analysis.click import ClickMode, ClickParameters
from tacit.release.analysis.session import SessionParameters
from tacit.release.analysis.zealous import ZealousParameters

__all__ = ["click_event", "session_event", "zealous_event"]


def _histories(neighbours: Neighbours) -> int:
    """How many histories differ: one is added or removed, or one goes and another comes."""
    return 2 if neighbours is Neighbours.REPLACE else 1


def _moved(scale: float | None, records: int, neighbours: Neighbours) -> list[Event]:
    """Counts under noise that a user's records may all move at one key; None draws no noise of its own."""
    if scale is None or records == 0:
        return []
    return [LaplaceCounts(scale, _histories(neighbours), records, neighbours)]


def zealous_event(parameters: ZealousParameters, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Event:
    """m items a histogram, each moved by 1, and the chance that an item at the first threshold appears."""
    items = parameters.per_user * parameters.histograms * _histories(neighbours)
    delta = zealous.guarantee(parameters, neighbours).delta
    return Together(
        (LaplaceCounts(parameters.noise, items, 1, neighbours), RareDisclosure(delta, neighbours))
    )


def click_event(parameters: ClickParameters, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Event:
    """Selection, query counts, clicks and transitions; outside the public sets, a rare disclosure."""
    p = parameters
    parts: list[Event] = []
    if p.pool_probability == 1:
        parts += _moved(p.noise, p.queries_per_user * p.minimum_frequency, neighbours)
    else:  # a sampled pool is more than noise on counts: known by its ε
        cost = click.charges(p)[0].epsilon * _histories(neighbours)
        parts.append(GuaranteedRelease(Guarantee(Kind.PURE, neighbours, epsilon=cost)))
    parts += _moved(p.noise_queries, p.queries_per_user, neighbours)
    parts += _moved(p.noise_clicks, p.clicks_per_user, neighbours)
    parts += _moved(p.noise_transitions, p.steps_per_user, neighbours)
    if p.mode is ClickMode.APPROXIMATE:
        parts.append(RareDisclosure(click.guarantee(p, neighbours).delta, neighbours))
    return Together(tuple(parts))


def session_event(parameters: SessionParameters, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Event:
    """Sequences by length (different lengths are different keys), their counts, clicks, and a disclosure."""
    p = parameters
    parts: list[Event] = []
    for scale in (p.noise, p.noise_counts):
        if scale is not None and p.once_per_user:
            counts = p.sensitivity * _histories(neighbours)
            parts.append(LaplaceCounts(scale, counts, 1, neighbours))
        else:
            for records in p.counts_by_length():
                parts += _moved(scale, records, neighbours)
    if p.clicks is not None:
        parts += _moved(p.clicks.noise, p.clicks.clicks_per_user, neighbours)
        parts += _moved(p.clicks.noise_counts, p.clicks.clicks_per_user, neighbours)
    parts.append(RareDisclosure(session.guarantee(p, neighbours).delta, neighbours))
    return Together(tuple(parts))
