"""What a release draws and compares, as data.

A **schedule** has a part for each published table, in the order in which they are made. A part says who may
add how much to its counts, which keys take part, what noise is added, what the noisy count is compared with,
and which number is published then. Where items are found for all tables together, the schedule has a
**selection** beside its parts: adaptive rounds of Gaussian noise, or a single count of each item. It is all
there is:

- :mod:`tacit.release.execution` draws noise and compares by the schedule, and is the only code that does;
- :mod:`tacit.release.analysis` computes guarantee, charges and the ledger's event from it;
- the manifest states it, and the tests read it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import combinations
from typing import Any, ClassVar

from tacit.errors import ParameterError
from tacit.privacy.arithmetic import ROUNDING
from tacit.privacy.guarantee import Neighbours

Occurrences = tuple[tuple[int, int], ...]
"""Pairs (times, sequences): so many different sequences occur so many times in a session."""


def _sessions(queries: int, so_far: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """List all sessions of so many queries, up to renaming, in which no query follows itself."""
    if len(so_far) == queries:
        yield so_far
        return
    for query in range(max(so_far, default=-1) + 2):
        if not so_far or query != so_far[-1]:
            yield from _sessions(queries, (*so_far, query))


@lru_cache
def occurrences(queries: int) -> tuple[Occurrences, ...]:
    """Count the sequences of two queries and more in a session of so many queries, each way once.

    A query that is repeated at once is one query of its session, so no query of a session follows itself. Up
    to renaming there are few such sessions (877 of eight queries), and each has a fixed number of sequences
    that occur once, twice, and so on as ordered subsequences.
    """
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
    CAPPED = "capped Laplace"
    GAUSSIAN = "discrete Gaussian"


@dataclass(frozen=True)
class Noise:
    """Integer noise, drawn independently for each key. A scale of 0 switches it off."""

    scale: float
    kind: NoiseKind = NoiseKind.LAPLACE

    def to_dict(self) -> dict[str, Any]:
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
        """Return the part for the manifest; what a session can hold is named where the counts rest on it."""
        form: dict[str, Any] = {"groups": list(self.groups), "once": self.once}
        if self.sessions is not None:
            form["sessions"], form["queries"] = self.sessions
        return form


class Keys(StrEnum):
    """Which keys take part."""

    OCCURRING = "occurring"  # those that somebody has: that a key appears tells that it occurs
    PUBLIC = "public"  # those of a public set, each one, whether it occurs or not
    BOTH = "both"  # those of a public set, and others that occur


@dataclass(frozen=True)
class KeyColumn:
    """A key column of a published table: text, or a list of texts."""

    name: str
    several: bool = False


def text_columns(*names: str) -> tuple[KeyColumn, ...]:
    return tuple(KeyColumn(name) for name in names)


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
    columns: tuple[KeyColumn, ...]
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

    @property
    def scale(self) -> float:
        """The scale of the noise by which keys are selected; 0 without noise."""
        return 0.0 if self.noise is None else self.noise.scale

    @property
    def error(self) -> float:
        """The scale of the noise in published counts."""
        return self.scale if self.fresh is None else self.fresh.scale

    @property
    def above(self) -> int:
        """The thesis's K: noisy counts greater than it are published."""
        return (self.least or 0) - 1

    def noises(self) -> Iterator[Noise]:
        for noise in (self.noise, self.fresh):
            if noise is not None:
                yield noise

    def to_dict(self) -> dict[str, Any]:
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


ONE = 1 << 16
"""The largest norm of one user's weights in a round."""

LARGEST_VALUE = 255
"""Relative weights are whole numbers up to this."""

LARGEST_SCORE = 64
"""So are scores: a weight times a score, squared and shifted by 32 bits, stays below 2^61."""

SCORES = (64, 23, 12, 8, 6, 4)
"""By which an item's weight is multiplied, for 1, 2 … words of its text: 64/words^1.5, the last for all more.

Long queries are rarely shared. A score is a function of an item's own text, so any would do for the proof.
"""


@dataclass(frozen=True)
class StepFunction:
    """A step function of an item's own noisy number: ``values[j]`` from ``cuts[j]`` on, 0 below the first."""

    cuts: tuple[int, ...]
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.cuts) != len(self.values) or not self.cuts:
            raise ParameterError("a step function has one value per cut, and at least one.")
        if any(a >= b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise ParameterError("the cuts of a step function increase.")
        if not all(0 <= value <= LARGEST_VALUE for value in self.values):
            raise ParameterError.outside("a relative weight", max(self.values), f"from 0 to {LARGEST_VALUE}")

    def in_units_of(self, share: float) -> StepFunction:
        """The same of numbers that are ``share`` times smaller; cuts increase still."""
        cuts = [round(cut / share) for cut in self.cuts]
        return replace(self, cuts=tuple(max(cut, cuts[0] + place) for place, cut in enumerate(cuts)))


@dataclass(frozen=True)
class Round:
    """One round of selection."""

    sigma: int  # of the discrete Gaussian noise, on the lattice
    coefficient: int  # with which the noisy weight enters the standing
    threshold: int  # the least standing at which an item is found in this round
    # from the standing to the relative weight in the next round; None after the last
    steering: StepFunction | None = None

    def __post_init__(self) -> None:
        if self.sigma <= ROUNDING and self.sigma != 0:
            raise ParameterError.outside("sigma of a round", self.sigma, f"above {ROUNDING}")
        if self.coefficient < 1:
            raise ParameterError.outside("the coefficient of a round", self.coefficient, "at least 1")


@dataclass(frozen=True)
class Tally:
    """How the found items are counted."""

    users_sigma: int  # of the noise on the number of users, on the lattice: a user adds 2^16
    sigma: int  # of the noise on the weighted counts
    squares_sigma: int  # of the noise on the sum of users' squared norms, each a part of 2^16 at most
    # from an item's noisy weight in the first round to its relative weight in the count
    weighing: StepFunction

    def __post_init__(self) -> None:
        if not all(self.weighing.values):
            raise ParameterError("every found item has a weight in the count.")
        for sigma in self.sigmas:
            if sigma <= ROUNDING and sigma != 0:
                raise ParameterError.outside("sigma of the counts", sigma, f"above {ROUNDING}")

    @property
    def sigmas(self) -> tuple[int, int, int]:
        """Of all noise, in the order in which it is drawn."""
        return self.users_sigma, self.sigma, self.squares_sigma


@dataclass(frozen=True)
class PublicKeys:
    """How the keys of a public list take part: all, held or not, so they need no room for one user."""

    scores: tuple[int, ...]  # of its keys; others have those of the rounds
    thresholds: tuple[int, ...]  # the least standing at which a listed key is found, one a round


@dataclass(frozen=True)
class AdaptiveRounds:
    """Rounds of Gaussian noise that find items, each steered by the noisy numbers of the ones before.

    Weights lie on a lattice: a user's vector has Euclidean norm at most :data:`ONE` = 2^16, the lattice's
    unit of weight. Each round adds discrete Gaussian noise to every item that somebody holds; the
    **standing** of an item after round r is Σ_{j ≤ r} coefficient_j·(noisy weight in round j). It is found
    in round r iff its standing is at least that round's threshold. Otherwise the standing says, through a
    table, how much weight its holders give it in the next round, or that it is out for good.
    """

    held: int  # k₀, the most items of a user that take part in selection
    rounds: tuple[Round, ...]  # of selection
    tally: Tally | None = None  # of the counts; None publishes keys alone
    scores: tuple[int, ...] = SCORES  # by the number of words of an item's text (:data:`SCORES`)
    public: PublicKeys | None = None  # how keys of a public list take part; None without one

    def __post_init__(self) -> None:
        if self.held < 1 or not self.rounds:
            raise ParameterError("a selection needs at least one item per user, and one round.")
        if any(step.steering is None for step in self.rounds[:-1]) or self.rounds[-1].steering is not None:
            raise ParameterError("every round but the last steers the next.")
        for score in (*self.scores, *(self.public.scores if self.public else ())):
            if not 1 <= score <= LARGEST_SCORE:
                raise ParameterError.outside("a score", score, f"from 1 to {LARGEST_SCORE}")
        if self.public is not None and len(self.public.thresholds) != len(self.rounds):
            raise ParameterError("keys of a public list have a threshold in each round.")

    least: ClassVar[int | None] = None
    """The least count that can be published: none, counts have noise of their own."""

    def noises(self) -> Iterator[Noise]:
        for step in self.rounds:
            yield Noise(step.sigma, NoiseKind.GAUSSIAN)
        if self.tally is not None:
            for sigma in self.tally.sigmas:
                yield Noise(sigma, NoiseKind.GAUSSIAN)

    def to_dict(self) -> dict[str, Any]:
        return {
            "unit": ONE,
            "held": self.held,
            "rounds": [_as_json(step) for step in self.rounds],
            "tally": None if self.tally is None else _as_json(self.tally),
            "scores": list(self.scores),
            **({} if self.public is None else {"public": _as_json(self.public)}),
        }


def _as_json(part: Round | Tally | PublicKeys | SeriesRounds) -> Any:
    return json.loads(json.dumps(asdict(part)))


@dataclass(frozen=True)
class SingleCount:
    """One noisy count of each item, compared once: where a user gives very few items.

    Every item's count of users gets Laplace noise that never exceeds ``most``, and is published, as it was
    compared, from ``least`` on.
    """

    held: int  # the most items of a user that are counted
    scale: float  # of the noise
    upward: float  # the chance of noise at or above 0
    most: int  # the largest noise
    least: int  # the least noisy count that is published

    def noises(self) -> Iterator[Noise]:
        yield Noise(self.scale, NoiseKind.CAPPED)

    def to_dict(self) -> dict[str, Any]:
        return {"noise": NoiseKind.CAPPED.value, **asdict(self)}


@dataclass(frozen=True)
class WeighingByStandings:
    """How much an item weighs in a round of a series: the larger value of its long and its short memory.

    ``floor`` is what it weighs at least for somebody who has newly held it, in the first week; in later ones
    if its short standing is at least that of ``young`` for the week.
    """

    long: StepFunction
    short: StepFunction
    floor: int
    young: tuple[int, ...]


@dataclass(frozen=True)
class SeriesTally:
    """How the found items of a series are counted: ``every`` so many weeks, together.

    ``sigma`` is of the noise; every user's balance gains ``gain``, a squared norm on the lattice, a count. An
    item weighs ``first`` when it is first counted, then as its last noisy count says.
    """

    every: int
    sigma: int
    gain: int
    first: int
    weighing: StepFunction


@dataclass(frozen=True)
class SeriesRounds:
    """Rounds laid out over weeks that look at all that users hold so far (docs/guarantees/series.md).

    Every possible user gains a squared weight of ONE² a round and may save it. Noise belongs to every item
    and every round, held or not. An item has a standing in each of several memories, A ← ⌊memory·A/2^16⌋ +
    (noisy weight), and is found in a round if somebody has held it by then and one of its standings is at
    least the round's threshold for that memory.
    """

    weeks: int  # how many
    per_week: int  # rounds in each week
    joining: int  # k_w, the most items that join a user's set in a week
    sigma: int  # of the discrete Gaussian noise of every round, on the lattice
    # what a round leaves of the standings before, in parts of 2^16: long, short, none
    memories: tuple[int, ...]
    # for each round the least standings at which an item is found, one a memory
    thresholds: tuple[tuple[int, ...], ...]
    weighing: tuple[WeighingByStandings, ...]  # for each round
    part: int  # of what a user has saved beyond a round's unit, so many parts of 256 are spent in it
    tally: SeriesTally | None = None  # of the counts; None publishes keys alone
    # by the number of words of an item's text, divided by 8 after they are multiplied
    scores: tuple[int, ...] = SCORES
    history: AdaptiveRounds | None = None  # of the one release of the past at the opening, if there is one

    def __post_init__(self) -> None:
        lines = {len(each) for each in self.thresholds}
        if len(self.thresholds) != self.rounds or len(self.weighing) != self.rounds:
            raise ParameterError("a series has thresholds and weights for each of its rounds.")
        if lines != {len(self.memories)} or not all(0 <= kept < 1 << 16 for kept in self.memories):
            raise ParameterError("a series has a threshold for each memory, and memories keep less than all.")
        if self.rounds > 208 or not 0 <= self.part <= 256:  # or balances pass 2^40, and weights 64 bits
            raise ParameterError.outside("the rounds of a series", self.rounds, "at most 208")

    @property
    def rounds(self) -> int:
        """How many in all."""
        return self.weeks * self.per_week

    @property
    def counts(self) -> int:
        """How many times the found items are counted."""
        return 0 if self.tally is None else self.weeks // self.tally.every

    def noises(self) -> Iterator[Noise]:
        for sigma in [self.sigma] * self.rounds + [self.tally.sigma if self.tally else 0] * self.counts:
            yield Noise(sigma, NoiseKind.GAUSSIAN)
        yield from self.history.noises() if self.history else ()

    def to_dict(self) -> dict[str, Any]:
        return {"unit": ONE, **_as_json(self)}


Selection = AdaptiveRounds | SingleCount
"""How items are found, and counted, for all tables together."""


@dataclass(frozen=True)
class Schedule:
    """All that a release draws and compares, and for which logs its guarantee is stated.

    Args:
        parts: the published tables, in order.
        neighbours: which logs the guarantee compares.
        selection: what finds the items of all tables together; None where each part stands for itself.
        at_epsilon: the ε at which the guarantee is stated, with the exact δ of all noise; None where it is
            the sum of the parts.
        users: a public bound on the number of users, on which a probabilistic guarantee rests; None for
            others.
        series: rounds over weeks, in the place of a selection from one log.
    """

    parts: tuple[Part, ...]
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    selection: Selection | None = None
    at_epsilon: float | None = None
    users: int | None = None
    series: SeriesRounds | None = None

    def __post_init__(self) -> None:
        if self.together is not None and self.at_epsilon is None:
            raise ParameterError("a selection is stated at an ε.", "Give `at_epsilon`.")

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    @property
    def together(self) -> Selection | SeriesRounds | None:
        """What finds the items of all tables together, in one log or over weeks."""
        return self.series if self.selection is None else self.selection

    def part(self, table: str) -> Part:
        return next(part for part in self.parts if part.table == table)

    def having(self, table: str, **changes: Any) -> Schedule:
        changed = (replace(part, **changes) if part.table == table else part for part in self.parts)
        return replace(self, parts=tuple(changed))

    @property
    def exact(self) -> bool:
        """Whether true counts are published: no noise is drawn at all."""
        return next(self.noises(), None) is None

    def noises(self) -> Iterator[Noise]:
        for part in self.parts:
            yield from part.noises()
        if self.together is not None:
            yield from self.together.noises()

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the schedule for the manifest; relation, ε and users stand among the parameters there."""
        if self.together is None:
            return [part.to_dict() for part in self.parts]
        tables = [
            {
                "table": part.table,
                "columns": [column.name for column in part.columns],
                "measures": list(part.measures),
            }
            for part in self.parts
        ]
        return [*tables, self.together.to_dict()]
