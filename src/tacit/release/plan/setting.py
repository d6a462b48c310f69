"""A plan: parameters chosen for a requested guarantee, what they mean in words, and the paper's choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from tacit.errors import ParameterError
from tacit.privacy import Guarantee
from tacit.privacy.rounding import per_scale

__all__ = ["LARGEST_EPSILON", "PaperSetting", "Plan", "check_request", "larger", "noise_for", "smallest"]

LARGEST_EPSILON = 1000.0
"""Beyond this a request is a mistake, and the arithmetic of thresholds ends."""

P = TypeVar("P")
DIGITS = 6


@dataclass(frozen=True)
class PaperSetting:
    """The parameters the paper would choose for the same request, and why ours differ."""

    values: Mapping[str, float]
    source: str
    why: str


@dataclass(frozen=True)
class Plan(Generic[P]):
    """Parameters with the guarantee they provably give.

    ``figures`` holds what the choice costs in utility, by name; ``words`` says all of it to a person.
    """

    parameters: P
    guarantee: Guarantee
    figures: Mapping[str, float]
    words: tuple[str, ...]
    paper: PaperSetting | None


def check_request(epsilon: float, delta: float, *, delta_needed: bool = True) -> None:
    """A request for ε > 0 and, where the mechanism pays it, 0 < δ < 1."""
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise ParameterError.outside(
            "epsilon", epsilon, "above 0 and at most 1,000", "From about 10 on it protects hardly anybody."
        )
    if delta_needed and not 0 < delta < 1:
        raise ParameterError.outside(
            "delta", delta, "above 0 and below 1", "Well below one over the number of users is usual."
        )
    if not 0 <= delta < 1:
        raise ParameterError.outside("delta", delta, "at least 0 and below 1")


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
    return float(10.0 ** (math.floor(math.log10(scale)) - DIGITS + 1))


def _readable(scale: float) -> float:
    """``scale`` rounded up to six significant digits, but for what floating point itself adds."""
    unit = _unit(scale)
    return float(f"{math.ceil(scale / unit - 1e-9) * unit:.{DIGITS}g}")


def larger(scale: float) -> float:
    """The next scale of six significant digits."""
    return float(f"{scale + _unit(scale):.{DIGITS}g}")


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
