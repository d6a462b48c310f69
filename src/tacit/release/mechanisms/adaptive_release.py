"""Adaptive releases: Gaussian rounds find items and count them, or a single noisy count does both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.accounting.events import ApproximateDp, Event, GaussianRounds
from tacit.privacy.accounting.loss import ROUNDING, lattice_delta
from tacit.privacy.arithmetic import sum_up
from tacit.privacy.noise.randomness import RandomSource
from tacit.release.analysis import Charge
from tacit.release.document.words import counted as in_words
from tacit.release.document.words import leaning
from tacit.release.engines import Engine
from tacit.release.execution import Tables
from tacit.release.mechanism import Counting, DescribedStep, Mechanism
from tacit.release.mechanisms import adaptive_words as rounds_words
from tacit.release.mechanisms.adaptive import HELD_COLUMNS, AdaptiveParameters
from tacit.release.mechanisms.adaptive_holdings import Counted, held_in, keys_of, read_holdings, shown_keys
from tacit.release.mechanisms.adaptive_planner import (
    deviation,
    disclosure,
    even_chance_at,
    finds_more,
    loss,
    plan_rounds,
    plan_single,
)
from tacit.release.mechanisms.adaptive_rounds import Holdings, SingleCount, count_once, find, take_tally
from tacit.release.mechanisms.adaptive_schedule import Cost, Round, RoundsSchedule, cost_of
from tacit.release.schedule import Column, Contribution, Part, Schedule


@dataclass(frozen=True)
class Numbered:
    """Published items by their numbers, with counts and the standard deviations of their noise, if any."""

    items: NDArray[np.int64]
    counts: NDArray[np.int64] | None = None
    deviations: NDArray[np.float64] | None = None


class FindingWay(Protocol):
    """Carries out what is drawn and compared, and says what it costs and means."""

    @property
    def schedule(self) -> RoundsSchedule | SingleCount:
        """What is drawn and compared."""
        ...

    @property
    def least(self) -> int | None:
        """The least count that can be published, where there is one."""
        ...

    def delta(self, epsilon: float) -> float:
        """δ at the ε for which it is laid out."""
        ...

    def charges(self, epsilon: float) -> tuple[Charge, ...]:
        """What its parts cost."""
        ...

    def event(self, epsilon: float) -> Event:
        """What the ledger is charged with."""
        ...

    def figures(self) -> dict[str, float]:
        """What it costs in utility."""
        ...

    def words(self, p: AdaptiveParameters) -> Sequence[str]:
        """What the parameters mean and cost."""
        ...

    def steps(self, p: AdaptiveParameters) -> Sequence[DescribedStep]:
        """What is done to the log."""
        ...

    def carry_out(self, holdings: Holdings, source: RandomSource) -> Numbered:
        """Draw and compare."""
        ...

    def foresee(self, counted: Counted, share: float, source: RandomSource) -> dict[str, float]:
        """By kind, the rows of a log with ``share`` times the users of the one that was counted."""
        ...


_DRAWS = 4
"""Over so many releases the rows are averaged."""


def foresee(
    schedule: RoundsSchedule, counted: Counted, share: float, source: RandomSource
) -> dict[str, float]:
    """By kind, the rows of a log with ``share`` times as many users as the synthetic one.

    Args:
        schedule: what would be carried out.
        counted: who holds what in the synthetic log.
        share: users over users of the synthetic log.
        source: of lots and noise.
    """

    def found() -> NDArray[np.int64]:
        if share < 1:
            return find(schedule, some_users(counted.holdings, share, source), source).items
        return find(_shrunk(schedule, share), counted.holdings, source).items

    return mean_rows(counted, found)


def mean_rows(counted: Counted, found: Callable[[], NDArray[np.int64]]) -> dict[str, float]:
    """By kind, the mean number of found items over several releases."""
    rows = dict.fromkeys(counted.offsets, 0.0)
    for _ in range(_DRAWS):
        items = found()
        for kind in rows:
            rows[kind] += float(counted.of_kind(kind, items).sum()) / _DRAWS
    return rows


def some_users(holdings: Holdings, share: float, source: RandomSource) -> Holdings:
    """This part of the users, by lot."""
    sizes = np.diff(holdings.starts)
    kept = np.argsort(source.words(sizes.size))[: max(1, round(share * sizes.size))]
    chosen = np.zeros(sizes.size, dtype=np.bool_)
    chosen[kept] = True
    starts = np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64)
    return Holdings(starts, holdings.items[np.repeat(chosen, sizes)], holdings.kinds)


def _shrunk(schedule: RoundsSchedule, share: float) -> RoundsSchedule:
    """The schedule in units of ``share`` users."""

    def shrunk(step: Round) -> Round:
        steering = step.steering
        if steering is not None:
            cuts = [round(cut / share) for cut in steering.cuts]
            apart = tuple(max(cut, cuts[0] + place) for place, cut in enumerate(cuts))  # cuts increase
            steering = replace(steering, cuts=apart)
        return replace(
            step,
            sigma=max(ROUNDING + 1, round(step.sigma / share)),
            threshold=round(step.threshold / share),
            steering=steering,
        )

    return replace(schedule, rounds=tuple(shrunk(step) for step in schedule.rounds))


class Steered:
    """Carries out :class:`~tacit.release.mechanisms.adaptive_schedule.RoundsSchedule`."""

    least = None

    def __init__(self, schedule: RoundsSchedule, neighbours: Neighbours) -> None:
        self.schedule = schedule
        self.neighbours = neighbours

    @cached_property
    def cost(self) -> Cost:
        """μ of the noise and the chance of a disclosure."""
        return cost_of(self.schedule, self.neighbours)

    def delta(self, epsilon: float) -> float:
        """At any ε."""
        return self.cost.delta(epsilon)

    def charges(self, epsilon: float) -> tuple[Charge, ...]:
        """The noise of all rounds, and what may be found by chance."""
        noise = lattice_delta(epsilon, self.cost.mu)
        return (
            Charge("the noise of all rounds and counts", epsilon / self.neighbours.users_changed, noise),
            Charge("items of one user alone, found by chance", 0.0, self.cost.disclosure),
        )

    def event(self, epsilon: float) -> Event:
        """Gaussian rounds and a rare disclosure, stated at ε."""
        return GaussianRounds(self.cost.mu, self.cost.disclosure, epsilon, self.neighbours)

    def figures(self) -> dict[str, float]:
        """How many users an item needs, and how far off counts are at least."""
        return rounds_words.figures(self.schedule)

    def words(self, p: AdaptiveParameters) -> Sequence[str]:
        """What the parameters mean and cost."""
        return rounds_words.words(p, self.schedule, self.figures())

    def steps(self, p: AdaptiveParameters) -> Sequence[DescribedStep]:
        """What is done to the log."""
        return rounds_words.steps(p, self.schedule)

    def carry_out(self, holdings: Holdings, source: RandomSource) -> Numbered:
        """Find, and count what was found."""
        found = find(self.schedule, holdings, source)
        if self.schedule.tally is None:
            return Numbered(found.items)
        tally = take_tally(self.schedule.tally, holdings, found, source)
        return Numbered(found.items, tally.counts, tally.deviations)

    def foresee(self, counted: Counted, share: float, source: RandomSource) -> dict[str, float]:
        """By carrying out the rounds on a synthetic log."""
        return foresee(self.schedule, counted, share, source)


class CountedOnce:
    """Carries out :class:`~tacit.release.mechanisms.adaptive_rounds.SingleCount`.

    Counts cost nothing where they are not shown: they are the numbers that were compared.
    """

    def __init__(self, schedule: SingleCount, neighbours: Neighbours, keys_only: bool) -> None:
        self.schedule = schedule
        self.neighbours = neighbours
        self.keys_only = keys_only

    @property
    def least(self) -> int:
        """The threshold: published is what was compared."""
        return self.schedule.least

    def delta(self, epsilon: float) -> float:
        """At the ε of the noise; nothing is promised below it."""
        return disclosure(self.schedule) if self._epsilon() <= epsilon else 1.0

    def _epsilon(self) -> float:
        return self.neighbours.users_changed * sum_up([loss(self.schedule)])

    def charges(self, epsilon: float) -> tuple[Charge, ...]:
        """Noise and threshold pay for one another: a single part."""
        return (
            Charge(
                "one noisy count of each item", epsilon / self.neighbours.users_changed, self.delta(epsilon)
            ),
        )

    def event(self, epsilon: float) -> Event:
        """By its guarantee: a moved count tells e^(1/b), the one way or the other, or all."""
        return ApproximateDp(
            Guarantee(
                GuaranteeKind.INDISTINGUISHABILITY,
                self.neighbours,
                epsilon=epsilon,
                delta=self.delta(epsilon),
            )
        )

    def figures(self) -> dict[str, float]:
        """How many users an item needs, and how far off counts are."""
        found: dict[str, float] = {"even_chance_at": even_chance_at(self.schedule)}
        if not self.keys_only:
            found["least_deviation"] = deviation(self.schedule)
        return found

    def words(self, p: AdaptiveParameters) -> Sequence[str]:
        """What the parameters mean and cost."""
        listed = ", ".join(p.items)
        lines = [
            f"{listed[0].upper()}{listed[1:]} of each user are counted, at most "
            f"{in_words(p.per_user, 'item')} of all kinds together, drawn by lot. Who has more is counted in "
            "these alone: give a larger bound if many have.",
            "With so few items a user one noisy count of each finds more than rounds of noise. An item needs "
            f"about {even_chance_at(self.schedule)} users for an even chance to appear.",
        ]
        if self.keys_only:
            return (*lines, "Items are published without counts.")
        return (
            *lines,
            "Each count stands beside the standard deviation of its noise, "
            f"{deviation(self.schedule):.2g} users.",
            leaning(self.schedule.scale),
        )

    def steps(self, p: AdaptiveParameters) -> Sequence[DescribedStep]:
        """What is done to the log."""
        return (
            DescribedStep(
                "Cut", f"of each user at most {in_words(p.per_user, 'item')}, by lot: {', '.join(p.items)}"
            ),
            DescribedStep("Count", "how many users have each item"),
            DescribedStep(
                "Noise",
                f"add whole-number Laplace noise of scale {self.schedule.scale:g}, never more than "
                f"{self.schedule.most}, to every count",
                noisy=True,
            ),
            DescribedStep("Threshold", f"publish what has a noisy count of {self.schedule.least} or more"),
        )

    def carry_out(self, holdings: Holdings, source: RandomSource) -> Numbered:
        """Count, draw, compare."""
        items, counts = count_once(self.schedule, holdings, source)
        if self.keys_only:
            return Numbered(items)
        return Numbered(items, counts, np.full(items.size, deviation(self.schedule)))

    def foresee(self, counted: Counted, share: float, source: RandomSource) -> dict[str, float]:
        """By carrying it out on a synthetic log: on some of its users, or with every count grown."""

        def published() -> NDArray[np.int64]:
            holdings = counted.holdings if share >= 1 else some_users(counted.holdings, share, source)
            return count_once(self.schedule, holdings, source, times=max(1.0, share))[0]

        return mean_rows(counted, published)


@dataclass(frozen=True)
class AdaptiveSchedule(Schedule):
    """The published tables, one per kind, and what makes them together."""

    selection: RoundsSchedule | SingleCount

    def to_dict(self) -> list[dict[str, Any]]:
        """The tables, then what is drawn and compared."""
        tables = [
            {
                "table": part.table,
                "columns": [column.name for column in part.columns],
                "measures": list(part.measures),
            }
            for part in self.parts
        ]
        return [*tables, self.selection.to_dict()]


class Adaptive(Mechanism[AdaptiveParameters]):
    """An adaptive release."""

    Parameters = AdaptiveParameters
    counts_beginnings = True

    def plan(self, asked: AdaptiveParameters) -> AdaptiveParameters:
        """What is laid out for the ε and δ asked for, unless others are given."""
        if asked.given:
            return asked
        if asked.epsilon is None or not asked.delta:
            raise ParameterError(
                "an adaptive release needs `epsilon` and a `delta` above 0.",
                "Give both; δ well below one over the number of users.",
            )
        made = replace(asked, at_epsilon=asked.epsilon, at_delta=asked.delta)
        if made.single or made.per_user > _FEW:
            return made
        return replace(made, single=finds_more(_single(made), _rounds(made)))

    @cached_property
    def way(self) -> FindingWay:
        """How items are found and counted."""
        p = self.parameters
        if p.single:
            return CountedOnce(_single(p), p.neighbours, p.keys_only)
        return Steered(_rounds(p), p.neighbours)

    def schedule(self) -> AdaptiveSchedule:
        """One table per kind, all made together."""
        p = self.parameters
        measures = () if p.keys_only else ("count", "deviation")
        parts = tuple(
            Part(
                table=kind.value,
                columns=tuple(Column(name, several=name == "queries") for name in HELD_COLUMNS[kind]),
                contribution=Contribution((p.per_user,), once=True),
                noise=None,
                least=self.way.least,
                measures=measures,
            )
            for kind in p.items
        )
        return AdaptiveSchedule(parts, self.way.schedule)

    def guarantee(self) -> Guarantee:
        """(ε, δ) at the ε for which all is laid out."""
        epsilon, _ = self.parameters.laid_out_for
        return Guarantee(
            GuaranteeKind.INDISTINGUISHABILITY,
            self.neighbours,
            epsilon=epsilon,
            delta=self.way.delta(epsilon),
        )

    def charges(self) -> tuple[Charge, ...]:
        """Noise, and what may be found by chance."""
        return self.way.charges(self.parameters.laid_out_for[0])

    def event(self) -> Event:
        """Stated at the ε for which all is laid out."""
        return self.way.event(self.parameters.laid_out_for[0])

    def figures(self) -> dict[str, float]:
        """How many users an item needs, and how far off counts are at least."""
        return self.way.figures()

    def words(self) -> Sequence[str]:
        """What the parameters mean and cost."""
        return self.way.words(self.parameters)

    def steps(self) -> Sequence[DescribedStep]:
        """What is done to the log."""
        return self.way.steps(self.parameters)

    def count(self, engine: Engine, log: Any) -> Counting:
        """Who holds what, as numbers."""
        return {"held": read_holdings(engine, {k.value: held_in(log, k) for k in self.parameters.items})}

    def foresee(self, counting: Counting, share: float, source: RandomSource) -> dict[str, float]:
        """By carrying it out on the synthetic log."""
        return self.way.foresee(counting["held"], share, source)

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """Find and count, and make one table per kind."""
        counted = counting["held"]
        found = self.way.carry_out(counted.holdings, source)
        tables: Tables = {}
        for kind in self.parameters.items:
            chosen = np.flatnonzero(counted.of_kind(kind.value, found.items))
            table = shown_keys(kind, keys_of(engine, counted, kind.value, found.items[chosen]))
            if found.counts is not None and found.deviations is not None:
                deviations = np.ceil(found.deviations[chosen])
                table = table.append_column("count", pa.array(found.counts[chosen], pa.int64()))
                table = table.append_column("deviation", pa.array(deviations.astype(np.int64), pa.int64()))
            tables[kind.value] = _in_order(table, HELD_COLUMNS[kind])
        return tables


_FEW = 4
"""A single count is compared with rounds for no more items a user than this: for more it never wins."""


def _rounds(p: AdaptiveParameters) -> RoundsSchedule:
    epsilon, delta = p.laid_out_for
    return plan_rounds(epsilon, delta, p.per_user, keys_only=p.keys_only, neighbours=p.neighbours)


def _single(p: AdaptiveParameters) -> SingleCount:
    epsilon, delta = p.laid_out_for
    return plan_single(epsilon, delta, p.per_user, neighbours=p.neighbours)


def _in_order(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Largest counts first, then by key; without counts by key: the order tells nothing of the log's."""
    by = table
    for name in keys:
        if pa.types.is_list(table.schema.field(name).type):
            joined = pc.binary_join(table.column(name).combine_chunks(), "\x00")
            by = by.set_column(by.schema.get_field_index(name), name, joined)
    order = [("count", "descending")] if "count" in table.schema.names else []
    sorted_by = pc.sort_indices(by, sort_keys=[*order, *((name, "ascending") for name in keys)])
    fields = [pa.field(field.name, field.type, nullable=field.name not in keys) for field in table.schema]
    return table.take(sorted_by).combine_chunks().cast(pa.schema(fields))


MECHANISM = Adaptive
