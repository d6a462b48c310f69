"""The published topics: some levels of a public taxonomy, each topic with the one above it.

A taxonomy may have many more topics than are published. Each of them has its **place**: the published topic
under which it counts. A published topic with others below it has one more, ``other``, for what is about none
of them, so that whatever counts for a topic counts for exactly one right below it.

**Counts that agree**, and how far off they are: post-processing, which costs nothing. A topic's true count
is the sum of those right below it, and the **least-squares estimate** that satisfies the sums is nearer to
the truth than any noisy number (Hay et al., "Boosting the accuracy of differentially private histograms
through consistency", 2010; here for trees of any shape), computed in two passes, upwards and downwards.
Estimates are then moved to the **nearest whole numbers of at least 0 that satisfy the sums**, from above.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.errors import InputError, TaxonomyError
from tacit.release.execution import in_order
from tacit.taxonomy import PEOPLE, TopicTree, people_taxonomy
from tacit.taxonomy.files import load_taxonomy
from tacit.text import sensitive_patterns

OTHER = "other"
"""The name of what belongs to none of the topics beside it."""
TOP = -1
"""In the place of the topic above, for those of the first level; of a topic, for those that count nowhere."""
_LONGEST = 200

_Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ListedTopics:
    """Topics by their paths alone, as a published table lists them, each after the one above it."""

    labels: tuple[str, ...]  # the path of each topic: ``animal/dog``
    above: _Numbers  # the number of the topic above each; ``TOP`` on the first level
    level: _Numbers  # of each, from 1

    @classmethod
    def of(cls, paths: Iterable[str]) -> ListedTopics:
        """The topics of these paths; KeyError where the topic above one of them is not listed."""
        labels = tuple(sorted(paths, key=lambda path: (path.count("/"), path)))
        number = {label: n for n, label in enumerate(labels)} | {"": TOP}
        above = np.array([number[label.rpartition("/")[0]] for label in labels], np.int32)
        return cls(labels, above, np.array([label.count("/") + 1 for label in labels], np.int32))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def levels(self) -> int:
        return int(self.level.max())

    @property
    def digest(self) -> str:
        """SHA-256 over the paths, one per line: who has the table can check that it lists these."""
        return hashlib.sha256("".join(f"{label}\n" for label in sorted(self.labels)).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class PublishedTopics(ListedTopics):
    """Topics that are published, with their taxonomy."""

    tree: TopicTree  # the whole taxonomy
    name: str  # of the taxonomy
    source: str  # SHA-256 of what it was read from
    place: _Numbers  # for each topic of the taxonomy the published one under which it counts, or ``TOP``

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "topics": len(self), "sha256": self.digest, "source": self.source}

    def path_table(self) -> pa.Table:
        """List for each topic (``place``) those from the first level down to it; ``TOP`` below it."""
        found = np.full((len(self), self.levels), TOP, np.int32)
        for topic in range(len(self)):
            if self.above[topic] != TOP:
                found[topic] = found[self.above[topic]]
            found[topic, self.level[topic] - 1] = topic
        columns = {f"level_{n + 1}": pa.array(found[:, n]) for n in range(self.levels)}
        return pa.table({"place": pa.array(np.arange(len(self), dtype=np.int32)), **columns})


def published_topics(tree: TopicTree, levels: int, *, name: str, source: str) -> PublishedTopics:
    """Publish the topics of the first levels of a taxonomy, each under its name if that may be shown.

    ``name`` is what the taxonomy is called, ``source`` the SHA-256 of what it was read from.
    """
    labels: list[str] = []
    above: list[int] = []
    level: list[int] = []
    taken: set[str] = set()
    place = np.full(len(tree), TOP, np.int32)

    def add(upper: int, name: str) -> int:
        """Publish a topic below another; ``TOP`` where its name is taken or may not be shown."""
        label = ("" if upper == TOP else f"{labels[upper]}/") + name.replace("%", "%25").replace("/", "%2F")
        if label in taken or len(label) > _LONGEST or sensitive_patterns(label):
            return TOP
        taken.add(label)
        labels.append(label)
        above.append(upper)
        level.append(1 if upper == TOP else level[upper] + 1)
        return len(labels) - 1

    for topic in range(1, len(tree)):
        upper = int(place[tree.parent[topic]])
        deep = 0 if upper == TOP else level[upper]
        made = add(upper, tree.names[topic]) if deep < levels else TOP
        place[topic] = upper if made == TOP else made
    with_others = set(above) - {TOP} | ({TOP} if np.any(place[1:] == TOP) else set())
    rest = {}
    for upper in sorted(with_others):
        made = add(upper, OTHER)
        rest[upper] = add(upper, f"{OTHER} than these") if made == TOP else made
    if not labels or TOP in rest.values():
        raise TaxonomyError("the taxonomy has no topics that can be published.", "Give another taxonomy.")
    settled = np.array([rest.get(int(each), int(each)) for each in place], np.int32)
    settled[0] = TOP
    upwards, levels_of = np.array(above, np.int32), np.array(level, np.int32)
    return PublishedTopics(tuple(labels), upwards, levels_of, tree, name, source, settled)


_Floats = NDArray[np.float64]
_Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Estimates:
    """Counts that satisfy the sums, unbiased, with the variance of each."""

    counts: _Floats
    variances: _Floats


def estimate(topics: ListedTopics, noisy: _Whole, variance: float) -> Estimates:
    """The least-squares estimate from numbers of equal variance and independent noise."""
    size, above = len(topics), topics.above
    value, spread = noisy.astype(np.float64), np.full(size, variance, np.float64)
    total, width = np.zeros(size), np.zeros(size)  # of those right below, by topic
    levels = [np.flatnonzero(topics.level == level) for level in range(1, topics.levels + 1)]
    for nodes in reversed(levels[1:]):
        np.add.at(total, above[nodes], value[nodes])
        np.add.at(width, above[nodes], spread[nodes])
        upper = np.unique(above[nodes])
        share = width[upper] / (spread[upper] + width[upper])
        value[upper] = share * value[upper] + (1 - share) * total[upper]
        spread[upper] *= share
    for nodes in levels[1:]:
        upper = above[nodes]
        share = spread[nodes] / width[upper]
        value[nodes] += share * (value[upper] - total[upper])
        spread[nodes] = spread[nodes] * (1 - share) + share**2 * spread[upper]
    return Estimates(value, spread)


def stated_deviations(found: Estimates, variance: float) -> _Whole:
    """The standard errors as they are published: rounded up; 0 where noise is switched off."""
    raised = np.ceil(np.sqrt(found.variances)) if variance else np.zeros(len(found.variances))
    return raised.astype(np.int64)


def whole_counts(topics: PublishedTopics, counts: _Floats) -> _Whole:
    """Whole numbers of at least 0 near to estimates, level by level: each the sum of those right below it."""
    found = np.maximum(np.rint(counts), 0).astype(np.int64)
    order = np.argsort(topics.above, kind="stable")
    uppers, starts = np.unique(topics.above[order], return_index=True)
    families = dict(zip(uppers.tolist(), np.split(order, starts[1:]), strict=True))
    for upper in range(len(topics)):  # from above: each after the one above it
        if upper != TOP and upper in families:
            nodes = families[upper]
            found[nodes] = _shared_out(counts[nodes], int(found[upper]))
    return found


def _shared_out(counts: _Floats, total: int) -> _Whole:
    """The nearest numbers of at least 0 with this sum, then the nearest whole ones, ties by order."""
    falling = np.sort(counts)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    last = int(np.flatnonzero(falling > over).max(initial=0))
    nearest = np.maximum(counts - over[last], 0)
    whole: _Whole = np.floor(nearest + 1e-9).astype(np.int64)
    missing = total - int(whole.sum())
    if missing:  # fewer than there are topics: each of them lost less than one
        whole[np.argsort(-(nearest - whole), kind="stable")[:missing]] += 1
    return whole


_STATED = {"name", "topics", "sha256", "source"}


def take_topics(taxonomy: str, levels: int) -> PublishedTopics:
    """Read the topics of ``people``, or of a file, to so many levels."""
    if taxonomy == PEOPLE:
        tree, name = people_taxonomy(), PEOPLE
        content = (resources.files("tacit.data") / "people" / "topics.txt").read_bytes()
    elif not Path(taxonomy).exists():
        raise InputError(f"there is no taxonomy at {taxonomy}.", f"Give a file, or {PEOPLE}.")
    else:
        tree, name = load_taxonomy(taxonomy), Path(taxonomy).name
        content = Path(taxonomy).read_bytes()
    return published_topics(tree, levels, name=name, source=hashlib.sha256(content).hexdigest())


def check_topics(stated: Mapping[str, Any]) -> tuple[bool, str]:
    """Tell whether the taxonomy is stated as it must be; the bundled one is read again and compared."""
    form = stated["taxonomy"]
    named = set(form) == _STATED and isinstance(form["name"], str) and type(form["topics"]) is int
    if not named or form["name"] != PEOPLE:
        return named, form["name"] if named else ""
    same = take_topics(form["name"], stated["levels"]).to_dict() == form
    return same, f"{form['topics']} topics of {form['name']}" if same else "not those of the bundled taxonomy"


def check_table(table: pa.Table, form: Mapping[str, Any], variance: float) -> tuple[bool, str]:
    """Whether a table lists the topics whose digest is stated, each with the error that its noise has."""
    listed = ListedTopics.of(table.column("topic").to_pylist())
    if (len(listed), listed.digest) != (form["topics"], form["sha256"]):
        return False, f"{len(listed)} topics, not those of the digest"
    due = stated_deviations(estimate(listed, np.zeros(len(listed), np.int64), variance or 1.0), variance)
    stated = dict(zip(table.column("topic").to_pylist(), table.column("deviation").to_pylist(), strict=True))
    same = [stated[label] for label in listed.labels] == due.tolist()
    return same, "as they follow" if same else "other errors are stated than follow from the noise"


def noise_variance(scale: float) -> float:
    """The variance of integer Laplace noise: 2a/(1-a)², a = exp(-1/λ); 0 where noise is switched off."""
    if scale == 0:
        return 0.0
    a = math.exp(-1 / scale)
    return 2 * a / (1 - a) ** 2


def agreed_table(public: PublishedTopics, drawn: pa.Table, noise: float) -> pa.Table:
    """Compute from noisy counts alone counts that agree, each with its standard error."""
    place = pc.index_in(pa.array(public.labels), value_set=drawn.column("topic").combine_chunks())
    noisy = np.asarray(drawn.column("count"))[np.asarray(place)]
    variance = noise_variance(noise)
    found = estimate(public, noisy, variance or 1.0)
    counts = whole_counts(public, found.counts)
    deviations = stated_deviations(found, variance)
    table = in_order(pa.table({"topic": pa.array(public.labels), "count": pa.array(counts)}))
    order = np.asarray(pc.index_in(table.column("topic"), value_set=pa.array(public.labels)))
    schema = drawn.schema.append(pa.field("deviation", pa.int64()))
    return table.append_column("deviation", pa.array(deviations[order])).cast(schema)
