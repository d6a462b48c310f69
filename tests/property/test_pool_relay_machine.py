"""The protocol with a relay that keeps sealed records, explored as a state machine.

To what may happen without one come: the relay restarts, cannot be reached, is asked early and twice, agents
answer twice, and the pool gives people different keys. Whatever happens: the pool gets batches of at least k,
one an announcement, and of fewer nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule
from tests.open_envelope import OpenEnvelope
from tests.property.test_pool_machine import RULES, TEMPLATE, CarelessAgents, K, Message

from tacit.pool.agent.machine import AgentMachine
from tacit.pool.protocol.batches import BatchKeeper, SealedMessage, announcement_digest
from tacit.pool.protocol.messages import Phase, Reply, SecondMessage
from tacit.pool.protocol.table import Table
from tacit.pool.server.machine import PoolMachine

HOLD = 12.0


class RelayedAgents(CarelessAgents):
    """Careless agents, and a relay with a clock of its own between them and the pool."""

    relayed = True
    away = False

    def worker(self) -> PoolMachine:
        if not hasattr(self, "keeper"):
            self.keeper = BatchKeeper(K, self.real - HOLD, hold=HOLD)
            self.handed: dict[str, list[frozenset[str]]] = defaultdict(list)
            self.taken: dict[str, set[str]] = defaultdict(set)
            self.confirmed: dict[str, tuple[int, int]] = {}
        return PoolMachine(RULES, TEMPLATE, self.store, sealing=self.envelope, relay=self)

    def hand_over(self, announcements: Sequence[str]) -> dict[str, list[str]]:
        """What the pool gets; noted."""
        if self.away:
            return {}
        batches = self.keeper.hand_over(announcements, self.real)
        for announcement, batch in batches.items():
            assert len(batch) == len(set(batch))
            self.handed[announcement].append(frozenset(batch))
        return batches

    def send(self, message: Message) -> Reply:
        if not isinstance(message, SealedMessage):
            return super().send(message)
        self.delivered.append(message)
        self.note_announcements()
        if self.away:
            return Reply.FULL
        reply = self.keeper.take(message, self.real)
        if reply is Reply.ACCEPTED and message.announcement in self.confirmed:
            epoch, group = self.confirmed[message.announcement]
            self.accepted[epoch][group].add(message.token)
        return reply

    def note_announcements(self) -> None:
        standing, public = self.store.standing(), self.pool.publication()
        if standing is not None and public is not None and standing.phase is Phase.IDENTIFY:
            for group in self.pool.asked():
                digest = announcement_digest(public.table.digest, group, public.public_key)
                self.confirmed[digest] = (standing.epoch, group)

    @precondition(lambda self: self.delivered)
    @rule()
    def a_message_comes_again(self) -> None:
        before = self.store.counts()
        message = self.random.choice(self.delivered)
        reply = self.send(message)
        over = isinstance(message, SealedMessage)  # what is over may be kept, and is never asked for
        assert reply in (Reply.GONE, Reply.REPEATED, Reply.REFUSED, Reply.FULL) or over
        assert self.store.counts() == before

    @rule()
    def the_relay_restarts(self) -> None:
        self.keeper = BatchKeeper(K, self.real, hold=HOLD)

    @rule(away=st.booleans())
    def the_relay_comes_and_goes(self, away: bool) -> None:
        self.away = away

    @rule(moment=st.integers(1, 3), restart=st.booleans())
    def a_batch_is_fetched_while_messages_come(self, moment: int, restart: bool) -> None:
        self.the_pool_comes_to_a_phase(Phase.IDENTIFY, moment)
        self.the_pool_asks_early_and_again()
        if restart:
            self.the_relay_restarts()
            for message in [each for each in self.delivered if isinstance(each, SealedMessage)][-5:]:
                self.send(message)  # whoever got no answer tries again
        self.step(1.0, 0.0, 0.0)
        self.the_pool_asks_early_and_again()

    @rule()
    def the_pool_asks_early_and_again(self) -> None:
        standing, public = self.store.standing(), self.pool.publication()
        assert standing is not None and public is not None
        named = [announcement_digest(public.table.digest, group, public.public_key) for group in range(-2, 8)]
        assert self.hand_over(named) == self.hand_over(named)

    @rule(times=st.integers(2, 5))
    def somebody_answers_again_with_the_same_token(self, times: int) -> None:
        self.note_announcements()
        for announcement in list(self.confirmed)[-1:]:
            said = [
                self.keeper.take(SealedMessage(announcement, "0" * 32, f"1,1;again {n}"), self.real)
                for n in range(times)
            ]
            assert said.count(Reply.ACCEPTED) <= 1
            if Reply.ACCEPTED in said:
                epoch, group = self.confirmed[announcement]
                self.accepted[epoch][group].add("0" * 32)

    @rule()
    def a_second_message_goes_to_the_pool_itself(self) -> None:
        standing = self.store.standing()
        assert standing is not None
        said = SecondMessage(standing.epoch, -1, "0" * 32, "1,1;direct")
        assert self.pool.second(said) is Reply.REFUSED

    @invariant()
    def batches_have_k_and_no_two_of_them_differ(self) -> None:
        for batches in getattr(self, "handed", {}).values():
            assert all(len(batch) >= K for batch in batches)
            assert len(set(batches)) == 1

    def nobody_is_identified(self) -> None:
        """Held for careless agents; here somebody answers who never asked."""


TestRelayedAgents = RelayedAgents.TestCase
TestRelayedAgents.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


class HonestRelayedAgents(RelayedAgents):
    """Nobody answers without having asked: then Definition 2 holds for every query under a region."""

    def somebody_answers_again_with_the_same_token(self) -> None:  # type: ignore[override]
        """Not here."""

    def nobody_is_identified(self) -> None:
        CarelessAgents.nobody_is_identified(self)


TestHonestRelayedAgents = HonestRelayedAgents.TestCase
TestHonestRelayedAgents.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_a_pool_that_shows_somebody_another_table_does_not_get_their_record() -> None:
    """Four agents, one of whom was shown a region of its own: its record is in no batch."""
    shared = Table.parse(
        {"version": 1, "epoch": 7, "regions": [[[0, 0], [7, 3]]], "sizes": [4], "everyone": True}, TEMPLATE
    )
    own = replace(shared, regions=shared.regions.copy())
    own.regions[0] = [[2, 2], [2, 2]]
    keeper = BatchKeeper(K, 0.0, hold=HOLD)
    for number in range(4):
        agent = AgentMachine(RULES, TEMPLATE, (2, 2), OpenEnvelope(), relayed=True)
        agent.on_table(own if number == 0 else shared, "", 50.0, 0.0)
        assert agent.region_for_query(1.0) is not None
        counted, planned = agent.on_count(7, 2.0), agent.on_identify(7, [0], 6.0)
        assert planned is not None and isinstance(planned.message, SealedMessage)
        assert counted is not None and counted.message.token != planned.message.token
        keeper.take(planned.message, HOLD)
    found = keeper.hand_over([announcement_digest(each.digest, 0, "") for each in (own, shared)], HOLD)
    assert [len(batch) for batch in found.values()] == [3]


def test_a_region_of_fewer_than_promised_is_not_used() -> None:
    few = Table.parse(
        {"version": 1, "epoch": 7, "regions": [[[0, 0], [7, 3]]], "sizes": [K - 1], "everyone": True},
        TEMPLATE,
    )
    agent = AgentMachine(RULES, TEMPLATE, (2, 2), OpenEnvelope())
    agent.on_table(few, "", 50.0, 0.0)
    assert not agent.guarded and agent.region_for_query(1.0) is None


def test_a_pool_that_gives_people_different_keys_gets_nobodys_record() -> None:
    keeper = BatchKeeper(K, 0.0, hold=HOLD)
    digests = [announcement_digest("7", 0, f"key {person}") for person in range(50)]
    for person, digest in enumerate(digests):
        assert keeper.take(SealedMessage(digest, f"{person:032x}", "sealed"), 20.0) is Reply.ACCEPTED
    assert keeper.hand_over(digests, 21.0) == {}
