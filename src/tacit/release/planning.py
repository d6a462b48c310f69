"""From ε and δ to noise and thresholds: searching the smallest that keep a promise, and splitting a
budget."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.errors import ParameterError
from tacit.privacy.arithmetic import per_scale
from tacit.release.analysis import event_of, guarantee_of
from tacit.release.mechanism import Mechanism
from tacit.release.schedule import Noise, Schedule
from tacit.release.thresholds import smallest

_DIGITS = 6


def require_delta(asked: Mechanism) -> tuple[float, float]:
    """The ε and δ to plan for, where keys are selected and δ must pay for it."""
    epsilon, delta = asked.budget()
    if not delta > 0:
        raise ParameterError.outside(
            "delta", delta, "above 0 and below 1", "Well below one over the number of users is usual."
        )
    return epsilon, delta


def laid_out_for(asked: Any) -> tuple[float, float]:
    """The ε and δ of rounds: those for which they are given, or those to plan for."""
    return (asked.at_epsilon, asked.at_delta) if asked.given else require_delta(asked)


def noise_for(records: int, epsilon: float, cost: Callable[[float], float] | None = None) -> float:
    """The least noise scale of six significant digits at which ``records`` cost at most ``epsilon``.

    Rounding up keeps the promise, and makes a scale that a person can read and a manifest can repeat.

    Args:
        records: the most that a user moves the counts by (L1).
        epsilon: what they may cost.
        cost: ε of a scale as the analysis computes it, where that may differ from records/scale in the
            last bit.
    """
    scale = _readable(records / epsilon)
    while (cost(scale) if cost else per_scale(records, scale)) > epsilon:
        scale = larger(scale)
    return scale


def _unit(scale: float) -> float:
    return float(10.0 ** (math.floor(math.log10(scale)) - _DIGITS + 1))


def _readable(scale: float) -> float:
    """``scale`` rounded up to six significant digits, but for what floating point itself adds."""
    unit = _unit(scale)
    return float(f"{math.ceil(scale / unit - 1e-9) * unit:.{_DIGITS}g}")


def larger(scale: float) -> float:
    """The next scale of six significant digits."""
    return float(f"{scale + _unit(scale):.{_DIGITS}g}")


def charged_epsilon(schedule: Schedule) -> float:
    """ε as stated, and as a ledger adds it up: the two may differ in the last bit."""
    return max(guarantee_of(schedule).epsilon, event_of(schedule).guarantee.epsilon)


def settle_noise(schedule: Schedule, table: str, epsilon: float) -> Schedule:
    """Raise the noise of one table to the least readable scale at which all costs at most ``epsilon``."""
    while charged_epsilon(schedule) > epsilon:
        scale = schedule.part(table).scale
        schedule = schedule.having(table, noise=Noise(larger(scale)))
    return schedule


def least_thresholds(schedule: Schedule, kept: Callable[[Schedule], bool]) -> Schedule:
    """Raise the first threshold until the promise is kept, then lower each as far as the others leave it.

    None can then be lowered alone.
    """
    first = schedule.parts[0].table
    while not kept(schedule):
        schedule = schedule.having(first, least=(schedule.part(first).least or 0) + 1)
    for part in schedule.parts:
        schedule = _with_least_threshold(schedule, part.table, kept)
    return schedule


def _with_least_threshold(schedule: Schedule, table: str, kept: Callable[[Schedule], bool]) -> Schedule:
    return schedule.having(table, least=smallest(lambda t: kept(schedule.having(table, least=t)), 1))


@dataclass(frozen=True)
class Portion:
    """Something to publish."""

    records: int  # n, the most that a user contributes to it (L1)
    # the least threshold that serves for a noise scale and a δ; None publishes everything
    threshold: Callable[[float, float], int] | None = None
    pays_delta: bool = False  # whether the threshold depends on δ
    published: bool = True  # whether the noisy numbers are published, so that their error counts


@dataclass(frozen=True)
class Share:
    """What a part gets."""

    noise: float
    threshold: int
    delta: float


def _allot(parts: Sequence[Portion], weights: Sequence[float], epsilon: float, delta: float) -> list[Share]:
    roots = [math.sqrt(part.records * weight) for part, weight in zip(parts, weights, strict=True)]
    noises = [
        noise_for(part.records, epsilon * root / math.fsum(roots)) if part.records else 1.0
        for part, root in zip(parts, roots, strict=True)
    ]
    paying = math.fsum(b for part, b in zip(parts, noises, strict=True) if part.pays_delta and part.records)
    shares = []
    for part, noise in zip(parts, noises, strict=True):
        mine = delta * noise / paying if part.pays_delta and part.records else 0.0
        threshold = part.threshold(noise, mine) if part.threshold is not None and part.records else 0
        shares.append(Share(noise, threshold, mine))
    return shares


def split(parts: Sequence[Portion], epsilon: float, delta: float = 0.0, rounds: int = 12) -> list[Share]:
    """Noise, threshold and δ of each part, with the least loss; the best of a few rounds."""
    weights = [1.0] * len(parts)
    best: list[Share] = []
    least = math.inf
    for _ in range(rounds):
        shares = _allot(parts, weights, epsilon, delta)
        weights = [  # a weight of zero would starve a part of ε altogether
            max(0.05, share.threshold / share.noise + part.published)
            for part, share in zip(parts, shares, strict=True)
        ]
        loss = math.fsum(
            weight * share.noise
            for part, weight, share in zip(parts, weights, shares, strict=True)
            if part.records
        )
        if loss < least:
            least, best = loss, shares
    return best
