"""The pool over HTTP: what it answers, what it refuses, what it shows, and what it never says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from tests.served_app import served_app

from tacit.pool.protocol.messages import FirstMessage, HpkeSealing, Phase, Rules
from tacit.pool.protocol.table import Table
from tacit.pool.protocol.template import parse_template
from tacit.pool.server.app import LARGEST_BODY, description, pool_app
from tacit.pool.server.machine import PoolMachine
from tacit.pool.server.store import MemoryStore

TEMPLATE = parse_template(
    {"attribute": [{"name": "age", "low": 18, "high": 99}, {"name": "place", "values": ["Burnaby", "Delta"]}]}
)
RULES = Rules(k=3, window=60.0, count=4.0, identify=4.0, form=1.0, skew=2.0)


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 5_000.0

    def __call__(self) -> float:
        return self.now


def token(number: int) -> str:
    return f"{number:032x}"


@pytest.fixture
def served() -> Iterator[tuple[httpx.Client, PoolMachine, Clock]]:
    clock = Clock()
    pool = PoolMachine(RULES, TEMPLATE, MemoryStore())
    pool.tick(clock.now)
    with served_app(pool_app(pool, clock=clock)) as client:
        yield client, pool, clock


def form_a_table(client: httpx.Client, pool: PoolMachine, clock: Clock) -> None:
    """Five people with d* confirm themselves over HTTP."""
    sealing = HpkeSealing()
    standing = pool.tick(clock.now)
    clock.now = standing.until
    pool.tick(clock.now)
    key = client.get("/v1/table").json()["public_key"]
    for number in range(5):
        said = {"epoch": standing.epoch, "group": -1, "token": token(number)}
        assert client.post("/v1/first", json=said).json() == {"reply": "accepted"}
    clock.now += RULES.count
    assert pool.tick(clock.now).phase is Phase.IDENTIFY
    assert client.get("/v1/standing").json()["asked"] == [-1]
    for number in range(5):
        sealed = sealing.seal(key, standing.epoch, -1, (number, number % 2))
        said = {"epoch": standing.epoch, "group": -1, "token": token(number), "sealed": sealed}
        assert client.post("/v1/second", json=said).json() == {"reply": "accepted"}
    clock.now += RULES.identify
    assert pool.tick(clock.now).epoch == standing.epoch + 1


def test_terms_table_and_a_whole_epoch_over_http(served: tuple[httpx.Client, PoolMachine, Clock]) -> None:
    client, pool, clock = served
    terms = client.get("/v1/pool").json()
    assert Rules(**terms["rules"]) == RULES and parse_template(terms["template"]) == TEMPLATE
    answer = client.get("/v1/table")
    assert answer.headers["content-encoding"] == "gzip" and answer.headers["cache-control"] == "no-store"
    assert len(Table.parse(answer.json()["table"], TEMPLATE)) == 0
    assert RULES.lifetime - 0.5 < answer.json()["expires_in"] <= RULES.lifetime
    form_a_table(client, pool, clock)
    plain = client.get("/v1/table", headers={"accept-encoding": "identity"})
    table = Table.parse(plain.json()["table"], TEMPLATE)
    assert table.sizes.tolist() == [5] and table.everyone


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"[1]", 422),
        (b"{" * 9000, 422),
        (b"x" * (LARGEST_BODY + 1), 422),
        (json.dumps({"epoch": 1, "group": 0, "token": "Thelma Arnold"}).encode(), 422),
        (json.dumps({"epoch": 1, "group": 0, "token": token(1)}).encode(), 410),
    ],
)
@pytest.mark.parametrize("path", ["/v1/first", "/v1/second"])
def test_what_is_no_message_is_refused_without_an_echo(
    served: tuple[httpx.Client, PoolMachine, Clock], body: bytes, status: int, path: str
) -> None:
    answer = served[0].post(path, content=body)
    assert answer.status_code == (422 if path == "/v1/second" else status)
    assert "Thelma" not in answer.text and len(answer.text) < 200


def test_wrong_groups_and_seconds_without_firsts(served: tuple[httpx.Client, PoolMachine, Clock]) -> None:
    client, pool, clock = served
    standing = pool.tick(clock.now)
    clock.now = standing.until
    pool.tick(clock.now)
    said = {"epoch": standing.epoch, "group": 3, "token": token(1)}
    assert client.post("/v1/first", json=said).status_code == 403
    clock.now += RULES.count
    pool.tick(clock.now)
    said = {"epoch": standing.epoch, "group": -1, "token": token(1), "sealed": "x"}
    assert client.post("/v1/second", json=said).status_code == 403
    assert client.post("/v1/first", json=said | {"sealed": "x"}).status_code == 422


def test_the_operator_sees_groups_and_no_person(served: tuple[httpx.Client, PoolMachine, Clock]) -> None:
    client, pool, clock = served
    form_a_table(client, pool, clock)
    found = client.get("/v1/statistics").json()
    assert found["people"] == 5 and found["groups"][0]["people"] == 5
    assert found["groups"][0]["words"] == "anybody"
    assert token(0) not in json.dumps(found)
    page = client.get("/")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert client.get("/operator.js").status_code == client.get("/operator.css").status_code == 200


def test_more_requests_than_can_be_served_are_told_to_come_again() -> None:
    pool = PoolMachine(RULES, TEMPLATE, MemoryStore())
    with served_app(pool_app(pool, clock=Clock(), requests_at_once=0)) as client:
        answer = client.get("/v1/table")
        assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
    with served_app(pool_app(pool, clock=Clock(), listeners=0)) as client:
        assert client.get("/v1/events").status_code == 503


def test_a_full_epoch_answers_503() -> None:
    clock = Clock()
    pool = PoolMachine(Rules(k=3, window=60.0, capacity=3), TEMPLATE, MemoryStore())
    epoch = pool.tick(clock.now).epoch
    clock.now = pool.tick(clock.now).until
    pool.tick(clock.now)
    for number in range(3):
        pool.first(FirstMessage(epoch, -1, token(number)))
    with served_app(pool_app(pool, clock=clock)) as client:
        answer = client.post("/v1/first", json={"epoch": epoch, "group": -1, "token": token(9)})
        assert answer.status_code == 503 and answer.json() == {"reply": "full"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pool = PoolMachine(RULES, TEMPLATE, MemoryStore())
    pool.tick(5_000.0)
    with served_app(pool_app(pool, clock=Clock())) as client:
        assert client.get("/openapi.json").json() == description()
        yield str(client.base_url)


def _api() -> Any:
    described = description()
    del described["paths"]["/v1/events"]  # a stream has no end
    return schemathesis.openapi.from_dict(described)


schema = _api()


@schema.parametrize()
@settings(max_examples=15, deadline=None)
def test_the_api_is_as_described(case: Any, address: str) -> None:
    answer = case.call(base_url=address)
    case.validate_response(answer, excluded_checks=[positive_data_acceptance])  # 410: another epoch
    assert answer.status_code in (200, 403, 405, 410, 422), answer.text


def test_the_broadcast_says_where_the_pool_stands(served: tuple[httpx.Client, PoolMachine, Clock]) -> None:
    client, pool, clock = served
    epoch = pool.tick(clock.now).epoch
    with client.stream("GET", "/v1/events") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: open"
        assert json.loads(next(lines).removeprefix("data: ")) == {"epoch": epoch, "phase": "open"}
        clock.now = pool.tick(clock.now).until
        assert next(line for line in lines if line.startswith("event")) == "event: count"
