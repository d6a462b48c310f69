"""The page before a real SearXNG, which itself asks a real Tacit search server."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.local_server import running
from tests.page_server import served_page

from tacit.web.engine_service import EngineService, engine_application
from tacit.web.engines.interface import Carriage, EngineDescription


def _launcher() -> Path | None:
    for ancestor in Path(__file__).resolve().parents[3:]:
        if (ancestor / "shared/searxng/run").is_file():
            return ancestor / "shared/searxng/run"
    return None


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        return int(opened.getsockname()[1])


@pytest.fixture(scope="module")
def searxng() -> Iterator[str]:
    """A running SearXNG; its environment is made once and kept in the folder for temporary files."""
    launcher = _launcher()
    if launcher is None:
        pytest.skip("SearXNG is absent: no folder shared/searxng beside the project")
    folder = Path(tempfile.gettempdir()) / f"tacit-tests-searxng-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    port = _free_port()
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


@pytest.mark.slow
def test_searxng_is_asked_and_its_results_are_put_in_personal_order(searxng: str, tmp_path: Path) -> None:
    engine = EngineDescription("searxng", "searxng", searxng, Carriage.NOTHING, timeout=20)
    with served_page(tmp_path, [engine]) as page, page.browser() as client:
        first = client.get("/search", params={"q": "java"})
        assert "gave no results" not in first.text
        assert "coffee, java" in first.text
        assert "searxng was sent the query alone" in first.text
        (sent,) = page.site.sent.all()
        assert sent.wire.startswith(b"GET /search?q=java&format=json HTTP/1.1\r\n")
        found = page.site.service.known("java")
        assert found is not None and len(found.plain) > 5
        coffee = next(one for one in found.plain if one.result.title == "coffee, java")
        text = "A hot beverage of roasted arabica coffee."
        for number in range(6):
            read = {"url": f"https://c{number}.example/", "title": "Coffee and espresso", "snippet": text}
            page.site.guard.clicked("coffee", read)
        page.site.changed()
        client.get("/search", params={"q": "java"})
        again = page.site.service.known("java")
        assert again is not None
        assert next(one.rank for one in again.personal if one.result == coffee.result) < coffee.rank
