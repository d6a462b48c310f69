"""What personalising with a generalised profile does to search quality, as tables and a chart.

The shape of the paper's Figures 9 (by how distinct the query is) and 10 (by delta), on the synthetic log;
reported as found. With --clicks results are judged by the log's clicks; --chart writes both charts as SVG.

With --articles FILE the task is on real encyclopaedia articles with their own categories as the taxonomy.

Run: python benchmarks/device_quality.py [--quick] [--clicks] [--chart docs/guarantees/device-quality.svg]
     python benchmarks/device_quality.py --articles wikispeedia_abstracts.jsonl.gz
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from tacit.device import Repository, wordnet_repository
from tacit.evaluate.device_articles import article_cases, article_repository
from tacit.evaluate.device_quality import SCORES, Case, Outcome, groups_by_power, held_out_cases, measure
from tacit.text import words
from tacit.world.synth import SyntheticLog

GROUPS = ("ambiguous", "medium", "distinct")
DELTAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
SERVER = [name for name in SCORES if name != "on the device"]


def mean(outcomes: list[Outcome]) -> tuple[float, float, float]:
    """Original and personalised average precision, and the half-width of a 95% interval of the gain."""
    gains = np.array([outcome.personalised - outcome.original for outcome in outcomes])
    spread = 1.96 * gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    original = float(np.mean([outcome.original for outcome in outcomes]))
    return original, original + float(gains.mean()), float(spread)


def by_group(repository: Repository, cases: list[Case]) -> list[dict[str, object]]:
    """Figure 9: average precision by how distinct the query is, delta = 0.1."""
    rows: list[dict[str, object]] = []
    print("| queries | DP(q, R) | cases | engine | " + " | ".join(SCORES) + " |")
    print("|---|---|---|---|" + "---|" * len(SCORES))
    outcomes = {score: measure(repository, cases, 0.1, score) for score in SCORES}
    powers = np.array([outcome.query_power for outcome in outcomes[SERVER[0]]])
    group = groups_by_power(powers)
    for which, name in [*enumerate(GROUPS), (None, "all")]:
        inside = np.flatnonzero(group == which) if which is not None else np.arange(len(powers))
        cells = []
        for score, found in outcomes.items():
            original, personalised, spread = mean([found[place] for place in inside])
            cells.append(f"{personalised:.3f} ({personalised - original:+.3f} ± {spread:.3f})")
            rows.append({"queries": name, "order": score, "AP": personalised})
        rows.append({"queries": name, "order": "engine", "AP": original})
        print(
            f"| {name} | {powers[inside].min():.2f} to {powers[inside].max():.2f} | {len(inside):,} "
            f"| {original:.3f} | " + " | ".join(cells) + " |"
        )
    for score in SERVER:
        decided = measure(repository, cases, 0.1, score, decide=True)
        original, personalised, spread = mean(decided)
        exposed = float(np.mean([outcome.exposed for outcome in decided]))
        print(
            f"\ndistinct queries and useless profiles withheld, {score}: {personalised:.3f} "
            f"({personalised - original:+.3f} ± {spread:.3f}), a profile goes out with {exposed:.0%}"
        )
    return rows


def by_delta(repository: Repository, cases: list[Case]) -> list[dict[str, object]]:
    """Figure 10: average precision over all cases by delta."""
    rows: list[dict[str, object]] = []
    print("\n| delta | personalised | " + " | ".join(SERVER) + " |")
    print("|---|---|" + "---|" * len(SERVER))
    for delta in DELTAS:
        cells, exposed = [], 0.0
        for score in SERVER:
            found = measure(repository, cases, delta, score)
            _, personalised, _ = mean(found)
            exposed = float(np.mean([outcome.exposed for outcome in found]))
            cells.append(f"{personalised:.3f}")
            rows.append({"delta": delta, "order": score, "AP": personalised})
        print(f"| {delta:g} | {exposed:.0%} | " + " | ".join(cells) + " |")
    return rows


def draw(path: Path, groups: list[dict[str, object]], deltas: list[dict[str, object]], engine: float) -> None:
    """Both figures side by side, as SVG."""
    import altair as alt

    score = alt.Y("AP:Q", title="average precision", scale=alt.Scale(zero=False))
    colour = alt.Color("order:N", title="reranked by", sort=["engine", *SCORES])
    bars = (
        alt.Chart(alt.Data(values=groups))
        .mark_point(filled=True, size=70)
        .encode(x=alt.X("queries:N", sort=[*GROUPS, "all"], title=None), y=score, color=colour)
        .properties(width=260, height=260, title="by kind of query, δ = 0.1")
    )
    lines = (
        alt.Chart(alt.Data(values=deltas))
        .mark_line(point=True)
        .encode(x=alt.X("delta:Q", title="δ"), y=score, color=colour)
        .properties(width=320, height=260, title="by risk bound, all queries")
    )
    rule = alt.Chart(alt.Data(values=[{"AP": engine}])).mark_rule(strokeDash=[4, 3]).encode(y="AP:Q")
    (bars | (lines + rule)).save(str(path))


def main() -> None:
    """Print both tables, and draw them if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="12 users instead of 60")
    parser.add_argument("--clicks", action="store_true", help="judge by clicks, not by the meaning in mind")
    parser.add_argument("--articles", type=Path, help="real articles (.jsonl.gz) instead of the log")
    parser.add_argument("--chart", type=Path, help="write the charts here, as SVG")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.articles:
            repository = article_repository(arguments.articles, folder)
            length = np.mean([len(words(document.text)) for document in repository.corpus])
            print(f"{len(repository.corpus):,} articles of {length:.0f} words on average", end=", ")
            print(f"{len(repository.tree) - 1} categories\n")
            cases = list(article_cases(repository, 30 if arguments.quick else 200))
        else:
            repository = wordnet_repository()
            log = SyntheticLog(500 if arguments.quick else 3_000, seed=5)
            users = 12 if arguments.quick else 60
            tables = log.table(), log.truth()
            cases = list(held_out_cases(repository, *tables, users, by_clicks=arguments.clicks))
        groups = by_group(repository, cases)
        deltas = by_delta(repository, cases)
    if arguments.chart:
        engine = next(row["AP"] for row in groups if row["queries"] == "all" and row["order"] == "engine")
        draw(arguments.chart, groups, deltas, float(str(engine)))


if __name__ == "__main__":
    main()
