"""A relay between agents and a pool, as real servers: what each of them gets, and whom it refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.pool_traffic import served
from tests.served_app import served_app

from tacit.errors import InputError, ParameterError
from tacit.pool.agent.runner import AgentRunner, PartyUnreachableError, RelayClient, RelayPromise
from tacit.pool.channel.oblivious import ObliviousTransport
from tacit.pool.channel.secret_files import kept_secret, read_secret
from tacit.pool.protocol.batches import BatchKeeper, SealedMessage, announcement_digest
from tacit.pool.protocol.messages import HpkeSealing, Phase, Rules
from tacit.pool.protocol.table import Table
from tacit.pool.protocol.template import parse_template
from tacit.pool.server.app import RelayHandover, pool_app
from tacit.pool.server.machine import PoolMachine
from tacit.pool.server.relay import batch_routes, relay_app
from tacit.pool.server.store import MemoryStore

TEMPLATE = parse_template({"attribute": [{"name": "age", "low": 18, "high": 99}]})
RULES = Rules(k=3, window=60.0, count=4.0, identify=4.0, form=1.0, skew=2.0)
SECRET = "5e" * 32


class Clock:
    """A clock that the test sets."""

    now = 5_000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def pool_and_relay(
    clock: Clock, secret: str = SECRET
) -> Iterator[tuple[httpx.Client, PoolMachine, httpx.Client]]:
    keeper = BatchKeeper(RULES.k, clock.now - 60.0, hold=60.0)
    with served_app(relay_app(None, batches=batch_routes(keeper, SECRET, clock))) as relay:
        handover = RelayHandover(str(relay.base_url), secret, 0.3)
        pool = PoolMachine(RULES, TEMPLATE, MemoryStore(), relay=handover)
        pool.tick(clock.now)
        with served_app(pool_app(pool, clock=clock)) as client:
            yield client, pool, relay


def come_to_identify(
    client: httpx.Client, pool: PoolMachine, clock: Clock, people: int
) -> tuple[int, str, str]:
    standing = pool.tick(clock.now)
    clock.now = standing.until
    pool.tick(clock.now)
    for number in range(people):
        said = {"epoch": standing.epoch, "group": -1, "token": f"{number:032x}"}
        assert client.post("/v1/first", json=said).json() == {"reply": "accepted"}
    clock.now += RULES.count
    assert pool.tick(clock.now).phase is Phase.IDENTIFY
    given = client.get("/v1/table").json()
    return standing.epoch, given["public_key"], Table.parse(given["table"], TEMPLATE).digest


def bring(relay: httpx.Client, epoch: int, key: str, table: str, people: int) -> list[str]:
    """So many people bring their sealed record; what the relay says."""
    sealing, digest = HpkeSealing(), announcement_digest(table, -1, key)
    messages = [
        SealedMessage(digest, f"{900 + number:032x}", sealing.seal(key, epoch, -1, (number,)))
        for number in range(people)
    ]
    return [relay.post("/v1/sealed", json=each.as_dict()).json()["reply"] for each in messages]


@pytest.mark.parametrize(("answering", "people"), [(5, 5), (2, 0)])
def test_the_pool_gets_a_batch_of_k_or_nothing(answering: int, people: int) -> None:
    """Five are counted. If two of them answer, their records stay sealed, and nobody gets a region."""
    clock = Clock()
    with pool_and_relay(clock) as (client, pool, relay):
        epoch, key, table = come_to_identify(client, pool, clock, 5)
        assert set(bring(relay, epoch, key, table, answering)) == {"accepted"}
        direct = {"epoch": epoch, "group": -1, "token": f"{1:032x}", "sealed": "x"}
        assert client.post("/v1/second", json=direct).status_code == 403
        clock.now += RULES.identify
        assert pool.tick(clock.now).epoch == epoch + 1
        public = pool.publication()
        assert public is not None and public.table.sizes.sum() == people
        assert set(bring(relay, epoch, key, table, answering)) == {"gone"}  # too late


def test_only_the_pool_fetches_and_others_close_nothing() -> None:
    clock = Clock()
    with pool_and_relay(clock) as (client, pool, relay):
        epoch, key, table = come_to_identify(client, pool, clock, 3)
        asked = {"announcements": [announcement_digest(table, -1, key)]}
        for headers in ({}, {"authorization": "Bearer " + "0" * 64}, {"authorization": SECRET}):
            assert relay.post("/v1/batches", json=asked, headers=headers).status_code == 401
        shown = {"authorization": f"Bearer {SECRET}"}
        for wrong in ({}, {"announcements": "all"}, {"announcements": ["Thelma"]}):
            answer = relay.post("/v1/batches", json=wrong, headers=shown)
            assert answer.status_code == 422 and "Thelma" not in answer.text
        assert relay.post("/v1/sealed", content=b"x" * 20_000).status_code == 422
        assert set(bring(relay, epoch, key, table, 3)) == {"accepted"}


@pytest.mark.parametrize("trouble", ["gone", "another secret"])
def test_a_relay_that_gives_nothing_leaves_the_whole_domain(trouble: str) -> None:
    clock = Clock()
    with pool_and_relay(clock, SECRET if trouble == "gone" else "0" * 64) as (client, pool, relay):
        epoch, key, table = come_to_identify(client, pool, clock, 4)
        bring(relay, epoch, key, table, 4)
        if trouble == "gone":
            assert isinstance(pool.relay, RelayHandover)
            pool.relay.address = "http://127.0.0.1:9"
        clock.now += RULES.identify
        assert pool.tick(clock.now).epoch == epoch + 1
        public = pool.publication()
        assert public is not None and len(public.table) == 0
        assert client.get("/v1/statistics").json()["relay_reachable"] is False


def test_whom_to_trust_is_the_persons_choice() -> None:
    async def join(client: httpx.Client, relay: str | None) -> AgentRunner:
        async with httpx.AsyncClient(trust_env=False) as http:
            known = None if relay is None else RelayClient(relay, http)
            return await AgentRunner.join(str(client.base_url), {"age": 20}, http, relay=known)

    with pool_and_relay(Clock()) as (client, _, relay):
        own = str(relay.base_url).rstrip("/")
        assert asyncio.run(join(client, own + "/")).agent.relayed
        with pytest.raises(InputError, match=f"through a relay alone, {own}"):
            asyncio.run(join(client, None))
        with pytest.raises(InputError, match="takes no records for this pool, which names"):
            asyncio.run(join(client, "https://relay.example"))
    with (
        served_app(pool_app(PoolMachine(RULES, TEMPLATE, MemoryStore()))) as client,
        pytest.raises(InputError, match="takes none through a relay"),
    ):
        asyncio.run(join(client, "https://relay.example"))


@pytest.mark.parametrize(
    ("promise", "message"),
    [(RelayPromise(2, 60.0), "batches of 2; the pool promises k = 3"), (RelayPromise(3, 4.5), "for 4.5 s")],
)
def test_a_relay_that_promises_less_than_the_pool_is_refused(promise: RelayPromise, message: str) -> None:
    RelayPromise(3, 5.0).check(RULES)
    with pytest.raises(InputError, match=message):
        promise.check(RULES)


def test_what_is_no_relay_is_named_so() -> None:
    async def ask(address: str) -> None:
        async with httpx.AsyncClient(trust_env=False) as http:
            client = RelayClient(address, http)
            assert await client.send(SealedMessage("0" * 64, "0" * 32, "x")) is None
            await client.promise()

    with pytest.raises(PartyUnreachableError, match="does not answer \\(ConnectError\\)"):
        asyncio.run(ask("http://127.0.0.1:9"))
    pool = PoolMachine(RULES, TEMPLATE, MemoryStore())
    with served_app(pool_app(pool)) as client, pytest.raises(PartyUnreachableError, match="answered 404"):
        asyncio.run(ask(str(client.base_url)))


def test_a_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "pool.secret"
    assert kept_secret(path) == kept_secret(path) == read_secret(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("Thelma Arnold")
    with pytest.raises(InputError, match="holds no secret") as refused:
        read_secret(path)
    assert "Thelma" not in str(refused.value)
    with pytest.raises(InputError, match="cannot be read"):
        read_secret(tmp_path / "missing")


def test_the_commands_form_a_chain_in_which_nobody_sees_both(tmp_path: Path) -> None:
    """Pool and its gateway; a relay that passes on and keeps records, and a gateway before it."""
    secret, keys = tmp_path / "pool.secret", tmp_path / "gateway.keys"
    with ExitStack() as stack:

        def run(*arguments: str) -> dict[str, Any]:
            return stack.enter_context(served("pool", *arguments))[0]

        kept = run("relay", "--k", "3", "--secret", str(secret), "--hold", "20")
        pool = run("serve", "--k", "3", "--relay", kept["address"], "--relay-secret", str(secret))
        gateway = run("gateway", "--target", pool["address"], "--write-keys", str(keys))
        passing = run("relay", "--gateway", gateway["address"] + "/")
        assert (kept["k"], kept["gateway"], passing["k"]) == (3, None, None)
        assert pool["relay"] == kept["address"]

        async def ask(known: bytes | None) -> Any:
            transport = ObliviousTransport(passing["address"], keys=known)
            async with httpx.AsyncClient(transport=transport) as http:
                return (await http.get(f"{pool['address']}/v1/pool")).json()

        for known in (None, keys.read_bytes()):
            assert asyncio.run(ask(known))["relay"] == kept["address"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["relay"], "needs something to do"),
        (["relay", "--k", "3"], "belong together"),
        (["relay", "--k", "1", "--secret", "s"], "k must be"),
        (["serve", "--relay", "http://127.0.0.1:9"], "belong together"),
    ],
)
def test_commands_that_promise_nothing_are_refused(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from tacit.commands import application

    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(application(), ["pool", *arguments])
    assert isinstance(done.exception, ParameterError) and message in json.dumps(str(done.exception))
