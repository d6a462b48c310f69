"""How one budget is split among the parts of a mechanism so that the least is lost.

A part publishes noisy counts of a user's n records with noise b, for n/b of ε. It loses two things, both in
counts: everything below its threshold t, and about b in every number it publishes. The **loss** of a plan
is the sum of its thresholds and of its expected errors. A threshold grows with the noise as t = g b, where
g (a logarithm) hardly moves; so the loss of part i is w_i b_i, with w_i = g_i, g_i + 1 or 1, and the least

    Σ w_i b_i  under  Σ n_i/b_i = ε     is at     ε_i = ε √(n_i w_i) / Σ √(n_j w_j).

A part's threshold falls by b_i for each factor e of its δ_i, so the least total threshold has δ_i in
proportion to b_i. The weights depend on the result; a few rounds settle them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tacit.release.planning.setting import noise_for

__all__ = ["Portion", "Share", "split"]


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
