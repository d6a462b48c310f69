"""The joint output of queries and of what is shown with them alone, for exact divergences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from tacit.audit import exact

__all__ = ["Atom", "compared_outputs", "fresh_outputs", "shown_together"]

Atom = tuple[float | Fraction, float | Fraction]
"""The chances of an output on the two logs."""


def compared_outputs(
    a: float | Fraction, one: int | None, two: int | None, least: int
) -> tuple[Atom, exact.Pair]:
    """A key that passes ``>= least`` with the compared count: its chances to be missing; what shows it."""
    if one is not None and two is not None:
        missing = (exact.survival(a, 1 - least + one), exact.survival(a, 1 - least + two))
        return missing, exact.passing(a, one, two, least)
    return fresh_outputs(_appears(a, one, least), _appears(a, two, least), None)


def _appears(a: float | Fraction, count: int | None, least: int) -> float | Fraction:
    return 0.0 if count is None else exact.survival(a, least - count)


def fresh_outputs(
    one: float | Fraction, two: float | Fraction, then: exact.Pair | None
) -> tuple[Atom, exact.Pair]:
    """A key that appears with these chances, and ``then`` with it."""
    following = then.atoms if then is not None else ((1, 1),)
    return (1 - one, 1 - two), exact.Pair.of((one * p, two * q) for p, q in following)


def shown_together(
    queries: Mapping[str, tuple[Atom, exact.Pair]], within: Sequence[tuple[set[str], exact.Pair]]
) -> exact.Pair:
    """Queries, and with those that appear what belongs to them: over all sets of queries that may appear.

    Args:
        queries: of each query whose counts differ, the chances to be missing, and the outputs that show it.
        within: clicks and steps with the queries that they belong to. Queries that are not listed are shown.
    """
    atoms: list[Atom] = []
    for size in range(len(queries) + 1):
        for chosen in combinations(queries, size):
            hidden = queries.keys() - set(chosen)
            parts = [queries[query][1] for query in chosen]
            parts += [exact.Pair((queries[query][0],)) for query in sorted(hidden)]
            parts += [pair for needed, pair in within if not needed & hidden]
            atoms += exact.product(parts).atoms
    return exact.Pair.of(atoms)
