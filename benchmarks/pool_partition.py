"""Partitioning the people online: SPLIT, the default, a plain median split and anonypy in one run.

Claims, on records drawn from Adult (eight attributes, k = 30):

- SPLIT (section 5.3) takes at most 1.5 times as long as a plain median split of the same rows by histograms
  (Mondrian's choice, the widest attribute that can be cut) from 10,000 people on, and hundreds of times less
  than anonypy 0.2, an implementation of Mondrian on pandas;
- at 44,000 people the default loses at most 1.25 times the bound k/n, with cells at most 0.6 times as wide
  as SPLIT's.

Loops are compiled before the clock starts; the least processor time of five runs counts. anonypy is left
out above 44,000 records unless ``--full`` is given (it takes minutes).

Run: ``python benchmarks/pool_partition.py [--quick | --full]``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from tacit.pool.protocol.table import Codes
from tacit.pool.server.partition import Partition, partition
from tacit.pool.simulation.population import adult

K = 30
SIZES = [2_500, 10_000, 44_000, 250_000, 1_000_000]


@numba.njit(nogil=True)
def plain_median_split(rows: Any, sizes: Any, offsets: Any, k: int) -> int:
    """Cut at the median of the widest attribute that leaves k on both sides; the number of cells."""
    number, width = rows.shape
    begins, ends = np.empty(number // k + 2, np.int64), np.empty(number // k + 2, np.int64)
    begins[0], ends[0] = 0, number
    counts = np.zeros(offsets[-1] + sizes[-1], np.int64)
    waiting, cells = 1, 0
    while waiting:
        waiting -= 1
        begin, end = begins[waiting], ends[waiting]
        chosen, cut, widest = -1, 0, -1.0
        if end - begin >= 2 * k:
            counts[:] = 0
            for row in range(begin, end):
                for a in range(width):
                    counts[offsets[a] + rows[row, a]] += 1
            for a in range(width):
                first, last = 0, sizes[a] - 1
                while counts[offsets[a] + first] == 0:
                    first += 1
                while counts[offsets[a] + last] == 0:
                    last -= 1
                span = (last - first) / sizes[a]
                value, left = first, counts[offsets[a] + first]
                while 2 * left < end - begin:
                    value += 1
                    left += counts[offsets[a] + value]
                if span > widest and left >= k and end - begin - left >= k:
                    chosen, cut, widest = a, value, span
        if chosen < 0:
            cells += 1
            continue
        first, last = begin, end - 1
        while first <= last:
            if rows[first, chosen] <= cut:
                first += 1
            else:
                for b in range(width):
                    held = rows[first, b]
                    rows[first, b] = rows[last, b]
                    rows[last, b] = held
                last -= 1
        begins[waiting], ends[waiting] = first, end
        begins[waiting + 1], ends[waiting + 1] = begin, first
        waiting += 2
    return cells


def best_of(runs: int, work: Callable[[], Any]) -> float:
    """The least processor time of ``runs``, in seconds: nothing else on the machine counts."""
    taken = []
    for _ in range(runs):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return min(taken)


def anonypy_seconds(records: Codes, names: tuple[str, ...]) -> float:
    import pandas as pd
    from anonypy.mondrian import Mondrian

    frame = pd.DataFrame(records.astype(np.int64), columns=list(names))
    return best_of(1, lambda: Mondrian(frame, list(names)).partition(K))


def line(name: str, seconds: float, found: Partition | None = None, bound: float = 0.0) -> None:
    said = f"{name:>28} {seconds * 1000:>11,.1f} ms"
    if found is not None:
        said += (
            f"  {len(found):>7,} cells  IL {found.information_loss:.5f} ({found.information_loss / bound:.2f}"
        )
        said += f" times the bound)  NCP {found.width_share:.3f}"
    print(said, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="up to 44,000 people")
    parser.add_argument("--full", action="store_true", help="anonypy at a million records too")
    chosen = parser.parse_args()
    population = adult()
    template, random = population.template, np.random.default_rng(1)
    sizes = np.array(template.sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    few = population.draw(500, random)
    plain_median_split(few.copy(), sizes, offsets, K)
    for number in SIZES[:3] if chosen.quick else SIZES:
        records = population.draw(number, random)
        bound = K / number - 1 / template.domain.points
        print(f"\n{number:,} people, k = {K}; bound k/n - 1/S(D) = {bound:.5f}")
        runs = 5 if number <= 250_000 else 3
        plain = best_of(runs, lambda r=records: plain_median_split(r.copy(), sizes, offsets, K))
        line("plain median split", plain)
        seconds = {}
        for name, method in (("SPLIT", "split"), ("default", "ahead")):
            partition(few, template, K, method=method)
            seconds[name] = best_of(runs, lambda r=records, m=method: partition(r, template, K, method=m))
            line(name, seconds[name], partition(records, template, K, method=method), bound)
        print(f"{'SPLIT / plain median split':>28} {seconds['SPLIT'] / plain:>11.2f}")
        if number == 44_000 or (number == 1_000_000 and chosen.full):
            peer = anonypy_seconds(records, template.names)
            line("anonypy", peer)
            print(f"{'anonypy / SPLIT':>28} {peer / seconds['SPLIT']:>11,.0f}")


if __name__ == "__main__":
    main()
