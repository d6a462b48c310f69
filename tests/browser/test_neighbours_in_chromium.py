"""A server on another port of this machine, in the same browser: what it is sent, and what it can do."""

from __future__ import annotations

import json
import re
import shutil
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.local_server import http_answer, local_server
from tests.page_server import served_page

from tacit.web.engines.interface import EngineDescription

playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
OPTIONS = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --no-first-run"
)

HOVERING = "--headless=new --no-sandbox --disable-gpu --no-first-run"
"""As people have it: the driver's own default would turn off what is looked for."""


def test_a_neighbouring_port_gets_no_session_and_cannot_act(tmp_path: Path) -> None:
    def neighbour(_request: bytes, _connection: socket.socket) -> bytes:
        tossed = f"tacit-{page.site.admission.port}=tossed; Path=/"
        return http_answer("<!doctype html><p>hello", Content_Type="text/html", Set_Cookie=tossed)

    with served_page(tmp_path) as page, local_server(neighbour) as next_door:
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=OPTIONS.split())
            window = browser.new_page()
            window.goto(page.opening)
            window.wait_for_url(page.inside + "/")
            window.goto(page.address + "/search?q=coffee")  # the bare address leads inside
            window.wait_for_url(page.inside + "/search?q=coffee")
            cookie = next(one["value"] for one in window.context.cookies() if "tacit" in one["name"])
            for host in ("127.0.0.1", "localhost", "tacit.localhost"):
                for path in ("/", "/data/export", "/search?q=java"):
                    window.goto(f"http://{host}:{next_door.port}{path}")
            window.goto(next_door.address)
            seen = window.evaluate(
                """async address => {
                    const tries = [
                        fetch(address + "/data/export", {credentials: "include"}),
                        fetch(address + "/", {credentials: "include", mode: "no-cors"}),
                        fetch(address + "/open?key=x", {credentials: "include"}),
                    ];
                    const settled = await Promise.allSettled(tries);
                    const text = one => one.value ? one.value.text() : "failed";
                    const texts = await Promise.all(settled.map(text));
                    return [...texts, document.cookie, document.referrer, JSON.stringify({...localStorage})];
                }""",
                page.address,
            )
            assert seen[0] == "failed" and seen[1] in {"", "failed"} and seen[2] == "failed"
            assert not any(page.site.admission.place in text or cookie in text for text in seen)
            window.evaluate("address => { location.href = address + '/search?q=forged'; }", page.address)
            window.wait_for_selector("text=Another site sent you here")
            window.goto(page.address + "/profile")  # the tossed cookie does not lock the person out
            window.wait_for_url(page.inside + "/profile")
            browser.close()
        assert len(next_door.requests) > 5
        got = b"\n".join(next_door.requests)
        assert cookie.encode() not in got and page.site.admission.place.encode() not in got
        assert page.site.service.known("forged") is None
        for value in {*re.findall(rb"[Cc]ookie: ([^\r\n]+)", got)}:
            stolen = {"Cookie": value.decode(), "Sec-Fetch-Site": "same-origin"}
            answer = httpx.get(page.address + "/data/export", headers=stolen, trust_env=False)
            assert "history" not in answer.text and "not known here" in answer.text


def _names_looked_up(tmp_path: Path, driver: Any, *, control: bool) -> str:
    """What Chromium's resolver was asked while a result, or a bare link, lay under the pointer."""
    rows = [{"url": "http://hovered.example/", "title": "A result to hover over", "content": "text"}]
    with local_server(lambda *_: http_answer(json.dumps({"results": rows}))) as engine:
        bare = '<!doctype html><a href="http://hovered.example/" style="font-size:40px">A result</a>'
        with (
            local_server(lambda *_: http_answer(bare, Content_Type="text/html")) as plain,
            served_page(tmp_path, [EngineDescription("engine", "searxng", engine.address)]) as page,
        ):
            log = tmp_path / "net.json"
            browser = driver.chromium.launch_persistent_context(
                tmp_path / "browser",
                headless=False,
                executable_path=CHROMIUM,
                args=[*HOVERING.split(), f"--log-net-log={log}"],
                ignore_default_args=["--disable-background-networking"],
            )
            window = browser.new_page()
            if control:
                window.goto(plain.address)
            else:
                window.goto(page.opening)
                window.wait_for_url(page.inside + "/")
                window.goto(page.inside + "/search?q=coffee")
            link = window.locator("a", has_text="A result").first
            link.hover()
            window.wait_for_timeout(300)
            link.focus()
            window.wait_for_timeout(700)
            browser.close()
            return log.read_text(errors="replace")


def test_no_name_is_looked_up_before_a_click(tmp_path: Path) -> None:
    """The control shows that Chromium does look up what a page without our headers links to."""
    with playwright.sync_playwright() as driver:
        for name in ("control", "ours"):
            (tmp_path / name).mkdir()
        assert "hovered.example" in _names_looked_up(tmp_path / "control", driver, control=True)
        assert "hovered.example" not in _names_looked_up(tmp_path / "ours", driver, control=False)
