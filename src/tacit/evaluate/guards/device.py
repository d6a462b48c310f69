"""Evaluate the device: what a generalised profile is worth (UPS, section 7.5, Figures 9 and 10).

Compared on the same queries are the engine's order (no profile), orders by what is sent under a risk bound
δ, and the order by the complete profile on the device, of which nothing is sent. On AMBIENT, which is not
part of the project, a user gives the folder of its files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.device import Repository, wordnet_repository
from tacit.device.profile.arrays import Bags
from tacit.device.ranking.attention import Attention
from tacit.device.ranking.density import Density
from tacit.device.sending.interests import InterestChooser, passed_texts
from tacit.errors import InfeasibleError
from tacit.evaluate import charts
from tacit.evaluate.guards import cases as test_cases
from tacit.evaluate.guards.cases import SCORES, Case, HistoryCase, Outcome, Page
from tacit.evaluate.report import check_folder, write_folder
from tacit.evaluate.results import Figure, Progress, Results, Steps, columns, flat, no_progress
from tacit.retrieval.personalised import rank_by_topics
from tacit.taxonomy import people_taxonomy
from tacit.text.vectors import load_word_table
from tacit.world.synth import SyntheticLog

GROUPS = ("ambiguous", "medium", "distinct")
"""Queries by DP(q, R), the least distinct first."""
DELTAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
_DELTA = 0.1
_SENT = tuple(name for name in SCORES if name != "on the device")
AMBIENT_SETTINGS = ((3, 20, "same"), (3, 200, "same"), (0, 200, "none"), (3, 200, "other"))
"""Clicks before, documents in the history, and what the clicks were on: the meaning, nothing, another."""
_INTERESTS = {"same": "on this meaning", "none": "", "other": "on another meaning"}


def evaluate_device(
    to: str | Path | None = None,
    *,
    users: int = 60,
    population: int = 3_000,
    ambient: str | Path | None = None,
    seed: int = 5,
    force: bool = False,
    progress: Progress = no_progress,
) -> Results:
    """Measure search with no profile, with one sent under a risk bound, and with all of it on the device.

    Average Precision by how distinct a query is, and by the bound δ::

        quality = tacit.evaluate_device(users=12)
        print(quality)

    Args:
        to: the folder to make: ``results.json``, ``charts.html`` and an SVG for each chart. None writes
            nothing.
        users: of how many users the queries are judged, those with the most records.
        population: users of the synthetic log they are taken from.
        ambient: real results of ambiguous queries instead of the synthetic log: a folder with AMBIENT's
            files.
        seed: of the log and of what is drawn; the same seed gives the same results.
        force: replace the folder of an earlier evaluation.
        progress: called with how many rankings of all queries are done, and how many there are.
    """
    mark = "by-delta.svg" if ambient is None else "ambient.svg"
    check_folder(to, [mark], force=force, inputs=[ambient])
    if ambient is not None:
        found = ambient_results(ambient, progress=progress)
    else:
        repository, log = wordnet_repository(), SyntheticLog(population, seed=seed)
        held_out = list(test_cases.held_out_cases(repository, log.table(), log.truth(), users))
        found = device_results(repository, held_out, "synthetic log, judged by the meaning in mind", progress)
    return write_folder(found, to, force=force)


def device_results(
    repository: Repository, cases: Sequence[Case], source: str, progress: Progress = no_progress
) -> Results:
    """Rerank these queries in every way, at δ = 0.1 and at every bound."""
    if len(cases) < len(GROUPS):
        raise InfeasibleError(
            f"{len(cases)} test queries were found; three and more are needed.", "Use more `users`."
        )
    steps = Steps(len(SCORES) + len(DELTAS) * len(_SENT), progress)

    def measured(delta: float, score: str) -> list[Outcome]:
        outcomes = test_cases.measure(repository, cases, delta, score)
        steps.advance()
        return outcomes

    by_query = _by_query({score: measured(_DELTA, score) for score in SCORES})
    by_delta = []
    for delta in DELTAS:
        for score in _SENT:
            outcomes = measured(delta, score)
            exposed = float(np.mean([outcome.exposed for outcome in outcomes]))
            by_delta.append({"delta": delta, "exposed": exposed, "order": score, **_mean(outcomes)})
    return Results(
        "device",
        "What a profile generalised on the device is worth",
        f"{len(cases):,} queries ({source}); ± is the half-width of a 95% interval of the gain over no "
        "profile",
        {"source": source, "cases": len(cases), "by_query": by_query, "by_delta": by_delta},
        [*by_query, *by_delta],
        [_figure_by_query(by_query), _figure_by_delta(by_delta, by_query)],
    )


def _by_query(outcomes: dict[str, list[Outcome]]) -> list[dict[str, Any]]:
    powers = np.array([outcome.query_power for outcome in outcomes[_SENT[0]]])
    group = test_cases.groups_by_power(powers)
    rows = []
    for which, name in [*enumerate(GROUPS), (-1, "all")]:
        inside = np.flatnonzero(group == which) if which >= 0 else np.arange(len(powers))
        if len(inside):
            rows += [
                {"queries": name, "cases": len(inside), "order": order, **_mean([found[at] for at in inside])}
                for order, found in outcomes.items()
            ]
    return rows


def _mean(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Average Precision with and without a profile, the gain, and the half-width of its 95% interval."""
    gains = np.array([outcome.personalised - outcome.original for outcome in outcomes])
    spread = 1.96 * gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    original, gain = float(np.mean([outcome.original for outcome in outcomes])), float(gains.mean())
    return {"original": original, "personalised": original + gain, "gain": gain, "spread": float(spread)}


_GAINS = "personalised = with profile {.3f} | gain {+.3f} | spread = ± {.3f}"


def _figure_by_query(rows: Sequence[dict[str, Any]]) -> Figure:
    drawn = [
        charts.interval(
            row["order"],
            row["personalised"],
            row["personalised"] - row["spread"],
            row["personalised"] + row["spread"],
            queries=row["queries"],
        )
        for row in rows
    ]
    for queries, plain in {row["queries"]: row["original"] for row in rows}.items():
        drawn.append(charts.interval("no profile", plain, plain, plain, queries=queries))
    return Figure(
        "by-query",
        "By kind of query, δ = 0.1",
        columns(f"queries | cases | order = reranked by | original = no profile {{.3f}} | {_GAINS}"),
        rows,
        caption="Bars: 95% intervals of the gain over no profile.",
        draw=partial(charts.intervals, drawn, "average precision", panel="queries"),
    )


def _figure_by_delta(rows: Sequence[dict[str, Any]], by_query: Sequence[dict[str, Any]]) -> Figure:
    device = next(row for row in by_query if (row["queries"], row["order"]) == ("all", "on the device"))
    levels = {"no profile": device["original"], "on the device, nothing sent": device["personalised"]}
    drawn = [{"series": row["order"], "x": row["delta"], "y": row["personalised"]} for row in rows]
    return Figure(
        "by-delta",
        "By risk bound, all queries",
        columns(f"delta = δ {{g}} | exposed = a profile was sent {{.0%}} | order = reranked by | {_GAINS}"),
        rows,
        caption="Dashed: no profile, and the whole profile on the device.",
        draw=partial(
            charts.curve, drawn, "risk bound δ", "average precision", series="reranked by", levels=levels
        ),
    )


class AttentionRanking:
    """Ranks cases as the guard does on the device, and as a server does by the topics that are sent."""

    def __init__(self) -> None:
        self._table = load_word_table()
        self._attention = Attention(self._table)

    def engine(self, case: HistoryCase) -> list[Page]:
        """As the results came."""
        return case.results

    def on_device(self, case: HistoryCase) -> list[Page]:
        """By attention over the pages of the history that are not caught as sensitive."""
        passed = passed_texts([_text(page) for page in case.history])
        attended = self._attention.attend(case.query, self._bags(case.results), passed.bags, Density())
        return [case.results[place] for place in self._attention.order(attended)]

    def sent(self, case: HistoryCase) -> list[Page]:
        """By the topics of the people's taxonomy that go out."""
        chosen = InterestChooser(
            passed_texts([_text(page) for page in case.history]), self._attention
        ).choose(case.query)
        tree = people_taxonomy()
        labels = [tree.label(topic) for topic in chosen.topics]
        order = rank_by_topics(case.query, [_text(page) for page in case.results], labels)
        return [case.results[place] for place in order]

    def _bags(self, pages: Sequence[Page]) -> Bags:
        return Bags.of_texts(self._table, map(_text, pages))


def _text(page: Page) -> str:
    return f"{page['title']} {page['snippet']}"


def ambient_results(folder: str | Path, *, seed: int = 0, progress: Progress = no_progress) -> Results:
    """Rank AMBIENT's results for every meaning and kind of history.

    For every meaning of a query somebody has a history: some clicks on results of that meaning (which are
    taken out of the list) among other queries' results. Intervals are by bootstrap over queries.

    Args:
        folder: AMBIENT's files (``topics.txt``, ``STRel.txt``, ``results.txt.gz``).
        seed: of clicks and histories.
        progress: called with how many rankings of all queries are done, and how many there are.
    """
    ambient = test_cases.load_ambient(folder)
    ranking = AttentionRanking()
    orders: dict[str, Callable[[HistoryCase], list[Page]]] = {
        "the engine": ranking.engine,
        "on the device": ranking.on_device,
        "sent": ranking.sent,
    }
    steps, rows = Steps(len(AMBIENT_SETTINGS) * len(orders), progress), []
    for clicks, size, interest in AMBIENT_SETTINGS:
        cases = list(test_cases.history_cases(ambient, [], clicks, size, interest=interest, seed=seed))
        if not cases:
            raise InfeasibleError(
                f"{folder} has no meaning with {clicks} clicks and a result left.",
                "Give AMBIENT's own files as `ambient`.",
            )
        history = f"{clicks} clicks {_INTERESTS[interest]}" if clicks else "no clicks"
        queries = [case.query_id for case in cases]
        plain = [test_cases.precision_of(case, case.results) for case in cases]
        for name, order in orders.items():
            values = [test_cases.precision_of(case, order(case)) for case in cases]
            gains = [value - before for value, before in zip(values, plain, strict=True)]
            rows.append(
                {
                    "history": f"{history} among {size}",
                    "cases": len(cases),
                    "order": name,
                    "precision": test_cases.interval_over_queries(queries, values),
                    "gain": test_cases.interval_over_queries(queries, gains),
                }
            )
            steps.advance()
    shown = [flat(row) for row in rows]
    return Results(
        "device",
        "Ambiguous queries by history",
        f"{len(ambient.queries):,} ambiguous queries of AMBIENT; intervals by bootstrap over queries",
        {"queries": len(ambient.queries), "rows": rows},
        shown,
        [_ambient_figure(shown)],
    )


def _ambient_figure(rows: Sequence[dict[str, Any]]) -> Figure:
    drawn = [
        charts.interval(
            row["order"],
            row["precision.mean"],
            row["precision.low"],
            row["precision.high"],
            history=row["history"],
        )
        for row in rows
    ]
    return Figure(
        "ambient",
        "Average precision by history",
        columns(
            "history | cases | order = ranked by | precision.mean = average precision {.3f} | "
            "gain.mean = gain {+.3f} | gain.low = from {+.3f} | gain.high = to {+.3f}"
        ),
        rows,
        caption="Bars: 95% intervals over queries.",
        draw=partial(charts.intervals, drawn, "average precision", panel="history"),
    )
