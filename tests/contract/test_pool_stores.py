"""What every store must do, in memory and in a real Redis; and a pool over a Redis that dies."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
import redis
from hypothesis import settings
from hypothesis.stateful import invariant
from tests.open_envelope import OpenEnvelope
from tests.property.test_pool_machine import RULES, TEMPLATE, LyingAgents
from tests.property.test_pool_relay_machine import RelayedAgents
from tests.redis_server import RedisServer

from tacit.errors import InputError
from tacit.pool.protocol.messages import FirstMessage, Phase, Reply, SecondMessage
from tacit.pool.server.machine import PoolMachine
from tacit.pool.server.store import MemoryStore, PoolStore, RedisStore, Standing

OPEN, COUNT, IDENTIFY, NEXT = (
    Standing(7, Phase.OPEN, 1.0, 2.5),
    Standing(7, Phase.COUNT, 2.5, 3.0),
    Standing(7, Phase.IDENTIFY, 3.0, 4.0),
    Standing(8, Phase.OPEN, 4.0, 5.0),
)


def token(number: int) -> str:
    return f"{number:032x}"


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest) -> Iterator[PoolStore]:
    if request.param == "memory":
        yield MemoryStore()
        return
    server: RedisServer = request.getfixturevalue("server")
    redis.Redis.from_url(server.url).flushall()
    yield RedisStore(server.url, lifetime=60.0)


class TestEveryStore:
    def test_it_moves_on_only_from_where_it_stands(self, store: PoolStore) -> None:
        assert store.standing() is None
        assert not store.advance(OPEN, COUNT, {})
        assert store.advance(None, OPEN, {"table": "t", "secret key": "s"})
        assert not store.advance(None, OPEN, {"table": "other"})
        assert store.standing() == OPEN and store.document("table") == "t"
        assert store.advance(OPEN, COUNT, {"counted from": "2.5"})
        assert not store.advance(OPEN, COUNT, {})
        assert (store.document("table"), store.document("counted from")) == ("t", "2.5")

    def test_of_many_that_try_at_once_one_succeeds(self, store: PoolStore) -> None:
        store.advance(None, OPEN, {})
        done: list[bool] = []
        threads = [
            threading.Thread(target=lambda: done.append(store.advance(OPEN, COUNT, {}))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(done) == [False] * 7 + [True]

    def test_first_messages_count_once_in_their_phase(self, store: PoolStore) -> None:
        assert store.first(FirstMessage(7, 0, token(1)), 9) is Reply.GONE
        store.advance(None, OPEN, {})
        assert store.first(FirstMessage(7, 0, token(1)), 9) is Reply.GONE
        store.advance(OPEN, COUNT, {})
        said = [
            store.first(FirstMessage(epoch, group, token(number)), 3)
            for epoch, group, number in [
                (7, 0, 1),
                (7, 0, 1),
                (7, 1, 1),
                (7, 1, 2),
                (70, 0, 4),
                (7, 0, 3),
                (7, 0, 4),
            ]
        ]
        assert [reply.value for reply in said] == [
            "accepted",
            "repeated",
            "refused",
            "accepted",
            "gone",
            "accepted",
            "full",
        ]
        assert store.counts() == {0: 2, 1: 1}

    def test_second_messages_need_their_first_and_come_in_batches(self, store: PoolStore) -> None:
        store.advance(None, OPEN, {})
        store.advance(OPEN, COUNT, {})
        for number in range(6):
            store.first(FirstMessage(7, number // 3 - 1, token(number)), 99)
        assert store.second(SecondMessage(7, -1, token(0), "x")) is Reply.GONE
        store.advance(COUNT, IDENTIFY, {}, {-1, 5})
        assert store.second(SecondMessage(7, 0, token(3), "x")) is Reply.REFUSED  # not asked
        assert store.second(SecondMessage(7, -1, token(3), "x")) is Reply.REFUSED  # counted elsewhere
        assert store.second(SecondMessage(7, 5, token(9), "x")) is Reply.REFUSED  # not counted
        for number in (0, 1):
            assert store.second(SecondMessage(7, -1, token(number), f"d{number}")) is Reply.ACCEPTED
        assert store.second(SecondMessage(7, -1, token(1), "again")) is Reply.REPEATED
        assert store.batches(3) == {}
        assert store.second(SecondMessage(7, -1, token(2), "d2")) is Reply.ACCEPTED
        assert store.batches(3) == {-1: ["d0", "d1", "d2"]}

    def test_nobody_is_asked_when_no_group_is_large_enough(self, store: PoolStore) -> None:
        store.advance(None, OPEN, {})
        store.advance(OPEN, COUNT, {})
        store.first(FirstMessage(7, 0, token(1)), 9)
        store.advance(COUNT, IDENTIFY, {}, set())
        assert store.second(SecondMessage(7, 0, token(1), "x")) is Reply.REFUSED

    def test_with_the_next_epoch_everything_is_forgotten(self, store: PoolStore) -> None:
        store.advance(None, OPEN, {"table": "t", "secret key": "s"})
        store.advance(OPEN, COUNT, {})
        store.first(FirstMessage(7, 0, token(1)), 9)
        store.advance(COUNT, IDENTIFY, {"asked": "[0]"}, {0})
        store.second(SecondMessage(7, 0, token(1), "x"))
        store.advance(IDENTIFY, NEXT, {"table": "u"})
        assert store.counts() == {} and store.batches(0) == {}
        assert [store.document(name) for name in ("table", "secret key", "asked")] == ["u", None, None]


def test_redis_holds_nothing_that_does_not_expire(server: RedisServer) -> None:
    plain = redis.Redis.from_url(server.url)
    plain.flushall()
    store = RedisStore(server.url, lifetime=60.0)
    store.advance(None, OPEN, {"table": "t"})
    store.advance(OPEN, COUNT, {})
    store.first(FirstMessage(7, 0, token(1)), 9)
    store.advance(COUNT, IDENTIFY, {}, {0})
    store.second(SecondMessage(7, 0, token(1), "x"))
    keys: Any = plain.keys()
    assert len(keys) == 7
    assert all(0 < int(plain.pttl(key)) <= 60_000 for key in keys)  # type: ignore[arg-type]
    store.advance(IDENTIFY, NEXT, {})
    assert not any(b"sealed" in key or b"count" in key for key in plain.scan_iter())


def test_pools_of_different_names_do_not_meet(server: RedisServer) -> None:
    redis.Redis.from_url(server.url).flushall()
    one, other = RedisStore(server.url, "one"), RedisStore(server.url, "other")
    one.advance(None, OPEN, {})
    assert other.standing() is None
    with pytest.raises(InputError, match="address of Redis"):
        RedisStore("nonsense")


def test_a_redis_that_restarts_begins_with_the_whole_domain() -> None:
    with RedisServer() as server:
        pool = PoolMachine(RULES, TEMPLATE, RedisStore(server.url), sealing=OpenEnvelope())
        first = pool.tick(1000.0)
        pool.tick(first.until)
        assert pool.first(FirstMessage(first.epoch, -1, token(1))) is Reply.ACCEPTED
        server.stop()
        with pytest.raises(redis.RedisError):
            pool.tick(first.until + 1)
        server.start()
        again = pool.tick(first.until + 5)
        assert again.phase is Phase.OPEN and again.epoch != first.epoch
        public = pool.publication()
        assert public is not None and len(public.table) == 0
        assert pool.first(FirstMessage(first.epoch, -1, token(1))) is Reply.GONE


class RedisAgents(LyingAgents):
    """The state machine of the protocol over Redis: the same behaviour."""

    server: ClassVar[RedisServer]

    def make_store(self) -> PoolStore:
        redis.Redis.from_url(self.server.url).flushall()
        return RedisStore(self.server.url, lifetime=600.0)


def test_the_protocol_over_redis(server: RedisServer) -> None:
    RedisAgents.server = server
    machine = RedisAgents.TestCase
    machine.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
    machine("runTest").runTest()


class RedisRelayedAgents(RelayedAgents):
    """The same with a relay that keeps the sealed records: Redis then never holds one."""

    server: ClassVar[RedisServer]

    def make_store(self) -> PoolStore:
        redis.Redis.from_url(self.server.url).flushall()
        return RedisStore(self.server.url, lifetime=600.0)

    @invariant()
    def redis_holds_no_record(self) -> None:
        keys: Any = redis.Redis.from_url(self.server.url).keys()
        assert not any(b"sealed" in key for key in keys)


def test_the_protocol_over_redis_with_a_relay(server: RedisServer) -> None:
    RedisRelayedAgents.server = server
    machine = RedisRelayedAgents.TestCase
    machine.settings = settings(max_examples=10, stateful_step_count=12, deadline=None)
    machine("runTest").runTest()
