"""A search through both guards: the device decides which topics go along, the pool which region."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.served_app import served_app

from tacit.device import Guard
from tacit.errors import InputError
from tacit.pool import Agent
from tacit.pool.agent.service import read_record
from tacit.pool.channel.oblivious import GatewayKey
from tacit.pool.protocol.batches import BatchKeeper, PassIssuer, account_digest
from tacit.pool.protocol.messages import Rules
from tacit.pool.protocol.template import parse_template
from tacit.pool.server.app import RelayHandover, pool_app
from tacit.pool.server.machine import PoolMachine
from tacit.pool.server.relay import PassGate, batch_routes, gateway_app, issuer_app, relay_app
from tacit.pool.server.store import MemoryStore
from tacit.web.engine_service import EngineService, engine_application

TEMPLATE = parse_template(
    {
        "attribute": [
            {"name": "age", "low": 18, "high": 99},
            {"name": "country", "taxonomy": {"Asia": ["Indonesia", "Japan"], "Europe": ["France", "Italy"]}},
        ]
    }
)
PEOPLE = [{"age": 20 + n, "country": "Indonesia"} for n in range(4)]
PEOPLE += [{"age": 70 + n, "country": "Italy"} for n in range(4)]
COFFEE = {"url": "https://example.org/beans", "title": "Java coffee", "snippet": "arabica coffee, espresso"}


class WatchedEngine(EngineService):
    """The real engine, with what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[Any, ...]] = []

    def search(self, *asked: Any, **named: Any) -> list[dict[str, Any]]:
        self.told.append(asked)
        return super().search(*asked, **named)


class WatchedKeeper(BatchKeeper):
    """The real keeper of sealed records, with what it handed over."""

    def __init__(self, least: int, began: float) -> None:
        super().__init__(least, began)
        self.handed: list[list[str]] = []

    def hand_over(self, announcements: Sequence[str], now: float) -> dict[str, list[str]]:
        batches = super().hand_over(announcements, now)
        self.handed.extend(batches.values())
        return batches


def account(folder: Path, number: int) -> Path:
    path = folder / f"{number}.account"
    path.write_text(f"{number:064x}\n")
    return path


def address(client: httpx.Client) -> str:
    return str(client.base_url).rstrip("/")


def test_region_and_topics_reach_the_engine_and_the_record_does_not(tmp_path: Path) -> None:
    with Guard(tmp_path / "me.profile") as guard:
        for minute in range(5):
            guard.clicked("java", COFFEE, time=datetime(2026, 1, 1, 12, minute, tzinfo=UTC))
        message = guard.protect("java").message
    assert message["topics"]
    rules = Rules(k=3, window=40.0, count=4.0, identify=4.0, form=2.0, skew=8.0)
    engine, keeper = WatchedEngine(), WatchedKeeper(3, time.monotonic() - 60.0)
    with ExitStack() as stack:

        def serve(app: Any) -> httpx.Client:
            return stack.enter_context(served_app(app))

        search = address(serve(engine_application(engine))) + "/search"
        # One party runs the relay before the pool and keeps sealed records; the other runs the pool and the
        # relay before that. So each sees the addresses or the content of a message, and never both.
        # A third gives each account a pass a period, without which no record is kept.
        accounts = [f"{number:064x}" for number in range(len(PEOPLE))]
        issuer = address(serve(issuer_app(PassIssuer(map(account_digest, accounts), 15.0))))
        gate = PassGate(issuer)
        keeping = address(serve(relay_app(None, batches=batch_routes(keeper, "secret", gate=gate))))
        handover = RelayHandover(keeping, "secret", rules.form)
        pool = address(serve(pool_app(PoolMachine(rules, TEMPLATE, MemoryStore(), relay=handover))))
        to_pool = address(serve(relay_app(address(serve(gateway_app(GatewayKey(), pool))) + "/")))
        to_keeper = address(serve(relay_app(address(serve(gateway_app(GatewayKey(), keeping))) + "/")))
        agents = [
            serve(
                Agent(
                    pool,
                    person,
                    engine=search,
                    wait=0.0,
                    channel=f"ohttp:{to_pool}/" if number == 0 else "direct",
                    relay=keeping,
                    relay_channel=f"ohttp:{to_keeper}/" if number == 0 else "direct",
                    issuer=issuer,
                    account=account(tmp_path, number),
                ).app()
            )
            for number, person in enumerate(PEOPLE)
        ]
        answers = ask_until_all_are_guarded(agents)
        for agent in agents[:2]:  # one over Oblivious HTTP, one directly
            answer = agent.post("/search", json=message | {"person": {"name": "Thelma"}})
            if answer.status_code == 200:
                break
        assert answer.status_code == 200
        assert all(each.json()["results"] for each in answers)
        assert len(engine.told) > len(PEOPLE)
        for _, topics, _, _, person in engine.told[:-1]:
            assert topics == [] and "20" not in person.values()
        query, topics, _, _, person = engine.told[-1]
        assert query == "java" and topics == message["topics"]
        assert "name" not in person and person.get("age") != "20"
        assert keeper.handed and min(map(len, keeper.handed)) >= rules.k


def ask_until_all_are_guarded(agents: list[httpx.Client]) -> list[httpx.Response]:
    """Everybody asks again and again; queries are held back until a region guards them."""
    answers: list[httpx.Response | None] = [None] * len(agents)
    until = time.monotonic() + 120
    while time.monotonic() < until and not all(each is not None for each in answers):
        for number, agent in enumerate(agents):
            answer = agent.get("/search", params={"q": "java"})
            if answer.status_code == 200:
                answers[number] = answer
            else:
                assert answer.status_code == 503, answer.text
        time.sleep(0.5)
    found = [each for each in answers if each is not None]
    assert len(found) == len(agents), [agent.get("/region").text for agent in agents]
    return found


def test_results_depend_on_what_is_known_of_the_person() -> None:
    """Java sparrows and Javanese towns come forward for somebody in Indonesia; nobody loses a result."""
    engine = EngineService()

    def places(**known: Any) -> tuple[set[str], list[int]]:
        rows = engine.search("java", count=100, **known)
        near = [place for place, row in enumerate(rows) if "Indonesia" in row["title"] + row["content"]]
        return {row["url"] for row in rows}, near

    everything, plain = places()
    again, near = places(person={"country": "Indonesia"})
    assert again == everything and len(near) == len(plain) > 3
    assert sum(near) < sum(plain)
    assert places(person={"age": "20 to 28"}) == places()


def test_an_agent_says_why_it_holds_back_and_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    with served_app(
        Agent("http://127.0.0.1:9", {"age": 20}, engine="http://127.0.0.1:9/search").app()
    ) as agent:
        assert agent.get("/region").status_code == 503
        assert "20" not in agent.get("/search", params={"q": "secret"}).text
    with served_app(Agent("http://127.0.0.1:9", {"age": 20}).app()) as agent:
        assert agent.get("/search", params={"q": "x"}).status_code == 404
    record = tmp_path / "me.json"
    record.write_text("[1]")
    with pytest.raises(InputError, match="JSON object"):
        read_record(record)
    record.write_text(json.dumps({"age": 20}))
    assert read_record(record) == {"age": 20}
