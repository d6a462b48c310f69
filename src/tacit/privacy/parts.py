"""What events are made of, as accounting needs it: noise of three kinds, each gathered.

- counts under discrete Laplace noise, by rate (1/scale) and by how far one user moves a count;
- Gaussian noise, of which only Σμ² matters;
- a disclosure: something is revealed outright with this chance.

An event that is known by its (ε, δ) alone is taken for the worst that (ε, δ) admits: randomised response of
ε, which is one count of rate ε moved by 1, and a disclosure of δ (Kairouz, Oh and Viswanath, "The
composition theorem for differential privacy").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import ParameterError
from tacit.privacy.events import (
    Event,
    GaussianRounds,
    LaplaceCounts,
    RareDisclosure,
    ThresholdedCounts,
    Together,
)
from tacit.privacy.gaussian_loss import lattice_delta
from tacit.privacy.guarantee import GuaranteeKind
from tacit.privacy.rounding import round_up

__all__ = ["LARGEST_LOSS", "Parts", "parts_of_events"]

LARGEST_LOSS = 50.0
"""Beyond this ε of a single event a guarantee is meaningless, and the lattices of losses grow large."""


@dataclass(frozen=True)
class Parts:
    """All noise of some events, gathered.

    Args:
        counts: for each (rate, step) how many counts.
        mu_square: Σμ² of Gaussian noise.
        disclosure: the sum of chances.
    """

    counts: tuple[tuple[tuple[Fraction, int], int], ...]
    mu_square: Fraction
    disclosure: float


def parts_of_events(events: Iterable[Event], times: int = 1) -> Parts:
    """The parts of all events, each ``times`` times."""
    counts: Counter[tuple[Fraction, int]] = Counter()
    gathered = [Fraction(0), Fraction(0)]
    for event in events:
        _gather(event, counts, gathered)
    disclosure = min(1.0, round_up(gathered[1] * times))
    listed = tuple(sorted(((key, number * times) for key, number in counts.items() if number)))
    return Parts(listed, gathered[0] * times, disclosure)


def _gather(event: Event, counts: Counter[tuple[Fraction, int]], gathered: list[Fraction]) -> None:
    if isinstance(event, Together):
        for part in event.parts:
            _gather(part, counts, gathered)
        return
    promise = event.guarantee
    if promise.kind is GuaranteeKind.K_QUERY:
        raise ParameterError("a k-query release has no epsilon and does not compose.")
    if not promise.epsilon <= LARGEST_LOSS:
        rule = f"at most {LARGEST_LOSS:g} for composition by privacy loss"
        raise ParameterError.outside("epsilon", promise.epsilon, rule)
    if isinstance(event, LaplaceCounts):
        if event.counts:
            counts[1 / Fraction(event.scale), event.step] += event.counts
    elif isinstance(event, ThresholdedCounts):
        counts[1 / Fraction(event.scale), 1] += event.counts
        gathered[1] += event.counts * Fraction(event.chance)
    elif isinstance(event, RareDisclosure):
        gathered[1] += Fraction(event.delta)
    elif isinstance(event, GaussianRounds):
        gathered[0] += Fraction(event.mu) ** 2
        gathered[1] += _beside(event)
    else:
        indistinguishable = promise.as_indistinguishability()
        if indistinguishable.epsilon:
            counts[Fraction(indistinguishable.epsilon), 1] += 1
        gathered[1] += Fraction(indistinguishable.delta)


def _beside(event: GaussianRounds) -> Fraction:
    """A disclosure that, composed with the Gaussian noise, dominates the rounds.

    They are (ε, d(ε) + δ') at every ε; noise and a disclosure of δ'' are (ε, (1 - δ'')·d(ε) + δ''), which is
    no less if δ'' = δ'/(1 - d(0)), since d falls with ε.
    """
    at_zero = lattice_delta(0.0, event.mu) if math.isfinite(event.mu) else 1.0
    return Fraction(event.disclosure) / (1 - Fraction(at_zero)) if at_zero < 1 else Fraction(1)
