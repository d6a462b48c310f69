"""Evaluate all ways to personalise a search, on the same queries of the same people.

People of a synthetic log with interests search the embedded world. The first four fifths of what each did
make profiles and groups; test queries come from the rest. Of each query the engine's first 20 results are
reranked, each time as the guard in question would:

- no profile: the engine's order;
- on the device: the complete profile of topics, or of words, of which nothing leaves the device;
- group: the words that the user's group shows (guard 3);
- sent under δ: the topics that the device sends under a risk bound (guard 1).

People of this log have no age or country. What a region of the pool (guard 2) is worth where results depend
on them, :mod:`tacit.evaluate.guards.pool` measures.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.device import Repository, interest_scores, rerank, wordnet_repository
from tacit.errors import InfeasibleError
from tacit.evaluate import charts
from tacit.evaluate.guards.cases import (
    MOST_RECORDS,
    Case,
    held_out_cases,
    interval_over_queries,
    measure,
)
from tacit.evaluate.report import check_folder, write_folder
from tacit.evaluate.results import Figure, Progress, Results, Steps, columns, flat, no_progress
from tacit.groups import Bundler, Profiles
from tacit.groups.reading import profiles_from_log
from tacit.groups.service import rank_by_interest
from tacit.retrieval import average_precision
from tacit.world.synth import SyntheticLog

DELTAS = (0.01, 0.02, 0.05, 0.1, 1.0)
_SENT = "topics with preferences"
_TERMS = 150
_FEWEST = 10


def evaluate_personalised(
    to: str | Path | None = None,
    *,
    users: int = 40,
    population: int = 3_000,
    p: float = 0.4,
    seed: int = 5,
    force: bool = False,
    progress: Progress = no_progress,
) -> Results:
    """Measure search with no profile, on the device, by group, and with generalised topics.

    Every way ranks the same results of the same queries of the same people of a synthetic log; Average
    Precision says what each guard leaves of personalisation::

        ways = tacit.evaluate_personalised(users=12, population=600)
        ways.to_pandas()

    Args:
        to: the folder to make: ``results.json``, ``charts.html`` and ``ways.svg``. None writes nothing.
        users: of how many users the queries are judged: those with the most records, robots aside.
        population: users of the synthetic log they are taken from.
        p: the bound of groups, between 0 and 1.
        seed: of the log; the same seed gives the same results.
        force: replace the folder of an earlier evaluation.
        progress: called with how many ways are done, and how many there are.
    """
    check_folder(to, ["ways.svg"], force=force)
    world = _World(users, population, seed)
    compared = _Ways(world.cases, Steps(4 + len(DELTAS), progress))
    compared.add("no profile", "nothing", [case.results for case in world.cases])
    compared.add("topics, on the device", "nothing leaves it", world.by_own_topics())
    compared.add("words, on the device", "nothing leaves it", world.by_own_words())
    compared.add(f"words of the group, p = {p:g}", "the group", world.by_group(p))
    for delta in DELTAS:
        outcomes = measure(world.repository, world.cases, delta, _SENT)
        values = [outcome.personalised for outcome in outcomes]
        reached = float(np.mean([outcome.exposed for outcome in outcomes]))
        compared.put(f"topics sent, δ = {delta:g}", "generalised topics", values, reached)
    ways = [flat(way) for way in compared.ways]
    people = len({case.user for case in world.cases})
    found = Results(
        "personalised",
        "All ways to personalise a search",
        f"{len(world.cases):,} queries of {people:,} people, judged by the meaning in mind; intervals by "
        "bootstrap over people",
        {
            "people": people,
            "queries": len(world.cases),
            "p": p,
            "ways": compared.ways,
        },
        ways,
        [_figure(ways)],
    )
    return write_folder(found, to, force=force)


def _figure(ways: Sequence[Mapping[str, Any]]) -> Figure:
    plain = ways[0]["average_precision"]
    drawn = [
        charts.interval(
            way["name"],
            way["average_precision"],
            plain + way["gain.low"],
            plain + way["gain.high"],
            "nothing is sent" if way["told"].startswith("nothing") else "something is sent",
        )
        for way in ways
    ]
    return Figure(
        "ways",
        "Average precision by way to personalise",
        columns(
            "name = ranked by | told = who learns what | "
            "average_precision = average precision {.3f} | gain.mean = gain {+.3f} | "
            "gain.low = from {+.3f} | gain.high = to {+.3f}"
        ),
        ways,
        caption="Bars: 95% intervals of the gain over no profile (dashed).",
        draw=partial(charts.intervals, drawn, "average precision", level=plain),
    )


class _Ways:
    """Collects ways: Average Precision, gain over the first, and the share of queries personalised."""

    def __init__(self, cases: Sequence[Case], steps: Steps) -> None:
        self._cases, self._steps = cases, steps
        self._people = [str(case.user) for case in cases]
        self._plain = [average_precision(case.results, case.relevant) for case in cases]
        self.ways: list[dict[str, Any]] = []

    def add(self, name: str, told: str, orders: Sequence[Sequence[int]]) -> None:
        values = [
            average_precision(order, case.relevant) for order, case in zip(orders, self._cases, strict=True)
        ]
        moved = [tuple(o) != case.results for o, case in zip(orders, self._cases, strict=True)]
        self.put(name, told, values, float(np.mean(moved)))

    def put(self, name: str, told: str, values: Sequence[float], reached: float) -> None:
        gains = [value - plain for value, plain in zip(values, self._plain, strict=True)]
        gain = interval_over_queries(self._people, gains)
        mean = float(np.mean(values))
        self.ways.append(
            {"name": name, "told": told, "average_precision": mean, "gain": gain, "reached": reached}
        )
        self._steps.advance()


class _World:
    """The people, what they did before, and their test queries."""

    def __init__(self, users: int, population: int, seed: int) -> None:
        self.repository: Repository = wordnet_repository()
        log = SyntheticLog(population, seed=seed)
        table, truth, self._seed = log.table(), log.truth(), seed
        self.cases = list(held_out_cases(self.repository, table, truth, users))
        if len(self.cases) < _FEWEST:
            raise InfeasibleError(
                f"{len(self.cases)} test queries were found; {_FEWEST} and more are needed.",
                "Use more `users`.",
            )
        lengths = np.array([len(kinds) for kinds in truth["kinds"].to_pylist()])
        row = np.repeat(np.arange(len(lengths)), lengths)
        place = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        before = (place < (lengths * 4 // 5)[row]) & (lengths <= MOST_RECORDS)[row]
        self._earlier = table.filter(pa.array(before))
        self._names: list[str] = truth["user"].to_pylist()

    def by_own_topics(self) -> list[list[int]]:
        """The order by the complete profile of topics."""
        repository = self.repository
        return [
            rerank(
                case.results,
                interest_scores(case.profile, repository.prior, repository.topic_of[list(case.results)]),
            )
            for case in self.cases
        ]

    def by_own_words(self) -> list[list[int]]:
        """The order by the user's own words."""
        profiles = self._profiles()
        row_of = {user: row for row, user in enumerate(profiles.users)}
        return self._by_words(lambda user: profiles.profile(row_of[user]) if user in row_of else {})

    def by_group(self, p: float) -> list[list[int]]:
        """The order by the words of the user's group; everybody's earlier searches are bundled."""
        bundling = Bundler(p=p, seed=self._seed).fit(self._profiles())
        group = dict(zip(bundling.profiles.users, bundling.labels.tolist(), strict=True))
        shown = bundling.representatives
        return self._by_words(lambda user: dict(shown[group[user]].terms) if user in group else {})

    def _profiles(self) -> Profiles:
        with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
            path = Path(folder) / "earlier.parquet"
            pq.write_table(self._earlier, path)
            return profiles_from_log(path, max_terms=_TERMS)

    def _by_words(self, interests_of: Callable[[str], dict[str, float]]) -> list[list[int]]:
        known: dict[int, dict[str, float]] = {}
        orders = []
        for case in self.cases:
            if case.user not in known:
                known[case.user] = interests_of(self._names[case.user])
            found = {number: self.repository.corpus[number] for number in case.results}
            results = [
                {"number": str(number), "title": each.title, "snippet": each.text}
                for number, each in found.items()
            ]
            ranked = rank_by_interest(known[case.user], results, case.query)
            orders.append([int(result["number"]) for result in ranked])
        return orders
