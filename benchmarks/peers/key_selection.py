"""Others' ways to find keys, beside adaptive selection: one log as arrays, keys and counts out."""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
import time
from dataclasses import dataclass

import numpy as np

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
    import opendp.prelude as dp

    dp.enable_features("contrib")
    _, items, _ = cut(draw, most, np.random.default_rng(1))
    counts = np.bincount(items, minlength=draw.kinds)
    held = np.flatnonzero(counts)
    space = (
        dp.map_domain(dp.atom_domain(T=int), dp.atom_domain(T=int)),
        dp.l02inf_distance(dp.absolute_distance(T=float)),
    )
    moved = (most, math.sqrt(most), 1.0)

    def delta_of(scale: float, threshold: int) -> float:
        """δ at ε: the conversion of ρ-concentrated privacy (OpenDP's own), and the threshold's part."""
        mechanism = dp.m.make_gaussian_threshold(*space, scale=scale, threshold=threshold)
        rho, chance = mechanism.map(moved)
        return (
            dp.c.make_zCDP_to_approxDP(
                dp.m.make_gaussian(
                    dp.atom_domain(T=float, nan=False),
                    dp.absolute_distance(T=float),
                    scale=1 / math.sqrt(2 * rho),
                )
            )
            .map(1.0)
            .delta(EPSILON)
            + chance
        )

    scale = dp.binary_search(lambda s: delta_of(s, 1 << 30) <= DELTA / 2, bounds=(1.0, 1e4))
    threshold = dp.binary_search(lambda t: delta_of(scale, t) <= DELTA, bounds=(1, 1 << 20))
    mechanism = dp.m.make_gaussian_threshold(*space, scale=scale, threshold=threshold)
    begun = time.perf_counter()
    found = mechanism(dict(zip(held.tolist(), counts[held].tolist(), strict=True)))
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


PIPELINE = """
import json, sys, time
import numpy as np, pipeline_dp
held = np.load(sys.argv[1]); most = int(sys.argv[2])
rows = list(zip(held["user"].tolist(), held["item"].tolist()))
begun = time.perf_counter()
accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-6)
engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
params = pipeline_dp.AggregateParams(
    noise_kind=pipeline_dp.NoiseKind.GAUSSIAN, metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
    max_partitions_contributed=most, max_contributions_per_partition=1, post_aggregation_thresholding=True,
    partition_selection_strategy=pipeline_dp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING)
extractors = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: r[1], value_extractor=lambda r: 0)
result = engine.aggregate(rows, params, extractors)
accountant.compute_budgets()
found = [(key, value.privacy_id_count) for key, value in result]
print(json.dumps({"found": found, "seconds": time.perf_counter() - begun}))
"""


def pipeline_dp(draw: Draw, most: int, python: str) -> tuple[int, int, float] | None:
    """PipelineDP's count of users by query, in an interpreter that has it; None where there is none."""
    if subprocess.run([python, "-c", "import pipeline_dp"], capture_output=True).returncode:
        return None
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        user = np.repeat(np.arange(draw.starts.size - 1), np.diff(draw.starts))
        np.savez(file.name, user=user, item=draw.items)
        done = subprocess.run(
            [python, "-c", PIPELINE, file.name, str(most)], capture_output=True, text=True, check=True
        )
    said = json.loads(done.stdout.splitlines()[-1])
    keys = np.array([key for key, _ in said["found"]], dtype=np.int64)
    counts = np.array([count for _, count in said["found"]])
    return keys.size, within(counts, draw.truth[keys]), said["seconds"]


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
