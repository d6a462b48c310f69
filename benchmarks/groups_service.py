"""Groups in service: newcomers taken in one by one, look-ups and rankings.

Claims, over groups of 100,000 users with profiles of 150 terms (`tacit.evaluate.loops`):

- taking in a newcomer costs a small fraction of bundling everybody anew, measured in the same run;
- a look-up takes far less than a ranking, and ranking 20 results less than a millisecond.

Run: ``python benchmarks/groups_service.py [--users 100000] [--newcomers 10000]``
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from tacit.evaluate.loops import interest_profiles
from tacit.groups import Bundler, Groups
from tacit.groups.store import FILE, GroupsStore, fill


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--newcomers", type=int, default=10_000)
    asked = parser.parse_args()
    everybody = interest_profiles(asked.users + asked.newcomers, 150, seed=1)
    import numpy as np

    old = everybody.select(np.arange(asked.users))
    bundler = Bundler(p=0.4)
    bundler.fit(interest_profiles(100, 150, seed=9))  # compiles
    begun = time.process_time()
    bundling = bundler.fit(old)
    anew = time.process_time() - begun
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "operator").mkdir()
        store = GroupsStore.create(folder / "operator" / FILE, asdict(bundler))
        with store.transaction():
            fill(store, bundling, first=0)
        store.close()
        size = (folder / "operator" / FILE).stat().st_size
        with Groups.open(folder) as groups:
            newcomers = {
                everybody.users[row]: everybody.profile(row)
                for row in range(asked.users, asked.users + asked.newcomers)
            }
            first, *rest = newcomers.items()
            begun = time.process_time()
            groups.assign(*first)
            index = time.process_time() - begun
            begun = time.process_time()
            places = groups.assign_all(dict(rest))
            assigning = (time.process_time() - begun) / len(rest)
            served = sum(at.group is not None for at in places) / len(places)
            counted = sum(at.member for at in places) / len(places)
            users = random.Random(1).sample(list(old.users), 2000)
            looked = _median(lambda user: groups.of(user), users)
            results = [
                {"title": " ".join(list(held)[:6]), "snippet": " ".join(list(held)[6:30])}
                for _, held in rest[:20]
            ]
            for user in users:
                groups.rerank(user, results)
            ranked = _median(lambda user: groups.rerank(user, results), users)
    print(f"bundling {asked.users:,} users anew:      {anew:8.1f} s of processor time")
    print(f"first newcomer (makes the index):   {index:8.2f} s")
    times = f"{anew / assigning:,.0f} times less"
    print(f"each further newcomer:              {assigning * 1000:8.2f} ms  ({times})")
    print(
        f"newcomers served by a group:        {served:8.1%}, counted in a group of their own: {counted:.1%}"
    )
    print(f"look-up of a user's group:          {looked * 1e6:8.0f} µs")
    print(f"ranking 20 results:                 {ranked * 1e6:8.0f} µs  (under 1 ms: {ranked < 1e-3})")
    print(f"the operator's file:                {size / 1e6:8.0f} MB")


def _median(work: object, users: list[str]) -> float:
    times = []
    for user in users:
        begun = time.perf_counter()
        work(user)  # type: ignore[operator]
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


if __name__ == "__main__":
    main()
