"""A signal that ends a server is never lost, however early it comes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_SOURCE = Path(__file__).parents[2] / "src"

BEFORE_UVICORN_LISTENS = """
import gc, signal
from tacit.web import server
gc.collect = lambda: signal.raise_signal(signal.SIGTERM)  # the last step before it runs
async def application(scope, receive, send):
    for kind in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{kind}.complete"})
server.serve(application, server.bound_socket("127.0.0.1", 0))
"""

BEFORE_THE_CHILD_IS_KNOWN = """
import signal, time
from tacit.commands import servers
fork = servers._fork
forked = []
def interrupted(work, usual):
    forked.append(fork(work, usual))
    if len(forked) == 1:
        signal.raise_signal(signal.SIGTERM)
    return forked[-1]
servers._fork = interrupted
servers._run_workers([lambda: time.sleep(60)] * 3, lambda: None)
"""

A_CHILD_THAT_IS_GONE = """
import os, signal, time
from tacit.commands import servers
wait, waited = os.wait, []
def interrupted():
    found = wait()
    if not waited:
        waited.append(signal.raise_signal(signal.SIGTERM))  # the child is reaped, and still noted
    return found
os.wait = interrupted
servers._run_workers([lambda: None], lambda: None)
"""


@pytest.mark.parametrize("code", [BEFORE_UVICORN_LISTENS, BEFORE_THE_CHILD_IS_KNOWN, A_CHILD_THAT_IS_GONE])
def test_a_server_ends_whenever_the_signal_comes(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(_SOURCE)}, capture_output=True, timeout=50
    )
    assert done.returncode == 0, done.stderr.decode()[-500:]
