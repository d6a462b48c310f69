"""What left the machine, captured at the socket, is what the exposure page says was sent: byte for byte."""

from __future__ import annotations

import html
import json
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from tests.local_server import http_answer, local_server
from tests.page_server import served_page

from tacit.web.engines.interface import Carriage, EngineDescription

QUERIES = 100
ODD = [
    "java",
    'a "quoted" phrase',
    "café & crème <b>",
    "50% off + more",
    "日本語 の 検索",
    "x=1&q=2#part",
    "emoji 🎉",
    "\\n\\r",
]
RESULTS = json.dumps(
    {"results": [{"url": f"https://r{n}.example/", "title": f"Result {n}"} for n in range(5)]}
)


def said_on_the_page(client: httpx.Client) -> list[bytes]:
    """Every request on the exposure page, oldest first, from the raw bytes of its HTML."""
    found: list[bytes] = []
    part = 1
    while True:
        text = client.get(f"/exposure?page={part}").content.decode("utf-8")
        here = re.findall(r'<pre class="wire"[^>]*data-number="\d+">(.*?)</pre>', text, re.DOTALL)
        found += [html.unescape(wire).encode() for wire in here]
        if f"/exposure?page={part + 1}#" not in text:
            return found[::-1]
        part += 1


def test_a_session_of_100_queries(tmp_path: Path) -> None:
    flaky = iter(range(10_000))

    def sometimes_out_of_order(_request: bytes, _connection: socket.socket) -> bytes:
        if next(flaky) % 9 == 4:
            return http_answer("", "503 Busy")
        return http_answer(RESULTS)

    with (
        local_server(lambda *_: http_answer(RESULTS)) as told,
        local_server(lambda *_: http_answer(RESULTS)) as expanded,
        local_server(sometimes_out_of_order) as plain,
    ):
        engines = [
            EngineDescription("told", "tacit", told.address, Carriage.PROFILE),
            EngineDescription("expanded", "searxng", expanded.address, Carriage.EXPANSION),
            EngineDescription("plain", "searxng", plain.address, timeout=20),
        ]
        with served_page(tmp_path, engines) as page, page.browser() as client:
            begun = datetime(2026, 1, 1, tzinfo=UTC)
            page.site.guard.confirm()
            page.site.guard.learn(
                (
                    "",
                    {"url": f"https://c{n}.example/", "title": title, "snippet": title},
                    begun + timedelta(n),
                )
                for n in range(40)
                for title in ["Roasting coffee beans for espresso, a dark beverage of arabica"]
            )
            for number in range(QUERIES):
                query = f"{ODD[number % len(ODD)]} {number}" if number % 3 else f"coffee {ODD[0]} {number}"
                answer = client.get("/search", params={"q": query})
                assert answer.status_code == 200
                found = re.findall(r'<pre class="wire"[^>]*>(.*?)</pre>', answer.text, re.DOTALL)
                shown = [html.unescape(wire).encode() for wire in found]
                assert set(shown) == {told.requests[-1], expanded.requests[-1], plain.requests[-1]}
            said = said_on_the_page(client)
            ledger = {name: page.site.guard.exposures(name) for name in ("told", "expanded", "plain")}
    left = [*told.requests, *expanded.requests, *plain.requests]
    assert len(told.requests) == len(expanded.requests) == QUERIES
    assert len(plain.requests) > QUERIES  # some were sent twice, and said to have been
    assert sorted(said) == sorted(left)
    for server in (told, expanded, plain):
        assert [wire for wire in said if wire in set(server.requests)] == server.requests
    bodies = [json.loads(request.partition(b"\r\n\r\n")[2]) for request in told.requests]
    assert [tuple(body.get("topics", ())) for body in bodies] == [one.labels for one in ledger["told"]]
    assert [body["query"] for body in bodies] == [one.query for one in ledger["told"]]
    assert not any(one.labels for one in ledger["plain"])
    assert any(one.labels for one in ledger["told"])


def test_a_kill_loses_no_request_that_was_received(tmp_path: Path) -> None:
    """Every request is on the disk before it is written: whatever an engine received is in the record."""
    profile = tmp_path / "me.profile"
    with local_server(lambda *_: http_answer(RESULTS)) as engine:
        command = [sys.executable, "-m", "tacit", "serve", "--port", "0", "--profile", str(profile)]
        command += ["--engine", f"searxng={engine.address}", "--no-browser", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
            assert serving.stdout is not None
            said = ""
            while not said.rstrip().endswith("}"):
                line = serving.stdout.readline()
                assert line
                said += line
            opening = json.loads(said)["address"]
            headers = {"Sec-Fetch-Site": "same-origin"}
            with httpx.Client(base_url=opening.partition("/open")[0], headers=headers, timeout=60) as client:
                place = re.search(r"/at-[\w-]+", client.get(opening).text)
                assert place is not None
                client.base_url = client.base_url.join(place[0])
                searching = threading.Thread(target=_search_until_it_ends, args=(client,))
                searching.start()
                while len(engine.requests) < 30:
                    time.sleep(0.005)
                serving.kill()
                searching.join()
        received = list(engine.requests)
    with closing(sqlite3.connect(profile)) as connection:
        recorded = [
            bytes(wire) for (wire,) in connection.execute("SELECT bytes FROM page_sent ORDER BY number")
        ]
    assert recorded[: len(received)] == received
    assert len(recorded) - len(received) in {0, 1}  # one may have been recorded and never sent


def test_a_record_is_on_the_disk_itself_and_not_in_its_cache(tmp_path: Path) -> None:
    """A query among the suggestions may be lost with the power; what was sent may not."""
    with served_page(tmp_path) as page:
        page.site.suggestions.remember("tea", datetime.now(UTC).isoformat())
        assert page.site.state.rows("PRAGMA synchronous") == [(1,)]  # NORMAL
        page.site.sent.record("engine", None, "http://127.0.0.1:9", b"GET / HTTP/1.1")
        assert page.site.state.rows("PRAGMA synchronous") == [(2,)]  # FULL


def _search_until_it_ends(client: httpx.Client) -> None:
    with suppress(httpx.HTTPError):
        for number in range(10_000):
            client.get("/search", params={"q": f"query {number}"})
