"""The running pool: messages a second and their times with many agents, and how long a new table takes.

Claims, on loopback, with server and agents on the same machine:

- with 10,000 agents that follow the broadcast of one worker, first and second messages are answered at a
  rate, and within times, that are printed beside a floor measured in the same run: the same server
  answering ``GET /v1/standing``, which does nothing, on the same number of connections;
- a window's update (opening sealed records, partition, table) at 44,000 and 250,000 people online takes time
  in proportion to the people; opening the records is most of it. The floor is the partition alone.

With ``--traffic``: 1,000 agents ask under the running pool and its relay for three minutes, a tenth of them
vanish, and the verifier reads what they asked. No query fails Definition 2; those that fail Definition 3 are
counted.

Run: ``python benchmarks/pool_service.py [--quick] [--updates | --traffic]`` (``--quick``: a tenth of
everything).
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tacit.pool.agent.runner import Announcement
from tacit.pool.protocol.messages import UNGROUPED, FirstMessage, HpkeSealing, Rules, SecondMessage
from tacit.pool.protocol.table import whole_domain
from tacit.pool.server.machine import PoolMachine, together, valid_records
from tests.lean_http import Connections, LeanClient
from tests.pool_traffic import served_pool, served_with_relay, traffic

from tacit.pool.server.store import MemoryStore
from tacit.pool.simulation.population import adult
from tacit.pool.simulation.verification import verify_log


def spread(times: list[float]) -> str:
    """Median, 99th percentile and largest, in milliseconds."""
    found = np.percentile(np.array(times) * 1000, [50, 99, 100])
    return f"median {found[0]:.1f} ms, p99 {found[1]:.1f} ms, largest {found[2]:.1f} ms"


async def until(stream: AsyncGenerator[Announcement, None], phase: str) -> None:
    """Wait until the broadcast says that ``phase`` has begun."""
    async for said in stream:
        if said.phase == phase:
            return


async def load(address: str, agents: int, connections: int) -> None:
    """All agents listen, then send their first and second messages as fast as the pool takes them."""
    shared = Connections(address, connections)
    client = LeanClient(shared)
    terms = await client.terms()
    streams = [LeanClient(shared).follow() for _ in range(agents)]
    begun = time.perf_counter()
    for start in range(0, agents, 200):
        await asyncio.gather(*[anext(stream) for stream in streams[start : start + 200]])
    print(f"{agents:,} agents listen after {time.perf_counter() - begun:.1f} s")

    shared.times.clear()
    begun = time.perf_counter()
    await asyncio.gather(*[shared.ask("GET", "/v1/standing") for _ in range(agents)])
    lowest = agents / (time.perf_counter() - begun)
    print(
        f"floor, GET /v1/standing: {lowest:,.0f} a second; {spread(shared.times)} with {connections} at once"
    )

    table, key, _, _ = await client.table(terms.template)
    records = adult().draw(agents, np.random.default_rng(1)).tolist()
    sealing = HpkeSealing()
    sealed = [sealing.seal(key, table.epoch, UNGROUPED, tuple(row)) for row in records]
    for phase, make in (
        ("count", lambda n: FirstMessage(table.epoch, UNGROUPED, f"{n:032x}")),
        ("identify", lambda n: SecondMessage(table.epoch, UNGROUPED, f"{n:032x}", sealed[n])),
    ):
        await asyncio.gather(*[until(stream, phase) for stream in streams])
        shared.times.clear()
        begun = time.perf_counter()
        replies = await asyncio.gather(*[client.send(make(number)) for number in range(agents)])
        taken = time.perf_counter() - begun
        accepted = sum(reply is not None and reply.value == "accepted" for reply in replies)
        print(
            f"{phase}: {accepted:,} of {agents:,} messages accepted at {agents / taken:,.0f} a second "
            f"({agents / taken / lowest:.2f} of the floor); {spread(shared.times)} with {connections} at once"
        )
    for stream in streams:
        await stream.aclose()
    shared.close()
    await asyncio.sleep(0.2)


def update(people: int) -> None:
    """One window's update with ``people`` online, through the pool itself."""
    population, sealing = adult(), HpkeSealing()
    records = population.draw(people, np.random.default_rng(2)).tolist()
    rules = Rules(k=30, window=10_000.0, form=1_000.0, capacity=people)
    pool = PoolMachine(rules, population.template, MemoryStore(), sealing=sealing)
    standing = pool.tick(1_000.0)
    public = pool.publication()
    assert public is not None
    pool.tick(standing.until)
    for number in range(people):
        pool.first(FirstMessage(standing.epoch, UNGROUPED, f"{number:032x}"))
    pool.tick(standing.until + rules.count)
    for number, row in enumerate(records):
        sealed = sealing.seal(public.public_key, standing.epoch, UNGROUPED, tuple(row))
        pool.second(SecondMessage(standing.epoch, UNGROUPED, f"{number:032x}", sealed))
    begun, spent = time.perf_counter(), time.process_time()
    pool.tick(standing.until + rules.count + rules.identify)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - spent
    formed = pool.publication()
    assert formed is not None and formed.table.epoch == standing.epoch + 1
    old = whole_domain(1, population.template)
    confirmed = valid_records({UNGROUPED: map(tuple, records)}, old, population.template, 30)
    spent = time.process_time()
    together(old, confirmed, 2, population.template, 30)
    floor = time.process_time() - spent
    print(
        f"update with {people:,} people online: {seconds:.2f} s (processor {cpu:.2f} s), "
        f"{len(formed.table):,} groups; partition alone {floor:.3f} s; whole / partition {cpu / floor:.0f}"
    )


def check_traffic(agents: int, seconds: float) -> None:
    """Real agents against the running pool and relay, and the verifier over their queries."""
    k, window = 20, 30.0
    timing = ["--window", str(window), "--count", "4", "--identify", "4", "--form", "2", "--skew", "2"]
    with (
        tempfile.TemporaryDirectory() as folder,
        served_with_relay(k, Path(folder) / "secret", *timing) as (address, _),
    ):
        log, states = asyncio.run(traffic(address, adult(), agents, seconds, every=5.0, crash=0.1))
    verdict = verify_log(log, k, window)
    print(
        f"{agents:,} agents, {seconds:g} s, k = {k}, w = {window:g} s: {verdict.entries:,} queries, "
        f"{verdict.guarded:,} with a region; {verdict.identified:,} of these fail Definition 2, "
        f"{verdict.unequal:,} Definition 3; fewest people who match {verdict.fewest}; states {states}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--updates", action="store_true", help="only the updates of a window")
    parser.add_argument("--traffic", action="store_true", help="only the check of real traffic")
    parser.add_argument("--quick", action="store_true", help="1,000 agents; updates at 4,400 people")
    chosen = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if chosen.traffic:
        check_traffic(100 if chosen.quick else 1_000, 30.0 if chosen.quick else 180.0)
        return
    agents = 1_000 if chosen.quick else min(10_000, hard - 500)
    timing = ["--window", "500", "--count", "60", "--identify", "60", "--form", "20", "--skew", "10"]
    if not chosen.updates:
        with served_pool("--k", "30", *timing) as (address, _):
            asyncio.run(load(address, agents, 64))
    for people in (4_400,) if chosen.quick else (44_000, 250_000):
        update(people)


if __name__ == "__main__":
    main()
