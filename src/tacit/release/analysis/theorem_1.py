"""The thesis's α: what it charges for selecting a query (Theorem 1, eq. 3.4) or a sequence (eq. 5.13).

    α = max( e^(1/b)/p_g,  1 + 1/(2 e^((K-1)/b) - 1) )

Only the first term is real over a public domain; see docs/guarantees/click.md. Here it is for the figures
that the thesis prints.
"""

from __future__ import annotations

import math

from tacit.errors import ParameterError

__all__ = ["log_alpha", "turning_point"]


def log_alpha(noise: float, threshold: float, pool_probability: float = 1.0) -> float:
    """ln α. The second term is -ln(1 - e^(-(K-1)/b)/2), and means nothing where that is no logarithm."""
    if noise <= 0:
        raise ParameterError.outside("noise", noise, "above 0 for the paper's figure")
    first = 1 / noise - math.log(pool_probability)
    exponent = (1 - threshold) / noise
    if exponent >= math.log(2):
        return first
    return max(first, -math.log1p(-math.exp(exponent) / 2))


def turning_point(noise: float, pool_probability: float = 1.0) -> float:
    """The thesis's K for a noise scale: where the two terms of α meet (eq. 3.11)."""
    if noise <= 0:
        raise ParameterError.outside("noise", noise, "above 0 for the paper's figure")
    # 2 e^((K-1)/b) - 1 = 1/(e^(1/b)/p_g - 1) = p_g/(e^(1/b) - p_g)
    rest = 0.0 if 1 / noise > 700 else pool_probability / (math.expm1(1 / noise) + 1 - pool_probability)
    return 1 + noise * math.log((1 + rest) / 2)
