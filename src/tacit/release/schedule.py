"""What a mechanism will draw and compare, as data.

A **schedule** is a list of parts, one for each published table, in the order in which they are made. A part
says who may add how much to its counts, which keys take part, what noise is added, what the noisy count is
compared with, and which number is published then. It is all there is:

- :mod:`tacit.release.execution` draws noise and compares by the schedule, and is the only code that does;
- :mod:`tacit.release.analysis` computes the guarantee, and the event for the ledger, from it;
- the manifest states it, and the tests read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import combinations
from typing import Any

Occurrences = tuple[tuple[int, int], ...]
"""Pairs (times, sequences): so many different sequences occur so many times in a session."""


def _sessions(queries: int, so_far: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """All sessions of so many queries, up to renaming, in which no query follows itself."""
    if len(so_far) == queries:
        yield so_far
        return
    for query in range(max(so_far, default=-1) + 2):
        if not so_far or query != so_far[-1]:
            yield from _sessions(queries, (*so_far, query))


@lru_cache
def occurrences(queries: int) -> tuple[Occurrences, ...]:
    """What a session of so many queries can hold of sequences of two queries and more; each way once."""
    ways = set()
    for session in _sessions(queries):
        found: Counter[tuple[int, ...]] = Counter()
        for length in range(2, queries + 1):
            found.update(combinations(session, length))
        ways.add(tuple(sorted(Counter(found.values()).items())))
    return tuple(sorted(ways))


def most_occurrences(queries: int) -> int:
    """The most times that a session of so many queries has one sequence."""
    return max(way[-1][0] for way in occurrences(queries))


class NoiseKind(StrEnum):
    """From which distribution noise is drawn (:mod:`tacit.privacy.noise.samplers`)."""

    LAPLACE = "discrete Laplace"


@dataclass(frozen=True)
class Noise:
    """Integer noise, drawn independently for each key. A scale of 0 switches it off."""

    scale: float
    kind: NoiseKind = NoiseKind.LAPLACE

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {"kind": self.kind.value, "scale": self.scale}


@dataclass(frozen=True)
class Contribution:
    """The most that one user adds to the counts of a part.

    Args:
        groups: how many counts a user adds to each of several sets of keys that have no key in common.
        once: a user adds at most 1 to a single key; otherwise all of a group may fall on one key.
        sessions: so many sessions of so many queries, none of which follows itself, and the counts are those
            of all their ordered subsequences; a group is then a length, and no other spread over keys can be.
    """

    groups: tuple[int, ...]
    once: bool
    sessions: tuple[int, int] | None = None

    @property
    def total(self) -> int:
        """The most counts in all (L1)."""
        return sum(self.groups)

    @property
    def largest(self) -> int:
        """The most on a single key."""
        if self.once:
            return min(1, self.total)
        if self.sessions is not None:
            sessions, queries = self.sessions
            return sessions * most_occurrences(queries)
        return max(self.groups, default=0)

    def to_dict(self) -> dict[str, Any]:
        """For the manifest; what a session can hold is named where the counts rest on it."""
        form: dict[str, Any] = {"groups": list(self.groups), "once": self.once}
        if self.sessions is not None:
            form["sessions"], form["queries"] = self.sessions
        return form


class Keys(StrEnum):
    """Which keys take part."""

    OCCURRING = "occurring"
    """Those that somebody has: that a key appears tells that it occurs."""
    PUBLIC = "public"
    """Those of a public set, each one, whether it occurs or not."""
    BOTH = "both"
    """Those of a public set, and others that occur."""


@dataclass(frozen=True)
class Column:
    """A key column of a published table: text, or a list of texts."""

    name: str
    several: bool = False


def text_columns(*names: str) -> tuple[Column, ...]:
    """Columns of text."""
    return tuple(Column(name) for name in names)


@dataclass(frozen=True)
class Part:
    """One published table.

    Args:
        table: its name.
        columns: what makes a key.
        contribution: the most that a user adds to its counts.
        noise: what is added to a count before it is compared; None compares and publishes true counts.
        least: the least noisy count that passes; None lets all pass.
        fresh: new noise for the published count; None publishes the very number that was compared.
        keys: which keys take part.
        minimum: keys with a smaller true count take no part (public ones take part with a count of 0).
        chance: with which chance a public key of count 0 takes part.
        within: pairs of a column and the earlier table whose first column must hold its value.
        measures: the columns of whole numbers beside the key.
        nested: the first column holds paths, and after what is computed from the noisy counts alone, each
            count is the sum over the paths right below.
    """

    table: str
    columns: tuple[Column, ...]
    contribution: Contribution
    noise: Noise | None
    least: int | None
    fresh: Noise | None = None
    keys: Keys = Keys.OCCURRING
    minimum: int = 1
    chance: float = 1.0
    within: tuple[tuple[str, str], ...] = ()
    measures: tuple[str, ...] = ("count",)
    nested: bool = False

    @property
    def lowest(self) -> int | None:
        """The least count that the published table can show; None where fresh noise has no floor."""
        if "count" not in self.measures:
            return None
        if self.noise is None:
            return max(self.minimum, self.least or 0)
        return self.least if self.fresh is None else None

    def noises(self) -> Iterator[Noise]:
        """All noise that is drawn for it."""
        for noise in (self.noise, self.fresh):
            if noise is not None:
                yield noise

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "table": self.table,
            "columns": [column.name for column in self.columns],
            "contribution": self.contribution.to_dict(),
            "keys": self.keys.value,
            "minimum": self.minimum,
            "chance": self.chance,
            "noise": self.noise and self.noise.to_dict(),
            "least": self.least,
            "fresh": self.fresh and self.fresh.to_dict(),
            "within": dict(self.within),
            **({"nested": True} if self.nested else {}),
        }


@dataclass(frozen=True)
class Schedule:
    """The parts of a release, in order."""

    parts: tuple[Part, ...]

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    def part(self, table: str) -> Part:
        """The part that publishes ``table``."""
        return next(part for part in self.parts if part.table == table)

    def noises(self) -> Iterator[Noise]:
        """All noise that is drawn."""
        for part in self.parts:
            yield from part.noises()

    def to_dict(self) -> list[dict[str, Any]]:
        """For the manifest."""
        return [part.to_dict() for part in self.parts]
