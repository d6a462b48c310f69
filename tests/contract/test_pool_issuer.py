"""Issuer, relay and agents as real servers: who has no pass is not counted, and nobody counts twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.pool_traffic import served
from tests.served_app import served_app

from tacit.errors import InputError
from tacit.pool.agent.runner import PassClient, RelayClient, RelayPromise
from tacit.pool.protocol.batches import (
    AdmissionPass,
    BatchKeeper,
    IssuerUnreachableError,
    PassIssuer,
    SealedMessage,
    account_digest,
)
from tacit.pool.protocol.messages import Reply, Rules
from tacit.pool.server.relay import PassGate, batch_routes, issuer_app, relay_app

ACCOUNTS = [f"{number:064x}" for number in range(4)]
GROUP, OTHER = "0" * 64, "1" * 64
RULES = Rules(k=3, window=60.0, count=4.0, identify=4.0, form=1.0, skew=2.0)


@contextmanager
def issuer_and_relay() -> Iterator[tuple[str, str]]:
    issuer = PassIssuer(map(account_digest, ACCOUNTS), 3_600.0)
    keeper = BatchKeeper(3, time.monotonic() - 60.0)
    with served_app(issuer_app(issuer)) as one:
        address = str(one.base_url).rstrip("/")
        gate = PassGate(address)
        with served_app(relay_app(None, batches=batch_routes(keeper, "secret", gate=gate))) as other:
            yield address, str(other.base_url)


def test_one_account_is_one_message_in_a_period() -> None:
    async def talk(issuer: str, relay: str) -> list[Reply | None]:
        async with httpx.AsyncClient(trust_env=False) as http:
            to_relay = RelayClient(relay, http)
            said = []
            for account in ACCOUNTS[:3]:
                client, passes = PassClient(issuer, account, http), dict[int, AdmissionPass]()
                await client.fetch(passes)
                shown = next(iter(passes.values()))
                passes.clear()
                await client.fetch(passes)  # had one already
                await PassClient(issuer, account, http).fetch(passes)  # a second agent of the same account
                assert passes == {}
                for announcement in (GROUP, GROUP, OTHER):
                    said.append(
                        await to_relay.send(SealedMessage(announcement, shown.token, "sealed", shown))
                    )
            said.append(await to_relay.send(SealedMessage(GROUP, "0" * 32, "sealed")))  # no pass
            stolen = SealedMessage(GROUP, "0" * 32, "sealed", shown)
            said.append(await to_relay.send(stolen))  # of another token
            return said

    with issuer_and_relay() as (issuer, relay):
        said = asyncio.run(talk(issuer, relay))
        again = [Reply.ACCEPTED, Reply.REPEATED, Reply.REFUSED]
        assert said == [*again, *again, *again, Reply.REFUSED, Reply.REFUSED]
        shown = {"authorization": "Bearer secret"}
        asked = {"announcements": [GROUP, OTHER]}
        found = httpx.post(f"{relay}/v1/batches", json=asked, headers=shown, trust_env=False).json()
        assert list(found["batches"]) == [GROUP] and len(found["batches"][GROUP]) == 3


def test_strangers_get_no_pass_and_are_told_so() -> None:
    async def fetch(issuer: str, account: str) -> None:
        async with httpx.AsyncClient(trust_env=False) as http:
            await PassClient(issuer, account, http).fetch({})

    with issuer_and_relay() as (issuer, relay):
        with pytest.raises(InputError, match="does not know this account"):
            asyncio.run(fetch(issuer, "f" * 64))
        for wrong in (b"", b"{}", b'{"period": 1, "blinded": "%"}', b'{"period": "Thelma", "blinded": ""}'):
            headers = {"authorization": f"Bearer {ACCOUNTS[0]}"}
            answer = httpx.post(f"{issuer}/v1/passes", content=wrong, headers=headers, trust_env=False)
            assert answer.status_code == 422 and "Thelma" not in answer.text
        with pytest.raises(IssuerUnreachableError, match="answered 404"):
            asyncio.run(fetch(relay.rstrip("/"), ACCOUNTS[0]))
    with pytest.raises(IssuerUnreachableError, match="does not answer"):
        asyncio.run(fetch("http://127.0.0.1:9", ACCOUNTS[0]))


def test_the_relays_issuer_must_be_the_persons() -> None:
    RelayPromise(3, 5.0, "https://issuer.example").check(RULES, "https://issuer.example")
    for own in (None, "https://other.example"):
        with pytest.raises(InputError, match="with a pass of https://issuer\\.example only"):
            RelayPromise(3, 5.0, "https://issuer.example").check(RULES, own)


def test_the_command_makes_accounts_and_serves(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from tacit.commands import application

    folder = tmp_path
    accounts, alice = str(folder / "accounts.txt"), str(folder / "alice.account")
    made = CliRunner().invoke(application(), ["pool", "issuer", "--accounts", accounts, "--new", alice])
    assert made.exit_code == 0 and "1 account" in made.output

    async def fetch(address: str) -> int:
        async with httpx.AsyncClient(trust_env=False) as http:
            passes: dict[int, AdmissionPass] = {}
            await PassClient(address, (folder / "alice.account").read_text().strip(), http).fetch(passes)
            return len(passes)

    with served("pool", "issuer", "--accounts", accounts) as (said, _):
        assert said["accounts"] == 1
        assert asyncio.run(fetch(said["address"])) == 1
