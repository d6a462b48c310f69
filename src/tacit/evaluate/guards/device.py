"""Evaluate the device: what a generalised profile is worth (UPS, section 7.5, Figures 9 and 10).

Compared on the same queries are the engine's order (no profile), orders by what is sent under a risk bound
δ, and the order by the complete profile on the device, of which nothing is sent. On AMBIENT, which is not
part of the project, a user gives the folder of its files.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.device import Repository, load_repository, wordnet_repository
from tacit.device.generalise.algorithms import generalise
from tacit.device.profile.arrays import Bags
from tacit.device.profile.user import UserProfile
from tacit.device.ranking.attention import Attention
from tacit.device.sending.decision import InterestFinder
from tacit.errors import InfeasibleError
from tacit.evaluate.guards.cases import (
    SCORES,
    Case,
    HistoryCase,
    Interval,
    Outcome,
    Page,
    abstract_pages,
    article_cases,
    article_repository,
    groups_by_power,
    held_out_cases,
    history_cases,
    interval_over_queries,
    load_ambient,
    measure,
    precision_of,
)
from tacit.files import atomic_directory, check_output_folder
from tacit.retrieval.personalised import rank_by_profile
from tacit.world.synth import SyntheticLog

GROUPS = ("ambiguous", "medium", "distinct")
"""Queries by DP(q, R), the least distinct first."""
DELTAS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
_DELTA = 0.1
_SENT = tuple(name for name in SCORES if name != "on the device")


@dataclass(frozen=True)
class ByQuery:
    """Average precision on one kind of query, by one way to rerank, at δ = 0.1."""

    queries: str
    cases: int
    order: str
    original: float
    personalised: float
    spread: float
    """The half-width of a 95% interval of the gain."""

    @property
    def gain(self) -> float:
        """Over no profile."""
        return self.personalised - self.original


@dataclass(frozen=True)
class ByDelta:
    """Average precision over all queries at one risk bound."""

    delta: float
    exposed: float
    """The share of queries with which any of the profile went out."""
    order: str
    original: float
    personalised: float
    spread: float

    @property
    def gain(self) -> float:
        """Over no profile."""
        return self.personalised - self.original


@dataclass(frozen=True)
class DeviceExperiments:
    """Both figures."""

    source: str
    cases: int
    by_query: tuple[ByQuery, ...]
    by_delta: tuple[ByDelta, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def steps() -> int:
    """How many rankings of all queries there are, for progress."""
    return len(SCORES) + len(DELTAS) * len(_SENT)


def log_experiments(
    users: int,
    population: int,
    *,
    by_clicks: bool = False,
    seed: int = 5,
    advance: Callable[[int], None] = lambda _: None,
) -> DeviceExperiments:
    """On the most active users of a synthetic log."""
    repository = wordnet_repository()
    log = SyntheticLog(population, seed=seed)
    cases = list(held_out_cases(repository, log.table(), log.truth(), users, by_clicks=by_clicks))
    judged = "clicks" if by_clicks else "the meaning in mind"
    return device_experiments(repository, cases, f"synthetic log, judged by {judged}", advance)


def article_experiments(
    articles: str | Path, users: int, *, seed: int = 5, advance: Callable[[int], None] = lambda _: None
) -> DeviceExperiments:
    """On simulated readers of real articles."""
    with tempfile.TemporaryDirectory() as folder:
        repository = article_repository(articles, folder)
        cases = list(article_cases(repository, users, seed=seed))
        return device_experiments(repository, cases, "articles", advance)


def device_experiments(
    repository: Repository,
    cases: Sequence[Case],
    source: str,
    advance: Callable[[int], None] = lambda _: None,
) -> DeviceExperiments:
    """All rankings of these queries."""
    if len(cases) < len(GROUPS):
        raise InfeasibleError(
            f"{len(cases)} test queries were found; three and more are needed.", "Take more users."
        )
    outcomes = {}
    for score in SCORES:
        outcomes[score] = measure(repository, cases, _DELTA, score)
        advance(1)
    by_delta = []
    for delta in DELTAS:
        for score in _SENT:
            found = measure(repository, cases, delta, score)
            exposed = float(np.mean([outcome.exposed for outcome in found]))
            by_delta.append(ByDelta(delta, exposed, score, *_mean(found)))
            advance(1)
    return DeviceExperiments(source, len(cases), tuple(_by_query(outcomes)), tuple(by_delta))


def _by_query(outcomes: dict[str, list[Outcome]]) -> list[ByQuery]:
    powers = np.array([outcome.query_power for outcome in outcomes[_SENT[0]]])
    group = groups_by_power(powers)
    rows = []
    for which, name in [*enumerate(GROUPS), (-1, "all")]:
        inside = np.flatnonzero(group == which) if which >= 0 else np.arange(len(powers))
        if len(inside):
            rows += [
                ByQuery(name, len(inside), order, *_mean([found[place] for place in inside]))
                for order, found in outcomes.items()
            ]
    return rows


def _mean(outcomes: Sequence[Outcome]) -> tuple[float, float, float]:
    """Original and personalised average precision, and the half-width of a 95% interval of the gain."""
    gains = np.array([outcome.personalised - outcome.original for outcome in outcomes])
    spread = 1.96 * gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    original = float(np.mean([outcome.original for outcome in outcomes]))
    return original, original + float(gains.mean()), float(spread)


AMBIENT_SETTINGS = ((3, 20, "same"), (3, 200, "same"), (0, 200, "none"), (3, 200, "other"))
"""Clicks before, documents in the history, and what the clicks were on: the meaning, nothing, another."""
_INTERESTS = {"same": "on this meaning", "none": "", "other": "on another meaning"}
_DELTA_AMBIENT_EXPERIMENTS = 0.1


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
        found = generalise(seed, _DELTA_AMBIENT_EXPERIMENTS)
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
        f"sent, δ = {_DELTA_AMBIENT_EXPERIMENTS:g}": ranking.sent,
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


MARKS = ("results.json", "by-delta.svg")
"""By these files a folder of these experiments is told from any other."""
AMBIENT_MARKS = ("results.json", "ambient.svg")
"""The same for those on ambiguous queries."""


def write_device_experiments(found: DeviceExperiments, folder: str | Path, *, replace: bool = False) -> Path:
    """Write ``results.json``, ``charts.html`` and a chart for each figure as SVG."""
    import altair  # heavy, and an extra: tacit[report]

    folder = Path(folder)
    check_output_folder(folder, force=replace, marks=MARKS)
    with atomic_directory(folder, replace=replace) as temporary:
        text = json.dumps(found.as_dict(), indent=2, allow_nan=False)
        (temporary / "results.json").write_text(text + "\n", encoding="utf-8")
        charts = {"by-query": _by_query_device_charts(altair, found), "by-delta": _by_delta(altair, found)}
        for name, chart in charts.items():
            chart.save(str(temporary / f"{name}.svg"))
        altair.vconcat(*charts.values()).save(str(temporary / "charts.html"), inline=True)
    return folder


def write_ambient_experiments(
    found: AmbientExperiments, folder: str | Path, *, replace: bool = False
) -> Path:
    """Write ``results.json``, ``charts.html`` and ``ambient.svg``."""
    import altair

    folder = Path(folder)
    check_output_folder(folder, force=replace, marks=AMBIENT_MARKS)
    with atomic_directory(folder, replace=replace) as temporary:
        text = json.dumps(found.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        (temporary / "results.json").write_text(text + "\n", encoding="utf-8")
        chart = _ambient(altair, found)
        chart.save(str(temporary / "ambient.svg"))
        chart.save(str(temporary / "charts.html"), inline=True)
    return folder


def _ambient(altair: Any, found: AmbientExperiments) -> Any:
    rows = [
        {
            "history": row.history,
            "order": row.order,
            "AP": row.precision.mean,
            "low": row.precision.low,
            "high": row.precision.high,
        }
        for row in found.rows
    ]
    base = altair.Chart(altair.Data(values=rows)).encode(
        y=altair.Y("order:N", sort=None, title=None),
        color=altair.Color("order:N", legend=None),
        tooltip=["history:N", "order:N", altair.Tooltip("AP:Q", format=".3f")],
    )
    points = base.mark_point(filled=True, size=70).encode(x=altair.X("AP:Q", title="average precision"))
    return (
        (points + base.mark_rule().encode(x="low:Q", x2="high:Q"))
        .properties(width=420, height=80)
        .facet(
            row=altair.Row(
                "history:N",
                sort=list(dict.fromkeys(row.history for row in found.rows)),
                title=None,
                header=altair.Header(labelOrient="top", labelAnchor="start"),
            )
        )
        .properties(title="ambiguous queries by history (bars: 95 % intervals over queries)")
    )


def _by_query_device_charts(altair: Any, found: DeviceExperiments) -> Any:
    rows = [{"queries": r.queries, "order": r.order, "AP": r.personalised} for r in found.by_query]
    originals = {r.queries: r.original for r in found.by_query}
    rows += [{"queries": name, "order": "no profile", "AP": value} for name, value in originals.items()]
    return (
        altair.Chart(altair.Data(values=rows))
        .mark_point(filled=True, size=70)
        .encode(
            x=altair.X("queries:N", sort=[*GROUPS, "all"], title=None, axis=altair.Axis(labelAngle=0)),
            y=altair.Y("AP:Q", title="average precision", scale=altair.Scale(zero=False)),
            color=altair.Color("order:N", title="reranked by"),
            tooltip=["queries:N", "order:N", altair.Tooltip("AP:Q", format=".3f")],
        )
        .properties(width=420, height=260, title="by kind of query, δ = 0.1")
    )


def _by_delta(altair: Any, found: DeviceExperiments) -> Any:
    rows = [{"delta": r.delta, "order": r.order, "AP": r.personalised} for r in found.by_delta]
    whole = next(r for r in found.by_query if r.queries == "all")
    device = next(r for r in found.by_query if (r.queries, r.order) == ("all", "on the device"))
    lines = (
        altair.Chart(altair.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=altair.X("delta:Q", title="risk bound δ"),
            y=altair.Y("AP:Q", title="average precision", scale=altair.Scale(zero=False)),
            color=altair.Color("order:N", title="reranked by"),
            tooltip=["delta:Q", "order:N", altair.Tooltip("AP:Q", format=".3f")],
        )
    )
    levels = [
        {"AP": whole.original, "level": "no profile"},
        {"AP": device.personalised, "level": "on the device, nothing sent"},
    ]
    rules = (
        altair.Chart(altair.Data(values=levels))
        .mark_rule(strokeDash=[4, 3])
        .encode(y="AP:Q", tooltip=["level:N", altair.Tooltip("AP:Q", format=".3f")])
    )
    title = "by risk bound, all queries (dashed: no profile, and the whole profile on the device)"
    return (lines + rules).properties(width=420, height=260, title=title)
