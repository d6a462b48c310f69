"""A pool with all its parties: who sees what, what is held, what is sent once, and what a restart undoes."""

from __future__ import annotations

import asyncio
import base64
import copy
import json
import random
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests.local_server import http_answer, local_server
from tests.pool_parties import Parties, make_join, parties

from tacit import Agent, InputError, Pool
from tacit.pool import agent as agent_module
from tacit.pool.agent import HeldError
from tacit.pool.channel import oblivious
from tacit.pool.channel.join import Identity
from tacit.pool.protocol.gateway import Logged
from tacit.pool.server import front
from tacit.pool.server import gateway as gateway_module
from tacit.pool.server import pool as pool_module
from tacit.pool.server import relay as relay_module
from tacit.pool.server import store as store_module
from tacit.pool.server.issuer import FollowingKeys
from tacit.pool.server.store import MemoryStore

TOGETHER: list[dict[str, object]] = [{"age": 30 + n, "place": "Redmond"} for n in range(4)]


def run(folder: Path, work: Any, **options: Any) -> Any:
    async def running() -> Any:
        async with parties(folder, **options) as found:
            return await work(found)

    return asyncio.run(running())


def test_each_party_sees_its_part_and_nothing_else(tmp_path: Path) -> None:
    async def work(pool: Parties) -> None:
        answers = await pool.ask_together(TOGETHER, query="canary redmond")
        assert [each["guarded"] for each in answers] == [True] * 4
        assert {each["person"]["place"] for each in answers} == {"Washington"}
        assert all(each["results"] for each in answers)
        for asked in pool.asked:
            assert asked["query"].startswith("canary") and asked["query"].endswith("Washington")
            assert set(asked) == {"query", "person"} and "redmond" not in asked["query"].lower()
        received = {host: b"".join(each.body for each in seen) for host, seen in pool.seen.items()}
        addresses = {host: {each.address for each in seen} for host, seen in pool.seen.items()}
        everybody = {f"10.0.0.{number}" for number in range(1, 5)}
        assert addresses["relay.test"] == everybody
        assert addresses["pool.test"] == {"relay"} and addresses["gateway.test"] == {"relay", "pool"}
        for host in ("relay.test", "pool.test", "gateway.test"):
            assert b"canary" not in received[host], host
        headers = str([each.headers for host in ("pool.test", "gateway.test") for each in pool.seen[host]])
        assert not any(address in headers for address in everybody)
        assert "forwarded" not in headers.lower() and "x-real-ip" not in headers.lower()
        assert b"10.0.0." not in b"".join(received.values())

    run(tmp_path, work)


def test_requests_and_answers_have_one_length_whatever_they_say(tmp_path: Path) -> None:
    """Padding in the client and in both gateways: deposits, polls, short and long texts and answers."""
    lengths: dict[str, set[int]] = {}

    async def work(pool: Parties) -> None:
        whole = Parties.network

        class Measured(httpx.AsyncBaseTransport):
            def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
                self.inner = inner

            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                answer = await self.inner.handle_async_request(request)
                if request.method == "POST":
                    lengths.setdefault("request", set()).add(len(await request.aread()))
                    lengths.setdefault("answer", set()).add(len(await answer.aread()))
                return answer

        pool.network = lambda address: Measured(whole(pool, address))  # type: ignore[method-assign, assignment]
        await pool.ask_together(TOGETHER, query="x" * 300)
        await pool.ask_together(TOGETHER, query="y")
        batches = [json.loads(each.body) for each in pool.seen["gateway.test"] if each.path == "/batch"]
        lengths["text"] = {len(item["sealed"]) for batch in batches for item in batch["items"]}

    run(tmp_path, work)
    assert {name: len(found) for name, found in lengths.items()} == {"request": 1, "answer": 1, "text": 1}


def test_nothing_of_the_http_client_goes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Header fields of a client would tell devices apart; what is sealed has the content's type alone."""
    opened: list[oblivious.BinaryRequest] = []
    usual = oblivious.read_request
    monkeypatch.setattr(oblivious, "read_request", lambda data: opened.append(usual(data)) or opened[-1])
    run(tmp_path, lambda pool: pool.ask_together(TOGETHER))
    assert {path for each in opened for path in [each.path]} >= {b"/deposit", b"/collect", b"/search"}
    for each in opened:
        assert {name for name, _ in each.fields} <= {b"content-type"} and not each.authority


def test_a_query_of_too_few_people_is_held_and_never_sent(tmp_path: Path) -> None:
    async def work(pool: Parties) -> None:
        answers = await pool.ask_together(TOGETHER[:2], patience=0.5)
        assert all(isinstance(each, HeldError) for each in answers)
        assert "fewer than 3 people" in str(answers[0]) and "tea" not in str(answers[0])
        assert pool.asked == []
        await asyncio.sleep(0.3)
        answers = await pool.ask_together(TOGETHER[2:], patience=0.5)
        assert all(isinstance(each, HeldError) for each in answers), "who gave up does not count"
        assert pool.asked == []

    run(tmp_path, work)


def test_who_goes_away_takes_the_query_back(tmp_path: Path) -> None:
    async def work(pool: Parties) -> None:
        async with pool.agent(1, TOGETHER[0]) as agent:
            asking = asyncio.create_task(agent.search("withdrawn"))
            await asyncio.sleep(0.8)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        answers = await pool.ask_together(TOGETHER[1:3], patience=0.5)
        assert all(isinstance(each, HeldError) for each in answers) and pool.asked == []
        await pool.ask_together(TOGETHER)
        assert "withdrawn" not in str(pool.asked)

    run(tmp_path, work)


def test_a_query_leaves_at_a_random_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent at once, its moment at the relay would be its moment at the service (the delay is the choice)."""
    drawn: list[tuple[float, float]] = []
    slept: list[float] = []

    class Drawing:
        def uniform(self, a: float, b: float) -> float:
            drawn.append((a, b))
            return 0.123

    usual = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await usual(min(seconds, 0.05))

    monkeypatch.setattr(agent_module, "_RANDOM", Drawing())

    async def work(pool: Parties) -> None:
        async with pool.agent(1, TOGETHER[0], delay=7.0, patience=0.3) as agent:
            monkeypatch.setattr(agent_module.asyncio, "sleep", sleep)
            before = len(pool.seen.get("relay.test", []))
            asking = asyncio.create_task(agent.search("tea"))
            await usual(0)
            assert drawn == [(0, 7.0)] and slept == [0.123]
            assert len(pool.seen.get("relay.test", [])) == before, "nothing leaves before its moment"
            await asyncio.gather(asking, return_exceptions=True)
        monkeypatch.setattr(agent_module.asyncio, "sleep", usual)

    run(tmp_path, work)
    assert Agent.__init__.__kwdefaults__["delay"] > 0


def test_a_bad_text_does_not_keep_others_from_going_out(tmp_path: Path) -> None:
    nonsense: list[Any] = [[], {"query": 5}, {"query": "a", "named": [["x"]]}, {"query": "a", "named": 1}]
    nonsense += [{"query": "a", "named": ["name"]}, {"query": "a" * 2_001}, "x" * 200_000]

    async def work(pool: Parties) -> None:
        async def bad(number: int, text: bytes | None = None) -> None:
            async with pool.agent(number, TOGETHER[0]) as agent:
                key = oblivious.GatewayKey().configuration if text is None else await agent._key("gateway")
                request = oblivious.BinaryRequest(b"POST", b"https", b"", b"/search", (), text or b"")
                garbage = oblivious.seal_request(key, request.to_bytes(oblivious.QUERY_SIZE))
                period = (await agent.standing())["period"]
                said = {
                    "ticket": f"{number:032x}",
                    "token": base64.b64encode(bytes([number]) * 32).decode(),
                    "period": period,
                    "leaf": agent.leaf,
                    "sealed": base64.b64encode(garbage.data).decode(),
                }
                await agent._ask("/deposit", said)
                for _ in range(40):
                    found = await agent._ask("/collect", {"ticket": f"{number:032x}"})
                    if found["state"] != "held":
                        break
                    await asyncio.sleep(0.1)
                assert (found["state"], found["why"]) == ("refused", "unreadable")

        texts = [b"", b"x", *(zlib.compress(json.dumps(each).encode()) for each in nonsense)]
        wrong = [bad(50), *(bad(51 + number, text) for number, text in enumerate(texts))]
        answers, *_ = await asyncio.gather(pool.ask_together(TOGETHER[:3]), *wrong)
        assert [each["guarded"] for each in answers] == [True] * 3
        assert len(pool.asked) == 3, "a batch with a bad text is not asked at all, and asked anew without it"

    run(tmp_path, work)


def test_what_is_no_base64_keeps_nobody_from_going_out(tmp_path: Path) -> None:
    """One deposit that the gateway could not even decode held up every batch that it was part of."""

    async def work(pool: Parties) -> None:
        async with pool.agent(9, TOGETHER[0]) as agent:
            deposit = {
                "ticket": "0" * 32,
                "token": base64.b64encode(bytes(32)).decode(),
                "period": (await agent.standing())["period"],
                "leaf": agent.leaf,
            }
            for bad in ("a", "é", "====", "x y="):
                with pytest.raises(oblivious.RelayedError, match="400"):
                    await agent._ask("/deposit", deposit | {"sealed": bad})
        answers = await pool.ask_together(TOGETHER[:3])
        assert [each["guarded"] for each in answers] == [True] * 3
        batch = next(each for each in reversed(pool.seen["gateway.test"]) if each.path == "/batch")
        given = json.loads(batch.body) | {"number": "another"}
        given["items"] = [{"node": 0, "sealed": bad} for bad in ("a", "é")]
        body = json.dumps(given).encode()
        signed = {"tacit-signature": Identity.kept(tmp_path / "pool.secret").sign(body)}
        async with httpx.AsyncClient(transport=pool.network("pool")) as client:
            said = (await client.post("http://gateway.test/batch", content=body, headers=signed)).json()
        assert (said["answer"], said["places"]) == ("Unreadable", [0, 1])

    run(tmp_path, work)


def test_a_period_is_no_longer_because_a_clock_was_wrong(tmp_path: Path) -> None:
    """A year ahead for a moment: numbers stay above, and periods last as long as before."""
    true, off = time.time(), [0.0]

    async def work(pool: Parties) -> None:
        async def period() -> int:
            async with pool.agent(1, TOGETHER[0]) as agent:
                return int((await agent.standing())["period"])

        async def after(seconds: float) -> int:
            """The period that follows once the clock has jumped; the same if none does."""
            before, off[0] = await period(), off[0] + seconds
            for _ in range(50):
                if await period() != before:
                    break
                await asyncio.sleep(0.1)
            return await period()

        first, ahead, back = await period(), await after(3e7), await after(-3e7)
        assert first < ahead < back
        assert back < await after(pool.join.rules.period + 1.0) <= back + 2

    run(tmp_path, work, parts={"clock": lambda: true + off[0]})


def test_a_store_that_fails_while_an_answer_is_kept_does_not_stop_the_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Least:
        uniform = staticmethod(min)

    monkeypatch.setattr(agent_module, "_RANDOM", Least())

    class Failing(MemoryStore):
        failures = 1

        async def settle(self, ticket: str, result: dict[str, Any]) -> None:
            if result["state"] == "answered" and self.failures:
                self.failures -= 1
                raise OSError("away")
            await super().settle(ticket, result)

    async def work(pool: Parties) -> None:
        answers = await pool.ask_together(TOGETHER)
        assert [each["guarded"] for each in answers] == [True] * 4

    run(tmp_path, work, parts={"store": Failing()})


def test_who_comes_back_is_the_same_person(tmp_path: Path) -> None:
    """An agent that drew a new token at each start counted as several people: alone, it let itself out."""

    async def work(pool: Parties) -> None:
        for _ in range(3):
            async with pool.agent(1, TOGETHER[0], patience=0.25) as agent:
                with pytest.raises(HeldError):
                    await agent.search("tea")
        asking = asyncio.gather(*(pool.agent(1, TOGETHER[0]).meaning() for _ in range(2)))
        assert await asking and pool.asked == []
        tokens = {pool.agent(number, TOGETHER[0]).memory.drawn(5) for number in (1, 1, 2)}
        assert len(tokens) == 2

        async def at_once() -> Any:
            async with pool.agent(1, TOGETHER[0], patience=0.5) as agent:
                return await agent.search("tea")

        held = await asyncio.gather(*(at_once() for _ in range(4)), return_exceptions=True)
        assert all(isinstance(each, HeldError) for each in held) and pool.asked == []

    run(tmp_path, work)


def test_pages_of_other_sites_cannot_ask_in_a_persons_name(tmp_path: Path) -> None:
    """With a text of its own, a page would find at the service the region of whoever visits it."""
    own = "http://127.0.0.1:8470"

    async def work(pool: Parties) -> None:
        async with pool.agent(5, TOGETHER[0], patience=0.1) as agent:
            transport = httpx.ASGITransport(agent.app())

            async def status(path: str, base: str = own, **headers: str) -> int:
                names = {name.replace("_", "-"): value for name, value in headers.items()}
                async with httpx.AsyncClient(transport=transport, base_url=base) as web:
                    return (await web.get(path, headers=names)).status_code

            for path, usual in (("/standing", 200), ("/search?q=tea", 503)):
                assert await status(path) == await status(path, sec_fetch_site="none") == usual
                assert await status(path, origin=own) == usual
                assert await status(path, "http://evil.test:8470") == 400, "a name that was bound anew"
                assert await status(path, sec_fetch_site="cross-site") == 400
                assert await status(path, sec_fetch_site="same-site") == 400
                assert await status(path, origin="http://evil.test") == 400

    run(tmp_path, work)


def test_a_party_that_hangs_keeps_nobody_from_the_keys_of_others(tmp_path: Path) -> None:
    async def work(pool: Parties) -> None:
        usual, hanging = relay_module.KeyCopies._fetch, asyncio.Event()

        async def fetch(self: Any, party: str, path: Path) -> bool:
            if party == "gateway":
                await hanging.wait()
            return await usual(self, party, path)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(relay_module.KeyCopies, "_fetch", fetch)
            async with httpx.AsyncClient(transport=pool.network("x")) as client:
                waiting = [asyncio.create_task(client.get("http://relay.test/keys/gateway")) for _ in "ab"]
                await asyncio.sleep(0.05)
                other = await asyncio.wait_for(client.get("http://relay.test/keys/pool"), 5.0)
                assert other.status_code == 200
                hanging.set()
                assert [each.status_code for each in await asyncio.gather(*waiting)] == [200, 200]

    run(tmp_path, work)


def test_a_batch_whose_answer_was_lost_is_logged_once(tmp_path: Path) -> None:
    async def work(pool: Parties) -> None:
        await pool.ask_together(TOGETHER)
        batch = next(each for each in reversed(pool.seen["gateway.test"]) if each.path == "/batch")
        asked = len(pool.asked)
        async with httpx.AsyncClient(transport=pool.network("pool")) as client:
            address = "http://gateway.test/batch"
            first = (await client.post(address, content=batch.body, headers=batch.headers)).json()
            again = (await client.post(address, content=batch.body, headers=batch.headers)).json()
            assert first == again and first["answer"] == "Logged" and len(first["answers"]) > 0
            assert len(pool.asked) == asked, "the engine is not asked again"
            given = json.loads(batch.body) | {"number": "another"}
            body = json.dumps(given).encode()
            signed = Identity.kept(tmp_path / "pool.secret").sign(body)
            other = await client.post(address, content=body, headers={"tacit-signature": signed})
            assert other.json()["answer"] == "Unreadable", "a text goes out once"
            assert (await client.post(address, content=body, headers=batch.headers)).status_code == 401
            assert len(pool.asked) == asked

    run(tmp_path, work)


def test_what_was_sealed_before_a_restart_opens_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_module, "KEPT", 0.0)

    async def work(pool: Parties) -> None:
        answers = await pool.ask_together(TOGETHER)
        assert all(each["guarded"] for each in answers)
        before = [each for each in pool.seen["pool.test"] if each.method == "POST"]
        mark = int((tmp_path / "pool.secret.period").read_text())
        app = Pool(pool.join, tmp_path / "pool.secret").app(transport=pool.network("pool"))
        async with app.router.lifespan_context(app):
            pool.apps["pool.test"] = app
            async with httpx.AsyncClient(transport=pool.network("relay")) as client:
                for each in before:
                    answer = await client.post("http://pool.test/", content=each.body, headers=each.headers)
                    assert answer.status_code == 400
            async with pool.agent(9, TOGETHER[0]) as agent:
                period = (await agent.standing())["period"]
            assert mark < period <= int((tmp_path / "pool.secret.period").read_text())

    run(tmp_path, work)


def test_a_sealed_request_is_opened_once(tmp_path: Path) -> None:
    async def work(pool: Parties) -> None:
        await pool.ask_together(TOGETHER)
        sent = [each for each in pool.seen["pool.test"] if each.method == "POST"]
        async with httpx.AsyncClient(transport=pool.network("relay")) as client:
            for each in sent[:5]:
                kind = {"content-type": "Message/OHTTP-req; x=y"}
                answer = await client.post("http://pool.test/", content=each.body, headers=kind)
                assert answer.status_code == 400 and "second time" in answer.text
            for body, kind, status in (
                (b"", oblivious.REQUEST_TYPE, 400),
                (bytes(20_000), oblivious.REQUEST_TYPE, 413),
                (sent[0].body, "text/plain", 415),
                (b"\xff" * 4_151, oblivious.REQUEST_TYPE, 400),
            ):
                for host in ("pool.test", "relay.test"):
                    answer = await client.post(
                        f"http://{host}/", content=body, headers={"content-type": kind}
                    )
                    assert answer.status_code == status, (host, status)

    run(tmp_path, work)


def test_what_is_sealed_but_makes_no_sense_is_refused_in_a_sealed_answer(tmp_path: Path) -> None:
    async def work(pool: Parties) -> None:
        async with pool.agent(1, TOGETHER[0]) as agent:
            key = await agent._key("pool")
            for path, content in (
                (b"/deposit\r\nx: y", b"{}"),
                (b"/\x00", b"{}"),
                (b"http://elsewhere/deposit", b"{}"),
                (b"/deposit", b"nonsense"),
                (b"/deposit", b"[]"),
                (b"/collect", b'{"ticket": 5}'),
                (b"/collect", b'{"ticket": "' + b"[" * 900 + b'"}'),
                (b"/standing", b"[" * 1_500),
            ):
                request = oblivious.BinaryRequest(b"POST", b"https", b"", path, (), content)
                sealed = oblivious.seal_request(key, request.to_bytes(oblivious.REQUEST_SIZE))
                answer = await agent._http.post(
                    pool.join.relay, content=sealed.data, headers={"content-type": oblivious.REQUEST_TYPE}
                )
                assert answer.status_code == 200
                opened = oblivious.read_response(sealed.open_response(answer.content))
                assert opened.status in (400, 404) and not opened.content

    run(tmp_path, work)


def test_keys_come_from_one_copy_that_the_party_signed(tmp_path: Path) -> None:
    async def work(pool: Parties) -> None:
        async def keys() -> bytes:
            async with httpx.AsyncClient(transport=pool.network("x")) as client:
                return (await client.get("http://relay.test/keys/gateway")).content

        copies = {await keys() for _ in range(10)}
        asked = [each for each in pool.seen["gateway.test"] if each.path == "/keys"]
        assert len(copies) == len(asked) == 1, "a key of one's own would reach the relay alone"
        forged = Identity.kept(tmp_path / "forger.secret", make=True)
        said = json.loads(copies.pop())
        from tacit.pool.channel.join import Announcement

        announced = Announcement("gateway", pool.join.digest, base64.b64decode(said["key"]))
        with pytest.raises(InputError, match="signature of the keys of the gateway is wrong"):
            Announcement.parse(announced.as_dict(forged), "gateway", pool.join)
        own = Identity.kept(tmp_path / "gateway.secret")
        with pytest.raises(InputError, match="serves another pool"):
            Announcement.parse(Announcement("gateway", "x", b"").as_dict(own), "gateway", pool.join)

    run(tmp_path, work)


def test_a_full_key_gives_way_to_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "MOST_SEEN", 6)
    ring = front.KeyRing()
    first = ring.held()
    for number in range(6):
        assert ring.note(first[0][0], bytes([number]))
        assert not ring.note(first[0][0], bytes([number]))
    assert len(ring.held()) == 2 and ring.held()[1] == first[0]
    newest = ring.held()[0]
    for number in range(6):
        assert ring.note(newest[0], bytes([number]))
    assert first[0] not in ring.held() and len(ring.held()) == 2, "memory is bounded by two keys"
    assert not ring.note(first[0][0], b"new")

    async def work(pool: Parties) -> None:
        answers = await pool.ask_together(TOGETHER)
        assert all(each["guarded"] for each in answers)

    run(tmp_path, work)


def test_workers_of_an_issuer_go_on_to_the_same_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was forked with the keys of the start; one has opened many requests, and announces a new key."""

    async def work() -> None:
        monkeypatch.setattr(front, "MOST_SEEN", 6)
        one = FollowingKeys()
        other = copy.deepcopy(one)
        first = one.held()[0]
        for number in range(6):
            assert await one.first_time(first[0], bytes([number]))
        newest = one.held()[0]
        assert newest != first and newest not in other.held()
        kept = oblivious.GatewayKey(bytes.fromhex(newest[1]), newest[0]).configurations()
        assert kept == front.public_keys(one.held()) != front.public_keys(other.held())
        assert newest in await other.secrets()
        assert await other.first_time(newest[0], b"sealed for it") and other.held() == one.held()
        assert not await other.first_time(newest[0], b"sealed for it")
        assert await other.first_time(first[0], b"sealed for the one before")

    asyncio.run(work())


def test_a_direct_query_needs_the_word(tmp_path: Path) -> None:
    async def work(pool: Parties) -> None:
        async with pool.agent(7, TOGETHER[0], patience=0.2) as agent:
            with pytest.raises(HeldError):
                await agent.search("tea")
        assert not any(each.address == "10.0.0.7" for each in pool.seen.get("engine.test", []))
        async with pool.agent(7, TOGETHER[0], patience=0.2, otherwise="direct") as agent:
            answer = await agent.search("tea", topics=["coffee"], preferences={"coffee": 1.0})
        assert answer["guarded"] is False and answer["person"] == {}
        assert pool.seen["engine.test"][-1].address == "10.0.0.7" and pool.asked[-1] == {"query": "tea"}

    run(tmp_path, work, direct="http://engine.test/search")
    for refused in run(tmp_path, lambda pool: pool.ask_together(TOGETHER, otherwise="direct")):
        assert isinstance(refused, InputError) and "names no address" in str(refused)


def test_the_agent_answers_as_a_search_server_does(tmp_path: Path) -> None:
    async def work(pool: Parties) -> None:
        async with pool.agent(5, TOGETHER[0]) as agent:
            web = httpx.AsyncClient(
                transport=httpx.ASGITransport(agent.app()), base_url="http://127.0.0.1:8470"
            )
            asked = {"query": "java", "topics": ["coffee"], "person": {"name": "Thelma"}}
            found, *_ = await asyncio.gather(web.post("/search", json=asked), pool.ask_together(TOGETHER[1:]))
            assert found.status_code == 200 and found.json()["results"]
            sent = next(each for each in pool.asked if each["query"] == "java")
            assert sent["topics"] == ["coffee"] and "name" not in sent["person"]
            await asyncio.sleep(1.0)  # the number of people is told twice a second
            said = (await web.get("/standing")).json()
            assert said["standing"]["people"] == 3 and said["last"]["person"] == found.json()["person"]
            assert (await web.get("/search")).status_code == 400
            assert (await web.post("/search", content=b"x")).status_code == 400

    run(tmp_path, work)


def test_what_a_device_says_of_a_person_does_not_reach_the_engine(tmp_path: Path) -> None:
    """Only the pool says under which region a query goes out, whatever a device seals with its text."""

    async def work(pool: Parties) -> None:
        async with pool.agent(5, TOGETHER[0]) as agent:
            asked = {"query": "own", "named": [], "person": {"name": "Thelma", "age": "30"}}
            await asyncio.gather(
                agent._deposit(asked, time.monotonic() + 25.0), pool.ask_together(TOGETHER[1:])
            )
        sent = next(each for each in pool.asked if each["query"] == "own")
        assert "name" not in sent["person"] and sent["person"].get("age") != "30"

    run(tmp_path, work)


def test_a_gateway_refuses_what_is_no_address_of_an_engine(tmp_path: Path) -> None:
    join = make_join(tmp_path)
    with pytest.raises(InputError, match="engine must be an address"):
        gateway_module.Gateway(join, Identity.kept(tmp_path / "gateway.secret"), "engine.example")


def test_an_engine_says_nothing_in_the_name_of_others(tmp_path: Path) -> None:
    """Nor does an answer that is no HTTP, or no JSON by the letter, cost others theirs."""
    said = (
        b'{"results": [], "score": NaN, "person": {"name": "Thelma"}, "guarded": 0, "k": 9, "proved": true}'
    )

    async def work(pool: Parties) -> None:
        async def engine(_request: Request) -> Response:
            return Response(said, 203)

        pool.apps["engine.test"] = Starlette(routes=[Route("/search", engine, methods=["POST"])])
        async with pool.agent(7, TOGETHER[0], patience=0.2, otherwise="direct") as agent:
            direct = await agent.search("tea")
        assert (direct["guarded"], direct["k"], direct["proved"], direct["person"]) == (False, 1, False, {})
        for found in await pool.ask_together(TOGETHER):
            assert found["guarded"] is True and found["k"] == 3 and found["proved"] is False
            assert "name" not in found["person"] and found["score"] is None and found["status"] == 203

    run(tmp_path, work, direct="http://engine.test/search")


def test_a_slow_engine_costs_a_batch_no_answers_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever gets no turn in time is told so, before the pool gives the batch up."""
    monkeypatch.setattr(gateway_module, "_ASKED_AT_ONCE", 1)
    monkeypatch.setattr(gateway_module, "_SECONDS", 3.0)

    async def work(pool: Parties) -> None:
        fast = ["once"]

        async def engine(_request: Request) -> Response:
            if not fast:
                await asyncio.sleep(60.0)
            fast.clear()
            return JSONResponse({"results": ["found"]})

        pool.apps["engine.test"] = Starlette(routes=[Route("/search", engine, methods=["POST"])])
        found = await pool.ask_together(TOGETHER[:3])
        assert sorted(each["status"] for each in found) == [200, 502, 502]
        assert {each.get("error") for each in found} == {None, "the engine does not answer (TimeoutError)"}

    run(tmp_path, work)


def test_answers_are_cut_to_the_size_that_all_have() -> None:
    rows = [{"url": f"http://{n}.test", "content": random.Random(n).randbytes(200).hex()} for n in range(100)]
    packed = gateway_module.packed_answer({"node": 0, "time": 1.0, "status": 200, "results": rows})
    assert len(packed) == oblivious.ANSWER_SIZE
    said = json.loads(zlib.decompress(oblivious.read_response(packed).content))
    assert 10 < len(said["results"]) < 100 and said["cut"] and said["results"] == rows[: len(said["results"])]
    other = gateway_module.packed_answer({"node": 0, "text": random.Random(1).randbytes(9_000).hex()})
    assert json.loads(zlib.decompress(oblivious.read_response(other).content))["status"] == 502


def test_tickets_that_were_never_given_leave_nothing_behind(tmp_path: Path) -> None:
    """Asking and withdrawing need no token, so strangers could fill store or letter box with them."""
    posted: list[list[Any]] = []

    class Watched(MemoryStore):
        async def post(self, letter: list[Any]) -> bool:
            posted.append(letter)
            return await super().post(letter)

    store = Watched()

    async def work(pool: Parties) -> None:
        async with pool.agent(1, TOGETHER[0]) as agent:
            for number in range(20):
                said = await agent._ask("/collect", {"ticket": f"{number:032x}"})
                assert (said["state"], said["why"]) == ("refused", "forgotten")
                await agent._ask("/withdraw", {"ticket": f"{number:032x}"})
        await asyncio.sleep(0.2)
        assert not store._results and not posted

    run(tmp_path, work, parts={"store": store})


def test_a_worker_that_is_ended_as_a_letter_comes_ends() -> None:
    """A cancellation that was lost there left the server waiting for its driver for ever."""

    async def work() -> None:
        store = MemoryStore()
        driving = asyncio.create_task(store.letters(30.0))
        await asyncio.sleep(0.01)
        await store.post(["polled", "x"])
        driving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driving

    for _ in range(3):
        asyncio.run(work())


def test_stores_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MOST_RESULTS", 5)
    monkeypatch.setattr(store_module, "MOST_LETTERS", 5)

    async def work() -> None:
        store = MemoryStore()
        for number in range(9):
            await store.settle(str(number), {"state": "answered"})
        assert list(store._results) == ["4", "5", "6", "7", "8"]
        assert [await store.post([]) for _ in range(6)] == [True] * 5 + [False]

    asyncio.run(work())


def test_a_gateway_keeps_answers_only_while_a_batch_may_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    state = gateway_module.GatewayState(60.0)

    def take(number: str, now: float) -> None:
        answer, fresh = state.take((number, state._log.session, now + 60.0), (), (), now)
        assert isinstance(answer, Logged) and fresh
        state.keep(number, [bytes(100)])

    for number in range(5):
        take(str(number), float(number))
    assert all(state.kept(str(number)) for number in range(5))
    take("late", 62.5)
    assert [state.kept(str(number)) is not None for number in range(5)] == [False] * 3 + [True] * 2
    monkeypatch.setattr(gateway_module, "_KEPT_ANSWERS", 250)
    take("last", 62.6)
    assert list(state._answers) == ["late", "last"] and state._bytes == 200


def test_the_workers_of_a_gateway_log_one_batch_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each calls the state from a thread of its own: a clock or a batch between two must not slip through."""
    state, usual = gateway_module.GatewayState(60.0), gateway_module.GatewayLog.take
    inside: list[int] = []

    def slow(self: Any, *given: Any) -> Any:
        inside.append(1)
        time.sleep(0.02)
        assert len(inside) == 1
        answer = usual(self, *given)
        inside.clear()
        return answer

    monkeypatch.setattr(gateway_module.GatewayLog, "take", slow)
    batch = ("one", state._log.session, 90.0)
    with ThreadPoolExecutor(8) as workers:
        answers = [
            done.result() for done in [workers.submit(state.take, batch, (), (), 30.0) for _ in range(8)]
        ]
    assert sorted(fresh for _, fresh in answers) == [False] * 7 + [True]


def test_an_answer_under_a_region_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = gateway_module.Gateway._ask

    async def elsewhere(self: Any, opened: Any, asked: Any, _node: int, moment: float) -> bytes:
        leaf = next(each for each in self.join.tree.leaves if each not in own)
        return await usual(self, opened, asked, leaf, moment)

    own: set[int] = set()

    async def work(pool: Parties) -> None:
        own.update(pool.agent(number, each).leaf for number, each in enumerate(TOGETHER, 1))
        for found in await pool.ask_together(TOGETHER):
            assert isinstance(found, oblivious.RelayedError) and "not this person's" in str(found)

    monkeypatch.setattr(gateway_module.Gateway, "_ask", elsewhere)
    run(tmp_path, work)


@pytest.mark.parametrize("less", [{"k": 2}, {"window": 21.0}, {"tree": "0" * 64}])
def test_a_pool_that_promises_less_while_it_runs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, less: dict[str, Any]
) -> None:
    usual = pool_module._Worker.standing

    async def standing(self: Any, given: dict[str, Any]) -> dict[str, Any]:
        return await usual(self, given) | less

    monkeypatch.setattr(pool_module._Worker, "standing", standing)
    for found in run(tmp_path, lambda pool: pool.ask_together(TOGETHER)):
        assert isinstance(found, InputError) and "does not promise what its join file says" in str(found)


@pytest.mark.parametrize(
    "wrong", [{"node": -1}, {"node": 1 << 20}, {"node": "all"}, {"sealed": None, "node": None}]
)
def test_a_batch_names_nodes_of_the_tree(tmp_path: Path, wrong: dict[str, Any]) -> None:
    async def work(pool: Parties) -> None:
        item = {"node": 0, "sealed": ""} | wrong
        body = json.dumps({"number": "1", "session": "", "deadline": 9e9, "items": [item]}).encode()
        signed = {"tacit-signature": Identity.kept(tmp_path / "pool.secret").sign(body)}
        async with httpx.AsyncClient(transport=pool.network("pool")) as client:
            answer = await client.post("http://gateway.test/batch", content=body, headers=signed)
        assert answer.status_code == 400 and "a batch has a number" in answer.text

    run(tmp_path, work)


def test_a_short_text_that_unpacks_to_a_long_one_is_not_unpacked(tmp_path: Path) -> None:
    template = make_join(tmp_path).template
    for length, read in ((1_000, True), (10_000_000, False)):
        content = zlib.compress(json.dumps({"query": "tea", "more": "x" * length}).encode(), 9)
        message = oblivious.BinaryRequest(b"POST", b"https", b"", b"/search", (), content).to_bytes()
        if read:
            assert gateway_module._question(template, message)["query"] == "tea"
        else:
            with pytest.raises(InputError, match="must be a JSON object"):
                gateway_module._question(template, message)


def test_clients_follow_no_redirect_and_take_no_setting_of_their_surroundings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    asked: list[str] = []

    def answer(request: bytes, _socket: object) -> bytes:
        asked.append(request.split(b" ", 2)[1].decode())
        return http_answer("", "302 Found", Location="/elsewhere")

    async def work() -> None:
        with local_server(answer) as server:
            async with oblivious.http_client(None, 5.0) as client:
                assert (await client.get(f"{server.address}/keys")).status_code == 302

    asyncio.run(work())
    assert asked == ["/keys"]
