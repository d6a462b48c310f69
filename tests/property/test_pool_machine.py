"""The protocol explored as a state machine: agents crash, delay, repeat and lie; workers die; clocks jump.

Whatever happens: no region with fewer than k people, no record opened with fewer than k companions, no agent
left hanging, nothing of an epoch left after the next. And as long as agents are only careless, not lying,
nobody who asked under a region can be told from fewer than k (Definition 2).
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.open_envelope import OpenEnvelope

from tacit.pool.agent.machine import AgentMachine, Planned
from tacit.pool.protocol.batches import SealedMessage
from tacit.pool.protocol.messages import (
    AgentState,
    FirstMessage,
    Phase,
    Reply,
    Rules,
    SecondMessage,
)
from tacit.pool.protocol.template import Record, Template, parse_template
from tacit.pool.server.machine import PoolMachine
from tacit.pool.server.store import MemoryStore, PoolStore
from tacit.pool.simulation.verification import AuditedLog, verify_log

K = 3
RULES = Rules(k=K, window=60.0, overlap=0.5, count=4.0, identify=4.0, form=1.0, skew=2.0)
TEMPLATE: Template = parse_template(
    {"attribute": [{"name": "x", "low": 0, "high": 7}, {"name": "y", "low": 0, "high": 3}]}
)


class SpyingEnvelope(OpenEnvelope):
    """Notes how many records of each batch the pool opened."""

    def __init__(self) -> None:
        self.opened: dict[tuple[int, int], set[str]] = defaultdict(set)
        self._sealed = itertools.count()

    def seal(self, public: str, epoch: int, group: int, record: Record) -> str:
        return f"{super().seal(public, epoch, group, record)};{next(self._sealed)}"

    def unseal(self, secret: str, epoch: int, group: int, sealed: str) -> Record | None:
        self.opened[epoch, group].add(sealed)
        return super().unseal(secret, epoch, group, sealed.partition(";")[0])


Message = FirstMessage | SecondMessage | SealedMessage


class CarelessAgents(RuleBasedStateMachine):
    """Honest agents over a bad network, with workers and clocks that fail."""

    relayed = False

    def make_store(self) -> PoolStore:
        return MemoryStore()

    @initialize(seed=st.integers(0, 2**32), hold=st.booleans())
    def begin(self, seed: int, hold: bool) -> None:
        self.random = random.Random(seed)
        self.hold = hold
        self.now = 1_000.0
        self.real = 0.0
        """Time as it really passes; ``now`` is what the pool's clock says."""
        self.store = self.make_store()
        self.envelope = SpyingEnvelope()
        self.pool = self.worker()
        self.agents: list[tuple[int, Record, AgentMachine]] = []
        self.flying: list[tuple[float, int, Message]] = []
        self.delivered: list[Message] = []
        self.accepted: dict[int, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.entries: list[tuple[float, int, Record, Any, bool]] = []
        self.holding: set[int] = set()
        """Who holds a query back; it is sent as soon as a region guards them."""
        self.rate = 0.15
        self.joined = 0
        self.pool.tick(self.now)
        for _ in range(self.random.randrange(12)):
            self.join((self.random.randrange(8), self.random.randrange(4)))

    def worker(self) -> PoolMachine:
        return PoolMachine(RULES, TEMPLATE, self.store, sealing=self.envelope)

    def join(self, record: Record) -> None:
        without = "hold" if self.hold and self.random.random() < 0.5 else "general"
        agent = AgentMachine(
            RULES,
            TEMPLATE,
            record,
            self.envelope,
            without=without,  # type: ignore[arg-type]
            relayed=self.relayed,
            choose=self.random,
        )
        self.agents.append((self.joined, record, agent))
        self.joined += 1

    @rule(
        records=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3)), min_size=1, max_size=12),
    )
    def people_come(self, records: list[Record]) -> None:
        if len(self.agents) < 60:
            for record in records:
                self.join(record)

    @rule(share=st.floats(0.0, 0.6))
    def people_vanish(self, share: float) -> None:
        self.agents = [each for each in self.agents if self.random.random() >= share]
        self.flying = [each for each in self.flying if self.random.random() >= share]

    @rule(
        steps=st.integers(1, 60), loss=st.sampled_from([0.0, 0.0, 0.05, 0.3]), late=st.sampled_from([0, 0, 6])
    )
    def time_passes(self, steps: int, loss: float, late: int) -> None:
        for _ in range(steps):
            self.step(1.0, loss, late)

    @rule(phase=st.sampled_from([Phase.COUNT, Phase.IDENTIFY, Phase.OPEN]), more=st.integers(0, 3))
    def the_pool_comes_to_a_phase(self, phase: Phase, more: int) -> None:
        """Time passes until the phase has begun, and a little more: where faults do the most harm."""
        before = self.pool.tick(self.now).epoch
        for _ in range(90):
            self.step(1.0, 0.0, 0.0)
            standing = self.pool.tick(self.now)
            if standing.phase is phase and (standing.epoch > before or phase is not Phase.OPEN):
                break
        for _ in range(more):
            self.step(1.0, 0.0, 0.0)

    def step(self, seconds: float, loss: float, late: float) -> None:
        self.now += seconds
        self.real += seconds
        standing = self.pool.tick(self.now)
        public = self.pool.publication()
        assert public is not None
        for number, record, agent in self.agents:
            agent.on_time(self.real)
            if agent.wants_table(self.real) or (
                agent.state is not AgentState.EXPIRED and agent.epoch != public.table.epoch
            ):
                agent.on_table(public.table, public.public_key, self.pool.expires_in(self.now), self.real)
            if self.random.random() < self.rate or (number in self.holding and agent.guarded):
                self.query(number, record, agent)
            planned: Planned | None = None
            if standing.phase is Phase.COUNT:
                planned = agent.on_count(standing.epoch, self.real)
            elif standing.phase is Phase.IDENTIFY:
                planned = agent.on_identify(standing.epoch, self.pool.asked(), self.real)
            if planned is not None and self.random.random() >= loss:
                self.flying.append((planned.at + self.random.uniform(0, late), number, planned.message))
        self.deliver()

    def query(self, number: int, record: Record, agent: AgentMachine) -> None:
        region = agent.region_for_query(self.real)
        if region is None:
            self.holding.add(number)
        else:
            self.holding.discard(number)
            assert record in region
            self.entries.append((self.real, number, record, region, agent.guarded))

    def deliver(self) -> None:
        due = [each for each in self.flying if each[0] <= self.real]
        self.flying = [each for each in self.flying if each[0] > self.real]
        agents = {number: agent for number, _, agent in self.agents}
        for _, number, message in due:
            reply = self.send(message)
            if number in agents:
                agents[number].on_reply(reply, self.real)

    def send(self, message: Message) -> Reply:
        self.delivered.append(message)
        if isinstance(message, FirstMessage):
            return self.pool.first(message)
        assert isinstance(message, SecondMessage)
        reply = self.pool.second(message)
        if reply is Reply.ACCEPTED:
            self.accepted[message.epoch][message.group].add(message.token)
        return reply

    @precondition(lambda self: self.delivered)
    @rule()
    def a_message_comes_again(self) -> None:
        before = self.store.counts()
        reply = self.send(self.random.choice(self.delivered))
        assert reply in (Reply.GONE, Reply.REPEATED, Reply.REFUSED)
        assert self.store.counts() == before

    @rule()
    def the_worker_dies_and_another_takes_over(self) -> None:
        self.pool = self.worker()

    @rule()
    def two_workers_tick_at_once(self) -> None:
        other = self.worker()
        self.step(1.0, 0.0, 0.0)
        assert other.tick(self.now) == self.pool.tick(self.now)

    @rule()
    def the_store_is_lost(self) -> None:
        self.now += 3.0
        self.real += 3.0
        self.lose_store()
        self.pool = self.worker()
        self.pool.tick(self.now)

    def lose_store(self) -> None:
        self.store = self.make_store()

    @rule(jump=st.sampled_from([-500.0, -10.0, -1.0, 15.0, 500.0]))
    def the_pools_clock_jumps(self, jump: float) -> None:
        self.now += jump
        self.pool.tick(self.now)

    @invariant()
    def no_region_has_fewer_than_k_people(self) -> None:
        public = self.pool.publication() if hasattr(self, "pool") else None
        if public is not None and len(public.table):
            assert public.table.sizes.min() >= K
            confirmed = sum(
                len(tokens) for tokens in self.accepted[public.table.epoch - 1].values() if len(tokens) >= K
            )
            assert public.table.sizes.sum() <= confirmed

    @invariant()
    def no_record_is_opened_without_k_companions(self) -> None:
        if hasattr(self, "envelope"):
            assert all(len(batch) >= K for batch in self.envelope.opened.values())

    def teardown(self) -> None:
        if not hasattr(self, "pool"):
            return
        self.no_agent_hangs()
        self.nothing_old_is_left()
        self.nobody_is_identified()

    def no_agent_hangs(self) -> None:
        """Whatever state an agent is in, silence brings it back to the beginning."""
        later = self.real + RULES.lifetime
        for _, _, agent in self.agents:
            agent.on_time(later)
            agent.on_time(later + RULES.open_length)
            assert agent.state is AgentState.NEW
            assert not agent.guarded

    def nothing_old_is_left(self) -> None:
        self.agents = []
        epoch = self.pool.tick(self.now).epoch
        while self.pool.tick(self.now).epoch == epoch:
            self.now += 1.0
        assert self.store.counts() == {} and self.store.batches(0) == {}

    def nobody_is_identified(self) -> None:
        if not self.entries:
            return
        time, sender, record, region, guarded = zip(*self.entries, strict=True)
        log = AuditedLog(
            np.array(time),
            np.array(sender),
            np.array(record),
            np.array([each.low for each in region]),
            np.array([each.high for each in region]),
            np.array(guarded),
        )
        verdict = verify_log(log, K, RULES.window)
        assert verdict.holds, verdict


class LyingAgents(CarelessAgents):
    """Some agents send what they like. Companions may then be made up, but never fewer than k tokens."""

    @rule(data=st.data())
    def somebody_sends_what_they_like(self, data: Any) -> None:
        standing = self.store.standing()
        assert standing is not None
        epoch = standing.epoch + data.draw(st.integers(-1, 1))
        group = data.draw(st.integers(-3, 6))
        token = f"{data.draw(st.integers(0, 9)):032x}"
        message: Message = FirstMessage(epoch, group, token)
        if data.draw(st.booleans()):
            sealed = data.draw(st.sampled_from(["", "x", "1", "0,0", "7,3", "9,9", "1,2,3"]))
            message = SecondMessage(epoch, group, token, f"{sealed};{token}")
        counted = dict(self.store.counts())
        reply = self.send(message)
        if reply is not Reply.ACCEPTED:
            assert self.store.counts() == counted
        elif isinstance(message, FirstMessage):
            assert (standing.epoch, standing.phase) == (epoch, Phase.COUNT)

    def nobody_is_identified(self) -> None:
        """With m made-up companions k - m real ones remain; that is not for this test."""


TestCarelessAgents = CarelessAgents.TestCase
TestCarelessAgents.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestLyingAgents = LyingAgents.TestCase
TestLyingAgents.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"overlap": 0.6}, "at most 0.5; found 0.6"),
        ({"overlap": 0.0}, "above 0"),
        ({"k": 1}, "2 or more; found 1"),
        ({"window": 20.0}, "longer than twice the phases and the skew, 20"),
        ({"skew": -1.0}, "skew must be at least 0"),
    ],
)
def test_rules_that_promise_nothing_are_refused(change: dict[str, Any], message: str) -> None:
    from tacit.errors import ParameterError

    with pytest.raises(ParameterError, match=message):
        Rules(**{"window": 60.0, "count": 4.0, "identify": 4.0, "form": 1.0, "skew": 2.0} | change)


def test_the_parts_of_a_window_add_up() -> None:
    assert RULES.overlap_length <= RULES.open_length
    assert RULES.overlap_length + RULES.phases + RULES.skew / 2 + RULES.lifetime == pytest.approx(60.0)
