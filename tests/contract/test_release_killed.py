"""kill -9 at any moment: no partial release, no noise without a charge, and a rerun that starts clean."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from tests.release_log import write_log

from tacit import Ledger
from tacit.release.verify import verify_release

KILLS = 20

# The real release in a real process: a copy of one that has loaded everything and done nothing. The steps
# around the charge are short, so it also waits a little at each stage: a kill then falls into every one.
RELEASE = """
import os, sys, time
from pathlib import Path
from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.preparation import Preparation
from tacit.privacy.ledger.ledger import default_ledger
from tacit.release.publication import Order, open_ledger, publish_log
from tacit import Zealous

log, journal = map(Path, sys.argv[1:])

class Telling(OperatingSystemRandomness):
    def bits(self, n):
        with journal.open("ab") as handle:
            handle.write(b"drawn\\n")
        time.sleep(0.02)
        return super().bits(n)

def stage(name):
    print(name, flush=True)
    time.sleep(0.1)

def release(output):
    budget = Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 1000.0, 0.1)
    ledger = open_ledger(default_ledger(log), log, budget)
    mechanism = Zealous(epsilon=2.0, delta=1e-9).plan()
    print("start", os.getpid(), flush=True)
    order = Order(log, output, mechanism, Preparation(), ledger, threads=1)
    publish_log(order, source=Telling(), report=stage)

for line in sys.stdin:
    process = os.fork()
    if not process:
        try:
            release(Path(line.strip()))
            os._exit(0)
        except BaseException:
            os._exit(1)
    print("ended", os.waitpid(process, 0)[1], flush=True)
"""


class Releases:
    """A process that makes releases one after another, each in a copy of itself that may be killed."""

    def __init__(self, log: Path, journal: Path) -> None:
        command = [sys.executable, "-c", RELEASE, str(log), str(journal)]
        environment = {**os.environ, "TMPDIR": str(log.parent)}
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=quiet, text=True, env=environment
        )

    def close(self) -> None:
        self._process.communicate()

    def begin(self, output: Path) -> int:
        """The process that makes the release, when it has begun."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{output}\n")
        self._process.stdin.flush()
        started, number = self.said().split()
        assert started == "start"
        return int(number)

    def said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ended(self) -> tuple[int, str]:
        """How it ended, and the last stage that it told of."""
        last = "start"
        while not (line := self.said()).startswith("ended"):
            last = line
        return int(line.split()[1]), last


@pytest.fixture
def releases(tmp_path: Path) -> Iterator[Releases]:
    made = Releases(write_log(tmp_path / "log.parquet", 200), tmp_path / "drawn")
    yield made
    made.close()


@pytest.mark.slow
def test_killed_at_twenty_moments(tmp_path: Path, releases: Releases) -> None:
    journal = tmp_path / "drawn"
    releases.begin(tmp_path / "out-whole")
    begun = time.monotonic()
    assert releases.ended()[0] == 0
    longest = time.monotonic() - begun
    ledger = Ledger(tmp_path / "log.parquet.ledger")
    random = Random(20061)
    stages = set()
    for number in range(KILLS):
        output = tmp_path / f"out-{number}"
        before, drawn = len(ledger.state().entries), journal.read_bytes().count(b"drawn")
        process = releases.begin(output)
        # Evenly over the whole work, once in each twentieth of it.
        time.sleep(longest * (number + random.random()) / KILLS)
        with suppress(ProcessLookupError):  # it was faster this time
            os.kill(process, signal.SIGKILL)
        stages.add(releases.ended()[1])
        state = ledger.verify()
        charged = len(state.entries) - before
        assert charged in (0, 1)
        if journal.read_bytes().count(b"drawn") > drawn:
            assert charged == 1, "noise was drawn without a charge"
        if output.exists():
            assert charged == 1
            assert all(check.holds for check in verify_release(output, ledger.path))
    # A rerun to the same place starts clean, with a charge of its own, and clears what was left behind.
    charges = len(ledger.state().entries)
    missing = next(tmp_path / f"out-{n}" for n in range(KILLS) if not (tmp_path / f"out-{n}").exists())
    releases.begin(missing)
    assert releases.ended()[0] == 0
    assert len(ledger.state().entries) == charges + 1
    assert all(check.holds for check in verify_release(missing, ledger.path))
    assert not list(tmp_path.glob(f".{missing.name}.partial-*"))
    assert not list(tmp_path.glob("tacit-release-*")), "what was spilled is raw data and must be gone"
    # The kills fell before the charge and after it.
    assert 1 < charges < KILLS + 1
    assert len(stages) > 2


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path, releases: Releases) -> None:
    process = releases.begin(tmp_path / "out")
    while releases.said() != "counting":
        pass
    os.kill(process, signal.SIGINT)
    assert releases.ended()[0] != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet", "log.parquet.ledger"]
    assert Ledger(tmp_path / "log.parquet.ledger").state().entries == ()
