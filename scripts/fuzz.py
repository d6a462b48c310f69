"""Search for counterexamples at random until the time is up: ``SECONDS=600 make fuzz``.

Runs the property tests (everything that hypothesis generates examples for) round after round, each with a
fresh seed, under the profile ``fuzz`` of ``tests/conftest.py``: more examples, noise from the operating
system, and an example database, so that the next run tries again what failed before. A failure is printed
with its ``@reproduce_failure`` blob, and ends the search with exit code 1.

Usage: python scripts/fuzz.py [SECONDS] [PYTEST ARGUMENTS]
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
DATABASE = ROOT / ".hypothesis" / "fuzz"
NOTHING_FOUND, FOUND, STOPPED = 0, 1, 2  # exit codes of pytest


def one_round(seed: int, seconds: float, arguments: list[str]) -> int:
    """Run every property test once, for at most ``seconds``; give back pytest's exit code."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "-n", "2", "-x", "--timeout=3600"]
    command += ["-p", "no:cacheprovider", f"--hypothesis-seed={seed}", *arguments]
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "TACIT_TESTS": "fuzz"}) as running:
        try:
            return running.wait(seconds)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGINT)  # pytest reports what failed so far
            return running.wait()


def main() -> None:
    """Search until the time is up or something is found."""
    words = sys.argv[1:]
    seconds = float(words.pop(0)) if words and words[0].replace(".", "", 1).isdigit() else 600.0
    end, rounds = time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 0:
        seed, rounds = secrets.randbits(32), rounds + 1
        print(f"round {rounds}, seed {seed}, {left:,.0f} seconds left", flush=True)
        code = one_round(seed, left, words)
        if code not in (NOTHING_FOUND, STOPPED):
            print(
                f"found in round {rounds}, seed {seed}; the examples are kept in {DATABASE.relative_to(ROOT)}"
            )
            sys.exit(FOUND)
    print(f"nothing found in {rounds} round{'s' * (rounds != 1)} and {seconds:,.0f} seconds")


if __name__ == "__main__":
    main()
