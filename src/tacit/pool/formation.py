"""From confirmed records to the next table: all together (the default), or group by group (the paper)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from tacit.pool.partition import headroom, partition
from tacit.pool.population import Codes
from tacit.pool.protocol import READY, UNGROUPED
from tacit.pool.table import Table, whole_domain
from tacit.pool.template import Record, Template

__all__ = ["Formation", "nested", "together", "valid_records", "warm_up"]


class Formation(Protocol):
    """How a table is made from the records of the groups that confirmed at least k."""

    def __call__(
        self, old: Table, confirmed: Mapping[int, Codes], epoch: int, template: Template, k: int
    ) -> Table: ...


def valid_records(
    opened: Mapping[int, Iterable[Record | None]], old: Table, template: Template, k: int
) -> dict[int, Codes]:
    """Of each group the records that lie in its region; only groups that keep at least k.

    An agent may lie about its record. One outside the group's region would carry somebody into a region
    where k people do not belong, so it counts for nothing.
    """
    confirmed = {}
    for group, records in opened.items():
        region = template.domain if group in (UNGROUPED, READY) else old.region(group)
        width = len(region.low)
        points = np.array([each for each in records if each is not None and len(each) == width], np.int64)
        if len(points) < k:
            continue
        inside = points[((region.low <= points) & (points <= region.high)).all(axis=1)]
        if len(inside) >= k:
            confirmed[group] = inside.astype(np.uint16)
    return confirmed


def together(old: Table, confirmed: Mapping[int, Codes], epoch: int, template: Template, k: int) -> Table:
    """Partition everybody anew, with headroom; rule R then says who may use the regions."""
    if not confirmed:
        return whole_domain(epoch, template)
    groups = sorted(confirmed)
    records = np.concatenate([confirmed[group] for group in groups])
    ready = np.repeat([group == READY for group in groups], [len(confirmed[group]) for group in groups])
    cells = partition(records, template, k, least=headroom(k))
    about_to_ask = np.bincount(cells.cell_of[ready], minlength=len(cells))
    return Table(
        epoch,
        np.stack([cells.lows, cells.highs], axis=1),
        cells.sizes,
        old.regions[[group for group in groups if group >= 0]],
        UNGROUPED in confirmed,
        about_to_ask >= k,
    )


def nested(old: Table, confirmed: Mapping[int, Codes], epoch: int, template: Template, k: int) -> Table:
    """The paper's way (section 5.2): SPLIT inside each group; the U-group is split over the whole domain.

    Regions of different groups may overlap. Everybody may use every region, as the paper has it, which
    does not keep Definition 2 in thin traffic.
    """
    if not confirmed:
        return whole_domain(epoch, template)
    corners, sizes, parents = [], [], []
    for group in sorted(confirmed):
        within = None if group < 0 else old.region(group)
        cells = partition(confirmed[group], template, k, method="split", within=within)
        corners.append(np.stack([cells.lows, cells.highs], axis=1))
        sizes.append(cells.sizes)
        parents.append(np.full(len(cells), group, np.int64))
    regions = np.concatenate(corners)
    return Table(
        epoch,
        regions,
        np.concatenate(sizes),
        regions[:0],
        True,
        np.zeros(len(regions), np.bool_),
        np.concatenate(parents),
    )


def warm_up(template: Template) -> None:
    """Load and compile what forming a table needs, before somebody waits for one."""
    few = np.zeros((8, len(template.attributes)), np.uint16)
    together(whole_domain(0, template), {UNGROUPED: few}, 1, template, 2)
