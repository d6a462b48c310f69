"""Checks that hold what a mechanism does against the schedule from which its guarantee is computed.

Each raises AssertionError. They look at a mechanism from outside: its real ``count`` and ``publish`` run, on
counts or with noise of our choice.

- :func:`compares_as_analysed`: noise off, which counts pass and what is published, exactly;
- :func:`draws_as_analysed`: the noise has the scale stated, for every key and table by itself;
- :func:`shows_as_analysed`: clicks and steps are shown with their queries alone, where the schedule says so;
- :func:`bounds_as_analysed`: what one user adds is no more than stated, in sum and on one key;
- :func:`diverges_as_claimed`: the exact divergence of what is executed, on logs that go to the limits.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
from tests.schedule_cases import Case, log_table
from tests.schedule_counts import bounds_as_analysed, remembering
from tests.schedule_divergence import diverges_as_claimed
from tests.schedule_executed import always, noise_off, publish, shown_within
from tests.schedule_noise import draws_as_analysed

from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release import execution
from tacit.release.engines import Engine
from tacit.release.mechanism import Plan
from tacit.release.schedule import Keys

__all__ = [
    "bounds_as_analysed",
    "compares_as_analysed",
    "diverges_as_claimed",
    "draws_as_analysed",
    "hides_rare_queries",
    "remembering",
    "shows_as_analysed",
]


def compares_as_analysed(mechanism: Plan[Any]) -> None:
    """With noise off, exactly the counts from the threshold on pass, and appear as they are.

    With noise that lifts every count over the threshold, exactly the keys that take part pass.
    """
    schedule = mechanism.schedule
    top = max(max(part.least or 0, part.minimum) for part in schedule) + 3
    counts = np.repeat(np.arange(top + 1), 2)  # each count on a public and on another key
    for lift in (0, top):
        with noise_off(lift), mock.patch.object(execution, "bernoulli", always):
            found = publish(mechanism, {part.table: counts for part in schedule})
        for part in schedule:
            lifted = lift if part.noise is not None else 0
            expected = {}
            for number, count in enumerate(counts.tolist()):
                public = part.keys is Keys.PUBLIC or (part.keys is Keys.BOTH and number % 2 == 0)
                if count < max(1, part.minimum) and not public:
                    continue
                compared = count if count >= max(1, part.minimum) else 0
                if part.least is None or compared + lifted >= part.least:
                    expected[number] = lifted + (count if part.fresh is not None else compared)
            assert found[part.table] == expected, f"{part.table}: not the keys or counts of the schedule"


def shows_as_analysed(mechanism: Plan[Any]) -> None:
    """No click and no step of a query that was not published."""
    if any(part.within for part in mechanism.schedule):
        for table, holds in shown_within(mechanism).items():
            assert holds, f"{table}: shown without its query"


def hides_rare_queries(case: Case, engine: Engine) -> None:
    """k-query: whatever is published is about queries of at least k users."""
    mechanism = case.make()
    with noise_off():
        counting = mechanism.count(engine, engine.load(log_table(case.others)))
        tables = mechanism.publish(engine, counting, OperatingSystemRandomness())
    users: dict[str, set[str]] = {}
    for user, history in case.others.items():
        for query, _, _ in history:
            users.setdefault(query, set()).add(user)
    for table in tables.values():
        for row in table.to_pylist():
            for name in ("query", "next_query"):
                if name in row:
                    found = len(users[row[name]])
                    assert found >= mechanism.k, f"a query of {found} users"
