"""How much is published by how much each user may give: the default bounds against larger ones.

Claim: on a synthetic log of 10,000 users at ε = 1 and δ = 10⁻⁶, the default bounds (one item, search, click
or session of two queries per user) publish at least 0.95 times the rows of any larger bound, for every
table that has at least five rows. Printed beside it: what publishing fresh counts instead of the compared
ones would cost.

    python benchmarks/release_bounds.py                   # 10,000 users
    python benchmarks/release_bounds.py --quick           # 1,000 users, ε = 4
    python benchmarks/release_bounds.py --users 100000

Rows are expected ones, computed from the bounded counts and the noise of the plan; nothing is drawn. The
bounds were chosen on such logs, never on one that is to be released.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

DELTA = 1e-6
LEAST = 5.0


def expected_rows(part: Any, counts: Any) -> float:
    """How many keys with these true counts pass the noisy threshold, on average."""
    import numpy as np

    from tacit.release.thresholds import survival

    values, how_many = np.unique(counts, return_counts=True)
    return float(
        sum(
            number * survival(part.noise.scale, part.least - int(value))
            for value, number in zip(values, how_many, strict=True)
            if value >= part.minimum
        )
    )


def published(engine: Any, log: Any, mechanism: Any) -> dict[str, float]:
    """Expected rows of each table."""
    import numpy as np

    plan = mechanism.plan()
    counting = plan.count(engine, log)
    return {
        part.table: expected_rows(part, np.asarray(engine.table(counting[part.table]).column("count")))
        for part in plan.schedule
    }


def settings(epsilon: float) -> dict[str, dict[str, Any]]:
    """What is compared, by mechanism; the default comes first."""
    from tacit import Click, Session, Zealous
    from tacit.release.parameters import Item

    asked: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
    found: dict[str, dict[str, Any]] = {}
    for item in Item:
        found[f"zealous, {item.value}"] = {
            f"m = {m}": Zealous(**asked, items=(item,), per_user=m) for m in (1, 2, 5, 10, 20)
        }
    found["click"] = {f"q_f = {q}": Click(**asked, queries_per_user=q) for q in (1, 2, 5, 10)}
    found["click"]["q_f = 1, fresh"] = Click(**asked, queries_per_user=1, same_counts=False)
    found["session"] = {
        f"l_s = {s}, l_q = {q}": Session(**asked, sessions_per_user=s, queries_per_session=q)
        for s, q in ((1, 2), (1, 3), (2, 2), (1, 4))
    }
    found["session"]["l_s = 1, l_q = 2, fresh"] = Session(**asked, same_counts=False)
    return found


def main() -> None:
    """Make the log (unless given) and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--log", type=Path, help="use this log instead of making one")
    options = parser.parse_args()
    users, epsilon = (1_000, 4.0) if options.quick else (options.users, options.epsilon)
    from tacit.engines import open_engine
    from tacit.world.synth import SyntheticLog

    worst = 1e9
    with tempfile.TemporaryDirectory() as folder:
        path = options.log or Path(folder) / "log.parquet"
        if options.log is None:
            SyntheticLog(users=users, seed=7).write(path)
        with open_engine(threads=2) as engine:
            log = engine.log(path)
            for name, tried in settings(epsilon).items():
                first: dict[str, float] = {}
                for bound, mechanism in tried.items():
                    rows = published(engine, log, mechanism)
                    first = first or rows
                    print(f"{name:22} {bound:24}", *(f"{table} {n:,.1f}" for table, n in rows.items()))
                    for table, count in first.items():
                        larger = rows is not first and "fresh" not in bound
                        if larger and rows.get(table, 0.0) >= LEAST:
                            worst = min(worst, count / rows[table])
    print(f"default bounds against the best of the larger ones: {worst:.2f} times the rows or more")
    if not options.quick and worst < 0.95:
        sys.exit("the default bounds are not the best")


if __name__ == "__main__":
    main()
