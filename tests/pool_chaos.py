"""People, networks and clocks that misbehave, around the pool's machine and the gateway's rule.

A seed draws a world: a template and a tree, k and w, how often people ask (from once in ten seconds to once
an hour), how long they wait, and how they go (with a word, or without); how often requests and answers get
lost, come late or twice; clocks of pool and gateway that are off, drift, jump and stop; restarts of both;
items that cannot be read; people who try another leaf. What the gateway logged is judged afterwards by brute
force, which knows neither tree nor tokens.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import numpy as np

from tacit.pool.protocol.counting import Actions, Batch, QueryCounter, Refuse, Rules, Why, next_period
from tacit.pool.protocol.gateway import GatewayLog, Logged
from tacit.pool.protocol.template import parse_template
from tacit.pool.protocol.tree import grow_tree
from tacit.pool.simulation.verification import AuditedLog, companions


@dataclass
class Clock:
    """A clock that is off, runs too fast or too slow, jumps and stops."""

    offset: float
    rate: float = 1.0
    begun: float = 0.0

    def __call__(self, true: float) -> float:
        return self.offset + (true - self.begun) * self.rate

    def change(self, true: float, jump: float, rate: float) -> None:
        self.offset, self.begun, self.rate = self(true) + jump, true, rate


@dataclass
class Query:
    """A person's query: whose, until when the person waits, and the ticket of its last deposit."""

    person: int
    until: float
    silent: bool
    readable: bool
    ticket: str = ""
    polled: float = 0.0
    done: bool = False
    told: bool = False


@dataclass
class Verdict:
    """What brute force found in a log."""

    entries: int
    breaches: int
    """Entries that fail Definition 2."""
    few: int
    """Entries under a region in which fewer than k people with such a record asked within w (condition 2)."""
    fewest: int


def judge(log: AuditedLog, k: int, window: float, *, second: bool = True) -> Verdict:
    """Check every entry."""
    if not len(log):
        return Verdict(0, 0, 0, k)
    match = companions(log, k, window)
    few = 0
    if second:
        for low, high in np.unique(np.stack([log.low, log.high], axis=1), axis=0):
            mine = (log.low == low).all(axis=1) & (log.high == high).all(axis=1)
            inside = ((log.record >= low) & (log.record <= high)).all(axis=1)
            times, senders = log.time[inside], log.sender[inside]
            for time in log.time[mine].tolist():
                near = senders[np.abs(times - time) <= window * (1 + 1e-12)]
                few += len(np.unique(near)) < k
    return Verdict(len(log), int((match < k).sum()), few, int(match.min()))


@dataclass
class World:
    """What a seed draws."""

    seed: int
    k: int
    window: float
    every: float
    people: int
    patience: float
    failing: float
    delay: float
    silent: float
    garbage: float
    liars: float
    pool_restarts: float
    gateway_restarts: float
    clocks: float
    slack: float
    alive: float
    period: float

    @classmethod
    def draw(cls, seed: int) -> World:
        random = np.random.default_rng(seed)
        k = int(random.integers(2, 9))
        window = float(np.exp(random.uniform(np.log(20), np.log(1_200))))
        every = float(np.exp(random.uniform(np.log(10), np.log(3_600))))
        enough = k / (1 - np.exp(-window / every))  # so many people make k ask within w
        rare = lambda: float(random.choice([0.0, 0.05, 0.4]))  # noqa: E731
        return cls(
            seed,
            k,
            window,
            every,
            int(min(300, enough * random.uniform(0.6, 12)) + 2),
            float(random.choice([0.0, 0.3, 1.0, 2.5]) * window),
            rare(),
            float(random.choice([0.0, 0.01, 0.3]) * window),
            float(random.choice([0.0, 0.5, 1.0])),
            float(random.choice([0.0, 0.05])),
            float(random.choice([0.0, 0.1])),
            float(random.choice([0.0, 0.3, 2.0])),
            float(random.choice([0.0, 0.2])),
            float(random.choice([0.0, 0.5, 3.0])),
            float(random.choice([0.0, 0.02]) * window),
            float(random.choice([0.1, 1.0]) * window),
            float(random.choice([1.0, 4.0]) * window),
        )


@dataclass
class Chaos:
    """One world, let run until so many queries were asked."""

    world: World
    queries: int = 400
    entries: list[tuple[float, int, int, int]] = field(default_factory=list)
    """Time, person, leaf (as the person's record) and node."""
    sent_for_nobody: int = 0
    """Queries that were sent after their client had gone."""
    unproved: int = 0
    """Batches whose named people are not k who asked from inside their region within w."""

    def __post_init__(self) -> None:
        world = self.world
        self.random = np.random.default_rng([world.seed, 1])
        sizes = self.random.integers(2, 9, size=int(self.random.integers(1, 4)))
        template = parse_template(
            {"attribute": [{"name": f"a{n}", "low": 0, "high": int(s)} for n, s in enumerate(sizes)]}
        )
        public = np.stack([self.random.integers(0, s + 1, 500) for s in sizes], axis=1).astype(np.uint16)
        self.tree = grow_tree(public, template, world.k, float(self.random.choice([30, 100, 400])))
        self.records = public[self.random.integers(0, 500, world.people)]
        self.leaf = self.tree.leaves_of(self.records).tolist()
        self.rules = Rules(
            world.k, world.window, period=world.period, slack=world.slack, alive=world.alive, each=4
        )
        self.names = map("{:08x}".format, count())
        self.pool_clock = Clock(float(self.random.uniform(-1e4, 1e4)))
        self.gateway_clock = Clock(float(self.random.uniform(-1e4, 1e4)))
        self.pool = self.new_pool()
        self.gateway = GatewayLog(draw=partial(next, self.names))
        self.highest = 0
        self.of_ticket: dict[str, Query] = {}
        self.leaf_of: dict[str, int] = {}
        self.token_of: dict[str, str] = {}
        self.heard: dict[str, tuple[float, int]] = {}
        """By token: when its last entry was logged, and its leaf."""
        self.events: list[tuple[float, int, Callable[[float], None]]] = []
        self.order = count()
        self.asked = 0

    def new_pool(self) -> QueryCounter:
        return QueryCounter(self.tree, self.rules, draw=partial(next, self.names))

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def at(self, time: float, what: Callable[[float], None]) -> None:
        heapq.heappush(self.events, (time, next(self.order), what))

    def run(self) -> AuditedLog:
        """Let everything happen, and give the log."""
        world = self.world
        self.begin_period(0.0)
        for person in range(world.people):
            self.at(float(self.random.exponential(world.every)), partial(self.ask, person))
        windows = world.window
        for rate, what in (
            (world.pool_restarts / (5 * windows), self.restart_pool),
            (world.gateway_restarts / (5 * windows), self.restart_gateway),
            (world.clocks / (5 * windows), self.change_clock),
            (2 / windows, self.tick),
        ):
            if rate:
                self.at(float(self.random.exponential(1 / rate)), partial(self.repeatedly, rate, what))
        while self.events and self.asked < self.queries:
            time, _, what_now = heapq.heappop(self.events)
            what_now(time)
        return self.log()

    def log(self) -> AuditedLog:
        columns = zip(*self.entries, strict=True) if self.entries else [[], [], [], []]
        time, person, leaf, node = (np.array(each) for each in columns)
        corners = self.tree.corners
        node, leaf = node.astype(np.int64), leaf.astype(np.int64)
        record = corners[leaf, 0]  # any record of the leaf: nobody ever says more
        region = corners[node]
        person = person.astype(np.int64)
        return AuditedLog(
            time.astype(np.float64), person, record, region[:, 0], region[:, 1], np.ones(len(time), np.bool_)
        )

    def repeatedly(self, rate: float, what: Callable[[float], None], time: float) -> None:
        what(time)
        self.at(time + float(self.random.exponential(1 / rate)), partial(self.repeatedly, rate, what))

    def begin_period(self, time: float) -> None:
        now = self.pool_clock(time)
        self.highest = next_period(self.highest, now, self.rules.period)
        self.act(self.pool.open_period(self.highest), time)
        self.at(time + self.rules.period, self.begin_period)

    def tick(self, time: float) -> None:
        self.act(self.pool.tick(self.pool_clock(time)), time)

    def restart_pool(self, time: float) -> None:
        """Lose the memory, with or without a word to those who wait."""
        now = self.pool_clock(time)
        if self.chance(0.3):
            waiting = list(self.pool._tickets)
            self.act(tuple(Refuse(ticket, Why.FORGOTTEN) for ticket in waiting), time)
        self.pool = self.new_pool()
        self.highest = next_period(self.highest, now, self.rules.period)
        self.act(self.pool.open_period(self.highest), time)

    def restart_gateway(self, time: float) -> None:
        del time
        self.gateway = GatewayLog(draw=partial(next, self.names))

    def change_clock(self, time: float) -> None:
        """A clock jumps, stops or drifts."""
        clock = self.pool_clock if self.chance(0.5) else self.gateway_clock
        jump = float(self.random.choice([0.0, 0.0, 0.5, 0.01, 3.0, 50.0]) * self.world.window)
        jump *= float(self.random.choice([-1, 1]))
        clock.change(time, jump, float(self.random.choice([0.0, 0.3, 1.0, 1.0, 1.0, 1.02, 3.0])))

    def ask(self, person: int, time: float) -> None:
        world = self.world
        self.at(time + float(self.random.exponential(world.every)), partial(self.ask, person))
        self.asked += 1
        patience = float(self.random.exponential(world.patience)) if world.patience else 0.0
        query = Query(person, time + patience, self.chance(world.silent), not self.chance(world.garbage))
        self.deposit(query, time)
        if not query.done:
            self.at(query.until, partial(self.leave, query))
            self.poll(query, time)

    def deposit(self, query: Query, time: float) -> None:
        if query.done or query.told or time > query.until:
            return
        leaf = self.leaf[query.person]
        period = self.pool.period if not self.chance(0.02) else self.pool.period - 1
        if self.chance(self.world.liars):
            leaf = int(self.random.choice(self.tree.leaves))
        query.ticket, query.polled = next(self.names), self.pool_clock(time)
        self.of_ticket[query.ticket], self.leaf_of[query.ticket] = query, leaf
        token = self.token_of[query.ticket] = f"{query.person} {period}"
        self.act(self.pool.deposit(query.ticket, token, period, leaf, self.pool_clock(time)), time)

    def again(self, query: Query, ticket: str, time: float) -> None:
        """Deposit a query once more, unless that was done since."""
        if query.ticket == ticket:
            self.deposit(query, time)

    def poll(self, query: Query, time: float) -> None:
        """Ask for the answer; deposit again if the pool no longer knows the ticket."""
        if query.done or query.told or time > query.until:
            return
        query.polled = self.pool_clock(time)
        if not self.pool.polled(query.ticket, query.polled):
            self.deposit(query, time)
        self.at(time + self.world.alive / 3, partial(self.poll, query))

    def leave(self, query: Query, time: float) -> None:
        del time
        if not query.done and not query.silent:
            query.told = True
            self.pool.gave_up(query.ticket)

    def act(self, actions: Actions, time: float) -> None:
        for action in actions:
            if isinstance(action, Batch):
                heard = self.pool_clock(time) - self.world.alive
                queries = [self.of_ticket[item.ticket] for item in action.items]
                self.sent_for_nobody += sum(query.told or query.polled < heard for query in queries)
                self.transmit(action, time)
            else:
                query = self.of_ticket[action.ticket]
                if action.why in (Why.PERIOD, Why.FORGOTTEN):
                    self.at(time, partial(self.again, query, action.ticket))

    def transmit(self, batch: Batch, time: float) -> None:
        """Send a batch, repeat it while no answer comes, and give up in the end."""
        world = self.world
        if not world.failing and not world.delay:
            self.arrive(batch, 0.0, False, time)
            return
        gap = world.delay + world.window / 50
        for attempt in range(3):
            delay, back = self.random.exponential(world.delay or 1e-9, 2).tolist()
            if not self.chance(world.failing):
                lost = self.chance(world.failing)
                self.at(time + attempt * gap + delay, partial(self.arrive, batch, back, lost))
        self.at(time + 4 * gap, lambda at: self.act(self.pool.lost(batch.number, self.pool_clock(at)), at))

    def arrive(self, batch: Batch, back: float, lost: bool, time: float) -> None:
        places = [p for p, item in enumerate(batch.items) if not self.of_ticket[item.ticket].readable]
        answer = self.gateway.take(
            batch.number,
            batch.session,
            batch.deadline,
            places,
            self.gateway_clock(time),
            partial(self.write, batch),
        )
        if lost:
            return

        def answered(at: float) -> None:
            if isinstance(answer, Logged):
                for item in batch.items:
                    self.of_ticket[item.ticket].done = True
            self.act(self.pool.answered(batch.number, answer, self.pool_clock(at)), at)

        if back:
            self.at(time + back, answered)
        else:
            answered(time)

    def write(self, batch: Batch, time: float) -> None:
        for item in batch.items:
            person = self.of_ticket[item.ticket].person
            self.entries.append((time, person, self.leaf_of[item.ticket], item.node))
            self.heard[self.token_of[item.ticket]] = time, self.leaf_of[item.ticket]
        people = [self.heard[token] for token in batch.people if token.endswith(f" {batch.period}")]
        node, reach = batch.items[0].node, self.world.window * (1 + 1e-12)
        near = sum(time - at <= reach and node in self.tree.paths[leaf] for at, leaf in people)
        self.unproved += near < self.world.k or len(set(batch.people)) != self.world.k
