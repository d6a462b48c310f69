"""What a profile generalised by the paper's algorithms is worth (UPS, section 7.5, Figures 9 and 10).

Compared on the same queries of a synthetic log's users are the engine's order (no profile), orders by what is
sent under a risk bound δ, and the order by the complete profile on the device, of which nothing is sent.

Claims: ambiguous queries gain and distinct ones do not; nearly all of the gain is there at δ = 0.1; the whole
profile on the device gains most.

Run: ``python benchmarks/device_quality.py [--users 60] [--population 3000]``
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit import device
from tacit.device import Repository, wordnet_repository
from tacit.device.profile.construction import SMOOTHING
from tacit.device.profile.repository import TopicIndex
from tacit.device.profile.user import Integers
from tacit.errors import InfeasibleError
from tacit.evaluate.cases import Case, held_out_cases, precision_of
from tacit.evaluate.personalised import Sending, score_topics
from tacit.evaluate.results import Figure, Results, columns
from tacit.world.synth import SyntheticLog

GROUPS = ("ambiguous", "medium", "distinct")
"""Queries by DP(q, R), the least distinct first."""
DELTAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
_DELTA = 0.1


def _by_topics_alone(repository: Repository, case: Case, found: device.RuntimeProfile) -> list[float]:
    """At the server: the exposed topics, all alike."""
    assert found.generalisation is not None
    leaves = found.generalisation.leaves
    topics = repository.topic_of[list(case.results)]
    weights = np.full(len(leaves), 1 / len(leaves))
    return device.topic_scores(repository.tree, repository.prior, leaves, weights, topics)


def uscore(index: TopicIndex, text: str, topics: Integers, smoothing: float = SMOOTHING) -> float:
    """Score a result's words against the topics of a profile: the sum of dnb(l, t) over them (17, 20).

    The sum is divided by the number of words and topics: dnb adds up over words, and unscaled it ranks
    short texts first whatever they say.
    """
    numbers, frequencies = index.bag(text)
    if len(numbers) == 0 or len(topics) == 0:
        return -math.inf
    inside = index.occurrences(np.asarray(topics, np.int32), numbers)
    everywhere = index.occurrences(np.zeros(1, np.int32), numbers)
    scores = np.log((inside + smoothing) / (everywhere + smoothing)) @ frequencies
    return float(scores.sum() / frequencies.sum() / len(topics))


def _by_words(repository: Repository, case: Case, found: device.RuntimeProfile) -> list[float]:
    """At the server: the paper's uscore, from the words of the results."""
    assert found.generalisation is not None
    leaves = found.generalisation.leaves
    documents = (repository.corpus[number] for number in case.results)
    return [uscore(repository.index, f"{each.title} {each.text}", leaves) for each in documents]


def _on_device(repository: Repository, case: Case, _found: device.RuntimeProfile) -> list[float]:
    """On the device: the complete profile. Nothing is exposed."""
    return device.interest_scores(case.profile, repository.prior, repository.topic_of[list(case.results)])


_PREFERRED, _HERE = "topics with preferences", "on the device"
SCORES: dict[str, Callable[[Repository, Case, device.RuntimeProfile], list[float]]] = {
    _PREFERRED: score_topics,
    "topics alone": _by_topics_alone,
    "words (eq. 20)": _by_words,
    _HERE: _on_device,
}
"""Ways to rerank, by name; all but the last by what was sent."""
_SENT = tuple(SCORES)[:-1]


def measure(repository: Repository, cases: Sequence[Case], delta: float, score: str) -> npt.NDArray[Any]:
    """Rerank every case: DP(q, R), Average Precision without and with a profile, and whether one was sent."""
    sending = Sending(repository, delta)
    rows = []
    for case in cases:
        found, places = sending.profile(case), list(range(len(case.results)))
        if found.decision is device.Decision.PERSONALISED or score == _HERE:
            places = device.rerank(places, SCORES[score](repository, case, found))
        order = [case.results[place] for place in places]
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


def device_results(repository: Repository, cases: Sequence[Case], source: str) -> Results:
    """Rerank these queries in every way, at δ = 0.1 and at every bound."""
    if len(cases) < len(GROUPS):
        raise InfeasibleError(
            f"{len(cases)} test queries were found; three and more are needed.", "Use more `users`."
        )
    by_score = {score: measure(repository, cases, _DELTA, score) for score in SCORES}
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
            found = measure(repository, cases, delta, score)
            row = {"delta": delta, "exposed": float(found["exposed"].mean()), "order": score}
            by_delta.append(row | _mean(found))
    return Results(
        "device",
        "What a profile generalised on the device is worth",
        f"{len(cases):,} queries ({source}); ± is the half-width of a 95% interval of the gain over no "
        "profile",
        {"source": source, "cases": len(cases), "by_query": by_query, "by_delta": by_delta},
        [*by_query, *by_delta],
        [
            Figure(
                "by-query",
                "By kind of query, δ = 0.1",
                columns(f"queries | cases | order = reranked by | original = no profile {{.3f}} | {_GAINS}"),
                by_query,
            ),
            Figure(
                "by-delta",
                "By risk bound, all queries",
                columns(
                    f"delta = δ {{g}} | exposed = a profile was sent {{.0%}} | order = reranked by | {_GAINS}"
                ),
                by_delta,
            ),
        ],
    )


def _mean(found: npt.NDArray[Any]) -> dict[str, float]:
    """Average Precision with and without a profile, the gain, and the half-width of its 95% interval."""
    gains = found["personalised"] - found["original"]
    spread = 1.96 * gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    original, gain = float(found["original"].mean()), float(gains.mean())
    return {"original": original, "personalised": original + gain, "gain": gain, "spread": float(spread)}


_GAINS = "personalised = with profile {.3f} | gain {+.3f} | spread = ± {.3f}"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--users", type=int, default=60)
    parser.add_argument("--population", type=int, default=3_000)
    chosen = parser.parse_args()
    repository, log = wordnet_repository(), SyntheticLog(chosen.population, seed=5)
    cases = list(held_out_cases(repository, log.table(), log.truth(), chosen.users))
    print(device_results(repository, cases, "synthetic log, judged by the meaning in mind"))


if __name__ == "__main__":
    main()
