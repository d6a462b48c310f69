"""Pictures that an engine names: none leads inwards, carries script, or is larger than it may be."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.local_server import LocalServer, http_answer, local_server
from tests.page_server import ServedPage, served_page
from tests.recorded_upstream import png

from tacit.web.engines.interface import EngineDescription, Wanted
from tacit.web.pictures import may_be_shown, picture_type

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
ENGINE = EngineDescription("engine", "searxng", "http://127.0.0.1:8888")


def _data(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


@contextmanager
def _pictures(
    folder: Path, named: list[str], *, everywhere: bool
) -> Iterator[tuple[ServedPage, httpx.Client]]:
    """A page whose engine names these pictures."""
    rows = [
        {"url": f"https://r{n}.example/", "title": f"R{n}", "img_src": one} for n, one in enumerate(named)
    ]
    with local_server(lambda *_: http_answer(json.dumps({"results": rows}))) as engine:
        description = EngineDescription("engine", "searxng", engine.address)
        with served_page(folder, [description]) as page, page.browser() as client:
            if everywhere:
                page.post(client, "/settings", switches="pictures", pictures="on")
            yield page, client


def _shown(page: ServedPage, client: httpx.Client) -> list[httpx.Response]:
    text = client.get("/search?q=tea&category=images").text
    return [client.get(page.address + path) for path in re.findall(r'<img src="([^"]+)"', text)]


@pytest.mark.parametrize(
    "content",
    [SVG, b"<html><script>alert(1)</script>", b"\xff\xd8\xff" + SVG, b"GIF89a", b"", b"\x89PNG\r\n\x1a\n",
     b"GIF89a\x00\x00\x00\x00", struct.pack(">8sI4sII", b"\x89PNG\r\n\x1a\n", 13, b"IHDR", 60_000, 60_000),
     b"RIFF\x00\x00\x00\x00WEBPVP8X", b"BM" + bytes(60), b"%PDF-1.7"],
    ids=["svg", "page", "as jpeg", "cut gif", "empty", "cut png", "flat", "huge", "cut webp", "bmp", "pdf"],
)  # fmt: skip
def test_what_is_no_picture_of_sensible_size_is_not_passed_on(tmp_path: Path, content: bytes) -> None:
    assert picture_type(content) is None
    with _pictures(tmp_path, [_data(content), _data(png())], everywhere=False) as (page, client):
        bad, good = _shown(page, client)
    assert bad.status_code == 404 and bad.content == b""
    assert good.status_code == 200 and good.headers["content-type"] == "image/png"
    assert good.headers["x-content-type-options"] == "nosniff"
    assert good.headers["cross-origin-resource-policy"] == "same-origin"
    assert "sandbox" in good.headers["content-security-policy"]


@given(st.binary(max_size=200), st.sampled_from([b"", b"\xff\xd8\xff\xe0", b"RIFF0000WEBPVP8 ", b"GIF89a"]))
def test_no_bytes_break_the_look_at_them(content: bytes, head: bytes) -> None:
    assert picture_type(head + content) in {None, "image/jpeg", "image/webp", "image/gif", "image/png"}


@pytest.mark.parametrize("everywhere", [False, True])
def test_an_engine_cannot_make_the_page_ask_this_machine_or_its_network(
    tmp_path: Path, everywhere: bool
) -> None:
    with local_server(lambda *_: http_answer(png())) as inner:
        named = [
            f"{inner.address}/admin?delete=all",
            f"http://localhost:{inner.port}/",
            f"http://tacit.localhost:{inner.port}/",
            f"http://[::1]:{inner.port}/",
            f"http://[::ffff:127.0.0.1]:{inner.port}/",
            "http://169.254.169.254/latest/meta-data/",
            "http://192.168.0.1/",
            "http://0.0.0.0/",
            f"file:///etc/passwd#{inner.port}",
            f"//127.0.0.1:{inner.port}/",
        ]
        with _pictures(tmp_path, named, everywhere=everywhere) as (page, client):
            assert _shown(page, client) == []
            result = page.site.service.known("tea", Wanted(category="images"))
            assert result is not None
            for number in range(len(named)):  # nor by who guesses the address
                answer = client.get(f"/picture/{result.key}/{number}")
                assert answer.status_code in {400, 404}
            assert len(page.site.sent.all()) == 1
        assert inner.requests == []


def test_numbers_that_mean_a_local_address_are_not_asked(tmp_path: Path) -> None:
    """Resolvers read 2130706433 and 0x7f.1 as 127.0.0.1: the address is checked after it was looked up."""
    with local_server(lambda *_: http_answer(png())) as inner:
        named = [
            f"http://2130706433:{inner.port}/",
            f"http://0x7f.1:{inner.port}/",
            f"http://127.1:{inner.port}/",
        ]
        with _pictures(tmp_path, named, everywhere=True) as (page, client):
            assert [one.status_code for one in _shown(page, client)] == [404] * 3
        assert inner.requests == []


def test_pictures_of_the_engine_itself_are_fetched_recorded_and_bounded(tmp_path: Path) -> None:
    def answer(request: bytes, _connection: object) -> bytes:
        path = request.split(b" ")[1]
        if path.startswith(b"/search"):
            paths = ("good.png", "large.png", "away", "script.svg")
            rows = [
                {"url": f"https://{p}.example/", "title": p, "img_src": f"{address()}/{p}"} for p in paths
            ]
            return http_answer(json.dumps({"results": rows}))
        if path == b"/large.png":
            return http_answer(png() + bytes(2_000_000))
        if path == b"/away":
            return http_answer("", "302 Found", Location="http://127.0.0.1:1/")
        return http_answer(SVG if path.endswith(b"svg") else png(), Content_Type="text/html")

    def address() -> str:
        return engine.address

    engine: LocalServer
    with (
        local_server(answer) as engine,
        served_page(tmp_path, [EngineDescription("engine", "searxng", engine.address)]) as page,
        page.browser() as client,
    ):
        assert [one.status_code for one in _shown(page, client)] == [200, 404, 404, 404]
        recorded = {one.wire for one in page.site.sent.all()}
        assert recorded == set(engine.requests)
        for request in engine.requests[1:]:
            assert b"\r\nReferer" not in request and b"\r\nCookie" not in request


def test_others_are_asked_only_if_the_person_turned_it_on() -> None:
    elsewhere = "https://pictures.example/a.png"
    assert not may_be_shown(elsewhere, ENGINE, from_anywhere=False)
    assert may_be_shown(elsewhere, ENGINE, from_anywhere=True)
    assert may_be_shown("http://127.0.0.1:8888/a.png", ENGINE, from_anywhere=False)
    for other in (
        "http://127.0.0.1:8889/a.png",
        "https://127.0.0.1:8888/a.png",
        "http://localhost:8888/a.png",
    ):
        assert not may_be_shown(other, ENGINE, from_anywhere=True)
