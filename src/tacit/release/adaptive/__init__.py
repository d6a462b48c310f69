"""Steered Gaussian rounds: many keys, and their counts, under one budget.

::

    parameters ──▶ planner ──▶ schedule ──▶ analysis     rounds as data, and what they provably cost
                                   │
    holdings (who holds what) ─────┼──▶ rounds           which keys are found
                                   └──▶ tallies          how many users have each found key

Where a user gives one item, or two, ``single_planner``, ``single_count`` and ``single_analysis`` stand in
their place: one noisy count of each item. ``steered`` and ``counted_once`` are the two ways as the mechanism
sees them.

Theorem, proof, and the variants that break it: docs/guarantees/adaptive.md.
"""

__all__: list[str] = []
