"""OpenDP's Gaussian mechanism with threshold on a bounded histogram; in an environment that has OpenDP.

python with_opendp.py release LOG.npz MOST OUT.json
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np

__all__ = ["gaussian_histogram"]

EPSILON, DELTA = 1.0, 1e-6


def gaussian_histogram(held: np.ndarray, counts: np.ndarray, most: int) -> dict[int, int]:
    """Noisy counts of the keys that pass, of counts to which a user adds 1 to at most so many."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = (
        dp.map_domain(dp.atom_domain(T=int), dp.atom_domain(T=int)),
        dp.l02inf_distance(dp.absolute_distance(T=float)),
    )
    moved = (most, math.sqrt(most), 1.0)

    def delta_of(scale: float, threshold: int) -> float:
        """δ at ε: the conversion of ρ-concentrated privacy (OpenDP's own), and the threshold's part."""
        mechanism = dp.m.make_gaussian_threshold(*space, scale=scale, threshold=threshold)
        rho, chance = mechanism.map(moved)
        return (
            dp.c.make_zCDP_to_approxDP(
                dp.m.make_gaussian(
                    dp.atom_domain(T=float, nan=False),
                    dp.absolute_distance(T=float),
                    scale=1 / math.sqrt(2 * rho),
                )
            )
            .map(1.0)
            .delta(EPSILON)
            + chance
        )

    scale = dp.binary_search(lambda s: delta_of(s, 1 << 30) <= DELTA / 2, bounds=(1.0, 1e4))
    threshold = dp.binary_search(lambda t: delta_of(scale, t) <= DELTA, bounds=(1, 1 << 20))
    mechanism = dp.m.make_gaussian_threshold(*space, scale=scale, threshold=threshold)
    return dict(mechanism(dict(zip(held.tolist(), counts.tolist(), strict=True))))


def bounded(user: np.ndarray, query: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys and their counts, with at most so many different queries of a user, by lot."""
    pairs = np.unique(np.stack([user, query]), axis=1)
    order = np.lexsort((np.random.default_rng().random(pairs.shape[1]), pairs[0]))
    user, query = pairs[0][order], pairs[1][order]
    place = np.arange(user.size) - np.searchsorted(user, user)
    return np.unique(query[place < most], return_counts=True)


if __name__ == "__main__":
    _, _, log, most, out = sys.argv
    records = np.load(log)
    found = gaussian_histogram(*bounded(records["user"], records["query"], int(most)), int(most))
    Path(out).write_text(json.dumps(list(found.items())))
