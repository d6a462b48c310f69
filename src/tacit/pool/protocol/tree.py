"""The public tree of cuts: a region is a node of it, and a device says only in which leaf its record lies.

A tree is made once, from public data about people like those of the pool, or from the template alone, and is
the same for everybody. Each inner node cuts its region in two at a value of one attribute, so any two nodes
are nested or disjoint: whatever regions a person ever shows, their intersection is the finest of them. A
person's data leaves the device only as the number of a leaf, so **leaf sizes are the protection against
whoever sees leaves**, and are enforced twice:

- the operator merges a leaf with fewer than 2 k accounts a day into its parent (:meth:`Tree.merged`);
- an agent refuses a tree of which a leaf holds too few of the public records (:meth:`Tree.check`).

A tree changes only by merging and splitting leaves (:meth:`Tree.follows`), never by cutting anew: then old
and new regions stay nested, and a change costs no intersection. A merge makes regions coarser; a split tells
the pool, and sometimes the service, one cut more from then on.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.errors import InputError
from tacit.pool.protocol.cuts import Codes, Cut, LookAhead, cut_region, halves
from tacit.pool.protocol.template import Record, Region, Template

Corners = npt.NDArray[np.int64]
"""Regions as an array: (how many, low or high, attributes)."""

Floats = npt.NDArray[np.float64]

ROOT = 0
"""The node of the whole domain, d*."""

VERSION = 1
_MOST_NODES = 1 << 16


def headroom(k: int) -> int:
    """How many people a node must hold to be opened: k + 2.2 √k.

    It must find k of them again a window later, and the number fluctuates by about its root.
    """
    return math.ceil(k + 2.2 * math.sqrt(k))


@dataclass(frozen=True)
class Tree:
    """Nested cuts of a template's domain; nodes are numbered in preorder, the root first.

    Attributes:
        template: what records look like.
        cuts: how each node is cut; None for a leaf.
    """

    template: Template
    cuts: tuple[Cut | None, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.cuts) <= _MOST_NODES:
            raise InputError(f"a tree must have 1 to {_MOST_NODES:,} nodes; found {len(self.cuts):,}.")
        _ = self.regions

    def __len__(self) -> int:
        return len(self.cuts)

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The region of each node."""
        found: list[Region] = []
        waiting = [self.template.domain]
        for cut in self.cuts:
            if not waiting:
                break
            region = waiting.pop()
            found.append(region)
            if cut is None:
                continue
            (attribute, last), low, high = cut, region.low, region.high
            if not (0 <= attribute < len(low) and low[attribute] <= last < high[attribute]):
                raise InputError("a tree cuts a node outside its region.")
            waiting += reversed(halves(region, cut))
        if waiting or len(found) < len(self.cuts):
            raise InputError("a tree must have two nodes below each that is cut, and no others.")
        return tuple(found)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """The node above each; that of the root is itself."""
        found: list[int] = []
        waiting = [ROOT]
        for node, cut in enumerate(self.cuts):
            found.append(waiting.pop())
            if cut is not None:
                waiting += [node, node]
        return tuple(found)

    @cached_property
    def children(self) -> Mapping[int, tuple[int, int]]:
        """The lower and upper half of each node that is cut."""
        # In preorder the lower half follows its parent at once, and the upper one, which stays, comes later.
        return {self.parents[node]: (self.parents[node] + 1, node) for node in range(1, len(self))}

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The nodes that are not cut."""
        return tuple(node for node, cut in enumerate(self.cuts) if cut is None)

    @cached_property
    def paths(self) -> Mapping[int, tuple[int, ...]]:
        """For each leaf, the nodes that contain it: from the leaf up to the root."""
        return {leaf: self.above(leaf) for leaf in self.leaves}

    def above(self, node: int) -> tuple[int, ...]:
        """A node and those that contain it, up to the root."""
        path = [node]
        while path[-1] != ROOT:
            path.append(self.parents[path[-1]])
        return tuple(path)

    def leaf_of(self, record: Record) -> int:
        """The leaf that a record lies in: all that a device ever tells of it."""
        if record not in self.template.domain:
            raise InputError("the record does not follow the tree's template.")
        return int(self.leaves_of(np.array([record]))[0])

    def leaves_of(self, records: Codes) -> npt.NDArray[np.int64]:
        """The leaf of each of many records."""
        found = np.full(len(records), ROOT, np.int64)
        for node, cut in enumerate(self.cuts):
            if cut is not None:
                here = np.flatnonzero(found == node)
                upper = records[here, cut[0]] > cut[1]
                found[here] = np.where(upper, self.children[node][1], self.children[node][0])
        return found

    @cached_property
    def corners(self) -> Corners:
        """The regions as an array."""
        return np.array([(region.low, region.high) for region in self.regions], np.int64)

    @cached_property
    def digest(self) -> str:
        """Names the tree: everybody must use the same."""
        return hashlib.sha256(json.dumps(self.as_dict()).encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """As it is published; :meth:`parse` reads it."""
        return {
            "version": VERSION,
            "template": self.template.digest,
            "cuts": [None if cut is None else list(cut) for cut in self.cuts],
        }

    @classmethod
    def parse(cls, given: Mapping[str, Any], template: Template) -> Tree:
        """A published tree of this template."""
        cuts = given.get("cuts")
        if given.get("version") != VERSION or not isinstance(cuts, list):
            raise InputError(f"a tree must be of version {VERSION} and have a list of cuts.")
        if given.get("template") != template.digest:
            raise InputError("the tree was made for another template.")
        for cut in cuts:
            if cut is not None and not (isinstance(cut, list) and [type(part) for part in cut] == [int, int]):
                raise InputError("a cut must be an attribute's number and a code.")
        return cls(template, tuple(None if cut is None else (cut[0], cut[1]) for cut in cuts))

    def counts(self, records: Codes) -> dict[int, int]:
        """Count the records in each leaf."""
        numbers = np.bincount(self.leaves_of(records), minlength=len(self))
        return {leaf: int(numbers[leaf]) for leaf in self.leaves}

    def check(self, records: Codes, share: float) -> None:
        """Refuse a tree of which a leaf holds less than ``share`` of the public records."""
        fewest = min(self.counts(records).values())
        if fewest < share * len(records):
            raise InputError(
                f"a leaf of the tree holds {fewest:,} of {len(records):,} public records; it must hold at "
                f"least {math.ceil(share * len(records)):,}.",
                "Do not join a pool with this tree; its operator must merge small leaves.",
            )

    def merged(self, people: Mapping[int, int], least: int) -> Tree:
        """This tree with every leaf of fewer than ``least`` people merged into its parent, bottom up.

        Args:
            people: how many accounts use each leaf (2 k a day is the rule); a leaf not named has none.
        """
        numbers = [people.get(node, 0) for node in range(len(self))]
        whole = [cut is None for cut in self.cuts]
        for node in reversed(range(len(self))):  # children have higher numbers
            if not whole[node]:
                low, high = self.children[node]
                numbers[node] = numbers[low] + numbers[high]
                whole[node] = any(whole[half] and numbers[half] < least for half in (low, high))
        kept: list[Cut | None] = []
        waiting = [ROOT]
        while waiting:  # what lies below a node that is now whole is left out
            node = waiting.pop()
            kept.append(None if whole[node] else self.cuts[node])
            if not whole[node]:
                waiting += reversed(self.children[node])
        return Tree(self.template, tuple(kept))

    def split(self, records: Codes, least: int) -> Tree:
        """This tree with each leaf cut further while both halves keep ``least`` of the records."""
        leaf_of, choose, cuts = self.leaves_of(records), LookAhead(self.template, least), list[Cut | None]()
        for node, cut in enumerate(self.cuts):
            below = [] if cut else cut_region(records[leaf_of == node], self.regions[node], choose)
            cuts += [cut] if cut else [each for _, each in below]
        return Tree(self.template, tuple(cuts))

    def follows(self, before: Tree) -> bool:
        """Say whether this tree differs from an earlier one only by merged and split leaves."""
        if before.template.digest != self.template.digest:
            return False
        waiting = [(ROOT, ROOT)]
        while waiting:
            mine, old = waiting.pop()
            if self.cuts[mine] is None or before.cuts[old] is None:
                continue
            if self.cuts[mine] != before.cuts[old]:
                return False
            waiting += zip(self.children[mine], before.children[old], strict=True)
        return True

    def united(self, other: Tree) -> Tree:
        """The cuts of both trees, of which each follows the other: what a device remembers of all it saw."""
        cuts: list[Cut | None] = []
        waiting = [(ROOT, ROOT)]
        while waiting:
            mine, theirs = waiting.pop()  # -1 where a tree has no such node
            one = self.cuts[mine] if mine >= 0 else None
            two = other.cuts[theirs] if theirs >= 0 else None
            cuts.append(one or two)
            if one or two:
                halves = self.children[mine] if one else (-1, -1)
                others = other.children[theirs] if two else (-1, -1)
                waiting += [(halves[1], others[1]), (halves[0], others[0])]
        return Tree(self.template, tuple(cuts))


def grow_tree(records: Codes, template: Template, k: int, people: float, before: Tree | None = None) -> Tree:
    """Make a tree from public records for a pool in which ``people`` ask within a window.

    Each leaf holds the share of the records that makes it expect :func:`headroom` people, and at least k of
    the records themselves. With ``before``, its leaves are merged and split to that, and nothing is cut anew.
    """
    share = min(1.0, headroom(k) / max(people, 1.0))
    least = max(k, math.ceil(share * len(records)))
    finer = (before or Tree(template, (None,))).split(records, least)
    return finer.merged(finer.counts(records), least)


def template_records(template: Template, number: int = 20_000) -> Codes:
    """Make up public records where there are none: the parts of each topic weigh the same, at every level.

    For :func:`grow_tree`. Real people are not spread so evenly: watch the sizes of leaves, and merge.
    """
    random = np.random.default_rng(0)
    columns = []
    for attribute, declared in zip(template.attributes, template.declared["attribute"], strict=True):
        shares = _shares(declared.get("taxonomy") or [None] * len(attribute), 1.0)
        columns.append(random.choice(len(attribute), size=number, p=shares))
    return np.stack(columns, axis=1).astype(np.uint16)


def _shares(part: Mapping[str, Any] | list[Any], weight: float) -> list[float]:
    """The weight of each value below a part of a taxonomy."""
    if isinstance(part, list):
        return [weight / len(part)] * len(part)
    return [share for below in part.values() for share in _shares(below, weight / len(part))]


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
