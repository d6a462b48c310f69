"""Evaluate the device: what a generalised profile is worth (UPS, section 7.5, Figures 9 and 10).

Compared on the same queries of a synthetic log's users are the engine's order (no profile), orders by what is
sent under a risk bound δ, and the order by the complete profile on the device, of which nothing is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit import device
from tacit.device import Repository, wordnet_repository
from tacit.errors import InfeasibleError
from tacit.evaluate import charts
from tacit.evaluate.guards.cases import Case, held_out_cases, precision_of
from tacit.evaluate.report import check_folder, write_folder
from tacit.evaluate.results import Figure, Progress, Results, Steps, columns, no_progress
from tacit.world.synth import SyntheticLog

GROUPS = ("ambiguous", "medium", "distinct")
"""Queries by DP(q, R), the least distinct first."""
DELTAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
_DELTA = 0.1


def evaluate_device(
    to: str | Path | None = None,
    *,
    users: int = 60,
    population: int = 3_000,
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
        seed: of the log; the same seed gives the same results.
        force: replace the folder of an earlier evaluation.
        progress: called with how many rankings of all queries are done, and how many there are.
    """
    check_folder(to, ["by-delta.svg"], force=force)
    repository, log = wordnet_repository(), SyntheticLog(population, seed=seed)
    cases = list(held_out_cases(repository, log.table(), log.truth(), users))
    found = device_results(repository, cases, "synthetic log, judged by the meaning in mind", progress)
    return write_folder(found, to, force=force)


def _by_topics(
    repository: Repository, case: Case, found: device.RuntimeProfile, *, preferences: bool = True
) -> list[float]:
    """At the server: exposed topics with the user's preferences among them, or all alike."""
    assert found.generalisation is not None
    leaves, weights = found.generalisation.leaves, found.generalisation.preferences
    weights = weights if preferences else np.full(len(leaves), 1 / len(leaves))
    topics = repository.topic_of[list(case.results)]
    return device.topic_scores(repository.tree, repository.prior, leaves, weights, topics)


def _by_words(repository: Repository, case: Case, found: device.RuntimeProfile) -> list[float]:
    """At the server: the paper's uscore, from the words of the results."""
    assert found.generalisation is not None
    leaves = found.generalisation.leaves
    documents = (repository.corpus[number] for number in case.results)
    return [device.uscore(repository.index, f"{each.title} {each.text}", leaves) for each in documents]


def _on_device(repository: Repository, case: Case, _found: device.RuntimeProfile) -> list[float]:
    """On the device: the complete profile. Nothing is exposed."""
    return device.interest_scores(case.profile, repository.prior, repository.topic_of[list(case.results)])


_PREFERRED = "topics with preferences"
SCORES: dict[str, Callable[[Repository, Case, device.RuntimeProfile], list[float]]] = {
    _PREFERRED: _by_topics,
    "topics alone": partial(_by_topics, preferences=False),
    "words (eq. 20)": _by_words,
    "on the device": _on_device,
}
"""Ways to rerank, by name; all but the last by what was sent."""
_SENT = tuple(SCORES)[:-1]


class Sending:
    """Reranks cases under a risk bound; without the online decision, as in the paper."""

    def __init__(self, repository: Repository, delta: float, score: str = _PREFERRED) -> None:
        self._repository, self._delta, self._score = repository, delta, SCORES[score]
        self._profilers: dict[int, device.OnlineProfiler] = {}

    def profile(self, case: Case) -> device.RuntimeProfile:
        """Decide what goes out with a case's query."""
        key = id(case.profile)
        if key not in self._profilers:
            # no query is so distinct by itself that it is sent alone: DP(q, R) is at most 1
            made = device.OnlineProfiler(self._repository, case.profile, self._delta, distinct=2.0)
            self._profilers[key] = made
        return self._profilers[key].profile_query(case.query)

    def order(self, case: Case, found: device.RuntimeProfile | None = None) -> list[int]:
        """Rank the places of a case's results."""
        found = found or self.profile(case)
        places = list(range(len(case.results)))
        if found.decision is device.Decision.PERSONALISED or self._score is _on_device:
            return device.rerank(places, self._score(self._repository, case, found))
        return places


def measure(repository: Repository, cases: Sequence[Case], delta: float, score: str) -> npt.NDArray[Any]:
    """Rerank every case: DP(q, R), Average Precision without and with a profile, and whether one was sent."""
    sending = Sending(repository, delta, score)
    rows = []
    for case in cases:
        found = sending.profile(case)
        order = [case.results[place] for place in sending.order(case, found)]
        before, after = (precision_of(case, listed) for listed in (case.results, order))
        rows.append((found.mapped.power, before, after, found.personalised))
    named = [("power", "f8"), ("original", "f8"), ("personalised", "f8"), ("exposed", "?")]
    return np.array(rows, named)


def groups_by_power(powers: npt.NDArray[np.float64], groups: int = 3) -> npt.NDArray[np.intp]:
    """Cluster queries of similar DP(q, R), the least distinct first: one-dimensional k-means (7.1).

    In one dimension the best clusters are intervals; Lloyd's steps from the quantiles find them.
    """
    centres = np.quantile(powers, (np.arange(groups) + 0.5) / groups)
    for _ in range(100):
        nearest = np.argmin(np.abs(powers[:, None] - centres[None, :]), axis=1)
        inside = [powers[nearest == group] for group in range(groups)]
        moved = np.array([own.mean() if own.size else centres[at] for at, own in enumerate(inside)])
        if np.array_equal(moved, centres):
            break
        centres = moved
    place: npt.NDArray[np.intp] = np.argsort(np.argsort(centres))[nearest]
    return place


def device_results(
    repository: Repository, cases: Sequence[Case], source: str, progress: Progress = no_progress
) -> Results:
    """Rerank these queries in every way, at δ = 0.1 and at every bound."""
    if len(cases) < len(GROUPS):
        raise InfeasibleError(
            f"{len(cases)} test queries were found; three and more are needed.", "Use more `users`."
        )
    steps = Steps(len(SCORES) + len(DELTAS) * len(_SENT), progress)

    def measured(delta: float, score: str) -> npt.NDArray[Any]:
        found = measure(repository, cases, delta, score)
        steps.advance()
        return found

    by_score = {score: measured(_DELTA, score) for score in SCORES}
    group = groups_by_power(by_score[_PREFERRED]["power"])
    kinds = {name: group == number for number, name in enumerate(GROUPS)} | {"all": group >= 0}
    by_query = [
        {"queries": name, "cases": int(inside.sum()), "order": order, **_mean(found[inside])}
        for name, inside in kinds.items()
        if inside.any()
        for order, found in by_score.items()
    ]
    by_delta = []
    for delta in DELTAS:
        for score in _SENT:
            found = measured(delta, score)
            row = {"delta": delta, "exposed": float(found["exposed"].mean()), "order": score}
            by_delta.append(row | _mean(found))
    return Results(
        "device",
        "What a profile generalised on the device is worth",
        f"{len(cases):,} queries ({source}); ± is the half-width of a 95% interval of the gain over no "
        "profile",
        {"source": source, "cases": len(cases), "by_query": by_query, "by_delta": by_delta},
        [*by_query, *by_delta],
        [_figure_by_query(by_query), _figure_by_delta(by_delta, by_query)],
    )


def _mean(found: npt.NDArray[Any]) -> dict[str, float]:
    """Average Precision with and without a profile, the gain, and the half-width of its 95% interval."""
    gains = found["personalised"] - found["original"]
    spread = 1.96 * gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    original, gain = float(found["original"].mean()), float(gains.mean())
    return {"original": original, "personalised": original + gain, "gain": gain, "spread": float(spread)}


_GAINS = "personalised = with profile {.3f} | gain {+.3f} | spread = ± {.3f}"


def _figure_by_query(rows: Sequence[dict[str, Any]]) -> Figure:
    drawn = [charts.interval("no profile", *[row["original"]] * 3, queries=row["queries"]) for row in rows]
    for row in rows:
        value, spread = row["personalised"], row["spread"]
        drawn.append(
            charts.interval(row["order"], value, value - spread, value + spread, queries=row["queries"])
        )
    return Figure(
        "by-query",
        "By kind of query, δ = 0.1",
        columns(f"queries | cases | order = reranked by | original = no profile {{.3f}} | {_GAINS}"),
        rows,
        caption="Bars: 95% intervals of the gain over no profile.",
        draw=partial(charts.intervals, drawn, "average precision", panel="queries"),
    )


def _figure_by_delta(rows: Sequence[dict[str, Any]], by_query: Sequence[dict[str, Any]]) -> Figure:
    whole = next(row for row in by_query if (row["queries"], row["order"]) == ("all", "on the device"))
    levels = {"no profile": whole["original"], "on the device, nothing sent": whole["personalised"]}
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
