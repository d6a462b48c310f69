"""Keys by the end of a period: a series, weekly releases, and one release at the end, under one budget.

Claim: over 13 and 52 weeks a series finds several times as many keys as weekly releases whose noise and
disclosures add up to the same, and most of what one release at the end finds, week after week.

    python benchmarks/series_year.py                        # the table of docs/guarantees/series.md
    python benchmarks/series_year.py --quick                # 20,000 users, 13 weeks, ε = 4
    python benchmarks/series_year.py --history              # opened on a log of the past, and not
    python benchmarks/series_year.py --time 5000000         # a week of so many records against `adaptive`

Logs are of `tacit synth`, with 30 new keys from the middle on that 0.25 to 2% of active users ask in a week.
Measured seeds (31 to 36) are none on which a constant was chosen (101 to 104).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from release_speed import Taken, taken
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.execution import select
from tacit.release.mechanisms.series_planner import plan_series
from tacit.release.series.trial import at_end, carry_out, holdings, read_stream, weekly

CASES = ((20_000, 13, 31), (60_000, 13, 32), (20_000, 52, 33))
DELTA = 1e-6


def table(cases: list[tuple[int, int, int]], epsilons: list[float], folder: Path) -> bool:
    """Print the table; whether the series keeps what is claimed."""
    from tacit.world.synth import SyntheticLog

    heads = "weekly | series | end | series, keys only | end, keys only | top 50 | top 200 | change | by time"
    print(f"| log, ε | {heads} |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    kept = True
    for users, weeks, seed in cases:
        path = folder / f"{users}-{weeks}.parquet"
        SyntheticLog(users, seed=seed, weeks=weeks).write(path)
        stream = read_stream(path, weeks, risers=30, seed=seed)
        for epsilon in epsilons:
            begun = time.monotonic()
            found = carry_out(stream, plan_series(epsilon, DELTA, weeks, 20))
            took, each, end = (
                time.monotonic() - begun,
                weekly(stream, epsilon, DELTA),
                at_end(stream, epsilon, DELTA),
            )
            alone = carry_out(stream, plan_series(epsilon, DELTA, weeks, 20, keys_only=True)).by_week[-1]
            quarters = [found.by_week[max(0, round(weeks * part) - 1)] for part in (1 / weeks, 0.25, 0.5, 1)]
            print(
                f"| {users // 1000}k, {weeks} w, {epsilon:g} | {each[-1]:,} | **{found.by_week[-1]:,}** | "
                f"{end:,} | {alone:,} | {at_end(stream, epsilon, DELTA, keys_only=True):,} | "
                f"{found.errors[0]:.0%} | {found.errors[1]:.0%} | {found.errors[2]:.0%} | "
                f"{', '.join(f'{n:,}' for n in quarters)} |",
                flush=True,
            )
            late = ", ".join(f"{share:.2%}: {weeks}" for share, weeks in found.delays(stream).items())
            print(f"<!-- bias {found.bias:+.1%}; risers {late}; {took:.0f} s -->")
            kept &= found.by_week[-1] >= 3 * each[-1] and found.by_week[-1] >= 0.55 * end
    return kept


def opened_on_past(epsilons: list[float], folder: Path) -> bool:
    """A series of 13 weeks, with a tenth of the budget for the 13 weeks before, and without."""
    from tacit.world.synth import SyntheticLog

    path = folder / "both.parquet"
    SyntheticLog(20_000, seed=34, weeks=26).write(path)
    stream, kept = read_stream(path, 26), True
    past, later = holdings(stream, 0, 13), replace(stream, weeks=stream.weeks[13:])
    for epsilon in epsilons:
        plan = plan_series(epsilon, DELTA, 13, 20, with_history=True)
        assert plan.history is not None
        known = select(plan.history, past, OperatingSystemRandomness()).items.tolist()
        opened, plain = carry_out(later, plan, known), carry_out(later, plan_series(epsilon, DELTA, 13, 20))
        print(
            f"ε = {epsilon:g}: opened on the past {len(known):,} at once, {opened.by_week[-1]:,} at the end; "
            f"without {plain.by_week[0]:,} in the first week, {plain.by_week[-1]:,} at the end",
            flush=True,
        )
        kept &= len(known) > plain.by_week[0]
    return kept


def timed(records: int, folder: Path) -> bool:
    """Whole commands: two weeks of so many records by a series, against adaptive releases of the same weeks.

    Each in turn, three times; medians are of the ratios of one turn.
    """
    from tacit.world.synth import SyntheticLog

    users, weeks = max(100, round(records / 4.25)), [folder / "week-1.parquet", folder / "week-2.parquet"]
    for seed, path in enumerate(weeks, start=41):  # the second week of the same people
        SyntheticLog(users, seed=seed, weeks=1).write(path)
    took: list[list[tuple[Taken, Taken]]] = []
    for turn in range(3):
        year = folder / f"{turn}" / "year"
        _tacit(year.parent, "series", "open", year, "--weeks", 52, "--epsilon", 4, "--delta", 1e-6)
        took.append([])
        for path in weeks:
            alone = folder / f"{turn}-{path.stem}"  # where nobody knows that the week is released twice
            budget = "--ledger", alone / "ledger", "--budget-epsilon", 4, "--budget-delta", 1e-6
            one = _tacit(alone, "release", "adaptive", path, "--epsilon", 4, "-o", alone / "out", *budget)
            took[-1].append((one, _tacit(year.parent, "series", "next", year, path)))
    size = sum(each.stat().st_size for each in [year / "state", *year.glob("state-parts/*")])
    kept = True
    for number, pairs in enumerate(zip(*took, strict=True), start=1):
        one, mine = (min(each, key=lambda run: run.processors) for each in zip(*pairs, strict=True))
        clock = statistics.median(next_week.clock / alone.clock for alone, next_week in pairs)
        work = statistics.median(next_week.processors / alone.processors for alone, next_week in pairs)
        print(
            f"week {number}: {mine.processors:.1f} s of processors, adaptive {one.processors:.1f} "
            f"({work:.2f} times); by the clock {mine.clock:.1f} s and {one.clock:.1f} ({clock:.2f} times); "
            f"most memory {mine.peak / 1e9:.1f} GB and {one.peak / 1e9:.1f}"
        )
        kept &= work <= 1.5
    print(f"{pq.read_metadata(path).num_rows:,} records a week; state {size / 1e6:.0f} MB")
    return kept


def _tacit(folder: Path, *words: object) -> Taken:
    folder.mkdir(exist_ok=True)
    return taken([sys.executable, "-m", "tacit", *map(str, words)], str(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--epsilon", type=float, action="append")
    parser.add_argument("--history", action="store_true")
    parser.add_argument("--time", type=int, metavar="RECORDS")
    options = parser.parse_args()
    epsilons = options.epsilon or ([4.0] if options.quick else [1.0, 2.0, 4.0])
    with tempfile.TemporaryDirectory() as folder:
        if options.time:
            kept = timed(options.time, Path(folder))
        elif options.history:
            kept = opened_on_past(epsilons, Path(folder))
        else:
            kept = table(list(CASES)[: 1 if options.quick else 3], epsilons, Path(folder))
    if not kept:
        sys.exit("less than claimed")


if __name__ == "__main__":
    main()
