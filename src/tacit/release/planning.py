"""From ε and δ to noise and thresholds: searching the smallest that keep a promise, and splitting a
budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tacit.errors import ParameterError
from tacit.privacy.arithmetic import per_scale
from tacit.release.parameters import Parameters

DEFAULT_DELTA = 1e-6
"""δ of a plan for which none is asked: one in a million."""
_DIGITS = 6


@dataclass(frozen=True)
class PaperSetting:
    """The parameters the paper would choose for the same request, and why ours differ."""

    values: Mapping[str, float]
    source: str
    why: str


def asked_budget(asked: Parameters, *, pure: bool = False) -> tuple[float, float]:
    """The ε and δ to plan for; δ is one in a million unless said otherwise, and 0 where nothing pays it."""
    if asked.epsilon is None:
        raise ParameterError(
            f"a plan for {asked.title} needs `epsilon`, or the parameters themselves; neither was given.",
            "Give `epsilon` (and `delta`): 1 is a usual beginning.",
        )
    if pure:
        return asked.epsilon, 0.0
    delta = DEFAULT_DELTA if asked.delta is None else asked.delta
    if not delta > 0:
        raise ParameterError.outside(
            "delta", delta, "above 0 and below 1", "Well below one over the number of users is usual."
        )
    return asked.epsilon, delta


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


def smallest(holds: Callable[[int], bool], least: int = 0) -> int:
    """The smallest whole number from ``least`` on at which a monotone condition holds."""
    if holds(least):
        return least
    step = 1
    while not holds(least + step):
        step *= 2
        if step > 1 << 60:
            raise ParameterError("no threshold is high enough for this request.", "Ask for a larger delta.")
    low, high = least + step // 2, least + step
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def settle_noise(noise: float, cost: Callable[[float], float], epsilon: float) -> float:
    """The least readable scale from ``noise`` on at which the whole costs at most ``epsilon``."""
    while cost(noise) > epsilon:
        noise = larger(noise)
    return noise


@dataclass(frozen=True)
class Portion:
    """Something to publish.

    Args:
        name: what it is.
        records: n, the most that a user contributes to it (L1).
        threshold: the least threshold that serves for a noise scale and a δ; None publishes everything.
        pays_delta: whether the threshold depends on δ.
        published: whether the noisy numbers are published, so that their error counts.
    """

    name: str
    records: int
    threshold: Callable[[float, float], int] | None = None
    pays_delta: bool = False
    published: bool = True


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


def _weight(part: Portion, share: Share) -> float:
    return share.threshold / share.noise + (1.0 if part.published else 0.0)


def split(parts: Sequence[Portion], epsilon: float, delta: float = 0.0, rounds: int = 12) -> list[Share]:
    """Noise, threshold and δ of each part, with the least loss; the best of a few rounds."""
    weights = [1.0] * len(parts)
    best: list[Share] = []
    least = math.inf
    for _ in range(rounds):
        shares = _allot(parts, weights, epsilon, delta)
        # A weight of zero would starve a part of ε altogether.
        weights = [max(0.05, _weight(part, share)) for part, share in zip(parts, shares, strict=True)]
        loss = math.fsum(
            weight * share.noise
            for part, weight, share in zip(parts, weights, shares, strict=True)
            if part.records
        )
        if loss < least:
            least, best = loss, shares
    return best
