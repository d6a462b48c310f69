"""The private search page asks through a pool by a switch, waits for others, and says what it means."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.local_server import http_answer, local_server
from tests.pool_parties import make_join
from tests.redis_server import free_port
from tests.served_app import served_app

from tacit import Agent, Pool
from tacit.pool.channel.join import Identity
from tacit.pool.server.gateway import Gateway
from tacit.pool.server.relay import relay_app
from tacit.web.engine_service import EngineService, engine_application
from tacit.web.engines.catalogue import engine_from_data, upstream_of
from tacit.web.engines.client import EngineClient


def test_the_page_asks_through_the_pool_and_the_engine_never_meets_it(tmp_path: Path) -> None:
    told: list[tuple[Any, ...]] = []

    class Watched(EngineService):
        def search(self, *asked: Any, **named: Any) -> list[dict[str, Any]]:
            told.append(asked)
            return super().search(*asked, **named)

    ports = {name: f"http://127.0.0.1:{free_port()}" for name in ("relay", "pool", "gateway")}
    with served_app(engine_application(Watched())) as engine:
        join = make_join(tmp_path, window=120.0, **ports)
        gateway = Gateway(join, Identity.kept(tmp_path / "gateway.secret"), f"{engine.base_url}/search")
        apps = {"relay": relay_app(join), "pool": Pool(join, tmp_path / "pool.secret").app()}
        apps["gateway"] = gateway.app()
        served = [served_app(app, int(ports[name].rpartition(":")[2])) for name, app in apps.items()]
        for each in served:
            each.__enter__()
        try:
            page(tmp_path, told)
        finally:
            for each in served:
                each.__exit__(None, None, None)


def page(folder: Path, told: list[tuple[Any, ...]]) -> None:
    (folder / "me.json").write_text(json.dumps({"age": 30, "place": "Redmond"}))
    words = ["serve", "--pool", "pool.join", "--record", "me.json", "--profile", "me.profile"]
    environment = os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    running = subprocess.Popen(
        [sys.executable, "-m", "tacit", *words, "--port", "0", "--no-browser"],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert running.stdout is not None
    try:
        said = ""
        while "stop with Ctrl-C" not in said and (line := running.stdout.readline()):
            said += line
        assert "3 people asked under within 120 s" in said and "relay + pool, together" in said, said
        address = re.search(r"http://127\.0\.0\.1:\d+/\S*", said)
        assert address is not None
        asyncio.run(ask(folder, address[0], told))
    finally:
        running.terminate()
        running.wait(20)
        running.stdout.close()


async def ask(folder: Path, address: str, told: list[tuple[Any, ...]]) -> None:
    own = {"Sec-Fetch-Site": "same-origin"}
    async with httpx.AsyncClient(headers=own, timeout=60, trust_env=False) as browser:
        entry = (await browser.get(address)).text
        place = re.search(r"url=(/[^\"' ]*?)/?[\"']", entry)
        assert place is not None, entry
        root = [address.partition("/open")[0] + place[1]]

        async def other(number: int) -> None:
            record = {"age": 30, "place": "Redmond"}  # in the same leaf, whoever asks first
            path = folder / f"{number}.json"
            async with Agent(folder / "pool.join", record, memory=path, patience=100.0) as agent:
                await agent.search(f"tea {number}")

        # k of them, so that all leave in one batch: one more would go out alone, under the whole domain
        search = browser.get(f"{root[0]}/search", params={"q": "java island"})
        found, *_ = await asyncio.gather(search, *(other(number) for number in range(2)))
        assert found.status_code == 200 and "java" in found.text.lower()
        mine = next(asked for asked in told if asked[0] == "java island")
        assert mine[3].get("age") != "30" and "Redmond" not in str(mine[3]), "a region, and no record"
        learnt = await asyncio.to_thread(beside_the_results, address, f"{root[0]}/search?q=java+island")
        assert "At least 3 people" in learnt and "Redmond" not in learnt
        assert all(str(value) in learnt for value in mine[3].values()), "what the service learnt"
        settings = await browser.get(f"{root[0]}/settings")
        assert "pool of 3" in settings.text and "a region of yours that k people share" in settings.text


def beside_the_results(opening: str, search: str) -> str:
    """What a wide window of Chromium shows of the region beside the results of the same search."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as driver:
        options = {"executable_path": shutil.which("chromium"), "args": ["--no-sandbox", "--disable-gpu"]}
        page = driver.chromium.launch(**options).new_page(viewport={"width": 1500, "height": 900})
        page.set_default_timeout(90_000)
        page.goto(opening)
        page.wait_for_url("**/")
        page.goto(search)
        region = page.locator(".region")
        assert region.bounding_box()["x"] > page.locator(".results").bounding_box()["x"] + 300
        return str(region.inner_text())


def test_a_query_that_is_held_is_said_to_be_held_and_the_pool_is_asked_again() -> None:
    said = (
        "held back and not sent: fewer than 3 people of a shared region asked within 20 s. Ask again later."
    )

    def held(_request: bytes, _socket: object) -> bytes:
        return http_answer(json.dumps({"error": said}), "503 Service Unavailable", Retry_After="5")

    async def record(_origin: str, _request: bytes) -> None:
        pass

    async def ask() -> None:
        with local_server(held) as member:
            engine = engine_from_data({"kind": "pool", "address": member.address, "name": "pool of 3"})
            client, upstream = EngineClient(), upstream_of(engine)
            for _ in range(5):
                answer = await client.ask(engine, upstream, upstream.request("tea"), record)
                assert answer.problem == said and not answer.results
            assert len(member.requests) == 5, "once each, and never left alone for a while"
            await client.close()

    asyncio.run(ask())
