"""Evaluate all ways to personalise a search (docs/reference/commands/evaluate.md).

Each way ranks as its guard would: the engine's order; on the device by the whole evidence (topics, or the
guard's own attention); by the public cohort that a request is told (guard 3); by the topics that go out
with a query (guard 1), in the world under the paper's risk bound δ, on AMBIENT as the guard chooses them.

Beside every way stands **the same ranking with another person's evidence**; :func:`weigh` compares any two.

People of these logs have no age or country, so that a region of the pool (guard 2) has nothing to rank by.
"""

import tempfile
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit import device
from tacit.device import Repository, interest_scores, rerank, wordnet_repository
from tacit.device.profile.arrays import Bags
from tacit.device.ranking.attention import Attention
from tacit.device.ranking.density import Density
from tacit.device.sending.interests import InterestChooser, passed_texts
from tacit.errors import InfeasibleError
from tacit.evaluate import cases as held_out
from tacit.evaluate import charts
from tacit.evaluate.cases import Case, HistoryCase, Page, named, precision_of
from tacit.evaluate.data import ranges
from tacit.evaluate.report import check_folder, write_folder
from tacit.evaluate.results import Figure, Progress, Results, Steps, columns, flat, no_progress
from tacit.groups import Profiles
from tacit.groups.cohort_service import DEFAULT_STRENGTH, PastRequest, votes_of
from tacit.groups.cohorts import load_cohorts, order_of
from tacit.groups.reading import profiles_from_log
from tacit.groups.words import STRENGTHS
from tacit.retrieval.personalised import rank_by_topics
from tacit.taxonomy import people_taxonomy
from tacit.text.vectors import load_word_table
from tacit.world.synth import SyntheticLog

DELTAS = (0.01, 0.02, 0.05, 0.1, 1.0)
VOTERS = 40
"""So many other people vote on how strongly to rank by cohorts."""
FALL = 0.05
"""A query whose average precision is lower by more than this has fallen."""
_FEWEST = 10
_HERE = "nothing leaves it"


def evaluate_personalised(
    to: str | Path | None = None,
    *,
    users: int = 40,
    population: int = 3_000,
    ambient: str | Path | None = None,
    seed: int = 5,
    force: bool = False,
    progress: Progress = no_progress,
) -> Results:
    """Measure search with no profile, on the device, by a cohort, and with topics that are sent.

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
        seed: of the log; the same seed gives the same results.
        force: replace the folder of an earlier evaluation.
        progress: called with how many ways are done, and how many there are.
    """
    check_folder(to, ["ways.svg"], force=force, inputs=[ambient])
    people = (
        Searchers(users, population, seed) if ambient is None else Readers(ambient, users, population, seed)
    )
    rows = compare(people, progress)
    ways, judged = [flat(row) for row in rows], len({case.user for case in people.cases})
    found = Results(
        "personalised",
        "All ways to personalise a search",
        f"{len(people.cases):,} queries of {judged:,} people, judged by the meaning in mind; intervals by "
        "bootstrap over people",
        {"people": judged, "queries": len(people.cases), "ways": rows},
        ways,
        [_figure(ways)],
    )
    return write_folder(found, to, force=force)


def weigh(
    people: Sequence[str], engine: Sequence[float], own: Sequence[float], another: Sequence[float]
) -> dict[str, Any]:
    """Weigh what a personalised ranking is worth, from the Average Precision of each query.

    Args:
        people: whose query each is; intervals are by bootstrap over them.
        engine: of the engine's order.
        own: of the ranking with the person's own evidence.
        another: of the same ranking with another person's evidence.

    Returns:
        ``average_precision``; ``gain`` over the engine; ``another``: the gain with another person's evidence;
        ``beyond``: the gain beyond that, the personal part; ``fell``: the share of queries that lost more
        than :data:`FALL`.
    """
    plain, mine, theirs = (np.asarray(each, np.float64) for each in (engine, own, another))
    return {
        "average_precision": float(mine.mean()),
        "gain": held_out.interval_over_queries(people, mine - plain),
        "another": held_out.interval_over_queries(people, theirs - plain),
        "beyond": held_out.interval_over_queries(people, mine - theirs),
        "fell": float(np.mean(mine < plain - FALL)),
    }


def another_of(people: Sequence[str]) -> dict[str, str]:
    """Give each person the next one, the last the first: nobody is given their own evidence."""
    named = list(dict.fromkeys(people))
    if len(named) < 2:
        problem = f"{len(named)} person has test queries; another one's evidence needs two."
        raise InfeasibleError(problem, "Use more `users`.")
    return dict(zip(named, [*named[1:], named[0]], strict=True))


class Way(NamedTuple):
    """A way to rank: its name, who learns what, and the places of a case's results in its order."""

    name: str
    told: str
    order: Callable[[Any], Sequence[int]]


class People:
    """People with test queries, and their evidence: what they did before.

    Attributes:
        cases: the test queries.
        voters: those of other people, who vote on how strongly to rank by cohorts.
    """

    cases: Sequence[Case | HistoryCase]
    voters: Sequence[Case | HistoryCase]

    @abstractmethod
    def with_evidence_of(self, case: Any, user: str) -> Case | HistoryCase:
        """A case with the evidence of another user."""

    @abstractmethod
    def pages(self, case: Any) -> Sequence[Mapping[str, str]]:
        """The results of a case with their titles and snippets."""

    @abstractmethod
    def ways(self) -> Iterator[Way]:
        """Ways to rank, no profile aside."""

    def by_cohort(self, evidence: Profiles) -> Way:
        """Rank by the cohort that the request is told, as strongly as others voted for.

        Cohorts show no words unless an operator pays for them; the vote is without its noise here.
        """
        cohorts = load_cohorts()
        standings = dict(zip(evidence.users, cohorts.people(evidence, bytes(32)), strict=True))
        requests = (
            PastRequest(
                case.user,
                case.query,
                [dict(page) for page in self.pages(case)],
                frozenset(n for n, found in enumerate(case.results) if named(found) in case.relevant),
            )
            for case in self.voters
        )
        votes = Counter(votes_of(standings.get, cohorts, {}, requests).values())
        strength = max(STRENGTHS, key=lambda each: votes[each]) if votes else DEFAULT_STRENGTH

        def order(case: Case | HistoryCase) -> list[int]:
            standing = standings.get(case.user)
            places = standing.places if standing else ()
            _, scores, gate = cohorts.told(places, {}, self.pages(case), case.query)
            return order_of(scores, gate, strength)

        return Way(f"cohort told, λ = {strength:g}{' by vote' * bool(votes)}", "one of 64 cohorts", order)


def compare(people: People, progress: Progress = no_progress) -> list[dict[str, Any]]:
    """Rank every case in every way: what :func:`weigh` says of each, and the share of queries it moved."""
    cases = people.cases
    if len(cases) < _FEWEST:
        problem = f"{len(cases)} test queries were found; {_FEWEST} and more are needed."
        raise InfeasibleError(problem, "Use more `users`; as `ambient`, AMBIENT's own files.")
    users = [case.user for case in cases]
    others = another_of(users)
    swapped = [people.with_evidence_of(case, others[case.user]) for case in cases]
    ways = [Way("no profile", "nothing", lambda case: range(len(case.results))), *people.ways()]
    plain = [precision_of(case, case.results) for case in cases]
    steps, rows = Steps(len(ways), progress), []
    for way in ways:
        own, theirs = (
            [[case.results[place] for place in way.order(case)] for case in some] for some in (cases, swapped)
        )
        values = [[precision_of(*pair) for pair in zip(cases, found, strict=True)] for found in (own, theirs)]
        moved = [list(case.results) != order for case, order in zip(cases, own, strict=True)]
        weighed = weigh(users, plain, *values)
        rows.append({"name": way.name, "told": way.told, **weighed, "reached": float(np.mean(moved))})
        steps.advance()
    return rows


def _figure(ways: Sequence[Mapping[str, Any]]) -> Figure:
    drawn = [
        {"name": way["name"], "series": evidence, "value": way[f"{part}.mean"]}
        | {end: way[f"{part}.{end}"] for end in ("low", "high")}
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
        draw=partial(charts.intervals, drawn, "gain over no profile (dashed)", 0.0),
    )


def score_topics(repository: Repository, case: Case, sent: device.RuntimeProfile) -> list[float]:
    """Score results as a server does that files them under topics, by those that were sent."""
    assert sent.generalisation is not None
    leaves, weights = sent.generalisation.leaves, sent.generalisation.preferences
    topics = repository.topic_of[list(case.results)]
    return device.topic_scores(repository.tree, repository.prior, leaves, weights, topics)


class Sending:
    """Reranks cases by what goes out under a risk bound δ; without the online decision, as in the paper."""

    def __init__(self, repository: Repository, delta: float) -> None:
        self._repository, self._delta = repository, delta
        self._profilers: dict[int, device.OnlineProfiler] = {}

    def profile(self, case: Case) -> device.RuntimeProfile:
        """Decide what goes out with a case's query."""
        key = id(case.profile)
        if key not in self._profilers:
            # no query is so distinct by itself that it is sent alone: DP(q, R) is at most 1
            made = device.OnlineProfiler(self._repository, case.profile, self._delta, distinct=2.0)
            self._profilers[key] = made
        return self._profilers[key].profile_query(case.query)

    def order(self, case: Case) -> list[int]:
        """Rank the places of a case's results."""
        sent, places = self.profile(case), list(range(len(case.results)))
        if sent.decision is not device.Decision.PERSONALISED:
            return places
        return rerank(places, score_topics(self._repository, case, sent))


class Searchers(People):
    """People of a synthetic log."""

    def __init__(self, users: int, population: int, seed: int) -> None:
        self.repository: Repository = wordnet_repository()
        log = SyntheticLog(population, seed=seed)
        table, truth = log.table(), log.truth()
        found = list(held_out.held_out_cases(self.repository, table, truth, users + VOTERS))
        judged = set(list(dict.fromkeys(case.user for case in found))[:users])
        self.cases: Sequence[Case] = [case for case in found if case.user in judged]
        self.voters: Sequence[Case] = [case for case in found if case.user not in judged]
        self._profiles = {case.user: case.profile for case in self.cases}
        lengths = np.array([len(kinds) for kinds in truth["kinds"].to_pylist()])
        row, place = ranges(np.zeros_like(lengths), lengths)
        before = (place < (lengths * 4 // 5)[row]) & (lengths <= held_out.MOST_RECORDS)[row]
        self.earlier = table.filter(pa.array(before))
        """What everybody did before the test queries."""

    def with_evidence_of(self, case: Case, user: str) -> Case:
        return replace(case, profile=self._profiles[user], user=user)

    def pages(self, case: Case) -> Sequence[Mapping[str, str]]:
        documents = (self.repository.corpus[number] for number in case.results)
        return [{"title": each.title, "snippet": each.text} for each in documents]

    def ways(self) -> Iterator[Way]:
        """On the device by topics, by cohort, and by topics sent under each δ."""
        repository = self.repository
        yield Way("topics, on the device", _HERE, self._by_topics)
        with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
            path = Path(folder) / "earlier.parquet"
            pq.write_table(self.earlier, path)
            queries = profiles_from_log(path, whole_queries=True)
        yield self.by_cohort(queries)
        for delta in DELTAS:
            yield Way(f"topics sent, δ = {delta:g}", "generalised topics", Sending(repository, delta).order)

    def _by_topics(self, case: Case) -> list[int]:
        topics = self.repository.topic_of[list(case.results)]
        scores = interest_scores(case.profile, self.repository.prior, topics)
        return rerank(range(len(case.results)), scores)


class Readers(People):
    """People who have read some of AMBIENT's results."""

    def __init__(self, folder: str | Path, users: int, population: int, seed: int) -> None:
        results = held_out.load_ambient(folder)
        self._people = held_out.reading_people(results, max(users, population), seed=seed)
        judged, voters = list(self._people)[:users], list(self._people)[users : users + VOTERS]
        self.cases: Sequence[HistoryCase] = [case for name in judged for case in self._people[name]]
        self.voters: Sequence[HistoryCase] = [case for name in voters for case in self._people[name]]

    def with_evidence_of(self, case: HistoryCase, user: str) -> HistoryCase:
        return replace(case, history=self._people[user][0].history, user=user)

    def pages(self, case: HistoryCase) -> Sequence[Mapping[str, str]]:
        return case.results

    def ways(self) -> Iterator[Way]:
        """On the device by attention, by cohort, and by the topics that the guard sends."""
        read = {name: cases[0].history for name, cases in self._people.items()}
        ranking = AttentionRanking()
        yield Way("attention, on the device", _HERE, ranking.on_device)
        evidence = {name: Counter(map(page_text, pages)) for name, pages in read.items()}
        yield self.by_cohort(Profiles.from_mappings(evidence))
        yield Way("topics sent", "topics of the people's taxonomy", ranking.sent)


class AttentionRanking:
    """Ranks cases as the guard does on the device, and as a server does by the topics that are sent."""

    def __init__(self) -> None:
        self._table = load_word_table()
        self._attention = Attention(self._table)

    def on_device(self, case: HistoryCase) -> Sequence[int]:
        """Rank by attention over the pages of the history that are not caught as sensitive."""
        passed = passed_texts(list(map(page_text, case.history)))
        bags = Bags.of_texts(self._table, map(page_text, case.results))
        attended = self._attention.attend(case.query, bags, passed.bags, Density())
        return [int(place) for place in self._attention.order(attended)]

    def sent(self, case: HistoryCase) -> Sequence[int]:
        """Rank by the topics of the people's taxonomy that go out."""
        passed, tree = passed_texts(list(map(page_text, case.history))), people_taxonomy()
        chosen = InterestChooser(passed, self._attention).choose(case.query)
        labels = [tree.label(topic) for topic in chosen.topics]
        return rank_by_topics(case.query, list(map(page_text, case.results)), labels)


def page_text(page: Page) -> str:
    return f"{page['title']} {page['snippet']}"
