"""Each server of a pool describes its API from its routes, and answers as it says, whatever is sent."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from starlette.applications import Starlette
from tests.pool_parties import make_join
from tests.served_app import served_app

from tacit import Pool, bodies
from tacit.pool.channel.join import Identity, JoinFile
from tacit.pool.server.gateway import Gateway
from tacit.pool.server.issuer import Issuer, IssuerFile
from tacit.pool.server.relay import relay_app

NAMES = ("relay", "pool", "gateway", "issuer")


def app_of(name: str, folder: Path, join: JoinFile) -> Starlette:
    if name == "relay":
        return relay_app(join)
    if name == "pool":
        return Pool(join, folder / "pool.secret").app()
    own = Identity.kept(folder / f"{name}.secret")
    if name == "gateway":
        return Gateway(join, own, "http://127.0.0.1:9/search").app()
    return Issuer(join, own, IssuerFile(folder / "accounts.db"), ahead=0.0).app()


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, httpx.Client]]:
    folder = tmp_path_factory.mktemp("parties")
    nowhere = dict.fromkeys(("relay", "pool", "gateway"), "http://127.0.0.1:9")
    join = make_join(folder, issuer=True, **nowhere)
    opened = {name: served_app(app_of(name, folder, join)) for name in NAMES}
    found = {name: each.__enter__() for name, each in opened.items()}
    yield found
    for each in opened.values():
        each.__exit__(None, None, None)


@pytest.mark.parametrize("name", NAMES)
def test_the_api_is_as_described(name: str, clients: dict[str, httpx.Client]) -> None:
    client = clients[name]
    said = client.get("/openapi.json").json()
    assert "/openapi.json" in said["paths"] and all(
        operation["summary"] for path in said["paths"].values() for operation in path.values()
    )
    sealed = {"pool": {"/deposit", "/collect", "/withdraw", "/standing"}, "issuer": {"/tokens"}}
    assert set(said.get("x-sealed-paths", {})) == sealed.get(name, set())
    for operation in schemathesis.openapi.from_dict(said).get_all_operations():
        answers_as_described(operation.ok(), str(client.base_url))


def answers_as_described(operation: Any, address: str) -> None:
    @given(operation.as_strategy())
    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    def call(case: Any) -> None:
        answer = case.call(base_url=address)
        assert str(answer.status_code) in {*operation.definition.raw["responses"], "401", "404", "405"}

    call()


def test_half_sent_bodies_keep_nobody_out(
    clients: dict[str, httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,005 bodies that never end: everybody else is answered, and the oldest ones are ended."""
    client = clients["pool"]
    head = (
        "POST / HTTP/1.1\r\nhost: pool\r\ncontent-type: message/ohttp-req\r\ncontent-length: 4000\r\n\r\nhalf"
    )
    port = client.base_url.port or 0
    waiting = []
    try:
        for _ in range(1_005):
            waiting.append(socket.create_connection(("127.0.0.1", port)))
            waiting[-1].sendall(head.encode())
        begun = time.monotonic()
        for _ in range(20):
            answer = client.post("/", content=b"x", headers={"content-type": "message/ohttp-req"})
            assert answer.status_code == 400
        assert time.monotonic() - begun < 5.0
        waiting[0].settimeout(5.0)
        assert waiting[0].recv(100).startswith(b"HTTP/1.1 408"), "the oldest gave way"
        assert len(bodies._READING) <= 1_000
        assert 0 < bodies._SECONDS <= 30
        monkeypatch.setattr(bodies, "_SECONDS", 0.2)
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.sendall(head.encode())
            slow.settimeout(5.0)
            assert slow.recv(100).startswith(b"HTTP/1.1 408"), "a body must come in time"
    finally:
        for each in waiting:
            each.close()
