"""Real traffic for tests: a pool served by the command, and many agents that ask under it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tests.lean_http import Connections, LeanClient, LeanRelay

from tacit.pool.agent.machine import Without
from tacit.pool.agent.runner import AgentRunner
from tacit.pool.simulation.population import Population
from tacit.pool.simulation.verification import AuditedLog

__all__ = ["served", "served_pool", "served_with_relay", "traffic"]


@contextmanager
def served_pool(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """``tacit pool serve`` on a free port, until the block ends: its address and process."""
    with served("pool", "serve", *arguments) as (said, running):
        yield said["address"], running


@contextmanager
def served_with_relay(k: int, secret: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A pool whose sealed records are kept by a relay of its own process."""
    with served("pool", "relay", "--k", str(k), "--secret", str(secret), "--hold", "7") as (relay, _):
        named = ("--relay", relay["address"], "--relay-secret", str(secret))
        with served_pool("--k", str(k), *named, *arguments) as found:
            yield found


@contextmanager
def served(*arguments: str) -> Iterator[tuple[dict[str, Any], subprocess.Popen[str]]]:
    """A ``tacit`` command that serves on a free port, until the block ends: what it says, and its process."""
    command = [sys.executable, "-m", "tacit", *arguments, "--port", "0", "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None and running.stderr is not None
    try:
        text = ""
        while True:
            line = running.stdout.readline()
            text += line
            if line.rstrip() == "}":
                break
            assert line, running.stderr.read()
        yield json.loads(text), running
    finally:
        if running.poll() is None:
            os.kill(running.pid, signal.SIGTERM)
        try:
            running.wait(15)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        running.stdout.close()
        running.stderr.close()


async def traffic(
    address: str,
    population: Population,
    people: int,
    seconds: float,
    *,
    every: float,
    seed: int = 1,
    crash: float = 0.0,
    without: Without = "general",
    connections: int = 60,
) -> tuple[AuditedLog, dict[str, int]]:
    """``people`` agents follow the pool for ``seconds``; each asks about every ``every`` seconds.

    A share ``crash`` of them vanish at a random moment, without a word. Second messages go through the pool's
    relay, if it has one. Gives the query log with its senders, and counts of the agents' states at the end.
    """
    chosen = random.Random(seed)
    shared = Connections(address, connections)
    terms = await LeanClient(shared).terms()
    template = terms.template
    to_relay = None if terms.relay is None else Connections(terms.relay, connections)
    entries: list[tuple[Any, ...]] = []
    begun = time.monotonic()

    async def live(number: int, record: tuple[int, ...], runner: AgentRunner, until: float) -> None:
        running = asyncio.create_task(runner.run())
        try:
            await asyncio.sleep(chosen.uniform(0, every))
            while (now := time.monotonic()) < until:
                region = runner.agent.region_for_query(now)
                if region is not None:
                    entries.append((now - begun, number, record, region, runner.agent.guarded))
                await asyncio.sleep(min(chosen.expovariate(1 / every), max(0.0, until - now) + 0.01))
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    tasks, runners = [], []
    for number, row in enumerate(population.draw(people, np.random.default_rng(seed)).tolist()):
        values = {a.name: a.labels[code] for a, code in zip(template.attributes, row, strict=True)}
        relay = LeanRelay(terms.relay, to_relay) if terms.relay is not None and to_relay is not None else None
        runner = AgentRunner(LeanClient(shared), terms, values, without=without, relay=relay)
        runners.append(runner)
        leaving = chosen.random() < crash
        until = begun + (chosen.uniform(0.3, 0.9) * seconds if leaving else seconds)
        tasks.append(asyncio.create_task(live(number, tuple(row), runner, until)))
        if number % 50 == 49:
            await asyncio.sleep(0.01)
    await asyncio.gather(*tasks)
    shared.close()
    if to_relay is not None:
        to_relay.close()
    await asyncio.sleep(0.2)  # closed connections want a moment
    states = Counter(runner.agent.state.value for runner in runners)
    return _log(entries), dict(states)


def _log(entries: list[tuple[Any, ...]]) -> AuditedLog:
    moment, sender, record, region, guarded = zip(*entries, strict=True)
    return AuditedLog(
        np.array(moment),
        np.array(sender),
        np.array(record),
        np.array([each.low for each in region]),
        np.array([each.high for each in region]),
        np.array(guarded),
    )
