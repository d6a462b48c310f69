"""Rule S: a query goes out only when k people's queries that match it stand in the log, or go with it.

This is the pool's whole protocol as one machine, without clock, network or disk: the service, the simulation
and the tests drive the same one. Times are arguments; what is to be done comes back as frozen **actions**.

::

    counter = QueryCounter(tree, Rules(k=30, window=120.0))
    actions = counter.open_period(number)             # a number that never came before: next_period
    actions = counter.deposit(ticket, token, period, leaf, now)
    actions = counter.answered(batch, answer, now)    # what the gateway said (tacit.pool.protocol.gateway)
    actions = counter.lost(batch, now)                # no answer came, after as many repeats as were tried
    counter.polled(ticket, now)                       # the client still waits; False: the ticket is over
    counter.gave_up(ticket)                           # the client has gone, and its query must not be sent
    actions = counter.tick(now)                       # once a second, say

    Batch(number, …)      send it to the gateway; repeat it unchanged while no answer comes
    Refuse(ticket, why)   tell the client; the ticket is over

A **ticket** names a deposit and is drawn by whoever drives the machine, who also keeps the sealed text under
it. When the gateway has answered ``Logged``, a batch's tickets are over. Inputs come one after another: of
several workers one drives the machine. A new one may always take the place of one that was lost or is
doubted, and two by mistake do no harm: each counts only what it saw logged itself.

The rule with its conditions 1 and 2, and the proof of Definition 2, are in docs/guarantees/pool.md.
"""

import secrets
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import nlargest
from itertools import chain, islice
from math import inf

from tacit.errors import InputError, ParameterError
from tacit.pool.protocol.gateway import Answer, Logged, Unreadable
from tacit.pool.protocol.tree import ROOT, Tree, headroom
from tacit.validation import real, whole

NEVER = -inf


@dataclass(frozen=True)
class Rules:
    """The promise of a pool; times in seconds (or any unit).

    Attributes:
        k: how many people must match a query.
        window: w, how far apart their queries may lie.
        period: how long a token lasts, at least ``window``; 0 stands for 4 w.
        slack: how much of a deadline must be left when a batch is sent; a tenth of the window at most.
        alive: a held query whose client has not been heard of for so long is not sent.
        capacity: how many queries may be held or on their way at a time, and how many tokens a period takes.
        each: how many of these may be of one token.
    """

    k: int = 30
    window: float = 120.0
    period: float = 0.0
    slack: float = 2.0
    alive: float = 10.0
    capacity: int = 100_000
    each: int = 8

    def __post_init__(self) -> None:
        for name, least in (("k", 2), ("capacity", 2), ("each", 1)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        for name in ("window", "period", "slack"):
            object.__setattr__(self, name, real(name, getattr(self, name)))
        object.__setattr__(self, "period", self.period or 4 * self.window)
        for name, holds, rule in (
            ("window", self.window > 0, "above 0"),
            ("period", self.period >= self.window, f"at least the window, {self.window:g}"),
            ("slack", self.slack >= 0, "at least 0"),
            ("alive", self.alive > 0, "above 0"),
            ("capacity", self.capacity >= self.k, f"at least k, {self.k}"),
        ):
            if not holds:
                raise ParameterError.outside(name, getattr(self, name), rule)
        object.__setattr__(self, "slack", min(self.slack, self.window / 10))


class Why(StrEnum):
    """Why a deposit is over without having been sent."""

    PERIOD = "period"  # not the token's, or it ended while the query was held: deposit again with a new one
    LEAF = "leaf"  # no such leaf, or the token came with another one before
    FULL = "full"  # as much is held as may be, of this token or of all
    UNREADABLE = "unreadable"  # to the gateway
    GONE = "gone"  # the client was not heard of
    CLOCK = "clock"  # the device's is off, and a proof is promised
    FORGOTTEN = "forgotten"  # the pool lost or dropped its memory: deposit again


@dataclass(frozen=True, slots=True)
class BatchItem:
    """A query of a batch: its ticket, and the node whose region it carries."""

    ticket: str
    node: int


@dataclass(frozen=True, slots=True)
class Batch:
    """A request to send to the gateway, which is to log it whole or not at all.

    Attributes:
        number: names it; a repeat has the same.
        session: of the gateway, whose entries were counted; empty before the first answer.
        deadline: the latest time, by the gateway's clock, to log it.
        items: in an order that tells nothing.
        period: of the tokens in ``people``.
        people: k of the tokens that condition 2 counted.
    """

    number: str
    session: str
    deadline: float
    items: tuple[BatchItem, ...]
    period: int
    people: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refuse:
    """Tell a client that its deposit is over."""

    ticket: str
    why: Why


Actions = tuple[Batch | Refuse, ...]


def next_period(last: int, now: float, length: float) -> int:
    """The number of a new period: above every number before, whatever the clock shows.

    Write it to disk before it is used; ``last`` is the number found there (0 if there is none).
    """
    return max(last + 1, int(now // length))


class _Recent:
    """People and the latest time of each, in the order of these times (not of their coming)."""

    __slots__ = ("order", "times")

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self.order: list[tuple[float, str]] = []

    def add(self, token: str, time: float) -> None:
        before = self.times.get(token)
        if before is not None:
            if before >= time:
                return
            del self.order[bisect_left(self.order, (before, token))]
        self.times[token] = time
        insort(self.order, (time, token))

    def since(self, horizon: float) -> int:
        """Count the people at ``horizon`` or later; earlier ones are forgotten."""
        order = self.order
        if order and order[0][0] < horizon:
            old = bisect_left(order, (horizon, ""))
            for _, token in order[:old]:
                del self.times[token]
            del order[:old]
        return len(order)


class _Period:
    """The entries of one period's tokens."""

    def __init__(self) -> None:
        self.under: defaultdict[int, _Recent] = defaultdict(_Recent)
        """By node: who has an entry under it."""
        self.inside: defaultdict[int, _Recent] = defaultdict(_Recent)
        """By node: who with a leaf in it has an entry, under any node."""
        self.leaf_of: dict[str, int] = {}
        """The leaf each token is bound to: the first that it came with."""

    def enter(self, token: str, path: Sequence[int], node: int, time: float) -> None:
        """Count an entry that was logged under ``node`` at ``time``; ``path`` is that of the token's leaf."""
        self.under[node].add(token, time)
        for above in path:
            self.inside[above].add(token, time)


@dataclass(slots=True)
class _Held:
    """A deposit that is not over: held, or on its way in a batch."""

    token: str
    period: int
    leaf: int
    seen: float
    batch: str = ""


def _oldest(recents: Iterable[_Recent], mates: Container[str], need: int) -> float:
    """The oldest of the latest times of the ``need`` people seen last, not counting ``mates``.

    Infinite if nobody is needed; :data:`NEVER` if there are not so many.
    """
    if need <= 0:
        return inf
    latest: dict[str, float] = {}
    bound = NEVER
    for recent in recents:
        left = need
        for time, token in reversed(recent.order):
            if time <= bound:
                break
            if token not in mates:
                if time > latest.get(token, NEVER):
                    latest[token] = time
                left -= 1
                if not left:
                    break
        if left < need <= len(latest):
            bound = nlargest(need, latest.values())[-1]
    return bound


class QueryCounter:
    """The pool's machine; ``draw`` makes a batch's number, which nobody may be able to foretell."""

    def __init__(
        self, tree: Tree, rules: Rules, *, draw: Callable[[], str] = lambda: secrets.token_hex(16)
    ) -> None:
        self.tree, self.rules = tree, rules
        self.period = -1
        self.busiest: Counter[int] = Counter()
        """The most tokens that each leaf had in one period, at most its accounts. Clear it once a day."""
        self._draw = draw
        self._opened_at = headroom(rules.k)
        self._session = ""
        self._gateway = (NEVER, 0.0)
        """The gateway's time when it last answered, and what our clock showed then."""
        self._periods: dict[int, _Period] = {}
        self._cut: set[int] = set()
        """The nodes that are opened."""
        self._tickets: dict[str, _Held] = {}
        self._held: dict[str, _Held] = {}
        """Those of the tickets that are not on their way."""
        self._each: Counter[str] = Counter()
        self._batches: dict[str, tuple[BatchItem, ...]] = {}

    def open_period(self, number: int) -> Actions:
        """Begin a period, above all earlier ones; what is held with tokens of the last must come again."""
        if number <= self.period:
            raise InputError(f"period {number} must come after {self.period}.", "Number it by next_period.")
        last = self._periods.get(self.period)
        if last is not None:
            self.busiest |= Counter(last.leaf_of.values())
        self._periods = {number: _Period()} | ({} if last is None else {self.period: last})
        self.period = number
        return self._refuse(list(self._held), Why.PERIOD)

    def deposit(self, ticket: str, token: str, period: int, leaf: int, now: float) -> Actions:
        """Take a query in: it goes out now, or is held, or is refused."""
        if ticket in self._tickets:
            return ()
        if period != self.period or period not in self._periods:
            return (Refuse(ticket, Why.PERIOD),)
        leaf_of, capacity = self._periods[period].leaf_of, self.rules.capacity
        if leaf not in self.tree.paths or leaf_of.get(token, leaf) != leaf:
            return (Refuse(ticket, Why.LEAF),)
        known = len(leaf_of) < capacity or token in leaf_of
        if not known or len(self._tickets) >= capacity or self._each[token] >= self.rules.each:
            return (Refuse(ticket, Why.FULL),)
        leaf_of[token] = leaf
        held = _Held(token, period, leaf, now)
        self._tickets[ticket] = self._held[ticket] = held
        self._each[token] += 1
        return self._alone(ticket, held, now) or self._together(self.tree.paths[leaf], now)

    def polled(self, ticket: str, now: float) -> bool:
        """Note that a client still waits; False if its ticket is over, or was never given."""
        held = self._tickets.get(ticket)
        if held is not None and held.seen != NEVER:
            held.seen = now
        return held is not None

    def gave_up(self, ticket: str) -> None:
        """Take back a query whose client has gone. One that is on its way counts when it is logged."""
        held = self._tickets.get(ticket)
        if held is None:
            return
        held.seen = NEVER
        if not held.batch:
            self._end(ticket)

    def answered(self, number: str, answer: Answer, now: float) -> Actions:
        """Note what the gateway said to a batch; its queries are counted only if they were logged."""
        items = self._batches.pop(number, None)
        if items is None:
            return ()  # of before our memory was lost, or an answer that came twice
        if isinstance(answer, Logged) and answer.session != self._session:
            return self._again(items, now)  # the session it was logged in is over: it counts for nothing
        if answer.session != self._session:
            self._session = answer.session
            self._cut.clear()
            for period in self._periods.values():  # all entries were of the session before
                period.under.clear()
                period.inside.clear()
        self._gateway = (answer.time, now)
        if isinstance(answer, Logged):
            for item in items:
                held = self._tickets[item.ticket]
                if held.period in self._periods:
                    path = self.tree.paths[held.leaf]
                    self._periods[held.period].enter(held.token, path, item.node, answer.time)
                self._end(item.ticket)
            return self._release(now)
        bad = {items[place].ticket for place in answer.places} if isinstance(answer, Unreadable) else set()
        refused = self._refuse(bad, Why.UNREADABLE)
        return refused + self._again(items, now)

    def lost(self, number: str, now: float) -> Actions:
        """Give up on a batch that was not answered: it counts for nothing, logged or not."""
        items = self._batches.pop(number, None)
        return () if items is None else self._again(items, now)

    def tick(self, now: float) -> Actions:
        """Drop held queries whose clients have not been heard of, and entries that are too old."""
        horizon = self._horizon(now)
        for period in self._periods.values():  # tokens stay bound to their leaves
            for recent in (*period.under.values(), *period.inside.values()):
                recent.since(horizon)
        gone = [ticket for ticket, held in self._held.items() if held.seen < now - self.rules.alive]
        return self._refuse(gone, Why.GONE)

    def people(self, now: float) -> int:
        """Count the people who asked within the window, rounded down to a multiple of k."""
        number = self._inside(ROOT, self._horizon(now))
        return number - number % self.rules.k

    def _end(self, ticket: str) -> None:
        held = self._tickets.pop(ticket)
        self._held.pop(ticket, None)
        self._each[held.token] -= 1
        if not self._each[held.token]:
            del self._each[held.token]

    def _refuse(self, tickets: Iterable[str], why: Why) -> Actions:
        refused = tuple(Refuse(ticket, why) for ticket in tickets)
        for each in refused:
            self._end(each.ticket)
        return refused

    def _again(self, items: Iterable[BatchItem], now: float) -> Actions:
        """Hold the queries of a batch that was not logged again, and see what can go out."""
        ended: Actions = ()
        for ticket in (item.ticket for item in items if item.ticket in self._tickets):
            held = self._tickets[ticket]
            held.batch = ""
            self._held[ticket] = held
            if held.period != self.period:
                ended += self._refuse([ticket], Why.PERIOD)
            elif held.seen == NEVER:
                ended += self._refuse([ticket], Why.GONE)
        return ended + self._release(now)

    def _now(self, now: float) -> float:
        """Guess what the gateway's clock shows when ours shows ``now``; no promise rests on it."""
        known, ours = self._gateway
        return now if known == NEVER else max(known, known + now - ours)

    def _horizon(self, now: float) -> float:
        """The earliest time at which an entry is worth counting."""
        return self._now(now) - self.rules.window + self.rules.slack

    def _inside(self, node: int, horizon: float) -> int:
        """Count the people with a leaf in the node who have entries."""
        return max((period.inside[node].since(horizon) for period in self._periods.values()), default=0)

    def _region(self, leaf: int, horizon: float) -> int:
        """The node for queries of a leaf: the deepest below opened ones."""
        node = ROOT
        for below in reversed(self.tree.paths[leaf][:-1]):
            least = self.rules.k if node in self._cut else self._opened_at
            low, high = self.tree.children[node]
            if self._inside(low, horizon) < least or self._inside(high, horizon) < least:
                if node in self._cut:
                    self._cut -= {each for each in self._cut if node in self.tree.above(each)}
                break
            self._cut.add(node)
            node = below
        return node

    def _alone(self, ticket: str, held: _Held, now: float) -> Actions:
        """Send a query by itself if its client still waits and the entries allow it."""
        if held.seen < now - self.rules.alive:
            return ()
        horizon = self._horizon(now)
        node = self._region(held.leaf, horizon)
        for number, period in self._periods.items():
            mates = (held.token,) if number == held.period else ()
            found = self._counted(period, held.leaf, node, mates)
            if found >= horizon:
                return self._send([ticket], node, found, number, now)
        return ()

    def _counted(self, period: _Period, leaf: int, node: int, mates: Collection[str]) -> float:
        """The oldest time that both conditions count on, for a query of ``leaf`` under ``node``."""
        need = self.rules.k - len(mates)
        second = _oldest((period.inside[node],), mates, need)
        if second == NEVER:
            return NEVER
        path = self.tree.paths[leaf]
        at = path.index(node)  # most entries are under the node itself
        nodes = (node, *path[:at], *path[at + 1 :])
        return min(second, _oldest([period.under[each] for each in nodes], mates, need))

    def _together(self, nodes: Iterable[int], now: float) -> Actions:
        """Send held queries in one batch: under the first of ``nodes`` at which a set satisfies the rule."""
        horizon = self._horizon(now)
        waiting = {ticket: held for ticket, held in self._held.items() if held.seen >= now - self.rules.alive}
        for node in nodes:
            chosen = {t: held for t, held in waiting.items() if node in self.tree.paths[held.leaf]}
            while chosen:
                mates = {held.token for held in chosen.values()}
                entries = self._periods[self.period]
                times = {t: self._counted(entries, held.leaf, node, mates) for t, held in chosen.items()}
                satisfied = {ticket: held for ticket, held in chosen.items() if times[ticket] >= horizon}
                if len(satisfied) == len(chosen):
                    return self._send(list(chosen), node, min(times.values()), self.period, now)
                chosen = satisfied
        return ()

    def _release(self, now: float) -> Actions:
        """Send whatever the entries allow now: single queries first, then sets from the deepest node up."""
        sent: Actions = ()
        for ticket, held in list(self._held.items()):
            sent += self._alone(ticket, held, now)
        while self._held:
            nodes = {node for held in self._held.values() for node in self.tree.paths[held.leaf]}
            batch = self._together(sorted(nodes, reverse=True), now)  # a node's number is above its parent's
            if not batch:
                break
            sent += batch
        return sent

    def _send(self, tickets: Sequence[str], node: int, oldest: float, period: int, now: float) -> Actions:
        """Form a batch; it may be logged while what was counted lies within the window."""
        mates = {held.token for held in map(self._tickets.__getitem__, tickets) if held.period == period}
        others = (token for _, token in reversed(self._periods[period].inside[node].order))
        people = islice(chain(sorted(mates), (each for each in others if each not in mates)), self.rules.k)
        number = self._draw()
        items = tuple(BatchItem(ticket, node) for ticket in sorted(tickets))
        for ticket in tickets:
            self._held.pop(ticket).batch = number
        self._batches[number] = items
        deadline = min(oldest, self._now(now)) + self.rules.window
        return (Batch(number, self._session, deadline, items, period, tuple(people)),)
