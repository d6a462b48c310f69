"""People come, search and go: the pool under the paper's traffic (section 6.1), in the paper's design and in
ours.

Each unit of time a Poisson number of people arrive, drawn from a population; each stays for a normally
distributed time. Whoever is there in a part of a window sends one query in it, at a random moment. The pool
is the real one, with phases that take no time and a store that takes whole arrays of messages; the decisions
of :class:`tacit.pool.agent.machine.AgentMachine` are made for arrays of people.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tacit.errors import ParameterError
from tacit.files import check_output
from tacit.pool.loops.cuts import locate
from tacit.pool.protocol.messages import UNGROUPED, HpkeSealing, Phase, Rules
from tacit.pool.protocol.table import Codes, Corners, Table, losses
from tacit.pool.protocol.template import Record, Template
from tacit.pool.server.machine import PoolMachine, nested, together
from tacit.pool.server.store import MemoryStore
from tacit.pool.simulation.population import Population, read_population
from tacit.pool.simulation.verification import (
    AnonymityAudit,
    AuditedLog,
    verify_log,
    write_audited_log,
)
from tacit.validation import real, whole

Numbers = npt.NDArray[np.int64]


class CrowdStore(MemoryStore):
    """A store that takes the messages of many agents at once, each as if it came alone with a new token."""

    def first_crowd(self, groups: Numbers) -> None:
        """M1 of each person, for their group."""
        assert self._standing is not None and self._standing.phase is Phase.COUNT
        found, numbers = np.unique(groups, return_counts=True)
        self._counts = dict(zip(found.tolist(), numbers.tolist(), strict=True))

    def second_crowd(self, groups: Numbers, records: Codes) -> None:
        """M2 of those whose group is asked, in the order of M1; records are not sealed in a simulation."""
        assert self._standing is not None and self._standing.phase is Phase.IDENTIFY
        for group in self._asked:
            rows = map(tuple, records[groups == group].tolist())
            self._sealed[group] = dict(enumerate(rows))  # type: ignore[arg-type]


class CrowdEnvelope(HpkeSealing):
    """No sealing at all: the crowd is made up, and its records come as they are."""

    def unseal(self, secret: str, epoch: int, group: int, sealed: str) -> Record | None:
        """The record itself."""
        del secret, epoch, group
        return sealed  # type: ignore[return-value]


def smallest_regions(records: Codes, corners: Corners) -> Numbers:
    """The smallest region that contains each record, or :data:`UNGROUPED`."""
    volumes = (corners[:, 1] - corners[:, 0] + 1).astype(np.float64).prod(axis=1)
    order = np.argsort(volumes, kind="stable")
    found = np.empty(len(records), np.int64)
    lows, highs = np.ascontiguousarray(corners[order, 0]), np.ascontiguousarray(corners[order, 1])
    locate(records, lows, highs, found)
    named = np.append(order, UNGROUPED)  # a place of -1 is the last: none
    groups: Numbers = named[found]
    return groups


def groups_of(records: Codes, table: Table) -> Numbers:
    """:meth:`tacit.pool.protocol.table.Table.group_of` for many records: each one's group by rule R."""
    groups = smallest_regions(records, table.regions)
    if table.everyone or not len(table):
        return groups
    allowed = smallest_regions(records, table.surviving) != UNGROUPED
    allowed |= (groups != UNGROUPED) & np.append(table.primed, False)[groups]
    return np.where(allowed, groups, UNGROUPED)


@dataclass
class Crowd:
    """The people who are there: their records, when they come and go, and the group they are in."""

    number: Numbers
    records: Codes
    arrive: npt.NDArray[np.float64]
    leave: npt.NDArray[np.float64]
    group: Numbers
    guarded: npt.NDArray[np.bool_]
    """Has had a group before, or has one now."""

    def __len__(self) -> int:
        return len(self.number)

    def keep(self, chosen: npt.NDArray[np.bool_]) -> Crowd:
        """Those who are chosen."""
        return Crowd(**{name: getattr(self, name)[chosen] for name in self.__dataclass_fields__})

    def join(self, others: Crowd) -> Crowd:
        """This crowd and another."""
        names = self.__dataclass_fields__
        return Crowd(**{name: np.concatenate([getattr(self, name), getattr(others, name)]) for name in names})


Mode = Literal["default", "paper"]
MODES: tuple[Mode, ...] = ("default", "paper")
"""``default``: everybody is partitioned anew, with headroom and rule R; ``paper``: groups are split in
themselves."""

STAY_VARIANCE = 10.0
"""Of how long people stay, as in the paper (section 6.1)."""

Leavers = Literal["silent", "answer"]
LEAVERS: tuple[Leavers, ...] = ("silent", "answer")
"""People who sent a query in the overlap and left before its end: silent in the phases, or still answer."""


@dataclass(frozen=True)
class SimulationSetting:
    """One simulation; the defaults are the paper's (section 6.1)."""

    k: int = 30
    window: float = 50.0
    overlap: float = 0.5
    arrivals: float = 50.0
    stay: float = 50.0
    windows: int = 100
    mode: Mode = "default"
    leavers: Leavers = "silent"
    seed: int = 1

    def __post_init__(self) -> None:
        self.rules()
        for name, least in (("k", 2), ("windows", 1), ("seed", 0)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        for name in ("window", "overlap", "arrivals", "stay"):
            object.__setattr__(self, name, real(name, getattr(self, name)))
        for name in ("arrivals", "stay"):
            if getattr(self, name) <= 0:
                raise ParameterError.outside(name, getattr(self, name), "above 0")
        if self.mode not in MODES:
            raise ParameterError.outside("mode", repr(self.mode), f"one of {', '.join(MODES)}")
        if self.leavers not in LEAVERS:
            raise ParameterError.outside("leavers", repr(self.leavers), f"one of {', '.join(LEAVERS)}")

    def rules(self) -> Rules:
        """The pool's rules, with phases that take no time."""
        return Rules(self.k, self.window, self.overlap, count=0.0, identify=0.0, form=0.0, skew=0.0)


@dataclass(frozen=True)
class Simulated:
    """What a simulation found: means over the windows after the first, as shares.

    Attributes:
        information_loss: AvgIL (eq. 3).
        ncp: the mean share of each attribute's width that d' covers.
        unregistered: people without a group (the U-group).
        forced_expired: people with a query in the overlap whose group found fewer than k (section 5.2).
        forced_unregistered: those of them who are without a group in the next window too.
        groups: the mean number of groups.
        people: the mean number of people in a window.
        guarded_at_once: newcomers whose first query can carry a region.
        never_guarded: newcomers who leave without ever having one.
        wait: how long the others wait for one, on average; 0 where there are none.
        log: every query, if ``keep_log``.
    """

    setting: SimulationSetting
    information_loss: float
    ncp: float
    unregistered: float
    forced_expired: float
    forced_unregistered: float
    groups: float
    people: float
    guarded_at_once: float
    never_guarded: float
    wait: float
    log: AuditedLog | None = field(default=None, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The figures, for JSON."""
        return {name: getattr(self, name) for name in _FIGURES}


_FIGURES = tuple(field.name for field in fields(Simulated) if field.name not in ("setting", "log"))


class _Run:
    """The course of one simulation."""

    def __init__(self, setting: SimulationSetting, population: Population, keep_log: bool) -> None:
        self.setting = setting
        self.population = population
        self.rules = setting.rules()
        self.random, self.moments = np.random.default_rng(setting.seed).spawn(2)
        self.store = CrowdStore()
        formation = together if setting.mode == "default" else nested
        self.pool = PoolMachine(
            self.rules, population.template, self.store, sealing=CrowdEnvelope(), formation=formation
        )
        self.arrived = 0
        longest = setting.stay + 6 * math.sqrt(STAY_VARIANCE)
        early = self.newcomers(-longest, 0.0)  # the day has begun when the pool opens
        self.crowd = early.keep(early.leave > 0)
        self.keep_log = keep_log
        self.entries: list[tuple[npt.NDArray[Any], ...]] = []
        self.measured: list[tuple[float, ...]] = []
        self.newcomers_at_once = self.newcomers_later = 0
        self.counted_from = np.iinfo(np.int64).max
        self.waits: list[npt.NDArray[np.float64]] = []

    def table(self) -> Table:
        public = self.pool.publication()
        assert public is not None
        return public.table

    def newcomers(self, begin: float, end: float) -> Crowd:
        """Those who arrive between ``begin`` and ``end``: Poisson in number, evenly spread."""
        setting = self.setting
        number = int(self.random.poisson(setting.arrivals * (end - begin)))
        arrive = np.sort(self.random.uniform(begin, end, number))
        stay = self.random.normal(setting.stay, math.sqrt(STAY_VARIANCE), number)
        self.arrived += number
        return Crowd(
            np.arange(self.arrived - number, self.arrived),
            self.population.draw(number, self.random),
            arrive,
            arrive + np.maximum(stay, 1e-3),
            np.full(number, UNGROUPED),
            np.zeros(number, np.bool_),
        )

    def window(self, begin: float, end: float) -> None:
        """One epoch: people join, ask, and the pool moves on to the next table."""
        table, rules = self.table(), self.rules
        new = self.newcomers(begin, end)
        new.group = groups_of(new.records, table)
        new.guarded = new.group != UNGROUPED
        if self.measured:  # after the first window
            self.newcomers_at_once += int(new.guarded.sum())
            self.newcomers_later += int((~new.guarded).sum())
            self.counted_from = min(self.counted_from, int(new.number[0])) if len(new) else self.counted_from
        crowd = self.crowd = self.crowd.join(new)
        regions, domain = table.regions, self.population.template.domain
        whole = np.array([[domain.low, domain.high]])
        corners = np.concatenate([regions, whole])[crowd.group]  # UNGROUPED is -1, the last
        overlap = end - rules.overlap_length
        self.ask(corners, begin, overlap)
        online = self.ask(corners, overlap, end)
        answering = online if self.setting.leavers == "answer" else online & (crowd.leave > end)

        self.pool.step(end)
        self.store.first_crowd(crowd.group[answering])
        self.pool.step(end)
        asked = np.array(self.pool.asked(), np.int64)
        self.store.second_crowd(crowd.group[answering], crowd.records[answering])
        self.pool.step(end)

        fell = online & (crowd.leave > end) & (crowd.group != UNGROUPED) & ~np.isin(crowd.group, asked)
        self.measure(table, corners, fell)
        staying = crowd.leave > end
        extended = (answering & np.isin(crowd.group, asked))[staying]
        self.crowd, fell = crowd.keep(staying), fell[staying]
        self.crowd.group = self.regroup(self.crowd, extended, self.table())
        self.wait_over(end)
        again = float((fell & (self.crowd.group == UNGROUPED)).sum())
        self.measured[-1] = (*self.measured[-1], again / max(len(crowd), 1))

    def wait_over(self, now: float) -> None:
        """Note how long those waited who have their first group now."""
        crowd = self.crowd
        first = ~crowd.guarded & (crowd.group != UNGROUPED)
        counted = first & (crowd.number >= self.counted_from)
        self.waits.append(now - crowd.arrive[counted])
        crowd.guarded = crowd.guarded | first

    def ask(self, corners: Numbers, begin: float, end: float) -> npt.NDArray[np.bool_]:
        """Everybody there between ``begin`` and ``end`` asks once, at a random moment; who that was."""
        crowd = self.crowd
        first, last = np.maximum(crowd.arrive, begin), np.minimum(crowd.leave, end)
        asking = first < last
        if self.keep_log and end > begin:
            time = self.moments.uniform(first[asking], last[asking])
            self.entries.append(
                (
                    time,
                    crowd.number[asking],
                    crowd.records[asking],
                    corners[asking, 0],
                    corners[asking, 1],
                    crowd.group[asking] != UNGROUPED,
                )
            )
        return asking

    def regroup(self, crowd: Crowd, extended: npt.NDArray[np.bool_], table: Table) -> Numbers:
        """The groups of those who stay, in the new table."""
        groups = groups_of(crowd.records, table)
        if table.parents is None:
            return groups
        for parent in np.unique(crowd.group[extended]):  # the paper: members go where their group was split
            members = extended & (crowd.group == parent)
            children = np.flatnonzero(table.parents == parent)
            groups[members] = children[smallest_regions(crowd.records[members], table.regions[children])]
        return groups

    def measure(self, table: Table, corners: Numbers, fell: npt.NDArray[np.bool_]) -> None:
        people = max(len(self.crowd), 1)
        loss, penalty = losses(corners, self.population.template)
        self.measured.append(
            (
                float(loss.sum() / people),
                float(penalty.sum() / people),
                float((self.crowd.group == UNGROUPED).sum() / people),
                float(fell.sum() / people),
                float(len(table)),
                float(len(self.crowd)),
            )
        )


def simulate(
    setting: SimulationSetting,
    population: Population,
    *,
    keep_log: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> Simulated:
    """Run ``setting`` for its windows, after a first one that is not counted.

    Args:
        keep_log: keep every query, for :func:`tacit.pool.simulation.verification.verify_log`.
        advance: called after each window.
    """
    run = _Run(setting, population, keep_log)
    run.pool.step(0.0)
    period = run.rules.open_length
    run.window(0.0, period)
    for number in range(1, setting.windows + 1):
        run.window(period * number, period * (number + 1))
        advance()
    found = np.array(run.measured[1:])
    loss, ncp, unregistered, forced, groups, people, again = found.mean(axis=0).tolist()
    log = None
    if keep_log:
        time, sender, record, *rest = (np.concatenate(each) for each in zip(*run.entries, strict=True))
        log = AuditedLog(time, sender, record.astype(np.int64), *rest)
    waits = np.concatenate(run.waits)
    newcomers = max(1, run.newcomers_at_once + run.newcomers_later)
    return Simulated(
        setting,
        loss,
        ncp,
        unregistered,
        forced,
        again,
        groups,
        people,
        run.newcomers_at_once / newcomers,
        max(0, run.newcomers_later - len(waits)) / newcomers,
        float(waits.mean()) if len(waits) else 0.0,
        log,
    )


@dataclass(frozen=True, repr=False)
class PoolSimulation:
    """What :func:`simulate_pool` found, as means over its runs.

    Attributes:
        setting: what was simulated; its seed is the first run's.
        seeds: the seeds of the runs.
        figures: the means of the figures of :class:`Simulated`, by name.
        verified: with ``verify``, how many queries of all runs fail Definitions 2 and 3, by name.
    """

    setting: SimulationSetting
    seeds: tuple[int, ...]
    figures: dict[str, float]
    verified: dict[str, Any] | None = None

    def __repr__(self) -> str:
        found, setting = self.figures, self.setting
        return (
            f"PoolSimulation(k={setting.k}, window={setting.window:g}: {found['people']:,.0f} people in "
            f"{found['groups']:,.1f} groups, {found['unregistered']:.1%} without one, NCP {found['ncp']:.1%})"
        )

    def as_dict(self) -> dict[str, Any]:
        """Setting and figures in one, for JSON."""
        said = {name: getattr(self.setting, name) for name in _SAID} | {"seeds": list(self.seeds)}
        found = said | self.figures
        return found if self.verified is None else found | {"verified": self.verified}


_SAID = ("k", "window", "overlap", "arrivals", "stay", "windows", "mode", "leavers")


def simulate_pool(
    k: int = 30,
    window: float = 50.0,
    *,
    overlap: float = 0.5,
    arrivals: float = 50.0,
    stay: float = 50.0,
    windows: int = 100,
    mode: Mode = "default",
    leavers: Leavers = "silent",
    users: str | Path | Population = "adult",
    template: str | Path | Template | None = None,
    seed: int = 1,
    seeds: int = 1,
    verify: bool = False,
    log: str | Path | None = None,
    force: bool = False,
    advance: Callable[[], None] = lambda: None,
) -> PoolSimulation:
    """Simulate people who come, search under a region shared by at least ``k`` of them, and go.

    The pool is the one that :class:`tacit.Pool` serves; only time and people are made up. The defaults are
    the paper's (section 6.1).

    Args:
        k: how many people share a region, at least.
        window: how far apart in time their queries may lie, in units of time.
        overlap: the share of a window that is the next one's too, at most 0.5.
        arrivals: how many people arrive in a unit of time, on average.
        stay: how long they stay, on average.
        windows: how many windows to run, after a first one that is not counted.
        mode: ``default`` (everybody is partitioned anew, with headroom) or ``paper`` (groups are split).
        leavers: whether people who left during the overlap stay ``silent`` in the phases or ``answer``.
        users: the population: ``adult`` (bundled), or a CSV or Parquet file with ``template``.
        template: what the records of ``users`` follow: a TOML file.
        seed: of the first run; the same seed gives the same run.
        seeds: run so many times, with seeds from ``seed`` on, and give means.
        verify: check Definitions 2 and 3 for every query of the runs.
        log: write every query of the first run to this Parquet file.
        force: replace the file ``log``.
        advance: called after each window.
    """
    seeds = whole("seeds", seeds, 1)
    setting = SimulationSetting(k, window, overlap, arrivals, stay, windows, mode, leavers, seed)
    if log is not None:
        given = [each for each in (template, users) if isinstance(each, str | Path) and each != "adult"]
        check_output(Path(log), force=force, inputs=[Path(each) for each in given])
    population = users if isinstance(users, Population) else read_population(users, template)
    found, audits = [], []
    for number in range(seeds):
        keep = verify or (log is not None and number == 0)
        one = simulate(replace(setting, seed=seed + number), population, keep_log=keep, advance=advance)
        if verify and one.log is not None:
            audits.append(verify_log(one.log, k, window))
        if log is not None and number == 0 and one.log is not None:
            write_audited_log(one.log, log)
        found.append(one.as_dict())
    means = {name: sum(one[name] for one in found) / seeds for name in _FIGURES}
    verified = AnonymityAudit.of_all(audits).as_dict() if audits else None
    return PoolSimulation(setting, tuple(range(seed, seed + seeds)), means, verified)
