"""The paper's own protocol, for comparison: groups of people online, split in themselves window after window.

After Huang, Qi, Xu and Chen, sections 5 and 6. Everybody registers a record; whoever asked in the overlap of
two windows is counted; a group of at least k is split by SPLIT (Fig. 5) into the groups of the next window,
and people without a group (the U-group) are split over the whole domain. Regions of different groups may
overlap. Phases take no time.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from tacit.pool.protocol.population import Population
from tacit.pool.protocol.template import Region, Template
from tacit.pool.protocol.tree import Codes, Corners, Flags, Floats, Numbers, cut_region, losses, median_cut
from tacit.pool.simulation.traffic import PoolSimulation, QueryStream, SimulationSetting
from tacit.pool.simulation.verification import AuditedLog, verify_log

UNGROUPED = -1
"""The U-group: people without a region, who ask with d*, the whole domain."""


def split(records: Codes, template: Template, k: int, within: Region | None = None) -> Corners:
    """SPLIT: cut a region at medians into cells with at least k of the records; none for fewer than k."""
    cut = partial(median_cut, least=k)
    nodes = cut_region(records, within or template.domain, cut) if len(records) >= k else []
    cells = [(region.low, region.high) for region, cut in nodes if cut is None]
    return np.array(cells, np.int64).reshape(-1, 2, len(template.attributes))


def smallest_regions(records: Codes, corners: Corners) -> Numbers:
    """The smallest region that contains each record, or :data:`UNGROUPED`."""
    volumes = (corners[:, 1] - corners[:, 0] + 1).astype(np.float64).prod(axis=1)
    found = np.full(len(records), UNGROUPED)
    for place in np.argsort(volumes, kind="stable")[::-1].tolist():
        low, high = corners[place]
        found[((low <= records) & (records <= high)).all(axis=1)] = place
    return found


class _PaperRun:
    """The course of one simulation; everything is kept for each session."""

    def __init__(self, setting: SimulationSetting, population: Population, stream: QueryStream) -> None:
        self.setting, self.template, self.stream = setting, population.template, stream
        self.records = stream.records[stream.person]
        self.group = np.full(len(stream.person), UNGROUPED)
        self.regions: Corners = np.empty((0, 2, len(self.template.attributes)), np.int64)
        self.parents: Numbers = np.empty(0, np.int64)
        """The regions of a window, and the old group that each was split from."""
        self.moments = np.random.default_rng([setting.seed, 2])
        self.entries: list[tuple[Numbers, Floats, Corners, Flags]] = []
        self.measured: list[tuple[float, ...]] = []

    def window(self, begin: float, end: float) -> None:
        """Carry out one window: people join, ask, and groups are split for the next."""
        stream = self.stream
        there = (stream.begin < end) & (stream.end > begin)
        new = there & (stream.begin >= begin)
        self.group[new] = smallest_regions(self.records[new], self.regions)
        domain = self.template.domain
        corners = np.concatenate([self.regions, [[domain.low, domain.high]]])[self.group]
        overlap = end - self.setting.overlap * self.setting.window
        self.ask(corners, begin, overlap)
        online = self.ask(corners, overlap, end)
        staying = there & (stream.end > end)
        answering = online if self.setting.leavers == "answer" else online & staying
        number = len(self.regions)
        surviving = self.form(answering)
        fell = online & staying & (self.group != UNGROUPED) & ~np.isin(self.group, surviving)
        people = max(int(there.sum()), 1)
        loss, penalty = losses(corners[there], self.template)
        shares = [float(each.sum() / people) for each in (loss, penalty, self.group[there] < 0, fell)]
        self.regroup(staying, answering & np.isin(self.group, surviving))
        again = float((fell & (self.group == UNGROUPED)).sum() / people)
        self.measured.append((*shares, again, float(number), float(people)))

    def ask(self, corners: Corners, begin: float, end: float) -> Flags:
        """Note the queries between ``begin`` and ``end``, and give who asked.

        Without ``every`` all who are there ask once, at a random moment, as the paper supposes.
        """
        stream = self.stream
        if self.setting.every is None:
            first, last = np.maximum(stream.begin, begin), np.minimum(stream.end, end)
            session = np.flatnonzero(first < last)
            time = self.moments.uniform(first[session], last[session])
        else:
            here = slice(*np.searchsorted(stream.time, [begin, end]))
            session, time = stream.session[here], stream.time[here]
        self.entries.append((session, time, corners[session], self.group[session] != UNGROUPED))
        return np.bincount(session, minlength=len(self.group)) > 0

    def form(self, answering: Flags) -> Numbers:
        """Split each group that found k people again; these groups are returned."""
        groups, numbers = np.unique(self.group[answering], return_counts=True)
        surviving: Numbers = groups[numbers >= self.setting.k]
        regions, parents = [self.regions[:0]], [np.empty(0, np.int64)]
        for group in surviving.tolist():
            within = None
            if group != UNGROUPED:
                low, high = self.regions[group].tolist()
                within = Region(tuple(low), tuple(high))
            members = self.records[answering & (self.group == group)]
            regions.append(split(members, self.template, self.setting.k, within))
            parents.append(np.full(len(regions[-1]), group))
        self.regions, self.parents = np.concatenate(regions), np.concatenate(parents)
        return surviving

    def regroup(self, staying: Flags, extended: Flags) -> None:
        """Members of a group go where it was split; everybody else where their record fits best."""
        old = self.group
        self.group = np.full(len(old), UNGROUPED)
        self.group[staying] = smallest_regions(self.records[staying], self.regions)
        for parent in np.unique(old[extended]):
            members = staying & extended & (old == parent)
            children = np.flatnonzero(self.parents == parent)
            found = smallest_regions(self.records[members], self.regions[children])
            self.group[members] = children[found]


def simulate_paper(
    setting: SimulationSetting, population: Population, stream: QueryStream, advance: Callable[[], None]
) -> PoolSimulation:
    """Run the paper's protocol; a window here lasts until the overlap with the next one ends."""
    run = _PaperRun(setting, population, stream)
    length = (1 - setting.overlap) * setting.window
    for number in range(setting.windows + 1):
        run.window(length * number, length * (number + 1))
        if number:
            advance()
    loss, ncp, unregistered, forced, again, groups, people = np.array(run.measured[1:]).mean(axis=0).tolist()
    session, time, corners, guarded = (np.concatenate(each) for each in zip(*run.entries, strict=True))
    records = run.records[session].astype(np.int64)
    log = AuditedLog(time, stream.person[session], records, corners[:, 0], corners[:, 1], guarded)
    return PoolSimulation(
        setting,
        log,
        information_loss=loss,
        ncp=ncp,
        unregistered=unregistered,
        groups=groups,
        people=people,
        answered=float(guarded[time >= length].mean()) if (time >= length).any() else 0.0,
        breaches=verify_log(log, setting.k, setting.window).identified,
        forced_expired=forced,
        forced_unregistered=again,
    )
