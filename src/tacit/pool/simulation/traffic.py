"""People come, ask and go: the pool's own machine and the gateway's rule under simulated traffic.

Only people and time are made up. Every entry of the log is judged afterwards by
:mod:`tacit.pool.simulation.verification`, which knows neither tree nor tokens.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tacit.errors import ParameterError
from tacit.files import check_output
from tacit.pool.protocol.counting import Actions, Batch, QueryCounter, Rules, Why
from tacit.pool.protocol.gateway import GatewayLog
from tacit.pool.protocol.population import Population, read_population
from tacit.pool.protocol.template import Template
from tacit.pool.protocol.tree import Codes, Floats, Numbers, Tree, grow_tree, losses
from tacit.pool.simulation.verification import AuditedLog, verify_log, write_audited_log
from tacit.validation import real, whole

Mode = Literal["default", "paper"]
MODES: tuple[Mode, ...] = ("default", "paper")
"""``default``: rule S over one tree; ``paper``: groups that are split in themselves, window after window."""

Leavers = Literal["silent", "answer"]
LEAVERS: tuple[Leavers, ...] = ("silent", "answer")
"""In the paper's mode, people who asked in the overlap and left before its end: silent, or still counted."""

_MOST_PEOPLE = 10_000_000
STAY_VARIANCE = 10.0  # of how long people stay, as in the paper (section 6.1)

_RULES: dict[str, tuple[Callable[[float], bool], str]] = {
    "above 0": (lambda value: value > 0, "window arrivals stay every"),
    "at least 0": (lambda value: value >= 0, "patience away"),
    "at least 1 and at most 1,000": (lambda value: 1 <= value <= 1_000, "burst"),
    "above 0 and at most 0.5": (lambda value: 0 < value <= 0.5, "overlap"),
}


@dataclass(frozen=True)
class SimulationSetting:
    """One simulation; see :func:`simulate_pool` for what each value means."""

    k: int = 30
    window: float = 50.0
    overlap: float = 0.5
    arrivals: float = 50.0
    stay: float = 50.0
    windows: int = 20
    mode: Mode = "default"
    leavers: Leavers = "silent"
    seed: int = 1
    every: float | None = None
    patience: float | None = None
    people: int = 0
    away: float = 0.0
    burst: float = 1.0

    def __post_init__(self) -> None:
        if self.patience is None:
            object.__setattr__(self, "patience", self.window)
        if self.every is None and self.mode == "default":
            object.__setattr__(self, "every", real("window", self.window) / 4)
        for name, least in (("k", 2), ("windows", 1), ("seed", 0), ("people", 0)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        for rule, (holds, names) in _RULES.items():
            for name in names.split():
                if (value := getattr(self, name)) is None and name in ("every", "patience"):
                    continue
                object.__setattr__(self, name, real(name, value))
                if not holds(value):
                    raise ParameterError.outside(name, value, rule)
        if (self.people or self.arrivals * self.length) > _MOST_PEOPLE:
            problem = f"a simulation has at most {_MOST_PEOPLE:,} people."
            raise ParameterError(problem, "Give fewer `people`, `arrivals` or `windows`.")
        for name, known in (("mode", MODES), ("leavers", LEAVERS)):
            if getattr(self, name) not in known:
                raise ParameterError.outside(name, repr(getattr(self, name)), f"one of {', '.join(known)}")

    @property
    def length(self) -> float:
        """The time it runs, with a first window that is not counted."""
        return (self.windows + 1) * self.window


@dataclass(frozen=True, repr=False)
class PoolSimulation:
    """The findings after the first window, as means over the runs; shares are of 1.

    Attributes:
        setting: what was simulated; its seed is the first run's.
        log: every entry of the first run.
        information_loss: AvgIL (eq. 3), over the queries that went out.
        ncp: the mean share of each attribute's width that their regions cover.
        unregistered: queries that were given up (in the paper's mode: people without a group).
        groups: how many regions were in use in a window, on average.
        people: how many people asked in a window, on average.
        answered: queries that were answered.
        breaches: entries that fail Definition 2, of all runs together.
        delay_median: how long the answered waited, in the middle.
        forced_expired: people whose group found fewer than k again (section 5.2); by default there are none.
        forced_unregistered: those of them who are without a group in the next window too.
        seeds: the seeds of the runs.
    """

    setting: SimulationSetting
    log: AuditedLog
    information_loss: float
    ncp: float
    unregistered: float
    groups: float
    people: float
    answered: float
    breaches: int
    delay_median: float = 0.0
    forced_expired: float = 0.0
    forced_unregistered: float = 0.0
    seeds: tuple[int, ...] = ()

    def __repr__(self) -> str:
        setting = self.setting
        return (
            f"PoolSimulation(k={setting.k}, window={setting.window:g}: {self.people:,.0f} people ask in "
            f"it, {self.answered:.1%} answered, NCP {self.ncp:.1%}, {self.breaches} breaches)"
        )

    def as_dict(self) -> dict[str, Any]:
        """Setting and figures in one, for JSON."""
        said = {each.name: getattr(self.setting, each.name) for each in fields(self.setting)}
        del said["seed"]
        return said | {"seeds": list(self.seeds)} | {name: getattr(self, name) for name in FIGURES}


FIGURES = tuple(each.name for each in fields(PoolSimulation) if each.name not in ("setting", "log", "seeds"))


@dataclass(frozen=True)
class QueryStream:
    """Sessions of people (person, begin, end) in the order of their beginning; queries in that of time."""

    records: Codes
    person: Numbers
    begin: Floats
    end: Floats
    time: Floats
    session: Numbers

    @property
    def asker(self) -> Numbers:
        """The person who asked each query."""
        found: Numbers = self.person[self.session]
        return found

    def asking(self, window: float, number: int) -> Floats:
        """Count the people who asked in each of ``number`` windows."""
        place = np.minimum((self.time / window).astype(np.int64), number - 1)
        pairs = np.unique(place * len(self.records) + self.asker)
        return np.bincount(pairs // len(self.records), minlength=number).astype(np.float64)


def draw_stream(
    setting: SimulationSetting, population: Population, random: np.random.Generator
) -> QueryStream:
    """Draw people with their sessions, and their queries."""
    number, person, begin, end = _sessions(setting, random)
    every = setting.every or setting.window
    rate = 1 / (every * setting.burst)
    first, last = np.maximum(begin, 0.0), np.minimum(end, setting.length)
    bursts = random.poisson(np.maximum(last - first, 0.0) * rate)
    at = np.repeat(np.arange(len(person)), bursts)
    time = random.uniform(first[at], last[at])
    if setting.burst > 1:
        sizes = 1 + random.poisson(setting.burst - 1, len(at))
        at, time = np.repeat(at, sizes), np.repeat(time, sizes)
        place = np.arange(len(at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        time = time + place * random.exponential(every / 20, len(at))
        kept = time < last[at]
        at, time = at[kept], time[kept]
    order = np.argsort(time, kind="stable")
    records = population.records[random.integers(len(population.records), size=number)]
    return QueryStream(records, person, begin, end, time[order], at[order])


def _sessions(setting: SimulationSetting, random: np.random.Generator) -> tuple[int, Numbers, Floats, Floats]:
    """Draw how many people there are, and the sessions: whose, from when, until when."""
    if not setting.people:  # people arrive, stay once and leave; the day has begun when the pool opens
        early = setting.stay + 6 * math.sqrt(STAY_VARIANCE)
        number = int(random.poisson(setting.arrivals * (setting.length + early)))
        begin = np.sort(random.uniform(-early, setting.length, number))
        stay = np.maximum(random.normal(setting.stay, math.sqrt(STAY_VARIANCE), number), 1e-3)
        there = begin + stay > 0
        begin, stay = begin[there], stay[there]
        return len(begin), np.arange(len(begin)), begin, begin + stay
    everybody = np.arange(setting.people)
    if not setting.away:
        nobody_leaves = np.full(setting.people, setting.length)
        return setting.people, everybody, np.zeros(setting.people), nobody_leaves
    cycle = setting.stay + setting.away
    rounds = math.ceil(2 * setting.length / cycle) + 10
    shape = (setting.people, rounds)
    stays, gaps = random.exponential(setting.stay, shape), random.exponential(setting.away, shape)
    ends = np.cumsum(stays + gaps, axis=1) - gaps - random.uniform(0, 5 * cycle, (setting.people, 1))
    begins = ends - stays
    there = (ends > 0) & (begins < setting.length)
    order = np.argsort(begins[there], kind="stable")
    person = np.repeat(everybody[:, None], rounds, axis=1)[there]
    return setting.people, person[order], begins[there][order], ends[there][order]


class _Run:
    """The course of one simulation of the default mode. A query's ticket is its number."""

    def __init__(self, setting: SimulationSetting, stream: QueryStream, tree: Tree) -> None:
        self.setting, self.stream = setting, stream
        rules = Rules(setting.k, setting.window, slack=0.0, alive=math.inf, capacity=1 << 30, each=1 << 30)
        self.pool = QueryCounter(tree, rules, draw=partial(next, map(str, count())))
        self.gateway = GatewayLog(window=setting.window)
        self.askers = stream.asker.tolist()
        self.leaves = tree.leaves_of(stream.records).tolist()
        self.events: list[tuple[float, int, Callable[[float], None]]] = []
        self.scheduled = count()
        self.entries: list[tuple[float, int, int]] = []
        """Time, query and node of each entry of the log."""
        self.answered: dict[int, float] = {}
        """When each query was answered."""
        self.gone: set[int] = set()

    def at(self, time: float, what: Callable[[float], None]) -> None:
        """Do something later."""
        heapq.heappush(self.events, (time, next(self.scheduled), what))

    def run(self, advance: Callable[[], None]) -> None:
        """Let everything happen in the order of time."""
        setting = self.setting
        self.begin_period(0.0)
        self.end_window(advance, -1, 0.0)
        for query, time in enumerate(self.stream.time.tolist()):
            self.until(time)
            self.deposit(query, time)
            if query not in self.answered:
                self.at(time + (setting.patience or 0.0), partial(self.give_up, query))
        self.until(setting.length)

    def until(self, time: float) -> None:
        """Let happen what is due."""
        while self.events and self.events[0][0] <= time:
            now, _, what = heapq.heappop(self.events)
            what(now)

    def begin_period(self, now: float) -> None:
        self.act(self.pool.open_period(self.pool.period + 1), now)
        self.at(now + self.pool.rules.period, self.begin_period)

    def end_window(self, advance: Callable[[], None], number: int, now: float) -> None:
        self.act(self.pool.tick(now), now)
        if number > 0:
            advance()
        self.at(now + self.setting.window, partial(self.end_window, advance, number + 1))

    def deposit(self, query: int, now: float) -> None:
        person, period = self.askers[query], self.pool.period
        token = f"{person} {period}"
        self.act(self.pool.deposit(str(query), token, period, self.leaves[person], now), now)

    def give_up(self, query: int, now: float) -> None:
        del now
        if query not in self.answered:
            self.gone.add(query)
            self.pool.gave_up(str(query))

    def act(self, actions: Actions, now: float) -> None:
        """Do what the machine asks for; a deposit whose period has ended is made again."""
        for action in actions:
            if isinstance(action, Batch):
                write = partial(self.write, action)
                answer = self.gateway.take(action.number, action.session, action.deadline, (), now, write)
                self.act(self.pool.answered(action.number, answer, now), now)
            elif action.why is Why.PERIOD and int(action.ticket) not in self.gone:
                self.deposit(int(action.ticket), now)

    def write(self, batch: Batch, time: float) -> None:
        self.answered.update((int(item.ticket), time) for item in batch.items)
        self.entries += [(time, int(item.ticket), item.node) for item in batch.items]


def simulate(
    setting: SimulationSetting, population: Population, *, advance: Callable[[], None] = lambda: None
) -> PoolSimulation:
    """Run one simulation, over a tree for the people who ask in a window."""
    stream = draw_stream(setting, population, np.random.default_rng(setting.seed))
    if setting.mode == "paper":
        from tacit.pool.simulation.paper import simulate_paper

        return simulate_paper(setting, population, stream, advance)
    asking = stream.asking(setting.window, setting.windows + 1)
    tree = grow_tree(population.records, population.template, setting.k, float(asking.mean()))
    run = _Run(setting, stream, tree)
    run.run(advance)
    entries = np.array(run.entries, np.float64).reshape(-1, 3)
    time, (query, node) = entries[:, 0], entries[:, 1:].T.astype(np.int64)
    sender, corners = stream.asker[query], tree.corners[node]
    records = stream.records[sender].astype(np.int64)
    log = AuditedLog(time, sender, records, corners[:, 0], corners[:, 1], np.ones(len(time), np.bool_))
    counted = time >= setting.window
    loss, penalty = losses(corners[counted], population.template)
    used = np.unique((time[counted] // setting.window).astype(np.int64) * len(tree) + node[counted])
    done = np.full(len(stream.time), np.inf)
    done[list(run.answered)] = list(run.answered.values())
    # Of the last queries it is not known whether they will be answered; half the run counts in any case.
    open_end = min(setting.patience or 0.0, setting.windows * setting.window / 2)
    asked = (stream.time >= setting.window) & (stream.time < setting.length - open_end)
    delays = done[asked] - stream.time[asked]
    answered = delays[np.isfinite(delays)]
    share = len(answered) / max(len(delays), 1)
    return PoolSimulation(
        setting,
        log,
        information_loss=float(loss.mean()) if len(loss) else 1.0,
        ncp=float(penalty.mean()) if len(loss) else 1.0,
        unregistered=1 - share,
        groups=len(used) / setting.windows,
        people=float(asking[1:].mean()),
        answered=share,
        breaches=verify_log(log, setting.k, setting.window).identified,
        delay_median=float(np.median(answered)) if len(answered) else 0.0,
    )


def simulate_pool(
    k: int = 30,
    window: float = 50.0,
    *,
    every: float | None = None,
    patience: float | None = None,
    arrivals: float = 50.0,
    stay: float = 50.0,
    people: int = 0,
    away: float = 0.0,
    burst: float = 1.0,
    windows: int = 20,
    mode: Mode = "default",
    overlap: float = 0.5,
    leavers: Leavers = "silent",
    users: str | Path | Population = "adult",
    template: str | Path | Template | None = None,
    seed: int = 1,
    seeds: int = 1,
    log: str | Path | None = None,
    force: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> PoolSimulation:
    """Simulate people who ask through a pool, under regions that at least ``k`` of them match.

    The machine is the one that :class:`tacit.Pool` serves; only time and people are made up. Arrivals and
    stays are the paper's by default (section 6.1), which says nothing of how often people ask.

    Args:
        k: how many people must match a query.
        window: how far apart in time their queries may lie, in units of time.
        every: how long between a person's queries, on average; by default a quarter of the window, and in
            the paper's mode everybody asks once in every part of a window.
        patience: how long a person waits for an answer; by default as long as the window.
        arrivals: how many people arrive in a unit of time, on average; each stays once.
        stay: how long a stay lasts, on average.
        people: in place of arrivals, so many people who stay all the time, or come and go with ``away``.
        away: how long these are away between two stays, on average; 0: they never leave.
        burst: how many queries come together, on average.
        windows: how many windows to run, after a first one that is not counted.
        mode: ``default`` (rule S over one tree) or ``paper`` (groups are split, window after window).
        overlap: in the paper's mode, the share of a window that is the next one's too, at most 0.5.
        leavers: in the paper's mode, people who left during the overlap stay ``silent``, or ``answer``.
        users: the population: ``adult`` (bundled), or a CSV or Parquet file with ``template``.
        template: what the records of ``users`` follow: a TOML file.
        seed: of the first run; the same seed gives the same run.
        seeds: run so many times, with seeds from ``seed`` on, and give means.
        log: write every entry of the first run to this Parquet file.
        force: replace the file ``log``.
        advance: called after each window.
    """
    seeds = whole("seeds", seeds, 1)
    setting = SimulationSetting(
        k, window, overlap, arrivals, stay, windows, mode, leavers, seed,
        every, patience, people, away, burst,
    )  # fmt: skip
    if log is not None:
        given = [each for each in (template, users) if isinstance(each, str | Path) and each != "adult"]
        check_output(Path(log), force=force, inputs=[Path(each) for each in given])
    population = users if isinstance(users, Population) else read_population(users, template)
    runs: list[PoolSimulation] = []
    for number in range(seeds):
        one = simulate(replace(setting, seed=seed + number), population, advance=advance)
        runs.append(replace(one, log=runs[0].log if runs else one.log))
    if log is not None:
        write_audited_log(runs[0].log, log)
    figures = {name: sum(getattr(one, name) for one in runs) / seeds for name in FIGURES}
    figures["breaches"] = sum(one.breaches for one in runs)
    return replace(runs[0], seeds=tuple(range(seed, seed + seeds)), **figures)
