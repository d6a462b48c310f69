"""kill -9 at any moment: no partial release, no noise without a charge, and a rerun that starts clean."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from tests.release_log import write_log

from tacit.privacy.ledger.ledger import Ledger
from tacit.release.verify import verify_release

KILLS = 20

# The real release in a real process. The steps around the charge are short, so the process also waits
# a little at each stage: a kill then falls into every one of them.
RELEASE = """
import sys, time
from pathlib import Path
from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.preparation import Preparation
from tacit.privacy.ledger.ledger import default_ledger
from tacit.release.publication import Order, open_ledger, publish_log
from tacit import Zealous

log, output, journal = map(Path, sys.argv[1:])

class Telling(OperatingSystemRandomness):
    def bits(self, n):
        with journal.open("ab") as handle:
            handle.write(b"drawn\\n")
        time.sleep(0.02)
        return super().bits(n)

def stage(name):
    print(name, flush=True)
    time.sleep(0.1)

budget = Guarantee(GuaranteeKind.INDISTINGUISHABILITY, Neighbours.ADD_REMOVE, 1000.0, 0.1)
ledger = open_ledger(default_ledger(log), log, budget)
mechanism = Zealous(epsilon=2.0, delta=1e-9).plan()
print("start", flush=True)
publish_log(Order(log, output, mechanism, Preparation(), ledger, threads=1), source=Telling(), report=stage)
print("done", flush=True)
"""


def begin(log: Path, output: Path, journal: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RELEASE, str(log), str(output), str(journal)]
    environment = {**os.environ, "TMPDIR": str(log.parent)}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True, env=environment)


@pytest.mark.slow
def test_killed_at_twenty_moments(tmp_path: Path) -> None:
    log, journal = write_log(tmp_path / "log.parquet", 200), tmp_path / "drawn"
    with begin(log, tmp_path / "out-whole", journal) as whole:
        assert whole.stdout is not None and whole.stdout.readline() == "start\n"
        begun = time.monotonic()
        whole.communicate()
    assert whole.returncode == 0
    longest = time.monotonic() - begun
    ledger = Ledger(tmp_path / "log.parquet.ledger")
    random = Random(20061)
    stages = set()
    for number in range(KILLS):
        output = tmp_path / f"out-{number}"
        before, drawn = len(ledger.state().entries), journal.read_bytes().count(b"drawn")
        with begin(log, output, journal) as process:
            assert process.stdout is not None and process.stdout.readline() == "start\n"
            # Evenly over the whole work, once in each twentieth of it.
            time.sleep(longest * (number + random.random()) / KILLS)
            process.send_signal(signal.SIGKILL)
            stages.add(process.stdout.read().strip().rpartition("\n")[2] or "start")
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
    with begin(log, missing, journal) as rerun:
        rerun.communicate()
    assert rerun.returncode == 0
    assert len(ledger.state().entries) == charges + 1
    assert all(check.holds for check in verify_release(missing, ledger.path))
    assert not list(tmp_path.glob(f".{missing.name}.partial-*"))
    assert not list(tmp_path.glob("tacit-release-*")), "what was spilled is raw data and must be gone"
    # The kills fell before the charge and after it.
    assert 1 < charges < KILLS + 1
    assert len(stages) > 2


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.parquet", 200)
    with begin(log, tmp_path / "out", tmp_path / "drawn") as process:
        assert process.stdout is not None
        while process.stdout.readline() != "counting\n":
            pass
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet", "log.parquet.ledger"]
    assert Ledger(tmp_path / "log.parquet.ledger").state().entries == ()
