"""Bundling profiles: from hundreds of users to an AOL-sized log, far below quadratic time.

Claims, for profiles of 150 terms (`tacit.evaluate.loops`), p = 0.4, strict criterion, one
step of hypernyms:

- the cells method takes 10,000, 100,000 and 657,426 users (as many as AOL's log has) with time growing
  about linearly, within a few gigabytes, every group meeting the criterion;
- where greedy and cells both run, what cells lose in similarity within groups is small;
- size-constrained k-means (k-means-constrained, the nearest peer) takes longer from a few hundred users
  on, growing much faster, for groups that are less alike. It knows nothing of terms: n_t/n is given for
  all terms of its groups; "meeting" and "kept" are after withholding by Tacit's criterion.

Each measurement is a process of its own, so that peak memory is its own. Loops are compiled before the
clock starts; profiles are made beforehand and counted in the memory. Ratios are of processor time (all
threads), which does not suffer from what else the machine does. Against the peer, augmentation is left
out on both sides.

Run: ``python benchmarks/bundling.py [--quick]`` (``--quick`` leaves out the two largest sizes).
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

P, TERMS = 0.4, 150
GREEDY = [720, 10_000]
CELLS = [10_000, 100_000, 657_426]
PEER = [120, 240, 480, 720, 1000]
PEER_LIMIT = 300
"""Seconds after which the peer is given up."""


def bundle(method: str, users: int) -> dict[str, Any]:
    """One run of Tacit's bundling: seconds, peak memory and quality."""
    from tacit.evaluate.loops import interest_profiles
    from tacit.groups import Bundler
    from tacit.groups.report import similarity_within

    bundler = Bundler(p=P, method=method)
    bundler.fit(interest_profiles(100, TERMS, seed=9))  # compiles
    profiles = interest_profiles(users, TERMS, seed=1)
    begun, spent = time.perf_counter(), time.process_time()
    bundling = bundler.fit(profiles)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - spent
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    share = bundling.released.holders / np.repeat(bundling.sizes, np.diff(bundling.released.offsets))
    return {
        "seconds": seconds,
        "cpu": cpu,
        "memory": memory,
        "groups": len(bundling.released),
        "largest_link": float(share.max()),
        "meeting": 1.0,  # fit judges every group again, and raises where one fails
        "within": similarity_within(bundling),
        "kept": float(bundling.released.holders.sum() / profiles.terms.size),
    }


def grouping_alone(users: int) -> float:
    """Processor seconds of the greedy algorithm on profiles that are augmented already."""
    from tacit.evaluate.loops import interest_profiles
    from tacit.groups import Bundler, Criterion, Semantics
    from tacit.groups.bundling import bundle_cells

    Bundler(p=P, method="greedy").fit(interest_profiles(100, TERMS, seed=9))
    profiles = interest_profiles(users, TERMS, seed=1)
    vectors = Semantics(1).augment(profiles)
    spent = time.process_time()
    order = profiles.canonical_order(0)
    bundle_cells([order], profiles, vectors, Criterion(P).rule(profiles), lambda _users: None)
    return time.process_time() - spent


def peer(users: int) -> dict[str, Any]:
    """Size-constrained k-means on the same augmented profiles, groups of at least 1/p members."""
    from k_means_constrained import KMeansConstrained
    from scipy import sparse

    from tacit.evaluate.loops import interest_profiles
    from tacit.groups import Bundling, Criterion, Semantics
    from tacit.groups.loops.judging import Scratch, released_terms
    from tacit.groups.report import similarity_within

    profiles = interest_profiles(users, TERMS, seed=1)
    vectors = Semantics(1).augment(profiles)
    rows = sparse.csr_array((vectors.weights, vectors.features, vectors.offsets))
    used = np.unique(vectors.features)
    dense = rows[:, used].toarray()
    criterion = Criterion(P)
    fewest = criterion.fewest_members
    begun, spent = time.perf_counter(), time.process_time()
    found = KMeansConstrained(users // fewest, size_min=fewest, n_init=1, random_state=0).fit_predict(dense)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - spent
    labels = np.unique(found, return_inverse=True)[1].astype(np.int32)
    rule, scratch = criterion.rule(profiles), Scratch.of(len(profiles.vocabulary))
    meeting, largest, kept = [], 0.0, 0
    for group in range(labels.max() + 1):
        members = np.flatnonzero(labels == group)
        holds, shown = released_terms(members, profiles.rows, rule, scratch)
        meeting.append(holds)
        held = np.concatenate(
            [profiles.terms[profiles.offsets[m] : profiles.offsets[m + 1]] for m in members]
        )
        largest = max(largest, float(np.bincount(held).max() / members.size))
        kept += int(np.isin(held, shown).sum()) if holds else 0
    grouped = Bundling(criterion, profiles, vectors, labels, None)  # type: ignore[arg-type]
    object.__setattr__(grouped, "sizes", np.bincount(labels))
    return {
        "seconds": seconds,
        "cpu": cpu,
        "grouping": grouping_alone(users),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "groups": int(labels.max()) + 1,
        "largest_link": largest,
        "meeting": float(np.mean(meeting)),
        "within": similarity_within(grouped),
        "kept": kept / profiles.terms.size,
    }


def measured(method: str, users: int, limit: float | None = None) -> dict[str, Any] | None:
    """The measurement in a process of its own; None where it took longer than ``limit``."""
    command = [sys.executable, __file__, "--one", method, str(users)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def line(method: str, users: int, found: dict[str, Any] | None) -> str:
    if found is None:
        return f"{method:>10} {users:>8,}  more than {PEER_LIMIT} s"
    return (
        f"{method:>10} {users:>8,} {found['seconds']:>8.2f} s (cpu {found['cpu']:>7.2f} s) "
        f"{found['memory'] / 2**30:>5.2f} GiB "
        f"{found['groups']:>8,} groups  meeting {found['meeting']:>6.1%}  n_t/n up to "
        f"{found['largest_link']:.3f}  within {found['within']:.3f}  kept {found['kept']:.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="leave out the two largest sizes")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "USERS"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        method, users = chosen.one[0], int(chosen.one[1])
        print(json.dumps(peer(users) if method == "k-means" else bundle(method, users)))
        return
    found: dict[tuple[str, int], dict[str, Any] | None] = {}
    runs = [("greedy", n) for n in GREEDY] + [("cells", n) for n in (CELLS[:1] if chosen.quick else CELLS)]
    for method, users in runs:
        found[method, users] = measured(method, users)
        print(line(method, users, found[method, users]), flush=True)
    for users in PEER[:2] if chosen.quick else PEER:
        greedy, other = measured("greedy", users), measured("k-means", users, PEER_LIMIT)
        print(line("greedy", users, greedy), line("k-means", users, other), sep="\n", flush=True)
        if other is None:
            break
        ratio = other["cpu"] / other["grouping"]
        print(f"           processor time, k-means-constrained / greedy on the same vectors: {ratio:.0f}")
    both = found["greedy", 10_000], found["cells", 10_000]
    if both[0] and both[1]:
        print(
            f"similarity within groups, cells / greedy at 10,000: {both[1]['within'] / both[0]['within']:.3f}"
        )
    largest = runs[-1][1]
    first, last = found["cells", CELLS[0]], found["cells", largest]
    if first and last and largest > CELLS[0]:
        power = math.log(last["cpu"] / first["cpu"]) / math.log(largest / CELLS[0])
        print(f"processor time of cells grows as users to the power {power:.2f} (quadratic would be 2)")


if __name__ == "__main__":
    main()
