"""What the pool and an agent do step by step: each rule of the protocol, one at a time."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from tests.open_envelope import OpenEnvelope

from tacit.errors import InputError
from tacit.pool.agent.machine import AgentMachine
from tacit.pool.protocol.messages import (
    READY,
    UNGROUPED,
    AgentState,
    FirstMessage,
    HpkeSealing,
    Phase,
    Reply,
    Rules,
    SecondMessage,
)
from tacit.pool.protocol.table import Table, whole_domain
from tacit.pool.protocol.template import Region, parse_template
from tacit.pool.server.machine import PoolMachine, nested, together, valid_records
from tacit.pool.server.store import MemoryStore

K = 3
RULES = Rules(k=K, window=60.0, overlap=0.5, count=4.0, identify=4.0, form=1.0, skew=2.0)
TEMPLATE = parse_template({"attribute": [{"name": "x", "low": 0, "high": 99}]})


def token(number: int) -> str:
    return f"{number:032x}"


def table_of(*regions: tuple[int, int], epoch: int = 5, surviving: tuple[tuple[int, int], ...] = ()) -> Table:
    corners = np.array([[[low], [high]] for low, high in regions]).reshape(-1, 2, 1)
    old = np.array([[[low], [high]] for low, high in surviving]).reshape(-1, 2, 1)
    none = np.zeros(len(regions), np.bool_)
    return Table(epoch, corners, np.full(len(regions), K), old, False, none)


def records(*values: int) -> np.ndarray:
    return np.array(values, np.uint16).reshape(-1, 1)


class TestPool:
    def open_pool(self) -> tuple[PoolMachine, int]:
        pool = PoolMachine(RULES, TEMPLATE, MemoryStore(), sealing=OpenEnvelope())
        return pool, pool.tick(1000.0).epoch

    def identify(self, pool: PoolMachine, epoch: int, values: list[int], group: int = UNGROUPED) -> float:
        """Count and identify records, up to the end of the phase of identifying; the time then."""
        begun = pool.tick(1000.0).until
        pool.tick(begun)
        for number in range(len(values)):
            assert pool.first(FirstMessage(epoch, group, token(number))) is Reply.ACCEPTED
        pool.tick(begun + RULES.count)
        for number, value in enumerate(values):
            assert pool.second(SecondMessage(epoch, group, token(number), str(value))) is Reply.ACCEPTED
        return begun + RULES.count + RULES.identify

    def test_phases_follow_each_other_and_a_table_follows(self) -> None:
        pool, epoch = self.open_pool()
        assert pool.expires_in(1000.0) == RULES.lifetime
        end = self.identify(pool, epoch, [1, 2, 3, 50])
        assert pool.asked() == [UNGROUPED]
        assert pool.tick(end).phase is Phase.OPEN
        public = pool.publication()
        assert public is not None and public.table.epoch == epoch + 1
        assert public.table.sizes.tolist() == [4] and public.table.everyone
        assert public.table.region(0) == TEMPLATE.domain

    def test_two_people_get_no_region_and_are_not_asked(self) -> None:
        pool, epoch = self.open_pool()
        begun = pool.tick(1000.0).until
        pool.tick(begun)
        for number in range(K - 1):
            pool.first(FirstMessage(epoch, UNGROUPED, token(number)))
        pool.tick(begun + RULES.count)
        assert pool.asked() == []
        assert pool.second(SecondMessage(epoch, UNGROUPED, token(0), "1")) is Reply.REFUSED
        pool.tick(begun + RULES.phases)
        public = pool.publication()
        assert public is not None and len(public.table) == 0 and not public.table.everyone

    def test_three_counted_and_two_identified_are_never_handed_over(self) -> None:
        pool, epoch = self.open_pool()
        begun = pool.tick(1000.0).until
        pool.tick(begun)
        for number in range(K):
            pool.first(FirstMessage(epoch, UNGROUPED, token(number)))
        pool.tick(begun + RULES.count)
        for number in range(K - 1):
            pool.second(SecondMessage(epoch, UNGROUPED, token(number), "1"))
        assert pool.store.batches(K) == {}
        pool.tick(begun + RULES.phases)
        public = pool.publication()
        assert public is not None and len(public.table) == 0

    def test_a_second_message_needs_its_own_first(self) -> None:
        pool, epoch = self.open_pool()
        self.identify(pool, epoch, [1, 2, 3])
        assert pool.second(SecondMessage(epoch, UNGROUPED, token(77), "1")) is Reply.REFUSED
        assert pool.second(SecondMessage(epoch, READY, token(0), "1")) is Reply.REFUSED
        assert pool.second(SecondMessage(epoch, UNGROUPED, token(0), "9")) is Reply.REPEATED
        assert pool.store.batches(1)[UNGROUPED].count("9") == 0

    def test_messages_of_another_epoch_phase_or_group_change_nothing(self) -> None:
        pool, epoch = self.open_pool()
        assert pool.first(FirstMessage(epoch, UNGROUPED, token(1))) is Reply.GONE
        pool.tick(pool.tick(1000.0).until)
        assert pool.first(FirstMessage(epoch - 1, UNGROUPED, token(1))) is Reply.GONE
        assert pool.first(FirstMessage(epoch, 0, token(1))) is Reply.REFUSED
        assert pool.first(FirstMessage(epoch, -3, token(1))) is Reply.REFUSED
        assert pool.first(FirstMessage(epoch, UNGROUPED, token(1))) is Reply.ACCEPTED
        assert pool.first(FirstMessage(epoch, UNGROUPED, token(1))) is Reply.REPEATED
        assert pool.first(FirstMessage(epoch, READY, token(1))) is Reply.REFUSED
        assert pool.store.counts() == {UNGROUPED: 1}

    def test_a_publication_that_comes_too_late_holds_the_whole_domain_only(self) -> None:
        pool, epoch = self.open_pool()
        end = self.identify(pool, epoch, [1, 2, 3])
        pool.tick(end + RULES.form + RULES.skew / 2 + 0.1)
        public = pool.publication()
        assert public is not None and public.table.epoch == epoch + 1 and len(public.table) == 0

    def test_a_table_that_took_too_long_to_make_is_not_published(self) -> None:
        for late, people in ((0.0, 3), (RULES.form + RULES.skew / 2 + 0.1, 0)):
            pool, epoch = self.open_pool()
            end = self.identify(pool, epoch, [1, 2, 3])
            pool.clock = lambda then=end + late: then  # type: ignore[misc]
            pool.tick(end)
            public = pool.publication()
            assert public is not None and public.table.epoch == epoch + 1
            assert public.table.sizes.sum() == people and public.since == end + late

    def test_a_clock_that_runs_back_begins_anew(self) -> None:
        pool, epoch = self.open_pool()
        self.identify(pool, epoch, [1, 2, 3])
        assert pool.tick(10.0).epoch == epoch + 1
        assert pool.store.counts() == {} and pool.store.batches(0) == {}

    def test_no_epoch_comes_twice_when_the_store_is_lost_and_the_clock_set_back(self) -> None:
        pool, epoch = self.open_pool()
        pool.tick(pool.tick(1000.0).until)
        said = FirstMessage(epoch, UNGROUPED, token(1))
        assert pool.first(said) is Reply.ACCEPTED
        again = PoolMachine(RULES, TEMPLATE, MemoryStore(), sealing=OpenEnvelope())
        now = 990.0
        for _ in range(20):  # as many epochs as the clock was set back by seconds, and more
            standing = again.tick(now)
            assert standing.epoch != epoch and standing.phase is Phase.OPEN
            now = standing.until
            assert again.tick(now).phase is Phase.COUNT
            assert again.first(said) is Reply.GONE
            now += RULES.phases

    @pytest.mark.parametrize("back", [0.6, 1.0, 10.0])
    @pytest.mark.parametrize("replaced", [False, True])
    def test_a_clock_set_back_by_little_begins_anew_too(self, back: float, replaced: bool) -> None:
        pool, epoch = self.open_pool()
        pool.tick(1005.0)
        pool = PoolMachine(RULES, TEMPLATE, pool.store, sealing=OpenEnvelope()) if replaced else pool
        assert pool.tick(1005.0 - back).epoch == epoch + 1
        public = pool.publication()
        assert public is not None and len(public.table) == 0
        assert pool.expires_in(1005.0 - back - 0.4) == RULES.lifetime  # never more than a table's life
        assert pool.tick(1005.0 - back + 1.0).epoch == epoch + 1

    def test_workers_that_look_at_the_clock_a_moment_apart_do_not_begin_anew(self) -> None:
        pool, epoch = self.open_pool()
        other = PoolMachine(RULES, TEMPLATE, pool.store, sealing=OpenEnvelope())
        for now in (1003.0, 1002.8, 1004.0, 1003.6):
            assert pool.tick(now).epoch == other.tick(now - 0.05).epoch == epoch

    def test_a_full_epoch_says_so(self) -> None:
        rules = Rules(k=3, window=60.0, capacity=3)
        pool = PoolMachine(rules, TEMPLATE, MemoryStore(), sealing=OpenEnvelope())
        epoch = pool.tick(1000.0).epoch
        pool.tick(pool.tick(1000.0).until)
        replies = [pool.first(FirstMessage(epoch, UNGROUPED, token(number))) for number in range(4)]
        assert replies == [Reply.ACCEPTED] * 3 + [Reply.FULL]

    def test_who_dies_while_forming_is_replaced(self) -> None:
        pool, epoch = self.open_pool()
        end = self.identify(pool, epoch, [1, 2, 3])
        died = PoolMachine(RULES, TEMPLATE, pool.store, sealing=OpenEnvelope())
        died._form = lambda standing, now: None  # type: ignore[method-assign]
        assert died.tick(end).phase is Phase.FORM
        assert pool.tick(end + 0.5).phase is Phase.FORM
        assert pool.tick(end + RULES.form).epoch == epoch + 1
        public = pool.publication()
        assert public is not None and public.table.sizes.tolist() == [3]


class TestFormation:
    def test_records_outside_their_group_count_for_nothing(self) -> None:
        old = table_of((0, 49), (50, 99))
        opened = {0: [(1,), (2,), (60,)], 1: [(50,), (51,), (52,), None, (7, 7)], UNGROUPED: [(100,)] * 5}
        confirmed = valid_records(opened, old, TEMPLATE, K)
        assert list(confirmed) == [1]
        assert confirmed[1].tolist() == [[50], [51], [52]]

    def test_surviving_everyone_and_primed_say_who_may_use_a_region(self) -> None:
        old = table_of((0, 29), (30, 99))
        table = together(old, {0: records(1, 2, 3)}, 6, TEMPLATE, K)
        assert table.surviving.tolist() == [[[0], [29]]] and not table.everyone and not table.primed.any()
        assert table.group_of((5,)) == 0
        assert table.group_of((50,)) == UNGROUPED
        table = together(old, {0: records(1, 2, 3), UNGROUPED: records(4, 5, 90)}, 6, TEMPLATE, K)
        assert table.everyone and table.group_of((50,)) == 0
        spread = records(*range(20), *range(80, 90))
        table = together(old, {READY: records(*range(80, 90)), 0: records(*range(20))}, 6, TEMPLATE, K)
        right = int(np.argmax(table.regions[:, 1, 0]))
        assert len(spread) == table.sizes.sum() and len(table) >= 2
        assert table.primed[right] and not table.primed[1 - right if len(table) == 2 else 0]
        assert table.group_of((99,)) == right
        table = together(old, {READY: records(1, 50, 99), 0: records(*range(9))}, 6, TEMPLATE, K)
        assert table.primed.sum() == int(len(table) == 1)

    def test_cells_have_headroom(self) -> None:
        table = together(table_of((0, 99)), {0: records(*range(13))}, 6, TEMPLATE, K)
        assert table.sizes.tolist() == [13]  # 7 are the least that is cut off, for k = 3
        table = together(table_of((0, 99)), {0: records(*range(14))}, 6, TEMPLATE, K)
        assert table.sizes.tolist() == [7, 7]

    def test_nested_groups_are_split_inside_their_region(self) -> None:
        old = table_of((0, 49), (50, 99))
        table = nested(
            old, {1: records(50, 51, 52, 97, 98, 99), UNGROUPED: records(0, 1, 99)}, 6, TEMPLATE, K
        )
        assert table.parents is not None and table.parents.tolist() == [UNGROUPED, 1, 1]
        assert table.region(0) == TEMPLATE.domain
        assert [table.region(1).low, table.region(2).high] == [(50,), (99,)]
        assert [table.group_of((value,)) for value in (3, 51, 99)] == [0, 1, 2]

    def test_tables_survive_json_and_bad_ones_are_refused(self) -> None:
        table = table_of((0, 49), (50, 99), surviving=((0, 80),))
        again = Table.parse(json.loads(table.as_json()), TEMPLATE)
        assert again.as_json() == table.as_json()
        said = json.loads(table.as_json())
        for change in (
            {"version": 2},
            {"epoch": "5"},
            {"regions": [[[0], [100]], [[50], [99]]]},
            {"regions": [[[0]], [[50]]]},
            {"regions": [[["a"], [3]], [[50], [99]]]},
            {"sizes": [1]},
            {"primed": [2]},
            {"surviving": [[[5], [3]]]},
        ):
            with pytest.raises(InputError):
                Table.parse(said | change, TEMPLATE)


class TestAgent:
    def agent(self, value: int = 5, **options: object) -> AgentMachine:
        return AgentMachine(RULES, TEMPLATE, (value,), OpenEnvelope(), choose=random.Random(1), **options)  # type: ignore[arg-type]

    def guarded(self) -> AgentMachine:
        agent = self.agent()
        agent.on_table(table_of((0, 49), (50, 99), surviving=((0, 99),)), "", RULES.lifetime, 0.0)
        assert agent.state is AgentState.GUARDED and agent.group == 0
        return agent

    def test_it_attaches_its_region_and_answers_both_phases(self) -> None:
        agent = self.guarded()
        assert agent.region_for_query(10.0) == Region((0,), (49,))
        first = agent.on_count(5, 15.0)
        assert first is not None and 15.0 <= first.at <= 15.0 + RULES.count
        assert isinstance(first.message, FirstMessage) and first.message.group == 0
        second = agent.on_identify(5, [0], 19.0)
        assert second is not None and isinstance(second.message, SecondMessage)
        assert second.message.token == first.message.token and second.message.sealed == "5"
        agent.on_table(table_of((0, 9), epoch=6, surviving=((0, 49),)), "", RULES.lifetime, 24.0)
        assert agent.state is AgentState.GUARDED and agent.region_for_query(25.0) == Region((0,), (9,))

    def test_only_queries_of_the_overlap_count(self) -> None:
        agent = self.guarded()
        agent.region_for_query(1.0)
        assert agent.on_count(5, 1.0 + RULES.overlap_length + 0.1) is None
        agent.region_for_query(30.0)
        assert agent.on_count(5, 30.0) is None  # the table's time is over
        agent = self.guarded()
        agent.region_for_query(3.0)
        agent.on_table(table_of((0, 9), epoch=6, surviving=((0, 49),)), "", RULES.lifetime, 4.0)
        assert agent.on_count(6, 5.0) is None  # asked under the old table

    def test_it_counts_once_an_epoch_even_after_an_expiry(self) -> None:
        agent = self.guarded()
        agent.region_for_query(10.0)
        assert agent.on_count(5, 12.0) is not None
        assert agent.on_count(5, 12.5) is None
        agent.on_reply(Reply.GONE, 13.0)
        assert agent.state is AgentState.EXPIRED and agent.region_for_query(13.0) is None
        agent.on_table(table_of((0, 49), surviving=((0, 99),)), "", 9.0, 13.5)
        assert agent.state is AgentState.EXPIRED  # not before its delay is over
        assert agent.wants_table(13.0 + RULES.open_length)
        agent.on_table(table_of((0, 49), surviving=((0, 99),)), "", 99.0, 40.0)
        agent.region_for_query(41.0)
        assert agent.guarded and agent.on_count(5, 42.0) is None

    def test_no_region_past_its_deadline(self) -> None:
        agent = self.guarded()
        assert agent.region_for_query(RULES.lifetime - 0.01) is not None
        assert agent.region_for_query(RULES.lifetime) is None
        assert agent.state is AgentState.EXPIRED

    def test_a_table_that_claims_a_longer_life_lasts_no_longer(self) -> None:
        agent = self.agent()
        agent.on_table(table_of((0, 49), surviving=((0, 99),)), "", RULES.lifetime + 1.0, 0.0)
        agent.on_time(RULES.lifetime)
        assert agent.state is AgentState.EXPIRED and not agent.guarded
        agent.on_time(RULES.lifetime + RULES.open_length)
        assert agent.state is AgentState.NEW

    def test_unasked_groups_stay_silent(self) -> None:
        agent = self.guarded()
        agent.region_for_query(10.0)
        assert agent.on_identify(5, [0], 11.0) is None  # no first message yet
        agent.on_count(5, 12.0)
        assert agent.on_identify(5, [1], 16.0) is None
        assert agent.on_identify(6, [0], 16.0) is None

    def test_without_a_region_it_holds_or_asks_with_the_whole_domain(self) -> None:
        patient, hasty = self.agent(without="hold"), self.agent(without="general")
        for agent in (patient, hasty):
            agent.on_table(whole_domain(5, TEMPLATE), "", RULES.lifetime, 0.0)
            assert agent.state is AgentState.WAITING and not agent.guarded
        assert patient.region_for_query(3.0) is None
        assert hasty.region_for_query(3.0) == TEMPLATE.domain
        first = [agent.on_count(5, 5.0) for agent in (patient, hasty)]
        assert [planned.message.group for planned in first if planned] == [READY, UNGROUPED]

    def test_nothing_to_say_without_a_query(self) -> None:
        agent = self.guarded()
        assert agent.on_count(5, 10.0) is None


class TestSealing:
    def test_only_the_key_epoch_and_group_open_a_record(self) -> None:
        sealing = HpkeSealing()
        public, secret = sealing.keys()
        sealed = sealing.seal(public, 7, 3, (1, 65535, 0))
        assert sealing.unseal(secret, 7, 3, sealed) == (1, 65535, 0)
        assert sealing.unseal(secret, 8, 3, sealed) is None
        assert sealing.unseal(secret, 7, 4, sealed) is None
        assert sealing.unseal(sealing.keys()[1], 7, 3, sealed) is None
        assert sealing.unseal(secret, 7, 3, "not base64!") is None
        assert sealing.unseal(secret, 7, 3, "") is None
        assert sealing.seal(public, 7, 3, (1, 2)) != sealing.seal(public, 7, 3, (1, 2))

    def test_every_epoch_has_its_own_key(self) -> None:
        pool = PoolMachine(RULES, TEMPLATE, MemoryStore())
        first = pool.tick(1000.0)
        before = pool.store.document("secret key")
        pool.tick(first.until)
        pool.tick(first.until + 100)
        assert pool.store.document("secret key") not in (None, before)


@pytest.mark.parametrize(
    "given",
    [
        {"epoch": 1, "group": 2},
        {"epoch": 1, "group": 2, "token": "xyz"},
        {"epoch": True, "group": 2, "token": token(1)},
        {"epoch": 1, "group": "2", "token": token(1)},
        {"epoch": 1, "group": 2, "token": token(1), "version": 9},
        {"epoch": 1, "group": 2, "token": token(1), "name": "Thelma"},
    ],
)
def test_misshapen_messages_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"version|epoch|group|token|unknown") as caught:
        FirstMessage.parse(given)
    assert "Thelma" not in str(caught.value)
    with pytest.raises(InputError):
        SecondMessage.parse(given | {"sealed": "x"})


def test_messages_survive_json() -> None:
    first, second = FirstMessage(1, -1, token(2)), SecondMessage(1, 0, token(2), "abc")
    assert FirstMessage.parse(json.loads(json.dumps(first.as_dict()))) == first
    assert SecondMessage.parse(json.loads(json.dumps(second.as_dict()))) == second
    with pytest.raises(InputError, match="1 to 4096"):
        SecondMessage.parse(second.as_dict() | {"sealed": "x" * 5000})
