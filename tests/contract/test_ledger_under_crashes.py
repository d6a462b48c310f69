"""What the ledger promises when processes die, race or run out of disk."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tacit import Guarantee, Ledger, TacitError
from tacit.privacy.accounting.events import ApproximateDp
from tacit.privacy.guarantee import GuaranteeKind, Neighbours

SPENDER = """
import sys
from tacit.errors import BudgetError
from tacit.privacy.accounting.events import ApproximateDp
from tacit.privacy.guarantee import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.ledger.ledger import Ledger

path, epsilon = sys.argv[1], float(sys.argv[2])
event = ApproximateDp(Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, epsilon))
ledger = Ledger(path)
while True:
    try:
        entry = ledger.spend(event, "crash test")
    except BudgetError:
        break
    print(entry.number, entry.hash, flush=True)  # acknowledged: noise could be drawn from here on
"""


def pure(epsilon: float) -> Guarantee:
    return Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, epsilon)


def start_spender(ledger: Ledger, epsilon: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SPENDER, str(ledger.path), str(epsilon)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_kill_9_at_random_points_loses_no_acknowledged_charge(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.jsonl", pure(1000))
    moments = random.Random(20)
    acknowledged: dict[int, str] = {}
    killed = 20
    for _ in range(killed):
        spender = start_spender(ledger, 0.5)
        assert spender.stdout is not None
        first = spender.stdout.readline()
        time.sleep(moments.uniform(0, 0.02))
        spender.send_signal(signal.SIGKILL)
        # A line that was itself cut off by the kill counts as not acknowledged.
        lines = [line for line in [first, *spender.stdout] if line.endswith("\n")]
        spender.stdout.close()
        assert spender.wait() == -signal.SIGKILL
        for number, digest in map(str.split, lines):
            assert int(number) not in acknowledged
            acknowledged[int(number)] = digest
        state = ledger.verify()
        charged = {entry.number: entry.hash for entry in state.entries}
        assert acknowledged.items() <= charged.items()
    assert len(acknowledged) >= killed
    # Each kill may leave one charge that nobody used: lost budget, never lost privacy.
    assert 0.5 * len(acknowledged) <= state.account.spent().epsilon <= 0.5 * (len(acknowledged) + killed)


def test_processes_that_race_never_overspend(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.jsonl", pure(1.0))
    spenders = [start_spender(ledger, 0.01) for _ in range(3)]
    outputs = [spender.communicate(timeout=60)[0].splitlines() for spender in spenders]
    assert [spender.returncode for spender in spenders] == [0, 0, 0]
    acknowledged = [line for lines in outputs for line in lines]
    assert len(acknowledged) == len(set(acknowledged)) == 100
    assert ledger.left.epsilon == 0


FULL_DISK = """
import resource, sys
from pathlib import Path
from tacit.errors import TacitError
from tacit.privacy.accounting.events import ApproximateDp
from tacit.privacy.guarantee import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.ledger.ledger import Ledger

path, room = Path(sys.argv[1]), int(sys.argv[2])
guarantee = Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, 0.5)
size = path.stat().st_size if path.exists() else 0
resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, size + room))
try:
    if size:
        Ledger(path).spend(ApproximateDp(guarantee), "no room")
    else:
        Ledger.create(path, guarantee)
except TacitError as error:
    print(error)
    sys.exit(1)
"""


@pytest.mark.parametrize("room", [0, 1, 100, 300])
def test_a_full_disk_is_told_and_leaves_the_ledger_as_it_was(room: int, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.jsonl", pure(1.0))
    ledger.spend(ApproximateDp(pure(0.25)), "before")
    before = ledger.path.read_bytes()
    command = [sys.executable, "-c", FULL_DISK, str(ledger.path), str(room)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert os.strerror(errno.EFBIG) in done.stdout
    assert done.stderr == ""
    assert ledger.path.read_bytes() == before
    ledger.spend(ApproximateDp(pure(0.75)), "after")
    assert ledger.left.epsilon == 0


@pytest.mark.parametrize("room", [0, 100])
def test_a_full_disk_during_a_repair_loses_nothing_that_was_acknowledged(room: int, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.jsonl", pure(1.0))
    ledger.spend(ApproximateDp(pure(0.25)), "before")
    with ledger.path.open("ab") as file:
        file.write(b'{"entry":2,"type":"sp')
    command = [sys.executable, "-c", FULL_DISK, str(ledger.path), str(room)]
    assert subprocess.run(command, capture_output=True, text=True).returncode == 1
    assert ledger.verify().torn == 1
    ledger.spend(ApproximateDp(pure(0.75)), "after")
    assert [entry.purpose for entry in ledger.verify().entries] == ["before", "after"]


def test_a_full_disk_at_creation_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path), "20"], capture_output=True, text=True)
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_the_limit_itself_is_not_in_force_here() -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_charge_is_synced_before_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the moment of the last sync the whole entry is in the file; nothing is written after it."""
    ledger = Ledger.create(tmp_path / "ledger.jsonl", pure(1.0))
    synced: list[bytes] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        real(handle)
        synced.append(ledger.path.read_bytes())

    monkeypatch.setattr(os, "fsync", fsync)
    entry = ledger.spend(ApproximateDp(pure(0.5)), "synced")
    assert synced[-1] == ledger.path.read_bytes()
    assert json.loads(synced[-1].splitlines()[-1])["hash"] == entry.hash


def test_a_disk_that_fails_to_sync_charges_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(tmp_path / "ledger.jsonl", pure(1.0))
    before = ledger.path.read_bytes()

    def fsync(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(TacitError, match="could not be written: Input/output error"):
        ledger.spend(ApproximateDp(pure(0.5)), "never")
    monkeypatch.undo()
    assert ledger.path.read_bytes() == before


def test_a_ledger_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.jsonl", pure(1.0))
    with pytest.raises(TacitError, match="cannot be opened: Is a directory"):
        Ledger(tmp_path).spend(ApproximateDp(pure(0.5)), "a folder")
    assert ledger.verify().length == 1
