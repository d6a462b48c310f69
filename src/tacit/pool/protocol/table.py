"""The table of regions that a pool publishes: each agent finds its own region in it, and tells nobody.

A region of a new table may be used by a record d only if enough people can be meant by a query under it
(rule R). The table says so by three things, none of which names a person:

- ``surviving``: old regions under which at least k people asked within the overlap; d in one of them may
  use
  the new region of d, because those people's queries match d too, at a distance of at most the window;
- ``everyone``: at least k people sent queries with d* within the overlap, which match every d;
- ``primed``: new regions of which at least k members hold a query back and send it on publication.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.errors import InputError
from tacit.pool.protocol.messages import UNGROUPED, VERSION
from tacit.pool.protocol.template import Region, Template

Codes = npt.NDArray[np.uint16]
"""Records as codes: one row per record, one column per attribute."""

Corners = npt.NDArray[np.int64]
"""Regions as an array: (how many, low or high, attributes)."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """The regions of an epoch, and who may use them.

    Attributes:
        epoch: the number of the epoch.
        regions: the regions; a group's number is its place here.
        sizes: how many people identified themselves in each.
        surviving: old regions that found k people again.
        everyone: d* itself found k people.
        primed: for each region, whether k of its members are about to ask.
    """

    epoch: int
    regions: Corners
    sizes: npt.NDArray[np.int64]
    surviving: Corners
    everyone: bool
    primed: npt.NDArray[np.bool_]
    parents: npt.NDArray[np.int64] | None = None
    """In the paper's design: the old group that each region was split from."""

    def __len__(self) -> int:
        return len(self.regions)

    def region(self, group: int) -> Region:
        """The region of a group."""
        low, high = self.regions[group].tolist()
        return Region(tuple(low), tuple(high))

    def group_of(self, record: Sequence[int]) -> int:
        """The group whose region the record may use (rule R), or :data:`UNGROUPED`."""
        group = _smallest(self.regions, record)
        if group == UNGROUPED:
            return UNGROUPED
        if self.everyone or self.primed[group] or _smallest(self.surviving, record) != UNGROUPED:
            return group
        return UNGROUPED

    def as_json(self) -> str:
        """As it is published."""
        said: dict[str, Any] = {
            "version": VERSION,
            "epoch": self.epoch,
            "regions": self.regions.tolist(),
            "sizes": self.sizes.tolist(),
            "surviving": self.surviving.tolist(),
            "everyone": self.everyone,
            "primed": np.flatnonzero(self.primed).tolist(),
        }
        if self.parents is not None:
            said["parents"] = self.parents.tolist()
        return json.dumps(said, separators=(",", ":"))

    @cached_property
    def digest(self) -> str:
        """The table's digest: two people can compare what they were shown."""
        return hashlib.sha256(self.as_json().encode()).hexdigest()

    @classmethod
    def parse(cls, given: Mapping[str, Any], template: Template) -> Table:
        """A published table; refused unless its regions lie inside the template's domain."""
        if given.get("version") != VERSION or type(given.get("epoch")) is not int:
            raise InputError(f"a table must be of version {VERSION} and name its epoch.")
        regions = corners_of(given.get("regions", []), template)
        sizes = np.array(given.get("sizes", []), np.int64)
        primed = np.zeros(len(regions), np.bool_)
        named = given.get("primed", [])
        if sizes.shape != (len(regions),) or any(not 0 <= number < len(regions) for number in named):
            raise InputError("a table's sizes and flags must belong to its regions.")
        primed[named] = True
        surviving = corners_of(given.get("surviving", []), template)
        parents = np.array(given["parents"], np.int64) if "parents" in given else None
        everyone = given.get("everyone") is True
        return cls(given["epoch"], regions, sizes, surviving, everyone, primed, parents)


def corners_of(given: Sequence[Sequence[Sequence[int]]], template: Template) -> Corners:
    """Regions from lists of corners, checked against the template's domain."""
    try:
        corners = np.array(given, np.int64).reshape(len(given), 2, len(template.attributes))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError("a table's regions must have two corners in the template's attributes.") from error
    low, high = corners[:, 0], corners[:, 1]
    if (low < 0).any() or (low > high).any() or (high >= np.array(template.sizes)).any():
        raise InputError("a table's region does not lie inside the template's domain.")
    return corners


def losses(corners: Corners, template: Template) -> tuple[Floats, Floats]:
    """What each region loses: its information loss IL and its normalised certainty penalty NCP.

    IL(d') = (S(d') - 1) / S(D) is the share of all records in the region, less one (eq. 1); NCP the mean
    share of each attribute's width that it covers. IL is a share of volume: 5 % of it over eight attributes
    is 69 % of each one's width. An attribute with a single value counts as 0 in NCP.
    """
    sizes, widths = np.array(template.sizes), corners[:, 1] - corners[:, 0]
    loss: Floats = ((widths + 1) / sizes).prod(axis=1) - 1 / template.domain.points
    penalty: Floats = (widths / np.maximum(sizes - 1, 1)).mean(axis=1)
    return loss, penalty


def whole_domain(epoch: int, template: Template) -> Table:
    """The table without regions: everybody uses d*, unprotected."""
    none = np.empty((0, 2, len(template.attributes)), np.int64)
    nobody = np.empty(0, np.int64)
    return Table(epoch, none, nobody, none, False, nobody.astype(np.bool_))


def _smallest(corners: Corners, record: Sequence[int]) -> int:
    """The smallest of the regions that contain the record, by volume; :data:`UNGROUPED` if none does."""
    point = np.asarray(record)
    inside = np.flatnonzero(((corners[:, 0] <= point) & (point <= corners[:, 1])).all(axis=1))
    if not inside.size:
        return UNGROUPED
    volumes = (corners[inside, 1] - corners[inside, 0] + 1).astype(np.float64).prod(axis=1)
    return int(inside[np.argmin(volumes)])
