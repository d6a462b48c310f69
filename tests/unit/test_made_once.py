"""What a process makes once is made once, whichever of its threads asks first."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tacit.once import once

_FIRST_START = """
import threading
from concurrent.futures import ThreadPoolExecutor
from tacit.taxonomy import load_wordnet

together = threading.Barrier(4)

def ask(_):
    together.wait()
    return len(load_wordnet())

with ThreadPoolExecutor(4) as threads:
    print({*threads.map(ask, range(4))})
"""


def test_threads_that_ask_at_the_same_time_wait_for_the_first() -> None:
    together, made = threading.Barrier(4), []

    @once
    def load(name: str) -> object:
        made.append(name)
        threading.Event().wait(0.05)
        return object()

    def ask(number: int) -> object:
        together.wait()
        return load("even" if number % 2 == 0 else "odd")

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, range(4)))
    assert sorted(made) == ["even", "odd"]
    assert found[0] is found[2] and found[1] is found[3] and found[0] is not found[1]


def test_a_first_start_with_several_threads_fills_an_empty_cache(tmp_path: Path) -> None:
    """As on a new machine, where the page is asked for while what it needs is still being prepared."""
    done = subprocess.run(
        [sys.executable, "-c", _FIRST_START],
        env={**os.environ, "TACIT_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "{82115}\n"), done.stderr[-500:]
