"""The public tree of cuts: a region is a node of it, and a device says only in which leaf its record lies.

Each inner node cuts its region in two at a value of one attribute, so any two nodes are nested or disjoint:
whatever regions a person ever shows, their intersection is the finest of them. A person's data leaves the
device only as the number of a leaf, so **leaf sizes are the protection against whoever sees leaves**: the
operator merges small ones (:meth:`Tree.merged`), and an agent refuses a tree with some (:meth:`Tree.check`).

A tree changes only by merging and splitting leaves (:meth:`Tree.united`), never by cutting anew: then old
and new regions stay nested. A split tells the pool, and sometimes the service, one cut more from then on.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tacit.errors import InputError
from tacit.pool.protocol.template import Record, Region, Template

Corners = npt.NDArray[np.int64]
"""Regions as an array: (how many, low or high, attributes)."""

Codes = npt.NDArray[np.uint16]
"""Records as codes: one row per record, one column per attribute."""

Cut = tuple[int, int]
"""The attribute a node is cut in, and the last code of its lower half."""

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

ROOT = 0
"""The node of the whole domain, d*."""

VERSION = 1
_MOST_NODES = 1 << 16
_VOLUME_WEIGHT = 32.0
"""How much a cell's share of the domain's volume counts beside the shares of its attributes' widths."""


def halves(region: Region, cut: Cut) -> tuple[Region, Region]:
    """Return the two regions that a cut leaves."""
    attribute, last = cut
    low, high = list(region.low), list(region.high)
    high[attribute], low[attribute] = last, last + 1
    return Region(region.low, tuple(high)), Region(tuple(low), region.high)


def cut_region(
    records: Codes, within: Region, choose: Callable[[Codes, Region], Cut | None]
) -> list[tuple[Region, Cut | None]]:
    """Cut a region until ``choose`` finds no cut: nodes in preorder, with the cut of each (None: a cell)."""
    nodes, waiting = [], [(records, within)]
    while waiting:
        inside, region = waiting.pop()
        cut = choose(inside, region)
        nodes.append((region, cut))
        if cut is not None:
            low, high = halves(region, cut)
            upper = inside[:, cut[0]] > cut[1]
            waiting += [(inside[upper], high), (inside[~upper], low)]
    return nodes


def median_cut(records: Codes, region: Region, least: int) -> Cut | None:
    """Choose as SPLIT does (Fig. 5): at each attribute's median, the cut that loses least information.

    Where the median itself does not leave ``least`` on both sides, the cut just below it is tried: every
    other one is further from the middle, so if neither is valid none is.
    """
    number, best, best_cost = len(records), None, math.inf
    for attribute, (low, high) in enumerate(zip(region.low, region.high, strict=True)):
        if number < 2 * least or low == high:
            continue
        lefts = np.bincount(records[:, attribute], minlength=high + 1)[low:].cumsum()
        at = int(np.searchsorted(2 * lefts, number))
        if number - lefts[at] < least:
            at -= 1
        if at < 0 or lefts[at] < least:
            continue
        share, left = (at + 1) / (high - low + 1), int(lefts[at])
        cost = left * share + (number - left) * (1 - share)  # IL(G1) + IL(G2), in units of the cell's volume
        if cost < best_cost:
            best, best_cost = (attribute, low + at), cost
    return best


class LookAhead:
    """Chooses the cut that is cheapest after the best next cut of both halves.

    A record costs the shares of the attributes' widths that its cell covers, and :data:`_VOLUME_WEIGHT` times
    its cell's share of the domain's volume. One array holds all attributes' histograms, one after another.
    """

    def __init__(self, template: Template, least: int) -> None:
        self._least = least
        self._sizes = np.array(template.sizes)
        self._first = np.cumsum(self._sizes) - self._sizes
        self._attribute = np.repeat(np.arange(len(self._sizes)), self._sizes)
        self._value = np.arange(len(self._attribute)) - self._first[self._attribute]

    def __call__(self, records: Codes, region: Region) -> Cut | None:
        """Choose a cut of the records in a region; None if none leaves enough on both sides."""
        if len(records) < 2 * self._least:
            return None
        codes = records + self._first
        counts = self._histogram(codes)
        costs, _ = self._costs(counts, len(records), region)
        best, best_cost = None, math.inf
        for attribute, (first, size) in enumerate(zip(self._first, self._sizes, strict=True)):
            own = costs[first : first + size]
            if own.min() == math.inf:
                continue
            cut = (attribute, int(own.argmin()))
            lower = records[:, attribute] <= cut[1]
            left, near = int(lower.sum()), self._histogram(codes[lower])
            low, high = halves(region, cut)
            cost = self._costs(near, left, low)[1] + self._costs(counts - near, len(records) - left, high)[1]
            if cost < best_cost:
                best, best_cost = cut, cost
        return best

    def _histogram(self, codes: Numbers) -> Numbers:
        return np.bincount(codes.ravel(), minlength=len(self._value))

    def _costs(self, counts: Numbers, number: int, region: Region) -> tuple[Floats, float]:
        """Return the cost of each cut (infinite if it is not valid), and the least, of no cut if none is."""
        low, high = np.array(region.low), np.array(region.high)
        width, most = high - low, np.maximum(self._sizes - 1, 1)
        widths, volume = sum((width / most).tolist()), math.prod(((width + 1) / self._sizes).tolist())
        at, scale = self._attribute, (1.0 / most)[self._attribute]
        others, slab = widths - width[at] * scale, (_VOLUME_WEIGHT * volume / (width + 1))[at]
        left = counts.cumsum()
        left -= (left[self._first] - counts[self._first])[at]
        below, above = self._value - low[at], high[at] - self._value
        lower = others + below * scale + slab * (below + 1)
        upper = others + (above - 1) * scale + slab * above
        costs = left * lower + (number - left) * upper
        costs[(left < self._least) | (number - left < self._least)] = math.inf
        least = float(costs.min())
        return costs, number * (widths + _VOLUME_WEIGHT * volume) if least == math.inf else least


def headroom(k: int) -> int:
    """Return how many people a node must hold to be opened: k + 2.2 √k.

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
        """List for each leaf the nodes that contain it, from the leaf up to the root."""
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

    def leaves_of(self, records: Codes) -> Numbers:
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
        """Return the tree as it is published; :meth:`parse` reads it."""
        return {
            "version": VERSION,
            "template": self.template.digest,
            "cuts": [None if cut is None else list(cut) for cut in self.cuts],
        }

    @classmethod
    def parse(cls, given: Mapping[str, Any], template: Template) -> Self:
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
            found = f"a leaf of the tree holds {fewest:,} of {len(records):,} public records"
            remedy = "Do not join a pool with this tree; its operator must merge small leaves."
            raise InputError(f"{found}; it must hold at least {math.ceil(share * len(records)):,}.", remedy)

    def merged(self, people: Mapping[int, int], least: int) -> "Tree":
        """This tree with every leaf that fewer than ``least`` ``people`` use merged into its parent."""
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

    def split(self, records: Codes, least: int) -> "Tree":
        """This tree with each leaf cut further while both halves keep ``least`` of the records."""
        leaf_of, choose, cuts = self.leaves_of(records), LookAhead(self.template, least), list[Cut | None]()
        for node, cut in enumerate(self.cuts):
            below = [] if cut else cut_region(records[leaf_of == node], self.regions[node], choose)
            cuts += [cut] if cut else [each for _, each in below]
        return Tree(self.template, tuple(cuts))

    def united(self, other: "Tree") -> "Tree | None":
        """The cuts of both trees: what a device remembers of all that it saw.

        None if they differ by more than merged and split leaves, so that old and new regions would intersect.
        """
        if other.template.digest != self.template.digest:
            return None
        cuts: list[Cut | None] = []
        waiting = [(ROOT, ROOT)]
        while waiting:
            mine, theirs = waiting.pop()  # -1 where a tree has no such node
            one = self.cuts[mine] if mine >= 0 else None
            two = other.cuts[theirs] if theirs >= 0 else None
            if one and two and one != two:
                return None
            cuts.append(one or two)
            if one or two:
                low, high = self.children[mine] if one else (-1, -1)
                lower, higher = other.children[theirs] if two else (-1, -1)
                waiting += [(high, higher), (low, lower)]
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
    """Compute what each region loses: its information loss IL and its normalised certainty penalty NCP.

    IL(d') = (S(d') - 1) / S(D) is the share of all records in the region, less one (eq. 1); NCP the mean
    share of each attribute's width that it covers. IL is a share of volume: 5 % of it over eight attributes
    is 69 % of each one's width. An attribute with a single value counts as 0 in NCP.
    """
    sizes, widths = np.array(template.sizes), corners[:, 1] - corners[:, 0]
    loss: Floats = ((widths + 1) / sizes).prod(axis=1) - 1 / math.prod(template.sizes)
    penalty: Floats = (widths / np.maximum(sizes - 1, 1)).mean(axis=1)
    return loss, penalty
