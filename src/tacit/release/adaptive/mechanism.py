"""Adaptive: steered Gaussian rounds find keys, then the found ones are counted.

What is drawn and compared is :class:`~tacit.release.adaptive.rounds_schedule.RoundsSchedule`; the guarantee
is computed from it, and :mod:`~tacit.release.adaptive.rounds` and :mod:`~tacit.release.adaptive.tallies`
carry it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, GuaranteeKind
from tacit.privacy.events import Event, GaussianRounds
from tacit.privacy.gaussian_loss import lattice_delta
from tacit.privacy.randomness import RandomSource
from tacit.release.adaptive import words
from tacit.release.adaptive.analysis import Cost, cost_of
from tacit.release.adaptive.foresight import foresee
from tacit.release.adaptive.held import held_in, shown_keys
from tacit.release.adaptive.holdings import keys_of, read_holdings
from tacit.release.adaptive.parameters import HELD_COLUMNS, AdaptiveParameters
from tacit.release.adaptive.planner import plan_rounds
from tacit.release.adaptive.rounds import find
from tacit.release.adaptive.rounds_schedule import RoundsSchedule
from tacit.release.adaptive.tallies import take_tally
from tacit.release.analysis.charge import Charge
from tacit.release.engines import Engine
from tacit.release.execution import Tables
from tacit.release.mechanism import Counting, DescribedStep, Mechanism
from tacit.release.schedule import Column, Contribution, Part, Schedule

__all__ = ["MECHANISM", "Adaptive", "AdaptiveSchedule"]


@dataclass(frozen=True)
class AdaptiveSchedule(Schedule):
    """The published tables, one per kind, and the rounds that make them together."""

    rounds: RoundsSchedule

    def to_dict(self) -> list[dict[str, Any]]:
        """The tables, then the rounds."""
        tables = [
            {
                "table": part.table,
                "columns": [column.name for column in part.columns],
                "measures": list(part.measures),
            }
            for part in self.parts
        ]
        return [*tables, self.rounds.to_dict()]


class Adaptive(Mechanism[AdaptiveParameters]):
    """An adaptive release."""

    Parameters = AdaptiveParameters
    counts_beginnings = True

    def plan(self, asked: AdaptiveParameters) -> AdaptiveParameters:
        """Rounds for the ε and δ asked for, unless others are given."""
        if asked.given:
            return asked
        if asked.epsilon is None or not asked.delta:
            raise ParameterError(
                "adaptive rounds need `epsilon` and a `delta` above 0.",
                "Give both; δ well below one over the number of users.",
            )
        return replace(asked, at_epsilon=asked.epsilon, at_delta=asked.delta)

    @cached_property
    def rounds(self) -> RoundsSchedule:
        """What is drawn and compared."""
        p = self.parameters
        epsilon, delta = p.laid_out_for
        return plan_rounds(epsilon, delta, p.per_user, keys_only=p.keys_only, neighbours=p.neighbours)

    @cached_property
    def cost(self) -> Cost:
        """μ of the noise and the chance of a disclosure."""
        return cost_of(self.rounds, self.neighbours)

    def schedule(self) -> AdaptiveSchedule:
        """One table per kind, all by the same rounds."""
        p = self.parameters
        measures = () if p.keys_only else ("count", "deviation")
        parts = tuple(
            Part(
                table=kind.value,
                columns=tuple(Column(name, several=name == "queries") for name in HELD_COLUMNS[kind]),
                contribution=Contribution((p.per_user,), once=True),
                noise=None,
                least=None,
                measures=measures,
            )
            for kind in p.items
        )
        return AdaptiveSchedule(parts, self.rounds)

    def guarantee(self) -> Guarantee:
        """(ε, δ) at the ε for which the rounds are laid out."""
        epsilon, _ = self.parameters.laid_out_for
        return Guarantee(
            GuaranteeKind.INDISTINGUISHABILITY,
            self.neighbours,
            epsilon=epsilon,
            delta=self.cost.delta(epsilon),
        )

    def charges(self) -> tuple[Charge, ...]:
        """The noise of all rounds, and what may be found by chance."""
        epsilon, _ = self.parameters.laid_out_for
        noise = lattice_delta(epsilon, self.cost.mu)
        return (
            Charge("the noise of all rounds and counts", epsilon / self.neighbours.histories, noise),
            Charge("items of one user alone, found by chance", 0.0, self.cost.disclosure),
        )

    def event(self) -> Event:
        """Gaussian rounds and a rare disclosure, stated at ε."""
        epsilon, _ = self.parameters.laid_out_for
        return GaussianRounds(self.cost.mu, self.cost.disclosure, epsilon, self.neighbours)

    def figures(self) -> dict[str, float]:
        """How many users an item needs, and how far off counts are at least."""
        return words.figures(self.rounds)

    def words(self) -> Sequence[str]:
        """What the parameters mean and cost."""
        return words.words(self.parameters, self.rounds, self.figures())

    def steps(self) -> Sequence[DescribedStep]:
        """What is done to the log."""
        return words.steps(self.parameters, self.rounds)

    def count(self, engine: Engine, log: Any) -> Counting:
        """Who holds what, as numbers."""
        return {"held": read_holdings(engine, {k.value: held_in(log, k) for k in self.parameters.items})}

    def foresee(self, counting: Counting, share: float, source: RandomSource) -> dict[str, float]:
        """By carrying out the rounds on the synthetic log."""
        return foresee(self.rounds, counting["held"], share, source)

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """Carry out the rounds, count what was found, and make one table per kind."""
        counted = counting["held"]
        found = find(self.rounds, counted.holdings, source)
        tally = None
        if self.rounds.tally is not None:
            tally = take_tally(self.rounds.tally, counted.holdings, found, source)
        tables: Tables = {}
        for kind in self.parameters.items:
            chosen = np.flatnonzero(counted.of_kind(kind.value, found.items))
            table = shown_keys(kind, keys_of(engine, counted, kind.value, found.items[chosen]))
            if tally is not None:
                deviations = np.ceil(tally.deviations[chosen])
                table = table.append_column("count", pa.array(tally.counts[chosen], pa.int64()))
                table = table.append_column("deviation", pa.array(deviations.astype(np.int64), pa.int64()))
            tables[kind.value] = _in_order(table, HELD_COLUMNS[kind])
        return tables


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
