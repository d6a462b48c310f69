"""Evaluate the pool: what a region is worth to search, and the paper's experiments (section 6) run again.

Queries are ambiguous words; the embedded engine finds results, which fall into kinds by their topic. Which
kind a person wants depends on age, country and occupation: each kind has an age at which it is liked most,
places where it is at home and occupations it belongs to, drawn at random. The service learns from the
clicks in its own log, which shows of each person exactly what the guard lets through, and ranks kinds for
people who are not in that log. Average Precision of the results the person wants is measured with their
record d, the region d' the pool gave them, the whole domain d* (what everybody reads), and the engine's own
order. The dependence on attributes is simulated; people, regions, engine and words are not.

The paper prints its figures as pictures; what its text says of them stands in :data:`PAPER_SAYS`. Table 1
is printed in numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from tacit.files import atomic_file
from tacit.pages import render
from tacit.pool.simulation.population import Population
from tacit.pool.simulation.traffic import LEAVERS, MODES, Simulated, SimulationSetting, simulate
from tacit.pool.simulation.verification import AuditedLog, verify_log
from tacit.retrieval import SearchEngine
from tacit.taxonomy import TopicTree

QUERIES = (
    "java jaguar mercury saturn apple bank bass bat bow box club court crane date drill fan file fly game "
    "jam key lead match model mouse nail note organ palm pitch plant pool port press ring rock scale seal "
    "spring star tie train trunk watch wave yard"
).split()
_RESULTS = 60
_KINDS = 8
_AGE, _OCCUPATION, _COUNTRY = 0, 4, 7
_SMOOTHING = 4.0

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Usefulness:
    """Mean Average Precision on held-out people, by what the service sees of them."""

    k: int
    window: float
    exact: float
    region: float
    general: float
    nothing: float
    entries: int

    def as_dict(self) -> dict[str, Any]:
        """A row of a table; ``kept`` is the share of the gain of d over d* that d' keeps."""
        gain = self.exact - self.general
        return {
            "k": self.k,
            "window": self.window,
            "d": self.exact,
            "region": self.region,
            "d*": self.general,
            "nothing": self.nothing,
            "kept": (self.region - self.general) / gain if gain > 0 else 0.0,
            "entries": self.entries,
        }


@dataclass(frozen=True)
class Waiting:
    """How newcomers come to their first region, at a rate of arrivals."""

    arrivals: float
    at_once: float
    never: float
    wait: float

    def as_dict(self) -> dict[str, Any]:
        """A row of a table."""
        return {"arrivals": self.arrivals, "at_once": self.at_once, "never": self.never, "wait": self.wait}


def average_precision(wanted: Sequence[bool]) -> float:
    """AP of a ranking, given for each place whether its result is wanted (all wanted ones are ranked)."""
    hits = np.flatnonzero(np.asarray(wanted))
    if not hits.size:
        return 0.0
    return float((np.arange(1, hits.size + 1) / (hits + 1)).mean())


def topic_kinds(tree: TopicTree, depth: int = 6) -> Numbers:
    """The kind of each topic: its ancestor at ``depth`` steps below the root, or itself if it is higher."""
    parent = np.asarray(tree.parent, np.int64)
    kinds = np.arange(len(parent))
    depths = np.zeros(len(parent), np.int64)
    for topic in range(1, len(parent)):  # parents come before their children
        depths[topic] = depths[parent[topic]] + 1
        if depths[topic] > depth:
            kinds[topic] = kinds[parent[topic]]
    return kinds


def affinities(kinds: int, sizes: Sequence[int], random: np.random.Generator) -> dict[int, Floats]:
    """For each attribute that matters, how much each of its values likes each kind (logits)."""
    ages = np.arange(sizes[_AGE])
    centre, width = random.uniform(0, sizes[_AGE], kinds), random.uniform(6, 14, kinds)
    by_age = 3.0 * np.exp(-(((ages[:, None] - centre) / width) ** 2))
    home = random.integers(0, sizes[_COUNTRY], kinds)
    by_country = 2.0 * np.exp(-np.abs(np.arange(sizes[_COUNTRY])[:, None] - home) / 4.0)
    by_occupation = 1.5 * random.normal(size=(sizes[_OCCUPATION], kinds))
    return {_AGE: by_age, _COUNTRY: by_country, _OCCUPATION: by_occupation}


class _World:
    """The queries with their results and kinds, and who wants which kind."""

    def __init__(self, engine: SearchEngine, kind_of: Numbers, sizes: Sequence[int], seed: int) -> None:
        random = np.random.default_rng(seed)
        self.kinds: list[Numbers] = []
        for query in QUERIES:
            found = np.array([hit.document for hit in engine.search(query, _RESULTS)], np.int64)
            topics = kind_of[found]
            common = [topic for topic, _ in _by_count(topics)][: _KINDS - 1]
            place = {topic: number for number, topic in enumerate(common)}
            self.kinds.append(np.array([place.get(int(topic), len(common)) for topic in topics], np.int64))
        self.affinity = [affinities(int(kinds.max()) + 1, sizes, random) for kinds in self.kinds]

    def wants(self, query: Numbers, record: Numbers, random: np.random.Generator) -> Numbers:
        """The kind that each asker wants, drawn by their affinities."""
        wanted = np.empty(len(query), np.int64)
        for number in range(len(QUERIES)):
            rows = np.flatnonzero(query == number)
            logits = sum(by[record[rows, a]] for a, by in self.affinity[number].items())
            assert not isinstance(logits, int)
            wanted[rows] = np.argmax(logits + random.gumbel(size=logits.shape), axis=1)
        return wanted


def _by_count(topics: Numbers) -> list[tuple[int, int]]:
    values, counts = np.unique(topics, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [(int(values[place]), int(counts[place])) for place in order]


def learned(
    low: Numbers,
    high: Numbers,
    wanted: Numbers,
    kinds: int,
    sizes: Sequence[int],
    smoothing: float = _SMOOTHING,
) -> list[Floats]:
    """For each attribute the log of how much more often a kind is clicked at a value than overall.

    A click of somebody in a region counts evenly for the values that the region covers. ``smoothing`` clicks
    as everybody's are added to each value's.
    """
    overall = np.bincount(wanted, minlength=kinds) + 1.0
    overall /= overall.sum()
    ratios = []
    for attribute, size in enumerate(sizes):
        change = np.zeros((size + 1, kinds))
        weight = 1.0 / (high[:, attribute] - low[:, attribute] + 1)
        np.add.at(change, (low[:, attribute], wanted), weight)
        np.add.at(change, (high[:, attribute] + 1, wanted), -weight)
        clicks = np.cumsum(change, axis=0)[:-1]
        total = clicks.sum(axis=1, keepdims=True)
        rate = (clicks + smoothing * overall) / (total + smoothing)
        ratios.append(np.log(rate / overall))
    return [np.log(overall), *ratios]


def region_scores(model: list[Floats], low: Numbers, high: Numbers) -> Floats:
    """For each asker how much each kind is liked, by what their region says on average."""
    score = np.tile(model[0], (len(low), 1))
    for attribute, ratio in enumerate(model[1:]):
        sums = np.vstack([np.zeros((1, ratio.shape[1])), np.cumsum(ratio, axis=0)])
        width = (high[:, attribute] - low[:, attribute] + 1)[:, None]
        score += (sums[high[:, attribute] + 1] - sums[low[:, attribute]]) / width
    return score


def _ranked_kinds(model: list[Floats], low: Numbers, high: Numbers) -> Numbers:
    """For each asker the kinds from best to worst."""
    return np.argsort(-region_scores(model, low, high), axis=1, kind="stable")


def _mean_precision(kinds: Numbers, ranked: Numbers, wanted: Numbers) -> float:
    """The mean AP when the results of a query are shown kind by kind in each asker's order of kinds."""
    known: dict[tuple[bytes, int], float] = {}
    total = 0.0
    for order, want in zip(ranked, wanted.tolist(), strict=True):
        key = (order.tobytes(), want)
        if key not in known:
            place = np.empty(order.size, np.int64)
            place[order] = np.arange(order.size)
            shown = kinds[np.argsort(place[kinds], kind="stable")]
            known[key] = average_precision((shown == want).tolist())
        total += known[key]
    return total / len(wanted)


def usefulness(
    setting: SimulationSetting,
    population: Population,
    engine: SearchEngine,
    kind_of: Numbers,
    *,
    seed: int = 7,
) -> Usefulness:
    """Measure one setting: simulate its traffic, learn from two thirds of the people, rank for the others."""
    found = simulate(setting, population, keep_log=True)
    assert found.log is not None
    log, sizes = found.log, population.template.sizes
    random = np.random.default_rng(seed)
    world = _World(engine, kind_of, sizes, seed)
    query = random.integers(0, len(QUERIES), len(log))
    wanted = world.wants(query, log.record, random)
    train = log.sender % 3 != 0
    seen = _seen(log, sizes)
    totals = dict.fromkeys((*seen, "nothing"), 0.0)
    for number, kinds in enumerate(world.kinds):
        here = query == number
        learn, judge = here & train, here & ~train
        for name, (low, high) in seen.items():
            model = learned(low[learn], high[learn], wanted[learn], int(kinds.max()) + 1, sizes)
            ranked = _ranked_kinds(model, low[judge], high[judge])
            totals[name] += _mean_precision(kinds, ranked, wanted[judge]) * judge.sum()
        plain = {want: average_precision((kinds == want).tolist()) for want in range(int(kinds.max()) + 1)}
        totals["nothing"] += sum(plain[want] for want in wanted[judge].tolist())
    entries = int((~train).sum())
    means = {name: total / entries for name, total in totals.items()}
    return Usefulness(
        setting.k, setting.window, means["d"], means["region"], means["d*"], means["nothing"], entries
    )


def _seen(log: AuditedLog, sizes: Sequence[int]) -> dict[str, tuple[Numbers, Numbers]]:
    """What the service sees of each asker, as lower and upper corners."""
    top = np.tile(np.array(sizes, np.int64) - 1, (len(log), 1))
    return {"d": (log.record, log.record), "region": (log.low, log.high), "d*": (np.zeros_like(top), top)}


def waiting_times(
    base: SimulationSetting, population: Population, arrivals: Sequence[float] = (1, 3, 10, 50, 200)
) -> list[Waiting]:
    """How long newcomers wait for their first region, by the rate of arrivals."""
    found = [simulate(replace(base, arrivals=float(rate)), population) for rate in arrivals]
    return [Waiting(one.setting.arrivals, one.guarded_at_once, one.never_guarded, one.wait) for one in found]


ARRIVALS = (10, 50, 100, 150, 200, 250, 300)
STAYS = (10, 50, 100)
KS = (5, 10, 20, 30, 40, 50)
WINDOWS = (30, 50, 70, 90, 110)
OVERLAPS = (0.1, 0.3, 0.5)
_ADDED = (
    "guarded",
    "definition_2_violations",
    "definition_3_violations",
    "general",
    "definition_2_violations_general",
)

PAPER_TABLE_1 = {
    "arrivals": (10, 50, 100, 150, 200, 250),
    "unregistered": (0.030, 0.009, 0.005, 0.005, 0.002, 0.001),
    "forced_expired": (0.001, 0.001, 0.001, 0.001, 0.002, 0.001),
}
"""Table 1 as printed."""

PAPER_SAYS = {
    "Figure 6": "about 5 % at 50 arrivals for stays of 50 and 100; below 10 % for stays of 10",
    "Figure 7": "no more than 4 % for k from 5 to 10",
    "Figure 8": "falls with the window up to about 90, and with the overlap",
}
"""What the paper's text says of its figures."""


@dataclass(frozen=True)
class Point:
    """One point of a figure: a setting, and means over its simulations."""

    figure: str
    setting: SimulationSetting
    means: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """A row of the report."""
        setting = self.setting
        return {
            "figure": self.figure,
            "mode": setting.mode,
            "leavers": setting.leavers,
            "k": setting.k,
            "window": setting.window,
            "overlap": setting.overlap,
            "arrivals": setting.arrivals,
            "stay": setting.stay,
        } | self.means


@dataclass(frozen=True)
class Sweeps:
    """All points, and the verdicts on the query logs at the paper's default setting."""

    base: SimulationSetting
    points: tuple[Point, ...]
    verdicts: tuple[dict[str, Any], ...]
    seeds: int = 1

    def of(self, figure: str) -> list[dict[str, Any]]:
        """The rows of a figure."""
        return [point.as_dict() for point in self.points if point.figure == figure]


def settings_of(base: SimulationSetting) -> Iterator[tuple[str, SimulationSetting]]:
    """The settings of each figure, around ``base``."""
    for mode in MODES:
        here = replace(base, mode=mode)
        for stay in sorted({*map(float, STAYS), base.stay}):  # Table 1 is about that of the base
            for arrivals in ARRIVALS:
                yield "Figure 6", replace(here, arrivals=float(arrivals), stay=stay)
        for k in KS:
            yield "Figure 7", replace(here, k=k)
        for leavers in LEAVERS:
            for overlap in OVERLAPS:
                for window in WINDOWS:
                    yield (
                        "Figure 8",
                        replace(here, leavers=leavers, overlap=overlap, window=float(window)),
                    )


def sweep(
    base: SimulationSetting,
    population: Population,
    advance: Callable[[], None] = lambda: None,
    *,
    seeds: int = 1,
) -> Sweeps:
    """Run every setting with so many seeds, from ``base``'s on; ``advance`` is called after each setting."""
    points = []
    for figure, setting in settings_of(base):
        runs = [simulate(each, population) for each in _seeded(setting, seeds)]
        points.append(Point(figure, setting, _means(runs)))
        advance()
    verdicts = []
    for mode in MODES:
        for leavers in LEAVERS:
            setting = replace(base, mode=mode, leavers=leavers)
            runs = [simulate(each, population, keep_log=True) for each in _seeded(setting, seeds)]
            verdicts.append({"mode": mode, "leavers": leavers} | _means(runs) | _audited(runs))
            advance()
    return Sweeps(base, tuple(points), tuple(verdicts), seeds)


def _seeded(setting: SimulationSetting, seeds: int) -> list[SimulationSetting]:
    return [replace(setting, seed=setting.seed + number) for number in range(seeds)]


def _means(runs: Sequence[Simulated]) -> dict[str, float]:
    found = [run.as_dict() for run in runs]
    return {name: sum(one[name] for one in found) / len(found) for name in found[0]}


def _audited(runs: Sequence[Simulated]) -> dict[str, int]:
    """Entries and violations in the query logs of all runs together."""
    totals: Counter[str] = Counter()
    for run in runs:
        assert run.log is not None
        verdict = verify_log(run.log, run.setting.k, run.setting.window).as_dict()
        totals.update({name: verdict[name] for name in _ADDED})
    return {name: totals[name] for name in _ADDED}


_COLOURS = {"default": "#0c9485", "paper": "#e8710a"}
_TITLES = {
    "6": "Information loss by arrivals and stay",
    "7": "Information loss by k",
    "8": "Information loss by window and overlap",
}


def write_report(sweeps: Sweeps, path: str | Path) -> None:
    """Write the page; everything is inside it, and it runs no script."""
    import altair

    charts = {"6": _figure_6(altair, sweeps), "7": _figure_7(altair, sweeps), "8": _figure_8(altair, sweeps)}
    page = render(
        "tacit.evaluate",
        "pool_sweeps.html.j2",
        base=sweeps.base,
        seeds=sweeps.seeds,
        figures=[
            {
                "number": number,
                "title": _TITLES[number],
                "svg": Markup(_svg(chart)),
                "says": PAPER_SAYS[f"Figure {number}"],
                "rows": sweeps.of(f"Figure {number}"),
            }
            for number, chart in charts.items()
        ],
        table=_table_1(sweeps),
        verdicts=sweeps.verdicts,
    )
    with atomic_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _svg(chart: Any) -> str:
    """The chart as SVG, in colours that can be read on light and dark pages."""
    import vl_convert

    grey = "#7c8692"
    axis = {
        "labelColor": grey,
        "titleColor": grey,
        "gridColor": "#8884",
        "domainColor": grey,
        "tickColor": grey,
    }
    config = {
        "background": "transparent",
        "padding": {"left": 5, "top": 5, "bottom": 5, "right": 60},
        "axis": axis,
        "legend": {"labelColor": grey, "titleColor": grey, "symbolStrokeColor": grey},
        "title": {"color": grey},
        "view": {"stroke": "transparent"},
    }
    svg: str = vl_convert.vegalite_to_svg(chart.to_dict() | {"config": config})
    return svg


def _rows(sweeps: Sweeps, figure: str) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in row.items() if key != "figure"}
        | {"series": f"{row['mode']}, stay {row['stay']:g}"}
        for row in sweeps.of(figure)
    ]


def _base(altair: Any, rows: list[dict[str, Any]], width: int = 300) -> Any:
    return altair.Chart(altair.Data(values=rows)).mark_line(point=True).properties(width=width, height=220)


def _loss(altair: Any, *, logarithmic: bool = False) -> Any:
    scale = altair.Scale(type="log") if logarithmic else altair.Undefined
    axis = altair.Axis(format="~p", values=[0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]) if logarithmic else None
    return altair.Y(
        "information_loss:Q",
        title="information loss (AvgIL)",
        scale=scale,
        axis=axis or altair.Axis(format="%"),
    )


def _ncp(altair: Any) -> Any:
    return altair.Y("ncp:Q", title="share of width (NCP)", axis=altair.Axis(format="%"))


def _mode(altair: Any) -> Any:
    scale = altair.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    return altair.Color("mode:N", scale=scale, title="mode")


def _dash(altair: Any, field: str, title: str) -> Any:
    legend = altair.Legend(
        symbolType="stroke", symbolStrokeColor="#7c8692", symbolStrokeWidth=2, symbolSize=400, symbolOpacity=1
    )
    return altair.StrokeDash(f"{field}:N", title=title, legend=legend)


def _figure_6(altair: Any, sweeps: Sweeps) -> Any:
    rows = _rows(sweeps, "Figure 6")
    x = altair.X("arrivals:Q", title="arrivals per unit of time (λ)")
    dash = _dash(altair, "stay", "stay (μ)")
    said = [
        {"arrivals": 50, "information_loss": 0.05, "text": "the paper, μ = 50 and 100"},
        {"arrivals": 50, "information_loss": 0.10, "text": "the paper, μ = 10: below"},
    ]
    points = (
        altair.Chart(altair.Data(values=said))
        .mark_point(shape="cross", size=90, color="#888", strokeWidth=2)
        .encode(x="arrivals:Q", y="information_loss:Q")
    )
    loss = _loss(altair, logarithmic=True)
    lines = _base(altair, rows).encode(x=x, y=loss, color=_mode(altair), strokeDash=dash)
    widths = _base(altair, rows).encode(x=x, y=_ncp(altair), color=_mode(altair), strokeDash=dash)
    return (lines + points) | widths


def _figure_7(altair: Any, sweeps: Sweeps) -> Any:
    rows = _rows(sweeps, "Figure 7")
    x = altair.X("k:Q", title="people who share a region (k)")
    said = [{"k": k, "information_loss": 0.04} for k in (5, 10)]
    limit = (
        altair.Chart(altair.Data(values=said))
        .mark_line(color="#888", strokeDash=[2, 2])
        .encode(x="k:Q", y="information_loss:Q")
    )
    lines = _base(altair, rows).encode(x=x, y=_loss(altair), color=_mode(altair))
    return (lines + limit) | _base(altair, rows).encode(x=x, y=_ncp(altair), color=_mode(altair))


def _figure_8(altair: Any, sweeps: Sweeps) -> Any:
    rows = _rows(sweeps, "Figure 8")
    x = altair.X("window:Q", title="window (w)")
    dash = _dash(altair, "overlap", "overlap (p)")
    charts = []
    for leavers in ("silent", "answer"):
        some = [row for row in rows if row["leavers"] == leavers]
        charts.append(
            _base(altair, some)
            .encode(x=x, y=_loss(altair), color=_mode(altair), strokeDash=dash)
            .properties(title=f"leavers {'answer' if leavers == 'answer' else 'are silent'}")
        )
    return charts[0] | charts[1]


def _table_1(sweeps: Sweeps) -> list[dict[str, Any]]:
    """Table 1's columns: the paper's figures and ours."""
    ours = {
        (row["mode"], row["arrivals"]): row
        for row in sweeps.of("Figure 6")
        if row["stay"] == sweeps.base.stay
    }
    return [
        {
            "arrivals": arrivals,
            "paper_unregistered": unregistered,
            "paper_forced": forced,
            "modes": [ours.get((mode, float(arrivals))) for mode in ("paper", "default")],
        }
        for arrivals, unregistered, forced in zip(
            PAPER_TABLE_1["arrivals"],
            PAPER_TABLE_1["unregistered"],
            PAPER_TABLE_1["forced_expired"],
            strict=True,
        )
    ]
