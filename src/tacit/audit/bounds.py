"""Lower bounds on what a release leaks, from how often an attacker is right; each holds with a confidence.

**At (ε, δ).** If an event has probability at least p with a person and at most q without, then
ε ≥ ln((p - δ)/q). The bounds p and q are those of Clopper and Pearson.

**Against the whole curve.** A guarantee names a δ for *every* ε, not only for the one it is stated at. The
pair (p, q) is held against all of them: of the noises of one family, from the one claimed to weaker ones, the
weakest that would still allow the pair. Where that comes nearer the claim: docs/reference/commands/audit.md.

**In one run** (Steinke, Nasr and Jagielski, "Privacy auditing with one training run"): r guesses about
independent coins, v of them right.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import beta, binom

from tacit.privacy import GuaranteeKind
from tacit.privacy.accounting import events
from tacit.privacy.accounting.composition import loss_of

SHOWN, ALARM = 0.05, 1e-6
"""One minus the confidence of what is shown, and of what is called broken: a check is wrong once in 10⁶."""

LARGEST = 50.0
Scores = tuple[NDArray[np.float64], NDArray[np.float64]]
"""What an attacker looks at in each run of either log."""


def at_least(hits: int, runs: int, alpha: float) -> float:
    """The least probability with which so many hits are no rarer than ``alpha``."""
    return float(beta.ppf(alpha, hits, runs - hits + 1)) if hits else 0.0


def at_most(hits: int, runs: int, alpha: float) -> float:
    """The largest such probability."""
    return float(beta.ppf(1 - alpha, hits + 1, runs - hits)) if hits < runs else 1.0


def epsilon_at(p: float, q: float, delta: float) -> float:
    """The least ε that goes with δ where an event has probability p on one log and q on the other."""
    if p - delta <= q:
        return 0.0
    return math.log((p - delta) / q) if q else math.inf


@dataclass(frozen=True)
class Seen:
    """How often an event occurred in so many runs of each of two logs, on the first one more often."""

    hits: int
    others: int
    runs: int

    def rates(self, alpha: float) -> tuple[float, float]:
        """The least rate on the first log and the largest on the second, both right but for ``alpha``."""
        return at_least(self.hits, self.runs, alpha / 2), at_most(self.others, self.runs, alpha / 2)

    def epsilon(self, delta: float, alpha: float = SHOWN) -> float:
        """ε is at least this; the event that it does not occur counts too."""
        p, q = self.rates(alpha)
        return max(epsilon_at(p, q, delta), epsilon_at(1 - q, 1 - p, delta))

    def curve(self, event: events.Event, alpha: float = SHOWN) -> float:
        """The ε of the weakest noise of the claimed family that would allow this."""
        return weakest(event, *self.rates(alpha)) * event.guarantee.epsilon


def scaled(event: events.Event, factor: float) -> events.Event:
    """The same event with so many times less noise."""
    match event:
        case events.Composed():
            return events.Composed(tuple(scaled(part, factor) for part in event.parts))
        case events.LaplaceCounts() | events.ThresholdedCounts():
            return replace(event, scale=event.scale / factor)
        case events.GaussianRounds():
            return replace(event, mu=event.mu * factor)
        case events.ApproximateDp() if event.promise.kind is not GuaranteeKind.K_QUERY:
            return events.ApproximateDp(replace(event.promise, epsilon=event.promise.epsilon * factor))
    return event


def most_power(event: events.Event) -> Callable[[float], float]:
    """Bound the probability of an event on one log that has probability q on a neighbour, by the claim."""
    if isinstance(event, events.GaussianRounds):
        return lambda q: min(1.0, float(ndtr(ndtri(q) + event.mu)) + event.disclosure)
    loss = loss_of(event)
    losses, masses = loss.losses(), loss.masses
    above = np.cumsum(masses[::-1])[::-1]
    under = np.cumsum((masses * np.exp(-losses))[::-1])[::-1]
    # δ(ε) at each loss, and at 0; in between it is convex, and the breaks are the best events.
    factors = np.exp(losses)
    deltas = above - factors * under + loss.infinite
    return lambda q: min(1.0, float((deltas + factors * q).min()))


def weakest(event: events.Event, p: float, q: float) -> float:
    """Bound from below how many times less noise than claimed there is, if p and q are rates of one event."""
    if p <= q:
        return 0.0

    @lru_cache
    def allows(factor: float) -> bool:
        power = most_power(scaled(event, factor))
        return p <= power(q) and 1 - q <= power(1 - p)

    low, high = 0.0, 1.0
    if not allows(high):
        low, high = 1.0, LARGEST / max(event.guarantee.epsilon, 1e-3)
        if not allows(high):
            return high
    while high - low > max(1e-4 * high, 1e-6):
        middle = (low + high) / 2
        low, high = (low, middle) if allows(middle) else (middle, high)
    return low


def chance_of_guesses(right: int, guesses: int, coins: int, epsilon: float, delta: float = 0.0) -> float:
    """The largest chance of so many right guesses under (ε, δ), Steinke and others' theorem 5.2.

    Without δ each guess is right with chance e^ε/(1 + e^ε) at most, whatever the others are. δ moves at most
    2·coins·δ of probability, to where it helps most.
    """
    share = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, share))
    if not delta:
        return tail
    fewer = np.cumsum(binom.pmf(right - np.arange(1, right + 1), guesses, share))
    worst = float((fewer / np.arange(1, right + 1)).max()) if right else 0.0
    return min(1.0, tail + worst * delta * 2 * coins)


def one_run_epsilon(right: int, guesses: int, coins: int, delta: float = 0.0, alpha: float = SHOWN) -> float:
    """ε is at least this, where so many guesses about as many fair coins were right in a single run."""
    low, high = 0.0, LARGEST
    if chance_of_guesses(right, guesses, coins, 0.0, delta) > alpha:
        return 0.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        shown = chance_of_guesses(right, guesses, coins, middle, delta) < alpha
        low, high = (middle, high) if shown else (low, middle)
    return low


def best_line(scores: Scores, worth: Callable[[Seen], float], lines: int = 64) -> tuple[float, bool, float]:
    """The line on a score that tells two logs apart best: the line, whether the second log is above, worth.

    Lines are tried where either log has many scores; those at the very ends are for events that only one of
    them has.
    """
    runs = len(scores[0])
    ordered = [np.sort(each) for each in scores]
    both = np.concatenate(ordered)
    tried = np.unique(np.quantile(both, np.linspace(0, 1, lines), method="nearest"))
    ends = np.array([np.nextafter(ordered[0][-1], np.inf), np.nextafter(ordered[1][-1], np.inf)])
    best = (0.0, True, -1.0)
    for line in np.unique(np.concatenate([tried, ends])):
        first, second = (runs - int(np.searchsorted(each, line, side="left")) for each in ordered)
        for above, seen in ((True, Seen(second, first, runs)), (False, Seen(first, second, runs))):
            if seen.hits > seen.others and (found := worth(seen)) > best[2]:
                best = (float(line), above, found)
    return best


def measure(line: float, above: bool, scores: Scores) -> Seen:
    """Count how often a score is on that side of the line, on the log where it is so more often first."""
    hits = [int((each >= line).sum()) for each in scores]
    return Seen(hits[1], hits[0], len(scores[0])) if above else Seen(hits[0], hits[1], len(scores[0]))


def proves(chosen: Scores, measured: Scores, delta: float) -> float:
    """The ε that a score proves at δ, wrong once in 10⁶: its line is chosen on other runs than measured."""
    return measure(*best_line(chosen, lambda seen: seen.epsilon(delta))[:2], measured).epsilon(delta, ALARM)
