"""Others' ways to find keys, beside adaptive selection: one log as arrays, keys and counts out."""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .with_opendp import gaussian_histogram

__all__ = [
    "DELTA",
    "EPSILON",
    "Draw",
    "compare",
    "cut",
    "selection_threshold",
    "selection_width",
    "within",
]

EPSILON, DELTA = 1.0, 1e-6


@dataclass(frozen=True)
class Draw:
    """A log as arrays: each (user, query) once, sorted by user; queries renumbered."""

    starts: np.ndarray
    items: np.ndarray
    kinds: int

    @property
    def truth(self) -> np.ndarray:
        return np.bincount(self.items, minlength=self.kinds)


def within(counts: np.ndarray, truth: np.ndarray) -> int:
    return int((np.abs(counts - truth) <= 0.25 * truth).sum())


def cut(draw: Draw, most: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At most so many queries a user by lot: (user, item, how many the user has then)."""
    sizes = np.diff(draw.starts)
    user = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((generator.random(user.size), user))
    place = np.arange(user.size) - draw.starts[user]
    kept = order[place < most]
    return user[kept], draw.items[kept], np.minimum(sizes, most)[user[kept]]


def opendp_histogram(draw: Draw, most: int) -> tuple[int, int, float]:
    """OpenDP's Gaussian mechanism with threshold on a bounded histogram: keys, within 25%, seconds of
    noise.
    """
    _, items, _ = cut(draw, most, np.random.default_rng(1))
    counts = np.bincount(items, minlength=draw.kinds)
    held = np.flatnonzero(counts)
    begun = time.perf_counter()
    found = gaussian_histogram(held, counts[held], most)
    seconds = time.perf_counter() - begun
    keys = np.array(list(found))
    return len(found), within(np.array(list(found.values())), draw.truth[keys]) if len(found) else 0, seconds


def selection_width() -> float:
    """Of Gaussian noise that costs half of δ."""
    from tacit.privacy.accounting.loss import gaussian_mu

    return 1 / gaussian_mu(EPSILON, DELTA / 2)


def selection_threshold(width: float, most: int, delta: float) -> float:
    """max over t of 1/√t + width·z((1-δ)^(1/t)): the threshold of weighted Gaussian selection."""
    from scipy.stats import norm

    t = np.arange(1, most + 1)
    return float((1 / np.sqrt(t) + width * norm.isf(-np.expm1(np.log1p(-delta) / t))).max())


def weighted_gaussian(draw: Draw, most: int) -> int:
    """Each of n queries of a user weighs 1/√n; Gaussian noise; threshold."""
    generator = np.random.default_rng(2)
    _, items, sizes = cut(draw, most, generator)
    weights = np.bincount(items, weights=1 / np.sqrt(sizes), minlength=draw.kinds)
    held = np.flatnonzero(weights)
    width = selection_width()
    noisy = weights[held] + width * generator.standard_normal(held.size)
    return int((noisy >= selection_threshold(width, most, DELTA / 2)).sum())


def dp_sips(draw: Draw, most: int, rounds: int = 3, ratio: float = 1 / 3) -> int:
    """Rounds of weighted Gaussian selection of growing budget; what was found leaves the users' sets."""
    generator = np.random.default_rng(3)
    shares = ratio ** np.arange(rounds)[::-1]
    shares = shares / shares.sum()
    width_all = selection_width()
    user, items, _ = cut(draw, most, generator)
    found = np.zeros(draw.kinds, dtype=bool)
    for share in shares:
        left = ~found[items]
        sizes = np.bincount(user[left], minlength=draw.starts.size - 1)
        weights = np.bincount(items[left], weights=1 / np.sqrt(sizes[user[left]]), minlength=draw.kinds)
        held = np.flatnonzero(weights)
        width = width_all / math.sqrt(share)
        noisy = weights[held] + width * generator.standard_normal(held.size)
        found[held[noisy >= selection_threshold(width, most, DELTA / 2 * share)]] = True
    return int(found.sum())


def pipeline_dp(draw: Draw, most: int, python: str) -> tuple[int, int, float] | None:
    """PipelineDP's count of users by query, in an interpreter that has it; None where there is none."""
    if subprocess.run([python, "-c", "import pipeline_dp"], capture_output=True).returncode:
        return None
    script = Path(__file__).parent / "with_pipeline_dp.py"
    with tempfile.TemporaryDirectory() as folder:
        log, out = f"{folder}/log.npz", Path(folder) / "out"
        user = np.repeat(np.arange(draw.starts.size - 1), np.diff(draw.starts))
        np.savez(log, user=user, query=draw.items)
        begun = time.perf_counter()
        subprocess.run([python, str(script), "local", log, str(most), str(out)], check=True)
        seconds = time.perf_counter() - begun
        found = json.loads(out.read_text())
    keys = np.array([key for key, _ in found], dtype=np.int64)
    counts = np.array([count for _, count in found])
    return keys.size, within(counts, draw.truth[keys]), seconds


def compare(draw: Draw, python: str) -> None:
    """All that others give on one draw."""
    found = [opendp_histogram(draw, most) for most in (10, 30)]
    most, sharp = max(found), max(found, key=lambda each: each[1])
    said = f"best within 25%: {sharp[1]:,} ({most[2]:.0f} s of noise)"
    print(f"OpenDP, Gaussian with threshold   {most[0]:6,} counted; {said}", flush=True)
    answers = [answer for answer in (pipeline_dp(draw, most, python) for most in (10, 30)) if answer]
    if answers:
        most, sharp = max(answers), max(answers, key=lambda each: each[1])
        said = f"best within 25%: {sharp[1]:,} ({most[2]:.0f} s in all)"
        print(f"PipelineDP, Gaussian              {most[0]:6,} counted; {said}", flush=True)
    else:
        print("PipelineDP cannot be imported here: install pipeline-dp, or name an interpreter that has it")
    print(f"weighted Gaussian                 {max(weighted_gaussian(draw, k) for k in (30, 100)):6,} keys")
    print(f"DP-SIPS                           {max(dp_sips(draw, k) for k in (30, 100)):6,} keys", flush=True)
