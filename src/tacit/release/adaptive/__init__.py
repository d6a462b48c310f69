"""Steered Gaussian rounds: many keys, and their counts, under one budget.

::

    parameters ──▶ planner ──▶ schedule ──▶ analysis     rounds as data, and what they provably cost
                                   │
    holdings (who holds what) ─────┼──▶ rounds           which keys are found
                                   └──▶ tallies          how many users have each found key

Theorem, proof, and the variants that break it: docs/guarantees/adaptive.md.
"""

__all__: list[str] = []
