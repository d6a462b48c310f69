"""The ledger's own time: it never goes back, and a clock that leaps ahead does not shorten a period.

A bound over a period forgets what is older. Whoever sets the clock ahead (a virtual machine, a battery gone
flat, a mistake) would make it forget too early. Linux counts the seconds since it was started, suspension
included, apart from the clock: while it runs, the ledger believes that count. Across a restart there is
nothing to compare with, and the clock is believed unless it goes back.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

__all__ = ["TOLERANCE", "LedgerTime", "Moment", "running_time"]

TOLERANCE = timedelta(minutes=10)
"""A clock may be set right by so much without notice."""


@dataclass(frozen=True)
class Moment:
    """What the machine says about now."""

    clock: datetime
    boot: str
    """Which start of the machine this is; empty where it cannot be told."""
    seconds: float
    """Since that start."""


@cache
def _boot() -> str:
    """Which start of the machine this is: the same as long as a process runs."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def running_time() -> Moment:
    """Now, by the machine."""
    try:
        boot = _boot()
        seconds = time.clock_gettime(time.CLOCK_BOOTTIME)
    except (OSError, AttributeError):
        boot, seconds = "", 0.0
    return Moment(datetime.now(UTC), boot, seconds)


@dataclass(frozen=True)
class LedgerTime:
    """The time of an entry, and what was noticed about the clock."""

    time: datetime
    notice: str
    """Empty where the clock is as expected."""
    state: str
    """To be kept for the next entry."""

    @classmethod
    def after(cls, state: str | None, moment: Moment) -> LedgerTime:
        """The time of an entry at ``moment``, after the entry that left ``state``."""
        entry, notice = moment.clock, ""
        if state is not None:
            last = json.loads(state)
            before = datetime.fromisoformat(last["time"])
            if moment.boot and moment.boot == last["boot"]:
                expected = before + timedelta(seconds=max(0.0, moment.seconds - last["seconds"]))
                if moment.clock > expected + TOLERANCE:
                    entry, notice = expected, "the clock leapt ahead; the ledger goes by the time elapsed"
                elif moment.clock < expected - TOLERANCE:
                    entry, notice = expected, "the clock went back; the ledger goes by the time elapsed"
            if entry < before:
                entry, notice = before, notice or "the clock went back; the ledger's time stands still"
        kept = {"time": entry.isoformat(), "boot": moment.boot, "seconds": moment.seconds}
        return cls(entry, notice, json.dumps(kept))
