"""Adaptive: steered Gaussian rounds find keys, then the found ones are counted; or, where a user gives very
few, each has one noisy count.

What is drawn and compared is :class:`~tacit.release.adaptive.rounds_schedule.RoundsSchedule` or
:class:`~tacit.release.adaptive.single_count.SingleCount`; the guarantee is computed from it, and the
:class:`~tacit.release.adaptive.finding_way.FindingWay` carries it out.
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
from tacit.privacy.events import Event
from tacit.privacy.randomness import RandomSource
from tacit.release.adaptive.counted_once import CountedOnce
from tacit.release.adaptive.finding_way import FindingWay
from tacit.release.adaptive.held import held_in, shown_keys
from tacit.release.adaptive.holdings import keys_of, read_holdings
from tacit.release.adaptive.parameters import HELD_COLUMNS, AdaptiveParameters
from tacit.release.adaptive.planner import plan_rounds
from tacit.release.adaptive.rounds_schedule import RoundsSchedule
from tacit.release.adaptive.single_count import SingleCount
from tacit.release.adaptive.single_planner import finds_more, plan_single
from tacit.release.adaptive.steered import Steered
from tacit.release.analysis.charge import Charge
from tacit.release.engines import Engine
from tacit.release.execution import Tables
from tacit.release.mechanism import Counting, DescribedStep, Mechanism
from tacit.release.schedule import Column, Contribution, Part, Schedule

__all__ = ["MECHANISM", "Adaptive", "AdaptiveSchedule"]


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
