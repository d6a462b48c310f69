"""Test queries of people with a history, and Average Precision of their results reranked (UPS, section 7.5).

Two sources. Users of a **synthetic log** search the embedded world: the first four fifths of a user's
records make the profile, with up to five random topics of depth 3 and below sensitive, as in the paper; the
rest are test queries. Relevant is the **meaning** that the user had in mind, which the synthetic log knows:
clicks, the paper's choice, favour the very ranking that was clicked. **AMBIENT** (Carpineto and Romano, 2008)
has ambiguous queries such as *Beagle*, with about 100 real results each and judgments of which belong to
which meaning: some results of a meaning were read before, the rest are ranked.
"""

import gzip
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit import device
from tacit.device.profile.construction import file_document
from tacit.errors import InputError
from tacit.retrieval import average_precision
from tacit.taxonomy import TopicTree

SHOWN = 20
"""Results that the engine shows, and that are reranked."""
MOST_RECORDS = 2_000
"""Users with more are treated as robots."""
_NOT_SEARCHES = {"errand", "next-page"}
_SENSITIVE = (5, 3)
"""How many topics are sensitive, at most, and at which depth, at least."""


@dataclass(frozen=True, eq=False)
class Case:
    """One test query of a user."""

    profile: device.UserProfile
    query: str
    results: tuple[int, ...]
    """What the engine answers, best first."""
    relevant: frozenset[int]
    """The document the user had in mind; it is among the results."""
    user: str = ""
    """The user's name in the log; empty where there is no log."""


def held_out_cases(
    repository: device.Repository, log: pa.Table, truth: pa.Table, users: int, *, seed: int = 0
) -> Iterator[Case]:
    """The test queries of the ``users`` users with the most records (robots aside: :data:`MOST_RECORDS`).

    Args:
        repository: the taxonomy with its documents.
        log: a synthetic log.
        truth: what lies behind its records.
        users: of how many users.
        seed: for the choice of sensitive topics.
    """
    lengths = np.array([len(meanings) for meanings in truth["meanings"].to_pylist()])
    begins = np.concatenate(([0], np.cumsum(lengths)))
    random = np.random.default_rng(seed)
    chosen = [user for user in np.argsort(-lengths, kind="stable") if lengths[user] <= MOST_RECORDS][:users]
    for user in chosen:
        records = log.slice(begins[user], lengths[user]).to_pylist()
        meanings, kinds, name = (truth[each][int(user)].as_py() for each in ("meanings", "kinds", "user"))
        cut = len(records) * 4 // 5
        profile = _profile(repository, records[:cut], random)
        after = zip(records[cut:], meanings[cut:], kinds[cut:], strict=True)
        searched = [(record["query"], meant) for record, meant, kind in after if kind not in _NOT_SEARCHES]
        for query, meant in dict.fromkeys(searched):
            results = tuple(hit.document for hit in repository.engine.search(query, SHOWN))
            if meant in results:
                yield Case(profile, query, results, frozenset({meant}), name)


def _profile(
    repository: device.Repository, records: list[dict[str, Any]], random: np.random.Generator
) -> device.UserProfile:
    counts: dict[int, float] = {}
    clicked = Counter((each["query"], each["url"]) for each in records if each["url"] is not None)
    for (query, url), times in clicked.items():
        text = repository.text_behind(url)
        topic = None if text is None else file_document(repository, query, text)
        if topic is not None:
            counts[topic] = counts.get(topic, 0.0) + times
    tree = repository.tree
    return device.UserProfile(tree, counts, sensitive_topics(tree, counts, random, *_SENSITIVE))


def sensitive_topics(
    tree: TopicTree, documents: Mapping[int, float], random: np.random.Generator, most: int, shallowest: int
) -> dict[int, float]:
    """Choose at most ``most`` random topics of a profile, none above another, of equal sensitivity (7.1)."""
    topics = device.UserProfile(tree, documents, {}).topics.tolist()
    deep = [topic for topic in topics if tree.depth[topic] >= shallowest]
    sensitivity: dict[int, float] = {}
    for topic in random.permutation(deep).tolist():
        if len(sensitivity) == most:
            break
        if not any(tree.is_ancestor(topic, s) or tree.is_ancestor(s, topic) for s in sensitivity):
            sensitivity[topic] = 1.0
    return sensitivity


_FEWEST = 4
"""Meanings with fewer judged results are skipped."""

Page = dict[str, str]


@dataclass(frozen=True)
class Ambient:
    """Queries with their results and the meanings of these."""

    queries: dict[str, str]
    results: dict[str, list[Page]]
    """The results of each query in the engine's order, as url, title, snippet and id."""
    meanings: dict[str, frozenset[str]]
    """The results that belong to each meaning; a meaning's id begins with its query's."""

    def meanings_of(self, query: str) -> list[str]:
        """The meanings of a query that have enough judged results."""
        found = (m for m in self.meanings if m.split(".")[0] == query and len(self.meanings[m]) >= _FEWEST)
        return sorted(found)


@dataclass(frozen=True)
class HistoryCase:
    """One meaning of one query, for somebody with a history."""

    query_id: str
    query: str
    meaning: str
    results: list[Page]
    """What is ranked: the engine's results without those clicked before."""
    history: list[Page]
    """What was read before, on this meaning among others."""
    relevant: frozenset[str]
    user: str = ""
    """Whose history it is."""


def load_ambient(folder: str | Path) -> Ambient:
    """Read AMBIENT's files from a folder."""
    folder = Path(folder)
    if not (folder / "topics.txt").is_file():
        raise InputError(f"{folder} does not hold AMBIENT's files.")
    results: dict[str, list[Page]] = {}
    with gzip.open(folder / "results.txt.gz", "rt", encoding="utf-8") as lines:
        for row in _rows(lines.read()):
            number, url, title, snippet = [*row, "", "", ""][:4]
            page = {"id": number, "url": url, "title": title, "snippet": snippet}
            results.setdefault(number.split(".")[0], []).append(page)
    meanings: dict[str, set[str]] = {}
    for row in _rows((folder / "STRel.txt").read_text(encoding="utf-8")):
        meanings.setdefault(row[0], set()).add(row[1])
    queries = {row[0]: row[1] for row in _rows((folder / "topics.txt").read_text(encoding="utf-8"))}
    return Ambient(queries, results, {m: frozenset(found) for m, found in meanings.items()})


def _rows(text: str) -> Iterator[list[str]]:
    return (line.split("\t") for line in text.split("\n")[1:] if line.strip())


def reading_people(
    ambient: Ambient, people: int, *, meanings: int = 6, reads: int = 3, seed: int = 0
) -> dict[str, list[HistoryCase]]:
    """People who read AMBIENT's results: for each a case a meaning they are interested in, by name.

    A person is interested in one meaning each of some queries and has read some results of each, which are
    taken out of the lists. The history of every case is all that the person has read, so it holds the
    interest in question among others.

    Args:
        ambient: queries, results and meanings.
        people: how many.
        meanings: how many interests each has; fewer where there are fewer queries.
        reads: how many results of each were read.
        seed: for the choice of interests and of what was read.
    """
    judged = {
        query: [m for m in ambient.meanings_of(query) if len(ambient.meanings[m]) > reads]
        for query in ambient.queries
    }
    listed = sorted(query for query, found in judged.items() if found)
    by_name: dict[str, list[HistoryCase]] = {}
    for number in range(people if listed else 0):
        choice = random.Random(f"{seed} {reads} {number}")
        chosen = {q: choice.choice(judged[q]) for q in choice.sample(listed, min(meanings, len(listed)))}
        read = {query: set(choice.sample(sorted(ambient.meanings[m]), reads)) for query, m in chosen.items()}
        history = [page for query in chosen for page in ambient.results[query] if page["id"] in read[query]]
        cases = by_name[f"reader-{number}"] = []
        for query, meaning in chosen.items():
            left = [page for page in ambient.results[query] if page["id"] not in read[query]]
            relevant, asked = frozenset(ambient.meanings[meaning] - read[query]), ambient.queries[query]
            cases.append(HistoryCase(query, asked, meaning, left, history, relevant, f"reader-{number}"))
    return by_name


def precision_of(case: Case | HistoryCase, order: Sequence[Any]) -> float:
    """Average precision (equation 19) of the case's relevant results in an order."""
    return average_precision(map(named, order), case.relevant)


def named(result: Any) -> Any:
    """Name a result among those that are relevant."""
    return result["id"] if isinstance(result, dict) else result


@dataclass(frozen=True)
class Interval:
    """A mean over cases, with a 95% interval that takes queries as the units."""

    mean: float
    low: float
    high: float


def interval_over_queries(queries: Sequence[str], values: npt.ArrayLike, seed: int = 0) -> Interval:
    """The mean of ``values`` with a bootstrap interval over their queries (cases of a query go together)."""
    numbers: npt.NDArray[np.float64] = np.asarray(values, np.float64)
    names = sorted(set(queries))
    member = np.array([names.index(query) for query in queries])
    sums = np.bincount(member, numbers, len(names))
    sizes = np.bincount(member, minlength=len(names))
    drawn = np.random.default_rng(seed).integers(0, len(names), (2_000, len(names)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(numbers.mean()), float(low), float(high))
