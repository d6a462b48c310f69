"""The how-to's literal commands, with address, text and record planted: none is where it should not be.

The parties run as processes of their own. Their memory is searched, which is more than any of them would log.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.house.test_documented_commands import tacit_commands
from tests.redis_server import free_port

from tacit import Agent
from tacit.pool.channel.join import JoinFile
from tacit.pool.protocol.population import adult

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-a-pool.md"
PLANTED = "127.0.0.77"
TEXT = "canary5d21"


@contextlib.contextmanager
def from_address(address: str, port: int) -> Iterator[int]:
    """A way to ``port`` on which whoever goes it comes from ``address``; gives the port to enter by."""
    listening = socket.create_server(("127.0.0.1", 0))

    def pump(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def accept() -> None:
        while True:
            try:
                inner, _ = listening.accept()
                outer = socket.create_connection(("127.0.0.1", port), source_address=(address, 0))
            except OSError:
                return
            for pair in ((inner, outer), (outer, inner)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()


def memory_of(process: int) -> bytes:
    """All that a process has written into its memory; pages that it never touched are passed over."""
    found = []
    place, size = Path(f"/proc/{process}"), os.sysconf("SC_PAGE_SIZE")
    with (place / "maps").open() as maps, (place / "mem").open("rb", 0) as memory:
        for line in maps:
            span, rights, *_ = line.split()
            if not rights.startswith("rw") or "[v" in line:
                continue
            begin, end = (int(part, 16) for part in span.split("-"))
            with (place / "pagemap").open("rb", 0) as pages, contextlib.suppress(OSError, ValueError):
                pages.seek(begin // size * 8)
                entries = np.frombuffer(pages.read((end - begin) // size * 8), np.uint64)
                there = np.flatnonzero(entries >> np.uint64(62))  # in memory, or swapped out
                for run in np.split(there, np.flatnonzero(np.diff(there) > 1) + 1):
                    if len(run):
                        memory.seek(begin + int(run[0]) * size)
                        found.append(memory.read(len(run) * size))
    return b"".join(found)


@contextlib.contextmanager
def commands(folder: Path) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """The commands of the how-to's first part, as they stand there but on free ports.

    The servers in between are started side by side; they need only the join file.
    """
    part = PAGE.read_text().partition("## On one machine")[2].partition("## With three")[0]
    ports = {str(port): str(free_port()) for port in (8460, 8462, 8464, 8470, 8480)}
    running: dict[str, subprocess.Popen[str]] = {}
    told: set[str] = set()
    environment = os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    try:
        with from_address(PLANTED, int(ports["8462"])) as entry:
            for command in tacit_commands(part):
                if "…" in command:
                    continue
                words = shlex.split(re.sub("84[678]0|846[24]", lambda found: ports[found[0]], command))
                verb = words[2]
                if verb == "create":
                    words += ["--relay", f"http://127.0.0.1:{entry}"]
                    words += ["--pool", f"http://127.0.0.1:{ports['8460']}"]
                    words += ["--gateway", f"http://127.0.0.1:{ports['8464']}"]
                elif "--port" not in words:
                    usual = {"gateway": "8464", "serve": "8460", "relay": "8462", "join": "8470"}[verb]
                    words += ["--port", ports[usual]]
                started = subprocess.Popen(
                    [sys.executable, "-m", *words],
                    cwd=folder,
                    env=environment,
                    text=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
                name = f"{words[1]} {verb}"
                running[name] = started
                if name == "pool relay" or verb in ("create", "join"):
                    for each in [each for each in running if each not in told]:
                        told.add(each)
                        hear(folder, each, running[each])
            yield running
    finally:
        for process in running.values():
            if process.poll() is None:
                os.kill(process.pid, signal.SIGTERM)
        for process in running.values():
            process.wait(20)
            if process.stdout is not None:
                process.stdout.close()


def hear(folder: Path, name: str, started: subprocess.Popen[str]) -> None:
    """Keep what a command says until it serves, or has ended."""
    said, verb = "", name.split()[1]
    assert started.stdout is not None
    while "stop with Ctrl-C" not in said and (line := started.stdout.readline()):
        said += line
    assert started.poll() in (None, 0), said
    (folder / f"{verb}.said").write_text(said)
    assert verb == "create" or "stop with Ctrl-C" in said, said


async def others(join: JoinFile, folder: Path, number: int) -> None:
    """So many other people ask."""
    template = join.template
    rows = adult().records[np.random.default_rng(3).integers(len(adult().records), size=number)].tolist()

    async def one(at: int, row: list[int]) -> None:
        record = {a.name: a.labels[code] for a, code in zip(template.attributes, row, strict=True)}
        async with Agent(join, record, memory=folder / f"{at}.json", patience=100.0) as agent:
            assert (await agent.search(f"tea {at}"))["guarded"]

    await asyncio.gather(*(one(at, row) for at, row in enumerate(rows)))


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux's /proc")
def test_the_how_to_runs_and_no_party_sees_what_it_should_not(tmp_path: Path) -> None:
    template = adult().template
    values = {a.name: a.labels[len(a) // 2] for a in template.attributes} | {"age": 43}
    record = json.dumps(values)
    (tmp_path / "me.json").write_text(record)
    with commands(tmp_path) as running:
        join = JoinFile.read(tmp_path / "pool.join")
        address = re.search(
            r"http://127\.0\.0\.1:\d+", (tmp_path / "join.said").read_text().partition("Agent at")[2]
        )
        assert address is not None
        answer: dict[str, object] = {}

        def ask() -> None:
            answer.update(httpx.get(f"{address[0]}/search", params={"q": f"{TEXT} java"}, timeout=150).json())

        asking = threading.Thread(target=ask)
        asking.start()
        asyncio.run(others(join, tmp_path, 32))
        asking.join()
        assert answer["guarded"] is True and answer["results"], answer
        of = {name: process.pid for name, process in running.items()}
        for name in ("pool relay", "pool serve", "pool gateway", "engine serve"):
            memory = memory_of(of[name])
            assert (PLANTED.encode() in memory) == (name == "pool relay"), (
                f"{name}: one party sees the address"
            )
            assert name in ("pool gateway", "engine serve") or TEXT.encode() not in memory, name
            assert record.encode() not in memory, name
            found = join.identities["pool"].encode() in memory
            assert found or name == "engine serve", "the search finds what is there"
    shown = (tmp_path / "join.said").read_text()
    told = " ".join(shown.split())
    for said in ("30 people", "120 s", "fewer than 30 people ask", "relay + pool", "no issuer"):
        assert said in told, said
