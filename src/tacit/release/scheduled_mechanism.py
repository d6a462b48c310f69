"""A mechanism whose tables are made by carrying out its schedule: counts, noise, thresholds, part by part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from tacit.privacy.randomness import RandomSource
from tacit.release.engines import Engine
from tacit.release.execution import Tables, execute
from tacit.release.mechanism import Counting, Mechanism, P
from tacit.release.schedule import Part

__all__ = ["ScheduledMechanism"]


class ScheduledMechanism(Mechanism[P]):
    """Says what is counted; what is drawn and compared is the schedule's."""

    def rows(
        self, engine: Engine, counting: Counting, part: Part, published: Mapping[str, pa.Table]
    ) -> Iterable[pa.RecordBatch]:
        """The keys that a part of the schedule is about, with their true counts. Secret.

        ``published`` has the tables of earlier parts, for mechanisms of which later ones depend on them.
        """
        del published
        return engine.batches(counting[part.table])

    def shown(self, part: Part, keys: pa.Table) -> pa.Table:
        """Keys that passed, as the table shows them."""
        del part
        return keys

    def finish(self, tables: Tables) -> Tables:
        """What is computed from the noisy tables alone before they are published: post-processing."""
        return tables

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """Carry out the schedule."""
        drawn = execute(
            self.schedule(),
            lambda part, published: self.rows(engine, counting, part, published),
            source,
            self.shown,
        )
        return self.finish(drawn)
