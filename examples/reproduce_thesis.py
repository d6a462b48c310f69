"""Tables 3.5 to 3.7, 3.9, 4.5, 4.6 and Figures 3.5 to 3.8, 4.2, 4.3 of the thesis, on any search log.

    tacit synth --users 18500 --seed 1 -o log.parquet
    python examples/reproduce_thesis.py log.parquet -o thesis
    python examples/reproduce_thesis.py aol.parquet -o thesis --scale 36

The thesis worked on AOL's 36 million records. Thresholds are counts, so on a smaller log they are smaller:
``--scale 36`` keeps the thesis's own figures; the default of 1 is for a log of about a million records, with
a tenth of K and b (their ratio kept) or less. Stopped, it goes on where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tacit.evaluate import tasks
from tacit.evaluate.sweep import ORIGINAL, Measurements, ReleaseSetting, SweepPlan, run_sweep

# the thesis' own ways to serve from a release alone are tasks of their own
tasks.__path__.append(str(Path(__file__).resolve().parent.parent / "benchmarks" / "thesis"))

WALK, FEEDBACK = "random walk", "implicit feedback, as printed"
IMPACT = "random walk with page impact"
HONEST = "implicit feedback"


def show(title: str, heading: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Print a table in Markdown."""
    heading = list(heading)
    print(f"\n**{title}**\n\n| {' | '.join(heading)} |\n|{'---|' * len(heading)}")
    for row in rows:
        print(f"| {' | '.join(_cell(value) for value in row)} |")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return (
            "–"
            if value != value
            else f"{value:.2g}"
            if 0 < value < 0.001
            else f"{value:.4f}".rstrip("0").rstrip(".")
        )
    return f"{value:,}" if isinstance(value, int) else str(value)


def value(results: Measurements, setting: ReleaseSetting, task: str, measure: str) -> float:
    """A measure's mean where answered."""
    return results.of(task, measure)[setting.key].where_answered


def sessions(results: Measurements, setting: ReleaseSetting, task: str, measure: str) -> int:
    """How many test units were evaluated."""
    found = results.of(task, measure)[setting.key]
    return round(found.answered * found.units)


class Reproduction:
    """All settings of the thesis, tried on one log."""

    def __init__(self, log: Path, folder: Path, scale: float, folds: int) -> None:
        self.log, self.folder, self.folds = log, folder, folds
        unit = scale / 36  # the share of AOL's size
        self.high_k, self.low_b = round(500 * max(unit, 0.1)), max(1.0, 10 * max(unit, 0.1))
        self.queries = 70 if scale >= 36 else 7  # with b, an ε near the thesis's 29.99
        self.noise = 10.0 if scale >= 36 else 1.0
        self.threshold = 10 if scale >= 36 else 2
        self.k = 20 if scale >= 36 else 5
        self.session_k = self.k

    def sweep(self, settings: Iterable[ReleaseSetting], tasks: tuple[str, ...], name: str) -> Measurements:
        """Try settings; the runs are kept under the output folder."""
        listed = tuple({setting.key: setting for setting in settings}.values())
        print(f"… {name}: {len(listed)} settings", flush=True)
        plan = SweepPlan(listed, tasks, folds=self.folds)
        return run_sweep(self.log, self.folder / name, plan, workers=2)

    def click(self, noise: float, threshold: float, queries: int, **options: Any) -> ReleaseSetting:
        """A_Click with all noise alike, as in the thesis."""
        given = {"noise": noise, "threshold": threshold, "queries_per_user": queries, "mode": "approximate"}
        return ReleaseSetting("click", given | options)

    def tables_3_5_and_3_6(self) -> None:
        """Noise well below the threshold: like the original?"""
        private = self.click(self.low_b, self.high_k, self.queries)
        results = self.sweep((ORIGINAL, private), ("thesis-adhoc",), "tables-3-5-3-6")
        promise = results.settings[private.key]
        for table, way in (("3.5", WALK), ("3.6", FEEDBACK), ("3.6 without the leak", HONEST)):
            rows = []
            for name, setting in (("Original", ORIGINAL), ("Anonymized", private)):
                measures = [
                    value(results, setting, "thesis-adhoc", f"{way}: {m}")
                    for m in ("nDCG@10", "P@5", "P@10", "MAP")
                ]
                rows.append([name, *measures, sessions(results, setting, "thesis-adhoc", f"{way}: MAP")])
            show(f"Table {table}: {way}", ("log", "nDCG@10", "P@5", "P@10", "MAP", "queries"), rows)
            print(
                f"\nK = {self.high_k}, b = {self.low_b:g}, ε = {promise['epsilon']:.4g}, "
                f"δ = {promise['delta']:.2g}."
            )

    def table_3_7(self) -> None:
        """Pure and approximate, with the same noise and threshold."""
        rows, pairs = [], []
        for noise, threshold in ((5.0, 45), (8.0, 70), (12.0, 105)):
            shape = {"transitions": False}
            pure = ReleaseSetting(
                "click",
                {
                    "noise": noise,
                    "threshold": threshold,
                    "queries_per_user": 2,
                    "domain": "wordnet",
                    "surfaced": "wordnet",
                }
                | shape,
            )
            pairs.append((pure, self.click(noise, threshold, 2, **shape)))
        results = self.sweep((ORIGINAL, *(s for pair in pairs for s in pair)), ("thesis-adhoc",), "table-3-7")
        for pair in pairs:
            for name, setting in zip(("ε-DP", "(ε,δ)-DP"), pair, strict=True):
                about = results.settings[setting.key]
                measures = [
                    value(results, setting, "thesis-adhoc", f"{WALK}: {m}") for m in ("nDCG@10", "MAP")
                ]
                answered = sessions(results, setting, "thesis-adhoc", f"{WALK}: MAP")
                rows.append([name, about["epsilon"], about["delta"], *measures, answered])
        show("Table 3.7", ("algorithm", "ε", "δ", "nDCG@10", "MAP", "queries"), rows)

    def table_3_9_and_figure_3_7(self) -> None:
        """More of each user: more ε, more utility?"""
        settings = {q: self.click(self.noise, self.threshold, q) for q in (1, 2, 4, 6, 8, 10)}
        results = self.sweep((ORIGINAL, *settings.values()), ("thesis-adhoc",), "table-3-9")
        rows = []
        for queries, setting in settings.items():
            about = results.settings[setting.key]
            found = [
                value(results, setting, "thesis-adhoc", f"{way}: nDCG@10")
                for way in (FEEDBACK, HONEST, WALK, IMPACT)
            ]
            rows.append(
                [
                    queries,
                    about["epsilon"],
                    *found,
                    sessions(results, setting, "thesis-adhoc", f"{WALK}: MAP"),
                ]
            )
        heading = ("q_f = c_f", "ε", "IF as printed", "IF without the leak", "RW", "RW-2", "queries")
        show(f"Table 3.9 and Figure 3.7 (K = {self.threshold}, b = {self.noise:g})", heading, rows)

    def table_3_10(self) -> None:
        """More of each user at the same ε."""
        settings = {
            q: ReleaseSetting("click", {"epsilon": 8.0, "delta": 1e-6, "queries_per_user": q})
            for q in (1, 2, 5, 10, 20, 40)
        }
        results = self.sweep((ORIGINAL, *settings.values()), ("thesis-adhoc",), "table-3-10")
        walked = results.of("thesis-adhoc", f"{WALK}: nDCG@10")
        rows = [
            [q, results.released_rows(s.key), walked[s.key].value, walked[s.key].where_answered]
            for q, s in settings.items()
        ]
        show("Table 3.10 (ε = 8)", ("q_f", "rows", "RW nDCG@10 over all", "where answered"), rows)

    def figures_3_5_3_6_and_3_8(self) -> None:
        """The impact of K and b on utility and on ε."""
        grid = {
            (k, b): self.click(b, k, 5)
            for k in (self.threshold, 3 * self.threshold, 10 * self.threshold)
            for b in (self.noise / 2, self.noise, 2 * self.noise, 5 * self.noise)
        }
        results = self.sweep((ORIGINAL, *grid.values()), ("thesis-adhoc",), "figures-3-5-3-6-3-8")
        rows = []
        for (k, b), setting in grid.items():
            about = results.settings[setting.key]
            found = [value(results, setting, "thesis-adhoc", f"{way}: nDCG@10") for way in (WALK, FEEDBACK)]
            rows.append(
                [
                    k,
                    b,
                    about["epsilon"],
                    about["delta"],
                    *found,
                    sessions(results, setting, "thesis-adhoc", f"{WALK}: MAP"),
                ]
            )
        heading = ("K", "b", "ε", "δ", "RW nDCG@10", "IF as printed", "queries")
        show("Figures 3.5, 3.6 and 3.8", heading, rows)

    def chapter_4(self) -> None:
        """Tables 4.5 and 4.6, Figures 4.2 and 4.3: k-anonymity, clicks alone, clicks and sessions."""
        runs: dict[str, Callable[[int], ReleaseSetting]] = {
            "KA": lambda k: ReleaseSetting("k-query", {"k": k + 1}),
            "DP_S": self._session,
        }
        ks = [max(1, self.session_k * step // 4) for step in (2, 4, 6, 10)]
        tried = {(name, k): make(k) for name, make in runs.items() for k in ks}
        tasks = ("thesis-suggestion", "thesis-session-search")
        results = self.sweep((ORIGINAL, *tried.values()), tasks, "chapter-4")
        for table, task, measures in (
            ("4.5", "thesis-suggestion", ("query flow and clicks: P@5", "query flow and clicks: R@5")),
            ("4.6", "thesis-session-search", ("random walk: nDCG@10", "random walk: MAP")),
        ):
            rows = []
            for name, setting in [("Original", ORIGINAL)] + [(n, tried[n, self.session_k]) for n in runs]:
                found = [value(results, setting, task, measure) for measure in measures]
                rows.append([name, *found, sessions(results, setting, task, measures[0])])
            if task == "thesis-suggestion":  # the same release, of which the clicks alone are used
                alone = [measure.replace("query flow and clicks", "clicks alone") for measure in measures]
                private = tried["DP_S", self.session_k]
                found = [value(results, private, task, measure) for measure in alone]
                rows.append(["DP_C", *found, sessions(results, private, task, alone[0])])
            heading = ("run", *(m.rpartition(": ")[2] for m in measures), "evaluated sessions")
            show(f"Table {table} (K = {self.session_k})", heading, rows)
        rows = []
        for (name, k), setting in tried.items():
            kept = results.rows[setting.key]
            measure = "query flow and clicks: "
            rows.append(
                [name, k, round(kept.get("clicks", 0)), round(kept.get("sequences", kept.get("steps", 0)))]
                + [sessions(results, setting, "thesis-suggestion", measure + "P@5")]
                + [value(results, setting, "thesis-suggestion", measure + m) for m in ("P@5", "R@5")]
            )
        heading = ("run", "K", "click rows", "session rows", "evaluated sessions", "P@5", "R@5")
        show("Figures 4.2 and 4.3", heading, rows)

    def _session(self, threshold: int) -> ReleaseSetting:
        options = {"noise": 1.0, "threshold": threshold, "clicks_per_user": 4, "once_per_user": False}
        return ReleaseSetting("session", options)


def main() -> None:
    """Redo everything, or what is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--output", "-o", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1.0, help="million records that thresholds are for")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--part", action="append", help="only this part; repeat it")
    options = parser.parse_args()
    options.output.mkdir(mode=0o700, exist_ok=True)
    work = Reproduction(options.log, options.output, options.scale, options.folds)
    parts = (
        "tables_3_5_and_3_6",
        "table_3_7",
        "table_3_9_and_figure_3_7",
        "table_3_10",
        "figures_3_5_3_6_and_3_8",
        "chapter_4",
    )
    for part in options.part or parts:
        getattr(work, part)()


if __name__ == "__main__":
    main()
