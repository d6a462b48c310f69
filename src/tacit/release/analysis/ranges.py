"""The ranges that parameters of every mechanism share, checked in one place."""

from __future__ import annotations

import math

from tacit.errors import ParameterError

__all__ = ["check_noise", "check_probability", "check_whole"]


def check_noise(name: str, scale: float) -> None:
    """A noise scale is finite and at least 0; 0 switches the noise off (tests), and ε is then infinite."""
    if not (math.isfinite(scale) and scale >= 0):
        raise ParameterError.outside(name, scale, "a finite number, 0 or more")


def check_whole(name: str, value: int, least: int) -> None:
    """Bounds and thresholds are whole numbers: counts are, and the noise is."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError.outside(name, value, f"a whole number, {least} or more")


def check_probability(name: str, value: float) -> None:
    """A probability above 0."""
    if not 0 < value <= 1:
        raise ParameterError.outside(name, value, "above 0 and at most 1")
