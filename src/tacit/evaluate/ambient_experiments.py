"""What a history is worth on real results for ambiguous queries: AMBIENT, from a folder that a user has.

AMBIENT is not part of the project; a user who has its files gives their folder. For every meaning of a query
somebody has a history: some clicks on results of that meaning (which are taken out of the list) among other
pages. Compared are the engine's order, the order on the device (nothing leaves it), and the order at a server
that is told the topics which the device lets out at a risk bound δ. Intervals are by bootstrap over queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tacit.device import load_repository
from tacit.device.attention import Attention
from tacit.device.bags import Bags
from tacit.device.generalise import generalise
from tacit.device.interest import InterestFinder
from tacit.device.profile import UserProfile
from tacit.errors import InfeasibleError
from tacit.evaluate.ambiguous import (
    HistoryCase,
    Interval,
    Page,
    abstract_pages,
    history_cases,
    interval_over_queries,
    load_ambient,
    precision_of,
)
from tacit.retrieval.personalised import rank_by_profile

__all__ = ["AMBIENT_SETTINGS", "AmbientExperiments", "AmbientRow", "ambient_experiments"]

AMBIENT_SETTINGS = ((3, 20, "same"), (3, 200, "same"), (0, 200, "none"), (3, 200, "other"))
"""Clicks before, documents in the history, and what the clicks were on: the meaning, nothing, another."""
_INTERESTS = {"same": "on this meaning", "none": "", "other": "on another meaning"}
_DELTA = 0.1


@dataclass(frozen=True)
class AmbientRow:
    """One way to rank for one kind of history.

    Attributes:
        history: in words.
        cases: meanings of queries that were ranked.
        order: who ranks, by what.
        precision: average precision, with a 95 % interval by bootstrap over queries.
        gain: over the engine's order.
    """

    history: str
    cases: int
    order: str
    precision: Interval
    gain: Interval


@dataclass(frozen=True)
class AmbientExperiments:
    """All rows."""

    queries: int
    rows: tuple[AmbientRow, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


class _Ranking:
    """Ranks cases over WordNet."""

    def __init__(self) -> None:
        self._repository = load_repository("wordnet")
        self._vectors = self._repository.vectors
        self._attention = Attention(self._vectors.table)
        self._finder = InterestFinder(self._vectors, self._attention)

    def engine(self, case: HistoryCase) -> list[Page]:
        """As the results came."""
        return case.results

    def on_device(self, case: HistoryCase) -> list[Page]:
        """By attention over the history."""
        attended = self._attention.attend(case.query, self._bags(case.results), self._bags(case.history))
        return [case.results[place] for place in self._attention.order(attended)]

    def sent(self, case: HistoryCase) -> list[Page]:
        """By the topics that go out before results are known."""
        profile = UserProfile(self._repository.tree, {}, {}, everywhere=True)
        interest = self._finder.find(case.query, self._bags(case.history), None)
        seed = interest.seed(profile, self._repository.prior, 0.0)
        if seed is None:
            return case.results
        found = generalise(seed, _DELTA)
        if not found.feasible or not found.kept[1:].any():
            return case.results
        labels = [self._repository.tree.label(int(topic)) for topic in found.topics]
        texts = [_text(page) for page in case.results]
        order = rank_by_profile(self._vectors, case.query, texts, labels, None)
        return [case.results[place] for place in order]

    def _bags(self, pages: Sequence[Page]) -> Bags:
        return Bags.of_texts(self._vectors.table, map(_text, pages))


def _text(page: Page) -> str:
    return f"{page['title']} {page['snippet']}"


def ambient_experiments(
    folder: str | Path,
    articles: str | Path | None = None,
    *,
    thin: int = 1,
    seed: int = 0,
    advance: Callable[[int], None] = lambda _rankings: None,
) -> AmbientExperiments:
    """Rank AMBIENT's results for every meaning and kind of history.

    Args:
        folder: AMBIENT's files (``topics.txt``, ``STRel.txt``, ``results.txt.gz``).
        articles: pages to fill half of each history with; without it, histories hold other queries' results.
        thin: take only every so many-th case.
        seed: of clicks and histories.
        advance: told how many ways and kinds of history more are done.
    """
    ambient = load_ambient(folder)
    others = abstract_pages(articles) if articles is not None else []
    ranking = _Ranking()
    orders: dict[str, Callable[[HistoryCase], list[Page]]] = {
        "the engine": ranking.engine,
        "on the device": ranking.on_device,
        f"sent, δ = {_DELTA:g}": ranking.sent,
    }
    rows = []
    for clicks, size, interest in AMBIENT_SETTINGS:
        found = history_cases(ambient, others, clicks, size, interest=interest, seed=seed)
        cases = list(found)[::thin]
        if not cases:
            raise InfeasibleError(
                f"{folder} has no meaning with {clicks} clicks and a result left.",
                "Give AMBIENT's own files.",
            )
        told = f"{clicks} clicks {_INTERESTS[interest]} among {size}" if clicks else f"no clicks among {size}"
        queries = [case.query_id for case in cases]
        plain = [precision_of(case, case.results) for case in cases]
        for name, order in orders.items():
            values = [precision_of(case, order(case)) for case in cases]
            gains = [value - before for value, before in zip(values, plain, strict=True)]
            rows.append(
                AmbientRow(
                    told,
                    len(cases),
                    name,
                    interval_over_queries(queries, values),
                    interval_over_queries(queries, gains),
                )
            )
            advance(1)
    return AmbientExperiments(len(ambient.queries), tuple(rows))
