"""Real traffic: many agents against the running service, with the verifier over what they asked."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest
import redis
from tests.pool_traffic import served_pool, served_with_relay, traffic
from tests.redis_server import RedisServer

from tacit.pool.simulation.population import adult
from tacit.pool.simulation.verification import verify_log

K = 20


def timing(window: float, phase: float) -> list[str]:
    """Options of a pool with a short window."""
    return [
        *("--window", str(window), "--form", "2", "--skew", "2"),
        *("--count", str(phase), "--identify", str(phase)),
    ]


def test_a_thousand_agents_at_once(tmp_path: Path) -> None:
    """Some vanish without a word. Nobody who used a region can be told from fewer than k people."""
    with served_with_relay(K, tmp_path / "pool.secret", *timing(22.0, 3.0)) as (address, process):
        log, states = asyncio.run(traffic(address, adult(), 1_000, 22.0, every=3.0, crash=0.1))
        assert process.poll() is None
    assert log.guarded.sum() > 1_000, states
    verdict = verify_log(log, K, 22.0)
    assert verdict.holds, verdict
    assert verdict.fewest == K


def workers_of(process_id: int) -> list[int]:
    children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
    return [int(child) for child in children]


def test_workers_die_and_redis_restarts() -> None:
    """One of two workers is killed, then Redis is lost. Agents find back, and nobody is exposed."""
    with (
        RedisServer() as server,
        served_pool("--k", str(K), *timing(19.0, 2.0), "--redis", server.url, "--workers", "2") as (
            address,
            process,
        ),
    ):

        def trouble() -> None:
            time.sleep(9.5)
            os.kill(workers_of(process.pid)[0], signal.SIGKILL)
            time.sleep(3.0)
            server.stop()
            time.sleep(1.0)
            server.start()

        troubled = threading.Thread(target=trouble)
        troubled.start()
        log, states = asyncio.run(traffic(address, adult(), 150, 29.0, every=1.0))
        troubled.join()
        assert process.poll() is None
        assert len(workers_of(process.pid)) == 2  # who died was replaced
        plain = redis.Redis.from_url(server.url)
        assert all(int(plain.pttl(key)) > 0 for key in plain.scan_iter())  # type: ignore[arg-type]
    after = log.guarded & (log.time > 20)
    assert log.guarded[log.time < 12].any() and after.any(), states
    verdict = verify_log(log, K, 19.0)
    assert verdict.holds, verdict


def test_one_worker_needs_nothing_and_several_need_redis() -> None:
    with served_pool() as (address, process):
        assert httpx.get(f"{address}/v1/pool", trust_env=False).json()["rules"]["k"] == 30
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(15) in (0, 130)
        assert process.stderr is not None and "Traceback" not in process.stderr.read()
    with pytest.raises(AssertionError, match="need a Redis"), served_pool("--workers", "2"):
        pass
