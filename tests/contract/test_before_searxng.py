"""The page before a real SearXNG, which itself asks a real Tacit search server."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.local_server import LocalServer, local_server, running
from tests.page_server import served_page
from tests.recorded_upstream import recorded_answer
from tests.redis_server import RedisServer, free_port

from tacit.web.engine_service import EngineService, engine_application
from tacit.web.engines.interface import Carriage, EngineDescription


def _launcher() -> Path | None:
    for ancestor in Path(__file__).resolve().parents[3:]:
        if (ancestor / "shared/searxng/run").is_file():
            return ancestor / "shared/searxng/run"
    return None


@pytest.fixture(scope="module")
def searxng() -> Iterator[str]:
    """A running SearXNG; its environment is made once and kept in the folder for temporary files."""
    launcher = _launcher()
    if launcher is None:
        pytest.skip("SearXNG is absent: no folder shared/searxng beside the project")
    folder = Path(tempfile.gettempdir()) / f"tacit-tests-searxng-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    port = free_port()
    with (folder / "lock").open("w") as lock, running(engine_application(EngineService())) as engine:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [str(launcher), str(folder), str(port), f"{engine}/search"]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        ) as process:
            try:
                address = f"http://127.0.0.1:{port}"
                for _ in range(1200):
                    try:
                        if httpx.get(address, trust_env=False).status_code == 200:
                            break
                    except httpx.TransportError:
                        assert process.poll() is None, "SearXNG did not start"
                        time.sleep(0.2)
                yield address
            finally:
                os.killpg(process.pid, signal.SIGTERM)


_SETTINGS = """
use_default_settings: {{engines: {{keep_only: []}}}}
general: {{instance_name: "local"}}
server: {{secret_key: "only-for-tests", limiter: {limiter}, bind_address: "127.0.0.1", port: {port}}}
valkey: {{url: {valkey}}}
search: {{formats: [html, json]}}
engines:
"""
_ENGINE = """
  - name: recorded {category}
    engine: searx_engine
    shortcut: re{category}
    categories: {category}
    instance_urls: ["{upstream}"]
    paging: true
    time_range_support: true
    enable_http: true
    disabled: false
"""


@contextmanager
def _another(folder: Path, upstream: str, valkey: str = "false", passes: str = "") -> Iterator[str]:
    """A SearXNG of the same program with settings of its own."""
    home, port = Path(tempfile.gettempdir()) / f"tacit-tests-searxng-{os.getuid()}", free_port()
    text = _SETTINGS.format(port=port, limiter=str(valkey != "false").lower(), valkey=valkey)
    for category in ("general", "images", "videos", "news"):
        text += _ENGINE.format(category=category, upstream=upstream)
    (folder / "settings.yml").write_text(text)
    (folder / "limiter.toml").write_text(f"[botdetection.ip_lists]\npass_ip = [{passes}]\n")
    with subprocess.Popen(
        [str(home / "venv/bin/python"), "-m", "searx.webapp"],
        cwd=home,
        env={**os.environ, "SEARXNG_SETTINGS_PATH": str(folder / "settings.yml")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(600):
                try:
                    if httpx.get(f"{address}/healthz", trust_env=False).status_code == 200:
                        break
                except httpx.TransportError:
                    assert process.poll() is None, "SearXNG did not start"
                    time.sleep(0.2)
            yield address
        finally:
            os.killpg(process.pid, signal.SIGTERM)


@pytest.fixture
def recorded(searxng: str, tmp_path: Path) -> Iterator[tuple[str, LocalServer]]:
    """A SearXNG before an upstream whose answers were written down."""
    del searxng  # made its environment
    with local_server(recorded_answer) as upstream, _another(tmp_path, upstream.address) as address:
        yield address, upstream


@pytest.mark.slow
def test_everything_that_searxng_says_is_on_the_page(
    recorded: tuple[str, LocalServer], tmp_path: Path
) -> None:
    engine = EngineDescription("searxng", "searxng", recorded[0], Carriage.NOTHING, timeout=20)
    with served_page(tmp_path, [engine]) as page, page.browser() as client:
        first = client.get("/search", params={"q": "java"}).text
        assert "gave no results" not in first
        assert "Java has 156 million inhabitants." in first and "https://facts.example/java" in first
        assert "128,297 km²" in first and "https://encyclopaedia.example/Java" in first
        assert "java islands" in first and "java coffee beans" in first
        assert "recorded general" in first
        assert "<b>Java</b> coffee and espresso" in first
        assert "site0.example</b> › general › about › java › page-0.html" in first
        assert "12+ results" in first and len(page.site.sent.all()) == 1
        second = client.get("/search", params={"q": "java", "page": 2}).text
        assert len(page.site.sent.all()) == 1  # the first page had more than ten
        third = client.get("/search", params={"q": "java", "page": 3}).text
        assert third.count('class="result"') == 4 and "More results" in third
        assert page.site.sent.all(1)[0].wire.startswith(b"GET /search?q=java&format=json&pageno=2 HTTP/1.1")
        for _ in range(2):  # nothing is asked twice
            client.get("/search", params={"q": "java", "page": 3})
        assert len(page.site.sent.all()) == 2
        assert not set(re.findall(r"page-\d+\.html", second)) & set(re.findall(r"page-\d+\.html", third))
        last = client.get("/search", params={"q": "java", "page": 5}).text
        last = client.get("/search", params={"q": "java", "page": 5}).text
        assert "no more results" in last or last.count('class="result"') >= 1
        filtered = client.get(
            "/search", params={"q": "java", "time": "week", "language": "de", "safe": "2"}
        ).text
        wire = page.site.sent.all(1)[0].wire
        assert b"&time_range=week&language=de&safesearch=2 " in wire
        assert "Of the past week." in filtered


@pytest.mark.slow
def test_images_videos_and_news_come_through_the_page_alone(
    recorded: tuple[str, LocalServer], tmp_path: Path
) -> None:
    engine = EngineDescription("searxng", "searxng", recorded[0], Carriage.NOTHING, timeout=20)
    with served_page(tmp_path, [engine]) as page, page.browser() as client:
        shown = client.get("/search", params={"q": "java", "category": "images"}).text
        pictures = re.findall(r'<img src="([^"]+)"', shown)
        assert len(pictures) == 6 and shown.count("nopicture") == 6
        assert all(one.startswith(f"{page.site.admission.place}/picture/") for one in pictures)
        answer = client.get(page.address + pictures[0])
        assert answer.headers["content-type"] == "image/png" and answer.content.startswith(b"\x89PNG")
        assert "sandbox" in answer.headers["content-security-policy"]
        assert len(page.site.sent.all()) == 1  # pictures within the answer ask nobody
        assert "4:33" in client.get("/search", params={"q": "java", "category": "videos"}).text
        assert "site0.example" in client.get("/search", params={"q": "!n java"}).text
        assert b"categories=news" in page.site.sent.all(1)[0].wire
        client.get("/search", params={"q": "!regeneral tea"})
        assert b"GET /search?q=%21regeneral+tea&format=json" in page.site.sent.all(1)[0].wire


@pytest.mark.slow
def test_searxng_with_its_limiter_on_answers_us(searxng: str, tmp_path: Path) -> None:
    """It lets four questions an hour through by their headers, and all of an address on its pass list."""
    del searxng
    for passes, good in (("", 4), ('"127.0.0.0/8"', 7)):
        folder = tmp_path / f"passes {good}"
        folder.mkdir()
        valkey = RedisServer()
        with (
            valkey,
            local_server(recorded_answer) as upstream,
            _another(folder, upstream.address, valkey.url, passes) as address,
        ):
            engine = EngineDescription("searxng", "searxng", address, Carriage.NOTHING, timeout=20)
            with served_page(folder, [engine]) as page, page.browser() as client:
                texts = [client.get("/search", params={"q": f"java {number}"}).text for number in range(7)]
        answered = ["(429)" not in text and "gave no results" not in text for text in texts]
        assert answered == [True] * good + [False] * (7 - good)


@pytest.mark.slow
def test_searxng_is_asked_and_its_results_are_put_in_personal_order(searxng: str, tmp_path: Path) -> None:
    engine = EngineDescription("searxng", "searxng", searxng, Carriage.NOTHING, timeout=20)
    with served_page(tmp_path, [engine]) as page, page.browser() as client:
        first = client.get("/search", params={"q": "java"})
        assert "gave no results" not in first.text
        assert "coffee, <b>java</b>" in first.text
        assert "searxng was sent the query alone" in first.text
        (sent,) = page.site.sent.all()
        assert sent.wire.startswith(b"GET /search?q=java&format=json HTTP/1.1\r\n")
        found = page.site.service.known("java")
        assert found is not None and len(found.plain) > 5
        coffee = next(one for one in found.plain if one.result.title == "coffee, java")
        text = "A hot beverage of roasted arabica coffee."
        for number in range(6):
            read = {
                "url": f"https://c{number}.example/",
                "title": "Java coffee and espresso",
                "snippet": text,
            }
            page.site.guard.clicked("java", read)
        page.site.rearranged()
        client.get("/search", params={"q": "java"})
        assert len(page.site.sent.all()) == 1  # the order is new, and nobody was asked
        again = page.site.service.known("java")
        assert again is not None
        assert next(one.rank for one in again.personal if one.result == coffee.result) < coffee.rank
