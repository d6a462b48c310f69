"""Evaluate all ways to personalise a search, on the same queries of the same people.

People of a synthetic log with interests search the embedded world. The first four fifths of what each did
make profiles and groups; test queries come from the rest. Of each query the engine's first 20 results are
reranked, each time as the guard in question would:

- no profile: the engine's order;
- on the device: the complete profile of topics, or of words, of which nothing leaves the device;
- group: the words that the user's group shows (guard 3);
- sent under δ: the topics that the device sends under a risk bound (guard 1).

On AMBIENT's real results, people have read some results of a few meanings, and the rest is ranked.

Beside every way stands **the same ranking with another person's evidence**: what it gains too is no
personalisation (popular words help everybody). A mean hides whom a ranking hurts, so the share of queries
that fall by more than 0.05 stands beside it as well. :func:`weigh` gives both for any ranking.

People of these logs have no age or country. What a region of the pool (guard 2) is worth where results
depend on them, :mod:`tacit.evaluate.guards.pool` measures.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
    HistoryCase,
    Page,
    held_out_cases,
    interval_over_queries,
    load_ambient,
    measure,
    precision_of,
    reading_people,
)
from tacit.evaluate.guards.device import AttentionRanking
from tacit.evaluate.report import check_folder, write_folder
from tacit.evaluate.results import Figure, Progress, Results, Steps, columns, flat, no_progress
from tacit.groups import Bundler, Profiles
from tacit.groups.bundles import rank_by_interest
from tacit.groups.reading import profiles_from_log
from tacit.retrieval import average_precision
from tacit.text import STOP_WORDS, words
from tacit.world.synth import SyntheticLog

DELTAS = (0.01, 0.02, 0.05, 0.1, 1.0)
FALL = 0.05
"""A query whose average precision is lower by more than this has fallen."""
_SENT = "topics with preferences"
_TERMS = 150
_FEWEST = 10


def evaluate_personalised(
    to: str | Path | None = None,
    *,
    users: int = 40,
    population: int = 3_000,
    ambient: str | Path | None = None,
    p: float = 0.4,
    seed: int = 5,
    force: bool = False,
    progress: Progress = no_progress,
) -> Results:
    """Measure search with no profile, on the device, by group, and with generalised topics.

    Every way ranks the same results of the same queries of the same people; Average Precision says what each
    guard leaves of personalisation, beside the same ranking with another person's evidence::

        ways = tacit.evaluate_personalised(users=12, population=600)
        ways.to_pandas()

    Args:
        to: the folder to make: ``results.json``, ``charts.html`` and ``ways.svg``. None writes nothing.
        users: of how many users the queries are judged: those with the most records, robots aside; with
            ``ambient``, of how many readers.
        population: users of the synthetic log they are taken from; with ``ambient``, readers in all.
        ambient: real results of ambiguous queries instead of the synthetic world: a folder with AMBIENT's
            files.
        p: the bound of groups, between 0 and 1.
        seed: of the log; the same seed gives the same results.
        force: replace the folder of an earlier evaluation.
        progress: called with how many ways are done, and how many there are.
    """
    check_folder(to, ["ways.svg"], force=force, inputs=[ambient])
    if ambient is None:
        compared, queries = _in_the_world(_World(users, population, seed), p, progress)
    else:
        readers = _Readers(ambient, users, population, seed)
        compared, queries = _among_readers(readers, p, progress)
    ways = [flat(way) for way in compared.ways]
    found = Results(
        "personalised",
        "All ways to personalise a search",
        f"{queries:,} queries of {compared.people:,} people, judged by the meaning in mind; intervals by "
        "bootstrap over people",
        {"people": compared.people, "queries": queries, "p": p, "ways": compared.ways},
        ways,
        [_figure(ways)],
    )
    return write_folder(found, to, force=force)


def weigh(
    people: Sequence[str],
    engine: Sequence[float],
    own: Sequence[float],
    another: Sequence[float],
    *,
    fall: float = FALL,
) -> dict[str, Any]:
    """What a personalised ranking is worth, from the Average Precision of each query.

    Args:
        people: whose query each is; intervals are by bootstrap over them.
        engine: of the engine's order.
        own: of the ranking with the person's own evidence.
        another: of the same ranking with another person's evidence.
        fall: a query whose precision is lower than the engine's by more than this has fallen.

    Returns:
        ``average_precision``; ``gain`` over the engine; ``another``: the gain with another person's evidence;
        ``beyond``: the gain beyond that, the personal part; ``fell``: the share of queries that fell.
    """
    plain, mine, theirs = (np.asarray(each, np.float64) for each in (engine, own, another))
    return {
        "average_precision": float(mine.mean()),
        "gain": interval_over_queries(people, mine - plain),
        "another": interval_over_queries(people, theirs - plain),
        "beyond": interval_over_queries(people, mine - theirs),
        "fell": float(np.mean(mine < plain - fall)),
    }


def another_of(people: Sequence[str]) -> dict[str, str]:
    """For each person the next one, the first for the last: nobody is given their own evidence."""
    named = list(dict.fromkeys(people))
    if len(named) < 2:
        raise InfeasibleError(
            f"{len(named)} person has test queries; another one's evidence needs two.", "Use more `users`."
        )
    return dict(zip(named, [*named[1:], named[0]], strict=True))


def _figure(ways: Sequence[Mapping[str, Any]]) -> Figure:
    drawn = [
        charts.interval(way["name"], way[f"{part}.mean"], way[f"{part}.low"], way[f"{part}.high"], evidence)
        for way in ways[1:]
        for part, evidence in (("gain", "own evidence"), ("another", "another person's"))
    ]
    return Figure(
        "ways",
        "Gain in average precision over no profile, by way to personalise",
        columns(
            "name = ranked by | told = who learns what | "
            "average_precision = average precision {.3f} | gain.mean = gain {+.3f} | "
            "gain.low = from {+.3f} | gain.high = to {+.3f} | another.mean = with another's {+.3f} | "
            "beyond.mean = beyond another's {+.3f} | beyond.low = from {+.3f} | beyond.high = to {+.3f} | "
            "fell = queries that fall {.0%}"
        ),
        ways,
        caption="Bars: 95% intervals. Where the two points are alike, the ranking helps everybody alike: "
        f"that is no personalisation. A query falls if it loses more than {FALL:g}.",
        draw=partial(charts.intervals, drawn, "gain over no profile (dashed)", level=0.0, legend=True),
    )


class _Ways:
    """Collects ways: what :func:`weigh` says of each, and the share of queries personalised."""

    def __init__(self, people: Sequence[str], engine: Sequence[float], steps: Steps) -> None:
        self._people, self._engine, self._steps = people, engine, steps
        self.people = len(set(people))
        self.ways: list[dict[str, Any]] = []

    def put(
        self, name: str, told: str, own: Sequence[float], another: Sequence[float], reached: float
    ) -> None:
        found = weigh(self._people, self._engine, own, another)
        self.ways.append({"name": name, "told": told, **found, "reached": reached})
        self._steps.advance()


def _in_the_world(world: _World, p: float, progress: Progress) -> tuple[_Ways, int]:
    cases, plain = world.cases, [average_precision(case.results, case.relevant) for case in world.cases]
    people = [str(case.user) for case in cases]
    others = {int(one): int(other) for one, other in another_of(people).items()}
    profile = {case.user: case.profile for case in cases}
    swapped = [replace(case, profile=profile[others[case.user]], user=others[case.user]) for case in cases]
    compared = _Ways(people, plain, Steps(4 + len(DELTAS), progress))
    compared.put("no profile", "nothing", plain, plain, 0.0)

    def add(name: str, told: str, ranked: Callable[[Sequence[Case]], list[list[int]]]) -> None:
        orders = [ranked(some) for some in (cases, swapped)]
        values = [
            [average_precision(order, case.relevant) for order, case in zip(found, cases, strict=True)]
            for found in orders
        ]
        moved = [tuple(order) != case.results for order, case in zip(orders[0], cases, strict=True)]
        compared.put(name, told, values[0], values[1], float(np.mean(moved)))

    add("topics, on the device", "nothing leaves it", world.by_topics)
    add("words, on the device", "nothing leaves it", world.by_own_words)
    add(f"words of the group, p = {p:g}", "the group", partial(world.by_group, p))
    for delta in DELTAS:
        own, another = (measure(world.repository, some, delta, _SENT) for some in (cases, swapped))
        values = [[outcome.personalised for outcome in found] for found in (own, another)]
        reached = float(np.mean([outcome.exposed for outcome in own]))
        compared.put(f"topics sent, δ = {delta:g}", "generalised topics", values[0], values[1], reached)
    return compared, len(cases)


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

    def by_topics(self, cases: Sequence[Case]) -> list[list[int]]:
        """The order by the complete profile of topics."""
        repository = self.repository
        return [
            rerank(
                case.results,
                interest_scores(case.profile, repository.prior, repository.topic_of[list(case.results)]),
            )
            for case in cases
        ]

    def by_own_words(self, cases: Sequence[Case]) -> list[list[int]]:
        """The order by the user's own words."""
        profiles = self._profiles()
        row_of = {user: row for row, user in enumerate(profiles.users)}
        return self._by_words(cases, lambda user: profiles.profile(row_of[user]) if user in row_of else {})

    def by_group(self, p: float, cases: Sequence[Case]) -> list[list[int]]:
        """The order by the words of the user's group; everybody's earlier searches are bundled."""
        return self._by_words(cases, words_of_groups(self._profiles(), p, self._seed))

    def _profiles(self) -> Profiles:
        with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
            path = Path(folder) / "earlier.parquet"
            pq.write_table(self._earlier, path)
            return profiles_from_log(path, max_terms=_TERMS)

    def _by_words(
        self, cases: Sequence[Case], interests_of: Callable[[str], dict[str, float]]
    ) -> list[list[int]]:
        known: dict[int, dict[str, float]] = {}
        orders = []
        for case in cases:
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


def words_of_groups(profiles: Profiles, p: float, seed: int) -> Callable[[str], dict[str, float]]:
    """What a user's group shows, by the user's name; nothing for who is in none."""
    bundling = Bundler(p=p, seed=seed).fit(profiles)
    group = dict(zip(bundling.profiles.users, bundling.labels.tolist(), strict=True))
    shown = bundling.representatives
    return lambda user: dict(shown[group[user]].terms) if user in group else {}


class _Readers:
    """People who have read some of AMBIENT's results."""

    def __init__(self, folder: str | Path, users: int, population: int, seed: int) -> None:
        self.seed = seed
        self.people = reading_people(load_ambient(folder), max(users, population), seed=seed)
        judged = list(self.people)[:users]
        self.cases = [(name, case) for name in judged for case in self.people[name]]
        if len(self.cases) < _FEWEST:
            raise InfeasibleError(
                f"{len(self.cases)} test queries were found; {_FEWEST} and more are needed.",
                "Use more `users`, and AMBIENT's own files as `ambient`.",
            )

    def interests(self) -> dict[str, dict[str, float]]:
        """The words of what each has read, by how many pages have them."""
        return {name: words_read(cases[0].history) for name, cases in self.people.items()}


def words_read(pages: Sequence[Page]) -> dict[str, float]:
    """Words of pages, stop words aside, by how many pages have them; the commonest, as a profile holds."""
    counted = Counter(
        word
        for page in pages
        for word in sorted(set(words(f"{page['title']} {page['snippet']}")) - STOP_WORDS)
    )
    return {word: float(count) for word, count in counted.most_common(_TERMS)}


def _among_readers(readers: _Readers, p: float, progress: Progress) -> tuple[_Ways, int]:
    cases = readers.cases
    people = [name for name, _ in cases]
    others = another_of(people)
    plain = [precision_of(case, case.results) for _, case in cases]
    compared = _Ways(people, plain, Steps(4, progress))
    compared.put("no profile", "nothing", plain, plain, 0.0)

    def add(name: str, told: str, order: Callable[[str, HistoryCase], list[Page]]) -> None:
        own = [order(person, case) for person, case in cases]
        theirs = [order(others[person], case) for person, case in cases]
        values = [
            [precision_of(case, found) for (_, case), found in zip(cases, orders, strict=True)]
            for orders in (own, theirs)
        ]
        moved = [found != case.results for (_, case), found in zip(cases, own, strict=True)]
        compared.put(name, told, values[0], values[1], float(np.mean(moved)))

    interests, attention = readers.interests(), AttentionRanking()
    shown = words_of_groups(Profiles.from_mappings(interests), p, readers.seed)

    def by_words(of: Callable[[str], dict[str, float]], person: str, case: HistoryCase) -> list[Page]:
        return [dict(page) for page in rank_by_interest(of(person), case.results, case.query)]

    def by_attention(person: str, case: HistoryCase) -> list[Page]:
        return attention.on_device(replace(case, history=readers.people[person][0].history))

    add("attention, on the device", "nothing leaves it", by_attention)
    add("words, on the device", "nothing leaves it", partial(by_words, interests.__getitem__))
    add(f"words of the group, p = {p:g}", "the group", partial(by_words, shown))
    return compared, len(cases)
