"""Evaluate groups: the paper's four experiments, under both criteria (paper 001, section 4, figures 2 to 6).

1. benefit: ranking by group profiles (p = 0.4, a = 1) against no personalisation;
2. semantics: augmentation a in 0..3 at p = 0.4;
3. privacy: p in 0.1..0.4 at a = 1, with the mean size of groups;
4. actual linkability against p: n_t / n, and what attackers believe.

A user's query goes to the embedded engine. Its results are reranked by the cosine between a result and an
interest profile; words of the query do not count, since all results have them. The ranking by the user's
**own** profile is the gold standard: its first 30 results are relevant. Average Precision then says how
near the ranking by the **group's** profile comes, and how near the engine's own ranking (no
personalisation).

A result is described by the words of its title and text and of its topic's names up to three steps above:
WordNet's glosses alone are too short to meet a profile. Queries are terms of the user for which the own
profile scores more than 30 of the engine's 500 first results; with fewer, the gold standard would be filled
up in the engine's order, and no personalisation would look good by definition.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import ir_measures
import numpy as np
from ir_measures import AP, P
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InputError
from tacit.files import atomic_directory, check_output_folder
from tacit.groups import Bundler, Bundling, Profiles
from tacit.groups.criterion import CRITERIA
from tacit.groups.report import Report, report
from tacit.retrieval import Corpus, SearchEngine
from tacit.text import STOP_WORDS, words
from tacit.world import wordnet_corpus, wordnet_engine

RELEVANT = 30
"""How many results of the gold standard count as relevant."""
_CANDIDATES = 500
_TOPIC_STEPS = 3

Weights = sparse.csr_array
"""Profiles to rank by: users by the terms of the task's vocabulary."""


@dataclass(frozen=True)
class Precision:
    """Mean over queries, against the gold standard.

    Attributes:
        average_precision: AP over all results ranked.
        standard_error: of that mean, taking queries as independent.
        precision_at_10: the share of relevant results among the first ten.
    """

    average_precision: float
    standard_error: float
    precision_at_10: float


class _Query(NamedTuple):
    user: int
    term: int


def _dense(weights: Weights, user: int) -> NDArray[np.float64]:
    row = np.zeros(weights.shape[1])
    held = slice(weights.indptr[user], weights.indptr[user + 1])
    row[weights.indices[held]] = weights.data[held]
    return row


class SearchTask:
    """Queries of users, with results to be ranked again.

    Args:
        profiles: the users and their own profiles.
        corpus, engine: what is searched.
        queries_a_user: how many queries to draw from each user's own terms, at most.
    """

    def __init__(
        self,
        profiles: Profiles,
        corpus: Corpus,
        engine: SearchEngine,
        queries_a_user: int = 2,
        seed: int = 0,
    ) -> None:
        self.profiles = profiles
        self._corpus, self._engine = corpus, engine
        self._column = {term: index for index, term in enumerate(profiles.vocabulary)}
        self._results: dict[int, tuple[NDArray[np.int64], sparse.csr_array]] = {}
        self._queries = list(self._draw(queries_a_user, np.random.default_rng(seed)))
        if not self._queries:
            raise InputError(
                f"no term of these users finds more than {RELEVANT} documents that meet their profile.",
                "Use larger profiles, of words that the corpus knows.",
            )

    def __len__(self) -> int:
        return len(self._queries)

    def _draw(self, each: int, randomness: np.random.Generator) -> Iterator[_Query]:
        own = own_weights(self.profiles)
        for user in range(len(self.profiles)):
            profile = _dense(own, user)
            drawn = 0
            for column in randomness.permutation(np.flatnonzero(profile)).tolist():
                query = _Query(user, column)
                if (self._scores(query, profile) > 0).sum() > RELEVANT:
                    yield query
                    drawn += 1
                if drawn == each:
                    break

    def _found(self, column: int) -> tuple[NDArray[np.int64], sparse.csr_array]:
        """The engine's results for a term, best first, and their words as unit vectors.

        The vectors are over the profiles' vocabulary, without the query's own words.
        """
        if column not in self._results:
            query = self.profiles.vocabulary[column]
            documents = [hit.document for hit in self._engine.search(query, _CANDIDATES)]
            asked = {query, *words(query)}
            rows, columns, values = [], [], []
            for row, number in enumerate(documents):
                text = self._text(number)
                known = [self._column[word] for word in text - asked if word in self._column]
                rows += [row] * len(known)
                columns += known
                values += [len(text) ** -0.5] * len(known)
            shape = (len(documents), len(self._column))
            vectors = sparse.coo_array((values, (rows, columns)), shape=shape).tocsr()
            self._results[column] = np.array(documents, np.int64), vectors
        return self._results[column]

    def _scores(self, query: _Query, profile: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cosine of each result and a profile, up to the profile's length."""
        return np.asarray(self._found(query.term)[1] @ profile)

    def _text(self, number: int) -> set[str]:
        """The distinct words of a document; its topic's names count as its own."""
        document, tree = self._corpus[number], self._corpus.tree
        names = [tree.names[node] for node in tree.ancestors(document.topic)[-_TOPIC_STEPS:]]
        named = " ".join(name.partition(".")[0].replace("_", " ") for name in names)
        return set(words(f"{document.title} {document.text} {named}")) - STOP_WORDS

    def ranked(self, weights: Weights | None) -> list[NDArray[np.int64]]:
        """Each query's results in the order that these profiles give; the engine's order for None.

        Results that a profile likes equally stay in the engine's order.
        """
        ranked = []
        for query in self._queries:
            documents = self._found(query.term)[0]
            if weights is not None:
                scores = self._scores(query, _dense(weights, query.user))
                documents = documents[np.argsort(-scores, kind="stable")]
            ranked.append(documents)
        return ranked

    def precision(self, ranked: Sequence[NDArray[np.int64]], gold: Sequence[NDArray[np.int64]]) -> Precision:
        """How near one ranking of each query comes to the gold standard's first 30."""
        relevant = [
            ir_measures.Qrel(str(query), str(document), 1)
            for query, order in enumerate(gold)
            for document in order[:RELEVANT].tolist()
        ]
        run = [
            ir_measures.ScoredDoc(str(query), str(document), -float(place))
            for query, order in enumerate(ranked)
            for place, document in enumerate(order.tolist())
        ]
        found: dict[object, list[float]] = {AP: [], P @ 10: []}
        for metric in ir_measures.iter_calc([AP, P @ 10], relevant, run):
            found[metric.measure].append(metric.value)
        average = np.array(found[AP])
        error = float(average.std(ddof=1) / np.sqrt(average.size)) if average.size > 1 else 0.0
        return Precision(float(average.mean()), error, float(np.mean(found[P @ 10])))


def own_weights(profiles: Profiles) -> Weights:
    """Everybody's own profile."""
    return profiles.matrix()


def group_weights(bundling: Bundling) -> Weights:
    """For everybody, the profile of the group."""
    released = bundling.released
    shape = (len(released), len(bundling.profiles.vocabulary))
    groups = sparse.csr_array((released.weights, released.terms, released.offsets), shape=shape)
    return groups[bundling.labels]


BENEFIT = (0.4, 1)
AUGMENTS = (0, 1, 2, 3)
BOUNDS = (0.1, 0.2, 0.3, 0.4)


@dataclass(frozen=True)
class BundlingRun:
    """One bundling: its parameters, the precision of ranking by its groups, and its report."""

    criterion: str
    p: float
    augment: int
    precision: Precision
    report: Report


@dataclass(frozen=True)
class Experiments:
    """All runs over one population.

    Attributes:
        queries: how many queries were ranked.
        engine: precision without personalisation.
    """

    users: int
    terms_a_user: float
    queries: int
    engine: Precision
    runs: tuple[BundlingRun, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def at(self, criterion: str, p: float, augment: int) -> BundlingRun:
        """The run with these parameters."""
        return next(
            run for run in self.runs if (run.criterion, run.p, run.augment) == (criterion, p, augment)
        )


def settings() -> Iterator[tuple[str, float, int]]:
    """Criterion, p and a of every run."""
    for criterion in CRITERIA:
        for p in BOUNDS:
            yield criterion, p, BENEFIT[1]
        for augment in AUGMENTS:
            if augment != BENEFIT[1]:
                yield criterion, BENEFIT[0], augment


def run_experiments(
    profiles: Profiles,
    *,
    queries_a_user: int = 2,
    seed: int = 0,
    advance: Callable[[int], None] = lambda _runs: None,
) -> Experiments:
    """Run everything over the embedded corpus; reproducible by seed."""
    task = SearchTask(profiles, wordnet_corpus(), wordnet_engine(), queries_a_user, seed)
    gold = task.ranked(own_weights(profiles))
    runs = []
    for criterion, p, augment in settings():
        bundling = Bundler(p=p, criterion=criterion, augment=augment, seed=seed).fit(profiles)
        precision = task.precision(task.ranked(group_weights(bundling)), gold)
        runs.append(BundlingRun(criterion, p, augment, precision, report(bundling, seed=seed)))
        advance(1)
    return Experiments(
        len(profiles),
        float(profiles.sizes.mean()),
        len(task),
        task.precision(task.ranked(None), gold),
        tuple(runs),
    )


MARKS = ("results.json", "linkability.svg")
"""By these files a folder of these experiments is told from any other."""

_COLOURS = {"strict": "#00796b", "paper": "#ef6c00", "no personalisation": "#9e9e9e"}


def write_experiments(experiments: Experiments, folder: str | Path, *, replace: bool = False) -> Path:
    """Write ``results.json`` and, as HTML and SVG, a chart for each of the paper's figures 2 to 6."""
    import altair  # heavy, and an extra: tacit[report]

    folder = Path(folder)
    check_output_folder(folder, force=replace, marks=MARKS)
    with atomic_directory(folder, replace=replace) as temporary:
        text = json.dumps(experiments.as_dict(), indent=2, allow_nan=False)
        (temporary / "results.json").write_text(text + "\n", encoding="utf-8")
        charts = _charts(altair, experiments)
        for name, chart in charts.items():
            chart.save(str(temporary / f"{name}.svg"))
        page = altair.vconcat(*charts.values()).resolve_scale(color="independent")
        page.save(str(temporary / "charts.html"), inline=True)
    return folder


def _charts(altair: Any, experiments: Experiments) -> dict[str, Any]:
    at = experiments.at
    by_augment = [at(c, BENEFIT[0], a) for c in CRITERIA for a in AUGMENTS]
    by_bound = [at(c, p, BENEFIT[1]) for c in CRITERIA for p in BOUNDS]
    return {
        "benefit": _benefit(altair, experiments),
        "augmentation": _precision(
            altair, by_augment, "augment", "steps of hypernyms (a)", "Effect of semantics (p = 0.4)"
        ),
        "privacy": _precision(altair, by_bound, "p", "bound p", "Privacy against precision (a = 1)"),
        "group-size": _lines(
            altair,
            [{"criterion": run.criterion, "x": run.p, "y": run.report.mean_size} for run in by_bound],
            "bound p",
            "members of a group, mean",
            "Size of groups (a = 1)",
        ),
        "linkability": _linkability(altair, by_bound),
    }


def _colour(altair: Any) -> Any:
    scale = altair.Scale(domain=list(CRITERIA), range=[_COLOURS[name] for name in CRITERIA])
    return altair.Color("criterion:N", scale=scale, title="criterion")


def _benefit(altair: Any, experiments: Experiments) -> Any:
    bars = [("no personalisation", experiments.engine)] + [
        (criterion, experiments.at(criterion, *BENEFIT).precision) for criterion in CRITERIA
    ]
    rows = [
        {
            "criterion": name,
            "AP": found.average_precision,
            "low": found.average_precision - 2 * found.standard_error,
            "high": found.average_precision + 2 * found.standard_error,
        }
        for name, found in bars
    ]
    base = altair.Chart(altair.Data(values=rows)).encode(
        x=altair.X(
            "criterion:N",
            sort=[name for name, _ in bars],
            title=None,
            axis=altair.Axis(labelAngle=0),
        )
    )
    drawn = base.mark_bar().encode(
        y=altair.Y("AP:Q", scale=altair.Scale(domain=[0, 1]), title="average precision"),
        color=altair.Color(
            "criterion:N",
            scale=altair.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())),
            legend=None,
        ),
    )
    title = "Benefit of group profiles (p = 0.4, a = 1; bars: ± 2 standard errors)"
    return (drawn + base.mark_rule().encode(y="low:Q", y2="high:Q")).properties(title=title, width=320)


def _precision(altair: Any, runs: list[BundlingRun], field: str, axis: str, title: str) -> Any:
    rows = [
        {
            "criterion": run.criterion,
            "x": getattr(run, field),
            "y": run.precision.average_precision,
            "low": run.precision.average_precision - 2 * run.precision.standard_error,
            "high": run.precision.average_precision + 2 * run.precision.standard_error,
        }
        for run in runs
    ]
    drawn = _lines(altair, rows, axis, "average precision", title)
    errors = (
        altair.Chart(altair.Data(values=rows))
        .mark_rule()
        .encode(x="x:Q", y="low:Q", y2="high:Q", color=_colour(altair))
    )
    return drawn + errors


def _linkability(altair: Any, runs: list[BundlingRun]) -> Any:
    """One panel a criterion, with the bound dashed."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        link = run.report.linkability
        five = next(line for line in run.report.attackers if line.known_terms == 5)
        for measure, value in [
            ("n_t/n, largest", link.max),
            ("n_t/n, mean", link.mean),
            ("eq. 3 with 5 known terms, largest", five.belief_max),
            ("eq. 3 with 5 known terms, mean", five.belief_mean),
        ]:
            rows.append({"criterion": run.criterion, "x": run.p, "p": run.p, "y": value, "measure": measure})
    base = altair.Chart().encode(x=altair.X("x:Q", title="bound p", axis=altair.Axis(values=list(BOUNDS))))
    lines = base.mark_line(point=True).encode(
        y=altair.Y("y:Q", title="linkability", scale=altair.Scale(domain=[0, 1])),
        color=altair.Color("measure:N", title=None, legend=altair.Legend(labelLimit=300)),
        strokeDash=altair.StrokeDash("measure:N", title=None),  # where lines coincide, both show
        tooltip=["criterion:N", "measure:N", "x:Q", altair.Tooltip("y:Q", format=".3f")],
    )
    bound = base.mark_line(strokeDash=[6, 4], color="#424242").encode(y="p:Q")
    return (
        altair.layer(bound, lines, data=altair.Data(values=rows))
        .properties(width=300, height=260)
        .facet(column=altair.Column("criterion:N", title=None, sort=list(CRITERIA)))
        .properties(title="Actual linkability against the bound (dashed), a = 1")
    )


def _lines(altair: Any, rows: list[dict[str, Any]], x: str, y: str, title: str) -> Any:
    steps = sorted({row["x"] for row in rows})
    return (
        altair.Chart(altair.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=altair.X("x:Q", title=x, axis=altair.Axis(values=steps, format="~g")),
            y=altair.Y("y:Q", title=y, scale=altair.Scale(zero=True)),
            color=_colour(altair),
            tooltip=["criterion:N", "x:Q", altair.Tooltip("y:Q", format=".3f")],
        )
        .properties(width=480, height=260, title=title)
    )
