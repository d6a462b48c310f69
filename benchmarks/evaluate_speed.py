"""How long an evaluation takes, task by task, and how it grows with the log.

Claims: on a log of one million records, `tacit evaluate release` with three mechanisms (ZEALOUS, A_Click and
k-query anonymity at the default budgets and k, all tasks, five folds) finishes within 15 minutes on two
cores and within 6 GB; and four times the records take at most six times the processor time. Processor time
of all processes is given beside the clock: the machine may have other work.

    python benchmarks/evaluate_speed.py                # 18,500 users, one million records; a quarter
    python benchmarks/evaluate_speed.py --quick        # 2,000 users and 500
    python benchmarks/evaluate_speed.py --one-fold     # one of the five folds, in one process
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil

MECHANISMS = ("zealous", "click", "k-query")
MINUTES, GIGABYTES, GROWTH = 15, 6.0, 6.0


def _watch(process: subprocess.Popen[str], peak: list[int], stop: threading.Event) -> None:
    """The largest memory of the command and its workers together."""
    watched = psutil.Process(process.pid)
    while not stop.wait(0.2):
        try:
            family = [watched, *watched.children(recursive=True)]
            total = sum(each.memory_info().rss for each in family)
        except psutil.Error:
            continue
        peak[0] = max(peak[0], total)


def measure(log: Path, folder: Path, *, one_fold: bool) -> tuple[dict[str, Any], dict[str, float]]:
    """Run the command; its results, and seconds by the clock and of processors, and memory."""
    command = [sys.executable, "-m", "tacit", "evaluate", "release", str(log), "-o", str(folder), "--json"]
    command += [word for name in MECHANISMS for word in ("--mechanism", name)]
    command += ["--workers", "2"]
    if one_fold:
        command = [sys.executable, __file__, "--log", str(log), "--output", str(folder)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun, peak, stop = time.perf_counter(), [0], threading.Event()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watcher = threading.Thread(target=_watch, args=(process, peak, stop))
    watcher.start()
    output, _ = process.communicate()
    stop.set()
    watcher.join()
    if process.returncode:
        sys.exit("the evaluation failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figures = {"clock": time.perf_counter() - begun, "processor": processor, "bytes": float(peak[0])}
    return json.loads(output), figures


def run_one_fold(log: Path, folder: Path) -> None:
    """The first of five folds, in this process; prints what the command would print of its times."""
    from tacit.evaluate.sweep import SweepPlan, grid
    from tacit.evaluate.sweep.runs import RunStore
    from tacit.evaluate.sweep.sweeping import run_fold

    plan = SweepPlan(grid(MECHANISMS))
    store = RunStore(folder, {"log": log.name})
    run_fold(log, store, plan, 0)
    runs = {setting.key: store.load(setting, 0, 0) for setting in plan.settings}
    seconds = {key: dict(run.seconds) for key, run in runs.items()}
    print(json.dumps({"seconds": seconds, "repetitions": dict.fromkeys(runs, 1)}))


def _by_task(found: dict[str, Any]) -> dict[str, float]:
    """Processor seconds of all runs, by task."""
    totals: dict[str, float] = {}
    for key, seconds in found["seconds"].items():
        for name, value in seconds.items():
            totals[name] = totals.get(name, 0.0) + value * found["repetitions"][key]
    return totals


def compare(users: int, *, one_fold: bool) -> None:
    """Make two logs, one four times the other, and evaluate both."""
    from tacit.world.synth import SyntheticLog

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (users // 4, users):
            log = Path(folder) / f"{count}.parquet"
            records = SyntheticLog(count, seed=1).write(log).got.records
            found, figures = measure(log, Path(folder) / f"report-{count}", one_fold=one_fold)
            rows.append((records, _by_task(found), figures, sum(found["repetitions"].values())))
    small, large = rows
    print(f"{'':16}{small[0]:>14,} records{large[0]:>14,} records   growth")
    for name, high in large[1].items():
        low = small[1][name]
        print(f"{name:16}{low:>20.1f} s{high:>20.1f} s{high / low:>9.1f}")
    for name, unit, scale in (("clock", "s", 1.0), ("processor", "s", 1.0), ("bytes", "GB", 1e9)):
        low, high = small[2][name] / scale, large[2][name] / scale
        print(f"{name:16}{low:>20.1f} {unit}{high:>19.1f} {unit}{high / low:>9.1f}")
    times = 5 if one_fold else 1
    minutes = times * large[2]["processor"] / 120
    print(f"{times * large[3]} runs: {minutes:.1f} minutes on two idle cores (claimed: within {MINUTES})")
    memory = (2 if one_fold else 1) * large[2]["bytes"] / 1e9
    print(f"memory of two processes: {memory:.2f} GB (claimed: within {GIGABYTES:.0f} GB)")
    growth, ratio = large[2]["processor"] / small[2]["processor"], large[0] / small[0]
    print(f"{ratio:.1f} times the records, {growth:.1f} times the work (claimed: at most {GROWTH:.0f})")


def main() -> None:
    """Compare, or be one side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one-fold", action="store_true")
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.log:
        run_one_fold(options.log, options.output)
    else:
        compare(2_000 if options.quick else 18_500, one_fold=options.one_fold)


if __name__ == "__main__":
    main()
