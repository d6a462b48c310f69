"""What the search page adds to the time that an engine takes: for one search, and for two tabs at once.

An engine in a process of its own answers 20 results after 100 ms. One person asks it directly and through
the page, in turns, with the same words; the page decides what to send, records it on the disk, sends it,
reranks the results over a history of 2,000 pages and renders them. Added is the time through the page minus
the direct time of the same query in the same run. With two tabs, two searches of one profile run at the same
moment. Printed for an engine that gets queries alone and for one that gets a profile, with the processor time
of the page a search and its peak memory.

The run fails above these bars, on two idle cores: 25 ms at the median and 60 ms at the 95th percentile for
one search, 40 and 80 ms for two tabs.

Run: python benchmarks/proxy_latency.py [--quick]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpcore
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

ENGINE_SECONDS = 0.1
BARS = {1: (25.0, 60.0), 2: (40.0, 80.0)}
"""Milliseconds added at the median and at the 95th percentile, by the number of tabs."""
SUBJECTS = (
    "coffee sailing jazz football painting chess garden bread guitar history mountain river atom poem".split()
)


def engine(ready: Any) -> None:
    """The engine, in a process of its own."""
    from tacit.web.server import bound_socket, serve

    async def answer(request: Request) -> Response:
        begun = time.perf_counter()
        query = request.query_params.get("q") or json.loads(await request.body())["query"]
        subject = query.partition(" ")[0]
        rows = [
            {
                "url": f"https://s{n}.example/{subject}",
                "title": f"{SUBJECTS[n % 14]} and {subject} {n}",
                "content": f"A page about {subject}, {SUBJECTS[n * 5 % 14]} and how to begin with both.",
            }
            for n in range(20)
        ]
        await asyncio.sleep(max(0.0, ENGINE_SECONDS - (time.perf_counter() - begun)))
        return JSONResponse({"results": rows})

    opened = bound_socket("127.0.0.1", 0)
    application = Starlette(routes=[Route("/search", answer, methods=["GET", "POST"])])
    serve(application, opened, lambda: ready.send(opened.getsockname()[1]))


def page(ready: Any, folder: str, engine_port: int, kind: str) -> None:
    """The search page, in a process of its own."""
    from tacit.web.engines.catalogue import parse_engine
    from tacit.web.server import bound_socket, serve
    from tacit.web.site.application import page_application
    from tacit.web.site.site import open_site

    begun = datetime(2026, 1, 1, tzinfo=UTC)
    pages = []
    for n in range(2_000):
        title = f"{SUBJECTS[n % 14]} for {SUBJECTS[n * 3 % 14]} lovers {n}"
        snippet = f"What to know about {SUBJECTS[n % 14]} before you start."
        read = {"url": f"https://h{n}.example/", "title": title, "snippet": snippet}
        pages.append(("", read, begun + timedelta(hours=n)))
    opened = bound_socket("127.0.0.1", 0)
    engines = [parse_engine(f"{kind}=http://127.0.0.1:{engine_port}")]
    with open_site(Path(folder) / f"{kind}.profile", opened.getsockname()[1], engines) as site:
        site.guard.learn(pages)
        site.guard.confirm()  # or engines get queries alone
        serve(page_application(site), opened, lambda: ready.send(site.admission.address))


async def added(
    direct: str, through: str, headers: list[tuple[bytes, bytes]], tabs: int, count: int
) -> list[float]:
    """The milliseconds that the page added to each of ``count`` searches, from so many tabs at once."""
    async with httpcore.AsyncConnectionPool() as client:

        async def seconds(address: str, query: str, sent: list[tuple[bytes, bytes]]) -> float:
            begun = time.perf_counter()
            response = await client.request("GET", address + query.replace(" ", "+"), headers=sent)
            assert response.status == 200, response.status
            return time.perf_counter() - begun

        found: list[float] = []
        for number in range(count // tabs):
            queries = [f"{SUBJECTS[number % 14]} {tabs} {number} {tab}" for tab in range(tabs)]
            alone = await asyncio.gather(*(seconds(direct, query, []) for query in queries))
            with_page = await asyncio.gather(*(seconds(through, query, headers) for query in queries))
            found += [1000 * (page - engine) for page, engine in zip(with_page, alone, strict=True)]
        return found


def started(work: Any, *arguments: Any) -> tuple[Any, Any]:
    """A process, and what it sent when it was ready."""
    mine, its = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=work, args=(its, *arguments))
    process.start()
    return process, mine.recv()


def processor_seconds(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(pid: int) -> float:
    """The most memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def admitted(opening: str) -> tuple[str, list[tuple[bytes, bytes]]]:
    """Where the private pages lie, and the headers of a browser opened with the printed address."""
    cookie, *attributes = dict(httpcore.request("GET", opening).headers)[b"set-cookie"].split(b"; ")
    path = next(one.partition(b"=")[2].decode() for one in attributes if one.startswith(b"Path="))
    host = opening.split("/")[2]
    headers = [(b"Cookie", cookie), (b"Sec-Fetch-Site", b"none"), (b"Host", host.encode())]
    return f"http://{host}{path}", headers


def main() -> None:
    """Print what is added, and fail above the bars."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="60 searches instead of 400")
    count = 60 if parser.parse_args().quick else 400
    engine_process, engine_port = started(engine)
    direct = f"http://127.0.0.1:{engine_port}/search?q="
    failed = False
    print(f"{count} searches a row; milliseconds that the page adds to an engine that takes 100")
    print(f"{'engine gets':>12} {'tabs':>5} {'median':>7} {'p95':>7} {'bars':>8} {'CPU':>6} {'peak MB':>8}")
    try:
        for kind, gets in (("searxng", "queries"), ("tacit", "a profile")):
            with tempfile.TemporaryDirectory() as folder:
                process, opening = started(page, folder, engine_port, kind)
                try:
                    inside, headers = admitted(opening)
                    through = f"{inside}search?q="
                    asyncio.run(added(direct, through, headers, 3, 12))  # connections and caches
                    for tabs, bars in BARS.items():
                        before = processor_seconds(process.pid)
                        found = sorted(asyncio.run(added(direct, through, headers, tabs, count)))
                        spent = 1000 * (processor_seconds(process.pid) - before) / count
                        middle, high = found[len(found) // 2], found[int(0.95 * len(found))]
                        failed |= middle > bars[0] or high > bars[1]
                        print(
                            f"{gets:>12} {tabs:>5} {middle:>7.1f} {high:>7.1f} {bars[0]:>4.0f} "
                            f"{bars[1]:>3.0f} {spent:>6.1f} {peak_megabytes(process.pid):>8.0f}"
                        )
                finally:
                    process.terminate()
                    process.join()
    finally:
        engine_process.terminate()
        engine_process.join()
    if failed:
        sys.exit("over the bars")


if __name__ == "__main__":
    main()
