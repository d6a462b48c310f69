"""Figures 2 and 3 of the paper on releasing queries, clicks and counts (ZEALOUS), on any search log.

    tacit synth --users 18500 --seed 1 -o log.parquet
    python examples/reproduce_zealous.py log.parquet -o zealous

Figure 2: the hit probability of an index cache chosen by the original log, by k-query anonymous ones and by
ZEALOUS histograms of keywords, for m = 1 and m = 6. Figure 3: how many of the top 2 and top 5 query
substitutions are covered, for m = 1 and m = 6. Stopped, it goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from reproduce_thesis import show

from tacit.evaluate.sweep import ORIGINAL, ReleaseSetting, SweepPlan, run_sweep

EPSILONS = (1.0, 2.0, 5.0, 10.0, 20.0)
KS = (5, 10, 25, 50, 100)
M = (1, 6)


def zealous(epsilon: float, per_user: int, items: tuple[str, ...]) -> ReleaseSetting:
    """A ZEALOUS release, planned."""
    return ReleaseSetting(
        "zealous", {"epsilon": epsilon, "delta": 1e-6, "per_user": per_user, "items": items}
    )


def figure_2(log: Path, folder: Path, folds: int) -> None:
    """Hit probabilities."""
    private = {(e, m): zealous(e, m, ("keywords",)) for m in M for e in EPSILONS}
    anonymous = {k: ReleaseSetting("k-query", {"k": k, "items": ("keywords",)}) for k in KS}
    plan = SweepPlan((ORIGINAL, *private.values(), *anonymous.values()), ("index-caching",), folds=folds)
    results = run_sweep(log, folder / "figure-2", plan, workers=2)
    hit = results.of("index-caching", "release alone: hit probability")
    rows = [["original", "", hit[ORIGINAL.key].value, round(results.rows[ORIGINAL.key]["keywords"])]]
    for (epsilon, m), setting in private.items():
        rows.append(
            [
                f"ZEALOUS, m = {m}",
                f"ε = {epsilon:g}",
                hit[setting.key].value,
                round(results.rows[setting.key]["keywords"]),
            ]
        )
    for k, setting in anonymous.items():
        rows.append(
            ["k-query", f"k = {k}", hit[setting.key].value, round(results.rows[setting.key]["keywords"])]
        )
    show("Figure 2: hit probabilities", ("log", "privacy", "hit probability", "keywords"), rows)


def figure_3(log: Path, folder: Path, folds: int) -> None:
    """Coverage of substitutions."""
    private = {(e, m): zealous(e, m, ("queries", "pairs")) for m in M for e in EPSILONS}
    anonymous = {k: ReleaseSetting("k-query", {"k": k, "items": ("queries", "pairs")}) for k in KS}
    plan = SweepPlan((ORIGINAL, *private.values(), *anonymous.values()), ("substitution",), folds=folds)
    results = run_sweep(log, folder / "figure-3", plan, workers=2)
    rows = []
    named = [(f"ZEALOUS, m = {m}", f"ε = {e:g}", s) for (e, m), s in private.items()]
    named += [("k-query", f"k = {k}", s) for k, s in anonymous.items()]
    for name, privacy, setting in named:
        found = [
            results.of("substitution", f"top {j}: {what}")[setting.key]
            for j in (2, 5)
            for what in ("coverage", "precision")
        ]
        rows.append(
            [
                name,
                privacy,
                *(each.where_answered for each in found),
                round(results.rows[setting.key].get("steps", 0)),
            ]
        )
    heading = (
        "log",
        "privacy",
        "coverage, top 2",
        "precision, top 2",
        "coverage, top 5",
        "precision, top 5",
        "pairs",
    )
    show("Figure 3: coverage of substitutions", heading, rows)


def main() -> None:
    """Both figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--output", "-o", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()
    options.output.mkdir(mode=0o700, exist_ok=True)
    figure_2(options.log, options.output, options.folds)
    figure_3(options.log, options.output, options.folds)


if __name__ == "__main__":
    main()
