"""A crowd of simulated agents: the decisions of :class:`tacit.pool.agent.Agent`, for arrays of people.

The pool they speak to is the real one; only its store takes whole arrays of messages at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.pool.loops.cuts import locate
from tacit.pool.population import Codes
from tacit.pool.protocol import UNGROUPED, FirstMessage, Phase, Reply, SecondMessage
from tacit.pool.sealing import OpenEnvelope
from tacit.pool.store import MemoryStore, Standing
from tacit.pool.table import Corners, Table
from tacit.pool.template import Record

__all__ = ["Crowd", "CrowdEnvelope", "CrowdStore", "Numbers", "groups_of", "smallest_regions"]

Numbers = npt.NDArray[np.int64]


class CrowdStore(MemoryStore):
    """A store that takes the messages of many agents at once, each as if it came alone with a new token."""

    def __init__(self) -> None:
        super().__init__()
        self._crowd_groups: Numbers = np.empty(0, np.int64)
        self._crowd_records: dict[int, list[Record]] = {}

    def advance(
        self,
        seen: Standing | None,
        then: Standing,
        documents: Mapping[str, str],
        asked: set[int] | None = None,
    ) -> bool:
        """As always; with a new epoch the crowd's messages are forgotten too."""
        moved = super().advance(seen, then, documents, asked)
        if moved and (seen is None or seen.epoch != then.epoch):
            self._crowd_groups, self._crowd_records = np.empty(0, np.int64), {}
        return moved

    def first_crowd(self, groups: Numbers) -> None:
        """M1 of each person, for their group."""
        assert self._standing is not None and self._standing.phase is Phase.COUNT
        self._crowd_groups = groups

    def counts(self) -> dict[int, int]:
        """How many people each group counted."""
        groups, numbers = np.unique(self._crowd_groups, return_counts=True)
        return dict(zip(groups.tolist(), numbers.tolist(), strict=True))

    def second_crowd(self, groups: Numbers, records: Codes) -> None:
        """M2 of those whose group is asked; they are the senders of M1, in the same order."""
        assert self._standing is not None and self._standing.phase is Phase.IDENTIFY
        for group in self._asked:
            rows = records[groups == group]
            self._crowd_records[group] = list(map(tuple, rows.tolist()))

    def batches(self, least: int) -> dict[int, list[str]]:
        """The records of the groups that have at least ``least``; they are not sealed in a simulation."""
        return {g: each for g, each in self._crowd_records.items() if len(each) >= least}  # type: ignore[misc]

    def first(self, message: FirstMessage, capacity: int) -> Reply:
        """Single messages are not for a crowd."""
        del message, capacity
        return Reply.REFUSED

    def second(self, message: SecondMessage) -> Reply:
        """Single messages are not for a crowd."""
        del message
        return Reply.REFUSED


class CrowdEnvelope(OpenEnvelope):
    """The crowd's records come as they are."""

    def unseal(self, secret: str, epoch: int, group: int, sealed: str) -> Record | None:
        """The record itself."""
        del secret, epoch, group
        return sealed  # type: ignore[return-value]


def smallest_regions(records: Codes, corners: Corners) -> Numbers:
    """The smallest region that contains each record, or :data:`UNGROUPED`."""
    volumes = (corners[:, 1] - corners[:, 0] + 1).astype(np.float64).prod(axis=1)
    order = np.argsort(volumes, kind="stable")
    found = np.empty(len(records), np.int64)
    lows, highs = np.ascontiguousarray(corners[order, 0]), np.ascontiguousarray(corners[order, 1])
    locate(records, lows, highs, found)
    named = np.append(order, UNGROUPED)  # a place of -1 is the last: none
    groups: Numbers = named[found]
    return groups


def groups_of(records: Codes, table: Table) -> Numbers:
    """:meth:`tacit.pool.table.Table.group_of` for many records: each one's group by rule R."""
    groups = smallest_regions(records, table.regions)
    if table.everyone or not len(table):
        return groups
    allowed = smallest_regions(records, table.surviving) != UNGROUPED
    allowed |= (groups != UNGROUPED) & np.append(table.primed, False)[groups]
    return np.where(allowed, groups, UNGROUPED)


@dataclass
class Crowd:
    """The people who are there: their records, when they come and go, and the group they are in."""

    number: Numbers
    records: Codes
    arrive: npt.NDArray[np.float64]
    leave: npt.NDArray[np.float64]
    group: Numbers
    guarded: npt.NDArray[np.bool_]
    """Has had a group before, or has one now."""

    @classmethod
    def nobody(cls, width: int) -> Crowd:
        """An empty crowd."""
        none, no_time = np.empty(0, np.int64), np.empty(0, np.float64)
        return cls(none, np.empty((0, width), np.uint16), no_time, no_time, none, none.astype(np.bool_))

    def __len__(self) -> int:
        return len(self.number)

    def keep(self, chosen: npt.NDArray[np.bool_]) -> Crowd:
        """Those who are chosen."""
        return Crowd(
            self.number[chosen],
            self.records[chosen],
            self.arrive[chosen],
            self.leave[chosen],
            self.group[chosen],
            self.guarded[chosen],
        )

    def join(self, others: Crowd) -> Crowd:
        """This crowd and another."""
        return Crowd(
            np.concatenate([self.number, others.number]),
            np.concatenate([self.records, others.records]),
            np.concatenate([self.arrive, others.arrive]),
            np.concatenate([self.leave, others.leave]),
            np.concatenate([self.group, others.group]),
            np.concatenate([self.guarded, others.guarded]),
        )
