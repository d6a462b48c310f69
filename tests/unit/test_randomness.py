"""The sources of random bits: fresh, and safe across forks and threads."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.drawn import SeededRandomness

from tacit import ParameterError
from tacit.privacy.noise.randomness import OperatingSystemRandomness

pytestmark = pytest.mark.usefixtures("system_randomness")


@pytest.mark.parametrize("size", [0, 1, 7, 8, 4096, 65535, 65536, 5_000_001])
def test_as_many_bytes_as_asked_for(size: int) -> None:
    assert len(OperatingSystemRandomness().bits(size)) == size
    assert len(SeededRandomness(1).bits(size)) == size


def test_a_negative_request_is_refused() -> None:
    with pytest.raises(ParameterError, match="at least 0; found -1"):
        OperatingSystemRandomness().bits(-1)


def test_words_are_never_handed_out_twice() -> None:
    source = OperatingSystemRandomness()
    drawn = np.concatenate([source.words(n) for n in [1, 5, 8000, 3, 9000, 130_000, 17]])
    # 147,026 words: a repeat by chance has probability under 6e-10.
    assert np.unique(drawn).size == drawn.size


def test_bits_are_balanced() -> None:
    words = OperatingSystemRandomness().words(100_000)
    ones = int(np.bitwise_count(words).sum())
    # 6.4 million fair bits: beyond 6.5 standard deviations with probability 8e-11.
    assert abs(ones - 3_200_000) < 6.5 * (6_400_000**0.5) / 2


FORK = """
import os, sys
from tacit.privacy.noise.randomness import OperatingSystemRandomness

source = OperatingSystemRandomness()
source.bits(8)
child = os.fork()
sys.stdout.write(source.bits(32).hex() + "\\n")
sys.stdout.flush()
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_fork_never_repeats_its_parents_bits() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True)
    parent, child = done.stdout.split()
    assert len(parent) == len(child) == 64
    assert parent != child


def test_threads_share_a_source_without_repeats() -> None:
    source = OperatingSystemRandomness()
    drawn: list[np.ndarray] = []

    def draw() -> None:
        drawn.extend(source.words(3) for _ in range(3000))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = np.concatenate(drawn)
    assert np.unique(everything).size == everything.size == 36_000


def test_a_seed_repeats_its_bits_and_another_does_not() -> None:
    assert SeededRandomness(7).bits(100) == SeededRandomness(7).bits(100)
    assert SeededRandomness(7).bits(100) != SeededRandomness(8).bits(100)
