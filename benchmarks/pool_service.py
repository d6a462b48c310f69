"""Thousands of real agents on loopback: relay, pool, service gateway and engine as processes of their own.

Prints how many queries were answered and held, errors, how long an answer took (median, 99th percentile; the
cold start is in it) beside the floor (the engine asked directly in the same run), each server's memory in the
middle and at the end, and how many queries that the engine got break Definition 2 (by brute force over the
agents' records). Agents share one process and one set of connections, and remember the pool in memory: their
disks are not measured.

Run: ``python benchmarks/pool_service.py [--people 2000] [--seconds 600] [--every 60] [--quick]``
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np

from tacit.pool.agent import Agent, HeldError
from tacit.pool.channel.join import JoinFile
from tacit.pool.protocol.population import adult

ENGINE = """
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
import json, time
asked = open("asked.jsonl", "a", buffering=1)
async def search(request):
    said = await request.json()
    if "person" in said:
        asked.write(json.dumps([time.time(), int(said["query"]), said["person"]]) + "\\n")
    return JSONResponse({"results": [{"url": "http://a.test", "title": "a", "content": "b" * 200}] * 10})
app = Starlette(routes=[Route("/search", search, methods=["GET", "POST"])])
uvicorn.run(app, port=PORT, log_level="critical", access_log=False)
"""


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextlib.contextmanager
def parties(
    folder: Path, k: int, window: float, people: int
) -> Iterator[tuple[JoinFile, dict[str, int], str]]:
    """The servers, started by their commands: the join file, process ids, the engine's address."""
    ports = {name: free_port() for name in ("relay", "serve", "gateway", "engine")}
    address = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    tacit = [sys.executable, "-m", "tacit", "pool"]
    made = ["create", "pool.join", "--k", str(k), "--window", str(window), "--people", str(people)]
    made += ["--relay", address["relay"], "--pool", address["serve"], "--gateway", address["gateway"]]
    subprocess.run([*tacit, *made], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    engine = [sys.executable, "-c", ENGINE.replace("PORT", str(ports["engine"]))]
    running = {"engine": subprocess.Popen(engine, cwd=folder)}
    more = {"gateway": ["--engine", f"{address['engine']}/search"], "serve": [], "relay": []}
    for name, options in more.items():
        words = [*tacit, name, "pool.join", "--port", str(ports[name]), *options]
        running[name] = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        for port in ports.values():
            while socket.socket().connect_ex(("127.0.0.1", port)):
                time.sleep(0.1)
        found = {name: process.pid for name, process in running.items()}
        yield JoinFile.read(folder / "pool.join"), found, f"{address['engine']}/search"
    finally:
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        for process in running.values():
            process.wait(20)


def megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1_024


async def measure(
    join: JoinFile, folder: Path, processes: dict[str, int], people: int, seconds: float, every: float
) -> dict[str, object]:
    template, chosen = join.template, random.Random(1)
    known = adult().records
    rows = known[np.random.default_rng(1).integers(len(known), size=people)].tolist()
    counts: Counter[str] = Counter()
    times: list[float] = []
    shared = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=200, max_keepalive_connections=100))
    until = time.monotonic() + seconds

    async def live(number: int, row: list[int]) -> None:
        record = {a.name: a.labels[code] for a, code in zip(template.attributes, row, strict=True)}
        memory = folder / f"{number}.json"
        agent = Agent(join, record, memory=memory, delay=0.0, patience=30.0, transport=shared)
        await agent.__aenter__()
        await asyncio.sleep(chosen.uniform(0, every))
        while time.monotonic() < until:
            begun = time.monotonic()
            try:
                await agent.search(str(number))
                counts["answered"] += 1
                times.append(time.monotonic() - begun)
            except HeldError:
                counts["held"] += 1
            except Exception as error:
                counts[f"error {type(error).__name__}: {error}"[:90]] += 1
            pause = chosen.expovariate(1 / every)
            await asyncio.sleep(min(pause, max(0.0, until - time.monotonic())))

    async def watch() -> dict[str, float]:
        await asyncio.sleep(seconds / 2)
        return {name: megabytes(process) for name, process in processes.items()}

    halfway, *_ = await asyncio.gather(watch(), *(live(number, row) for number, row in enumerate(rows)))
    await shared.aclose()
    end = {name: megabytes(process) for name, process in processes.items()}
    ordered = sorted(times) or [0.0]
    return {
        "counts": dict(counts),
        "median": round(ordered[len(ordered) // 2], 3),
        "p99": round(ordered[int(len(ordered) * 0.99)], 3),
        "megabytes": {name: [round(halfway[name]), round(end[name])] for name in end},
        "breaches": breaches(join, rows, folder / "asked.jsonl"),
    }


def breaches(join: JoinFile, rows: list[list[int]], log: Path) -> int:
    """How many of the queries that the engine got fewer than k people match within w, by their true records.

    The engine is asked moments after the gateway's log; w is taken a second longer for that.
    """
    template, records = join.template, np.array(rows)
    everybody = template.values(template.domain)
    place = {}
    for node, region in enumerate(join.tree.regions):
        words = {name: said for name, said in template.values(region).items() if said != everybody[name]}
        place[json.dumps(words, sort_keys=True)] = node
    read = [json.loads(line) for line in log.read_text().splitlines()]
    moments = np.array([entry[0] for entry in read])
    senders = np.array([entry[1] for entry in read])
    corners = join.tree.corners[[place[json.dumps(entry[2], sort_keys=True)] for entry in read]]
    found = 0
    for moment, sender, _ in read:
        near = np.abs(moments - moment) <= join.rules.window + 1.0
        low, high = corners[near][:, 0], corners[near][:, 1]
        match = ((records[sender] >= low) & (records[sender] <= high)).all(axis=1)
        found += len(set(senders[near][match].tolist())) < join.rules.k
    return found


async def floor(engine: str) -> float:
    """The median time of asking the engine directly."""
    async with httpx.AsyncClient() as http:
        times = []
        for _ in range(200):
            begun = time.monotonic()
            await http.post(engine, json={"query": "x"})
            times.append(time.monotonic() - begun)
    return sorted(times)[100]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--every", type=float, default=60.0)
    parser.add_argument("--quick", action="store_true", help="200 people for 30 seconds, one query in 10")
    given = parser.parse_args()
    if given.quick:
        given.people, given.seconds, given.every = 200, 30.0, 10.0
    window = 120.0
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    asking = given.people * (1 - np.exp(-2 * window / given.every))
    with (
        tempfile.TemporaryDirectory(dir=memory) as name,
        parties(Path(name), 30, window, int(asking)) as started,
    ):
        join, processes, engine = started
        found = asyncio.run(measure(join, Path(name), processes, given.people, given.seconds, given.every))
        found["floor"] = round(asyncio.run(floor(engine)), 4)
    print(
        json.dumps(
            {"people": given.people, "seconds": given.seconds, "every": given.every, **found}, indent=1
        )
    )


if __name__ == "__main__":
    main()
