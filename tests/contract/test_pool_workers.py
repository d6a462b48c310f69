"""Several workers over a real Redis, killed, and a Redis that loses everything: the promise holds."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.local_server import local_server
from tests.pool_parties import make_join
from tests.redis_server import RedisServer, free_port

from tacit import Agent, Pool, TacitError
from tacit.pool.channel.join import JoinFile
from tacit.pool.server.front import MOST_SEEN
from tacit.pool.server.store import MemoryStore, RedisStore

ENGINE = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"results": []}'


@contextmanager
def served(
    folder: Path, join: JoinFile, engine: str, redis: str
) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Relay, pool and gateway by their commands, the last two with several workers."""
    running = {}
    more = {
        "gateway": ["--engine", engine, "--secret", "gateway.secret", "--workers", "2"],
        "serve": ["--secret", "pool.secret", "--redis", redis, "--workers", "3"],
        "relay": ["--workers", "2"],
    }
    ports = {"relay": join.relay, "serve": join.pool, "gateway": join.gateway}
    try:
        for name, options in more.items():
            port = ports[name].rpartition(":")[2]
            words = [sys.executable, "-m", "tacit", "pool", name, "pool.join", "--port", port, *options]
            running[name] = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE)
        for process in running.values():
            assert process.stdout is not None and process.stdout.readline()
        yield running
    finally:
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        for process in running.values():
            process.wait(20)
            assert process.stdout is not None
            process.stdout.close()


def workers_of(process: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_kills_and_lost_data_leave_nobody_below_k(tmp_path: Path) -> None:
    k, window, people = 3, 12.0, 9
    chosen = random.Random(5)
    asked: list[tuple[float, dict[str, Any]]] = []

    def answer(request: bytes, _socket: object) -> bytes:
        asked.append((time.time(), json.loads(request.partition(b"\r\n\r\n")[2])))
        return ENGINE

    with RedisServer() as redis, local_server(answer) as engine:
        addresses = {name: f"http://127.0.0.1:{free_port()}" for name in ("relay", "pool", "gateway")}
        join = make_join(tmp_path, k=k, window=window, **addresses)
        records: list[dict[str, Any]] = [
            {"age": 22 + 4 * n, "place": ["Redmond", "Salem"][n % 2]} for n in range(people)
        ]

        over = asyncio.Event()

        async def live(number: int) -> None:
            memory = tmp_path / f"{number}.json"
            async with Agent(join, records[number], memory=memory, delay=0.0, patience=6.0) as agent:
                while not over.is_set():
                    with suppress(TacitError):  # held, or a party was away for a moment
                        await agent.search(str(number))
                    await asyncio.sleep(chosen.expovariate(1 / 1.5))

        async def trouble(running: dict[str, subprocess.Popen[bytes]]) -> None:
            for step in range(3):
                await asyncio.sleep(1.8)
                if step == 1:
                    redis.stop()
                    redis.start()
                else:
                    os.kill(chosen.choice(workers_of(running["serve"].pid)), signal.SIGKILL)
                    os.kill(workers_of(running["gateway"].pid)[0], signal.SIGKILL)  # first, what all share

        async def everything(running: dict[str, subprocess.Popen[bytes]]) -> None:
            asking = [asyncio.create_task(live(number)) for number in range(people)]
            await trouble(running)
            after, latest = len(asked), time.monotonic() + 90.0
            while len(asked) < max(after + 10, 16) and time.monotonic() < latest:
                await asyncio.sleep(0.2)
            over.set()
            await asyncio.gather(*asking)

        with served(tmp_path, join, f"{engine.address}/search", redis.url) as running:
            asyncio.run(everything(running))
            for name in ("serve", "gateway"):
                assert len(workers_of(running[name].pid)) == 3, "dead workers are replaced"
    assert len(asked) > 15, "queries go out again after everything"
    template, tree = join.template, join.tree
    everybody = template.values(template.domain)
    codes = [template.encode(record) for record in records]
    of_words = {}
    for region in tree.regions:
        words = {name: said for name, said in template.values(region).items() if said != everybody[name]}
        of_words[json.dumps(words, sort_keys=True)] = region
    entries = [
        (at, int(said["query"]), of_words[json.dumps(said["person"], sort_keys=True)]) for at, said in asked
    ]
    for moment, number, _ in entries:  # the engine was asked within moments of the gateway's log
        near = [(who, region) for at, who, region in entries if abs(at - moment) <= window + 2.0]
        assert len({who for who, region in near if codes[number] in region}) >= k


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


def test_both_stores_keep_the_same_rules(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(one: Any, other: Any) -> None:
        keys = await one.secrets()
        assert keys == await other.secrets() and len(keys) == 1
        assert await one.first_time(keys[0][0], b"a") and not await other.first_time(keys[0][0], b"a")
        assert not await one.first_time((keys[0][0] + 9) % 256, b"a"), "no such key"
        assert await one.post(["polled", "x"]) and await other.post(["polled", "y"])
        taken = await asyncio.gather(one.letters(0.05), other.letters(0.05))
        assert sorted(letter[1] for letters in taken for letter in letters) == ["x", "y"], (
            "each is taken once"
        )
        await one.settle("t", {"state": "answered"})
        assert await other.settled("t") == {"state": "answered"} and await one.settled("u") is None
        await one.say({"period": 4})
        assert await other.standing() == {"period": 4}
        assert [await one.mark(7), await other.mark(5), await one.mark(0)] == [7, 7, 7]

    async def both() -> None:
        memory = MemoryStore()
        await work(memory, memory)
        stores = [RedisStore(server.url, name) for name in "aabb"]
        await work(stores[0], stores[1])
        first, second = stores[2:]
        assert await first.drives("1") and not await second.drives("2") and await first.drives("1")
        for module in ("tacit.pool.server.front", "tacit.pool.server.store"):
            monkeypatch.setattr(f"{module}.MOST_SEEN", 3)
        (at, _), *_ = old = await first.secrets()
        for number in range(3):
            assert await second.first_time(at, bytes([number]))
        assert (await first.secrets())[1:] == old, "a full key gives way to a new one"
        newest = (await first.secrets())[0][0]
        for number in range(3):
            assert await first.first_time(newest, bytes([number]))
        assert not await first.first_time(at, b"later"), "the one before the last is forgotten"
        assert len(await first.secrets()) == 2
        for store in stores:
            await store.close()

    assert MOST_SEEN >= 100_000
    asyncio.run(both())


def test_sealed_requests_are_opened_once_by_all_workers(server: RedisServer, tmp_path: Path) -> None:
    from tests.pool_parties import parties

    from tacit import Pool

    async def work() -> None:
        store = RedisStore(server.url, "c")
        async with parties(tmp_path, parts={"store": store}) as pool:
            joined = Pool(pool.join, tmp_path / "pool.secret")
            second = joined.app(store=RedisStore(server.url, "c"), transport=pool.network("pool"))
            async with second.router.lifespan_context(second):
                answers = await pool.ask_together([{"age": 30 + n, "place": "Redmond"} for n in range(4)])
                assert [each["guarded"] for each in answers] == [True] * 4
                pool.apps["pool.test"] = second
                sent = [each for each in pool.seen["pool.test"] if each.method == "POST"]
                async with httpx.AsyncClient(transport=pool.network("relay")) as client:
                    for each in sent:
                        again = await client.post(
                            "http://pool.test/", content=each.body, headers=each.headers
                        )
                        assert again.status_code == 400 and "second time" in again.text

    asyncio.run(work())


def test_a_store_that_is_away_is_said_and_no_server_fails(tmp_path: Path) -> None:
    from tacit import Pool
    from tacit.pool.channel import oblivious

    make_join(tmp_path)
    pool = Pool(tmp_path / "pool.join", tmp_path / "pool.secret", redis="redis://127.0.0.1:1/0")

    async def work() -> None:
        transport = httpx.ASGITransport(pool.app())
        async with httpx.AsyncClient(transport=transport, base_url="http://pool.test") as client:
            kind = {"content-type": oblivious.REQUEST_TYPE}
            for answer in (await client.get("/keys"), await client.post("/", content=b"x", headers=kind)):
                assert answer.status_code == 503 and "store is away" in answer.text

    asyncio.run(work())


def test_a_proof_is_kept_where_all_workers_find_it(server: RedisServer, tmp_path: Path) -> None:
    from tests.pool_parties import parties

    from tacit.pool.server.issuer import IssuerFile

    accounts = [tmp_path / f"{number}.account" for number in range(3)]

    async def work() -> None:
        file = IssuerFile(tmp_path / "accounts.db")
        for path in accounts:
            file.new_account(path)
        parts = {"store": RedisStore(server.url, "d")}
        async with parties(tmp_path, issuer=True, proof=True, parts=parts) as pool:

            async def one(number: int) -> Any:
                record = {"age": 30 + number, "place": "Redmond"}
                async with pool.agent(number, record, account=accounts[number]) as agent:
                    return await agent.search("tea")

            found = await asyncio.gather(*(one(number) for number in range(3)))
            assert [each["proved"] for each in found] == [True] * 3

    asyncio.run(work())


def test_a_pool_ends_although_its_store_lost_the_cancellation(tmp_path: Path) -> None:
    """As Redis' client does where an answer comes at the same moment."""

    class Losing(MemoryStore):
        async def drives(self, worker: str) -> bool:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.2)
            return await super().drives(worker)

    async def work() -> None:
        app = Pool(make_join(tmp_path), tmp_path / "pool.secret").app(store=Losing())
        async with asyncio.timeout(20):
            async with app.router.lifespan_context(app):
                await asyncio.sleep(0.05)

    asyncio.run(work())
