"""The search server: answers, personalises by what it is told, refuses nonsense, keeps and logs nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.local_server import running

from tacit.taxonomy import people_taxonomy
from tacit.web.engine_service import EngineService, engine_application


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with (
        running(engine_application(EngineService())) as address,
        httpx.Client(base_url=address, trust_env=False) as client,
    ):
        yield client


def test_it_answers_in_the_form_that_searxng_reads(client: httpx.Client) -> None:
    results = client.get("/search", params={"q": "java"}).json()["results"]
    assert {"url", "title", "content"} <= set(results[0])
    assert any("island" in result["content"] for result in results)
    assert [result["plain_place"] for result in results] == list(range(1, len(results) + 1))


def test_a_profile_brings_its_meaning_forward_and_no_profile_changes_nothing(client: httpx.Client) -> None:
    topics = ["Top/Food & Drink/Coffee & Tea"]
    plain = client.post("/search", json={"query": "java"}).json()["results"]
    told = client.post("/search", json={"query": "java", "topics": topics}).json()["results"]
    wanted = next(result["url"] for result in plain if result["url"].endswith("/coffee.n.01"))
    assert [r["url"] for r in told].index(wanted) < [r["url"] for r in plain].index(wanted)
    assert plain == client.get("/search?q=java").json()["results"]


@pytest.mark.parametrize(
    "body",
    [b"", b"no", b"[]", b'{"query": 7}', b'{"query": "a", "topics": "b"}',
     b'{"query": "a", "topics": ["nowhere"]}', b'{"query": "a", "count": 1000}',
     b"[" * 100_000,
     b'{"query": "' + b"a" * 300_000 + b'"}'],
)  # fmt: skip
def test_nonsense_is_refused_without_repeating_it(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/search", content=body)
    assert answer.status_code == 400
    assert len(answer.json()["error"]) < 200


def test_the_command_serves_until_it_is_stopped_and_logs_no_query(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tacit", "engine", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stderr is not None
        text = ""
        while "}" not in text:
            text += running.stdout.readline()
        address = json.loads(text)["address"]
        results = httpx.get(address, params={"q": "zanzibar"}, trust_env=False).json()["results"]
        httpx.get(address + "/nowhere?q=zanzibar", trust_env=False)
        os.kill(running.pid, signal.SIGTERM)
        said = running.stdout.read() + running.stderr.read()
        assert running.wait(20) == 0
    assert results
    assert "zanzibar" not in said.lower()


def test_documents_of_ones_own_are_searched_and_personalised(tmp_path: Path) -> None:
    from tacit import InputError
    from tacit.retrieval import EmbeddedEngine
    from tacit.web.engine_service import read_documents

    rows = [
        {"url": "https://a.example/1", "title": "Jaguar", "text": "A fast car with a powerful engine."},
        {"url": "https://a.example/2", "title": "Jaguar", "text": "A wild cat that hunts at night."},
        {"url": "https://a.example/3", "title": "Bread", "text": "Flour, water and salt."},
    ]  # fmt: skip
    path = tmp_path / "documents.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    read = read_documents(path)
    folder = tmp_path / "index"
    folder.mkdir()
    service = EngineService(read, EmbeddedEngine.build(folder, read))
    tree = people_taxonomy()
    for name, expected in (("Cats", "https://a.example/2"), ("Cars", "https://a.example/1")):
        label = next(tree.label(topic) for topic, found in enumerate(tree.names) if found.startswith(name))
        assert service.search("jaguar", [label])[0]["url"] == expected
    assert {result["url"] for result in service.search("jaguar")} == {
        "https://a.example/1",
        "https://a.example/2",
    }
    for bad in ("", "no json", '{"url": "ftp://a"}', "[1]", '{"title": "no url"}'):
        path.write_text(bad)
        with pytest.raises(InputError):
            read_documents(path)
