"""Whether `adaptive` finds most on logs of every size, beside ZEALOUS and weighted Gaussian selection.

Claim: at (1, 1e-6), on logs of 1,000 to 100,000 users of the shape of `adaptive_selection.py`, `adaptive`
with its defaults finds more queries with counts than ZEALOUS with the best of four bounds, and keys alone
more than weighted Gaussian selection with the best of three. So it does where users have one query each and
its bound says so: a single noisy count of each. Printed beside, without a claim: two queries each.

    python benchmarks/adaptive_sizes.py            # 1,000, 10,000 and 100,000 users; mean of 10 draws
    python benchmarks/adaptive_sizes.py --quick    # 1,000 and 10,000 users
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np

from adaptive_selection import draw_of
from peers.key_selection import DELTA, EPSILON, Draw, cut, weighted_gaussian, within
from tacit.release.mechanisms.adaptive import PER_USER

DRAWS = 10


def at_most(draw: Draw, queries: int) -> Draw:
    """The same users with so many of their queries each, by lot."""
    user, items, _ = cut(draw, queries, np.random.default_rng(7))
    kinds, numbered = np.unique(items, return_inverse=True)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(user)) + 1, [user.size]])
    return Draw(starts.astype(np.int64), numbered.astype(np.int32), kinds.size)


def adaptive(draw: Draw, per_user: int, keys_only: bool) -> tuple[int, int]:
    """Found, and within 25%."""
    from tacit.privacy.noise.randomness import OperatingSystemRandomness
    from tacit.release.execution import Holdings, select
    from tacit.release.mechanisms.adaptive import Adaptive

    made = Adaptive(epsilon=EPSILON, delta=DELTA, per_user=per_user, keys_only=keys_only)
    selection = made.plan().schedule.selection
    assert selection is not None
    holdings = Holdings(draw.starts, draw.items, draw.kinds)
    found = select(selection, holdings, OperatingSystemRandomness())
    near = 0 if keys_only else within(found.counts, draw.truth[found.items])
    return found.items.size, near


def zealous(draw: Draw, per_user: int) -> tuple[int, int]:
    """A planned ZEALOUS release with this many items a user."""
    from tacit.privacy.noise.randomness import OperatingSystemRandomness
    from tacit.privacy.noise.samplers import discrete_laplace
    from tacit.release.mechanisms.zealous import Zealous

    part = next(iter(Zealous(epsilon=EPSILON, delta=DELTA, per_user=per_user).plan().schedule))
    assert part.noise is not None and part.least is not None
    _, items, _ = cut(draw, per_user, np.random.default_rng())
    counts = np.bincount(items, minlength=draw.kinds)
    held = np.flatnonzero(counts >= part.minimum)
    noisy = counts[held] + discrete_laplace(part.noise.scale, held.size, OperatingSystemRandomness())
    passed = noisy >= part.least
    return int(passed.sum()), within(noisy[passed], draw.truth[held[passed]])


def mean(run: Callable[[], tuple[int, int]], draws: int) -> tuple[float, float]:
    rows = [run() for _ in range(draws)]
    return float(np.mean([row for row, _ in rows])), float(np.mean([close for _, close in rows]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--first-seed", type=int, default=101)
    options = parser.parse_args()
    sizes = (1_000, 10_000) if options.quick else (1_000, 10_000, 100_000)
    columns = "users | queries a user | adaptive | within 25% | ZEALOUS, best m | within 25%"
    print(f"| {columns} | adaptive, keys | weighted Gaussian, keys |\n|{'---|' * 8}")
    lost = False
    for users in sizes:
        whole = draw_of(10 * users, options.first_seed)
        for said, draw, bounds in (
            ("any", whole, (1, 2, 5, 10)),
            ("1", at_most(whole, 1), (1,)),
            ("2", at_most(whole, 2), (1, 2)),
        ):
            # That users have one or two queries each is public here, and `--per-user` says so.
            limit = PER_USER if said == "any" else int(said)
            counted = mean(lambda d=draw, k=limit: adaptive(d, k, False), DRAWS)
            keys = mean(lambda d=draw, k=limit: adaptive(d, k, True), DRAWS)
            rival = max((mean(lambda d=draw, m=m: zealous(d, m), DRAWS), m) for m in bounds)
            limits = (10, 30, 100) if said == "any" else (limit,)
            weighted = max(weighted_gaussian(draw, k) for k in limits)
            print(
                f"| {users:,} | {said} | {counted[0]:,.1f} | {counted[1]:,.1f} | {rival[0][0]:,.1f} "
                f"(m = {rival[1]}) | {rival[0][1]:,.1f} | {keys[0]:,.1f} | {weighted:,} |",
                flush=True,
            )
            lost |= said != "2" and (counted[0] < rival[0][0] or keys[0] < weighted)
    if lost:
        sys.exit("adaptive finds less than another somewhere")


if __name__ == "__main__":
    main()
