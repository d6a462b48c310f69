"""The public tree: nodes are nested, leaves cover the domain, and changes keep both."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import InputError
from tacit.pool.protocol.population import adult
from tacit.pool.protocol.template import Region, Template, parse_template
from tacit.pool.protocol.tree import ROOT, Codes, Tree, grow_tree, headroom, template_records


@st.composite
def populations(draw: st.DrawFn) -> tuple[Template, Codes]:
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    attributes = [{"name": f"a{number}", "low": 0, "high": size - 1} for number, size in enumerate(sizes)]
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    number = draw(st.integers(0, 300))
    skew = draw(st.sampled_from([0.3, 1.0, 3.0]))
    columns = [(size * random.random(number) ** skew).astype(np.uint16) for size in sizes]
    return parse_template({"attribute": attributes}), np.stack(columns, axis=1)


def points(region: Region) -> int:
    """How many records there can be in a region."""
    return math.prod(high - low + 1 for low, high in zip(region.low, region.high, strict=True))


@given(populations(), st.integers(2, 20), st.floats(1, 500))
def test_leaves_cover_the_domain_and_nodes_are_nested(
    population: tuple[Template, Codes], k: int, people: float
) -> None:
    template, records = population
    tree = grow_tree(records, template, k, people)
    assert sum(points(tree.regions[leaf]) for leaf in tree.leaves) == points(template.domain)
    for node, (low, high) in tree.children.items():
        assert points(tree.regions[low]) + points(tree.regions[high]) == points(tree.regions[node])
        assert tree.parents[low] == tree.parents[high] == node
        assert tree.regions[low].low in tree.regions[node] and tree.regions[high].high in tree.regions[node]
    for record, leaf in zip(records.tolist(), tree.leaves_of(records).tolist(), strict=True):
        assert tree.leaf_of(tuple(record)) == leaf and leaf in tree.paths
        for node in tree.paths[leaf]:
            assert tuple(record) in tree.regions[node]
    if len(tree) > 1:
        assert min(tree.counts(records).values()) >= max(k, headroom(k) / people * len(records))
    assert Tree.parse(json.loads(json.dumps(tree.as_dict())), template) == tree


@given(populations(), st.integers(2, 8), st.integers(0, 60), st.integers(1, 40))
def test_merging_and_splitting_keep_trees_nested(
    population: tuple[Template, Codes], k: int, least: int, finer: int
) -> None:
    template, records = population
    tree = grow_tree(records, template, k, 100.0)
    numbers = tree.counts(records)
    merged = tree.merged(numbers, least)
    if len(merged) > 1:
        assert min(merged.counts(records).values()) >= least
    if min(numbers.values()) >= least:
        assert merged == tree
    again = grow_tree(records, template, k + 3, 60.0, before=tree)
    assert again.united(tree) is not None and nested(again, tree)
    assert tree.united(merged) == merged.united(tree) == tree
    split = merged.split(records, finer)
    seen = tree.united(merged)  # whoever saw both must not be shown other cuts where leaves were merged
    assert seen is not None and split.united(merged) is not None
    assert (split.united(seen) is not None) is nested(split, tree)
    if len(split) > len(merged):
        assert min(split.counts(records)[leaf] for leaf in split.leaves) >= min(finer, least, k)


def nested(one: Tree, other: Tree) -> bool:
    """Whether any two nodes are nested or disjoint, by comparing each with each."""
    for first in one.regions:
        for second in other.regions:
            low, high = np.maximum(first.low, second.low), np.minimum(first.high, second.high)
            if (low <= high).all() and not (
                ((low == first.low).all() and (high == first.high).all())
                or ((low == second.low).all() and (high == second.high).all())
            ):
                return False
    return True


def test_a_tree_for_a_windows_people_expects_enough_in_each_leaf() -> None:
    public = adult()
    for people in (200, 2_000, 15_000):
        tree = grow_tree(public.records, public.template, 30, people)
        expected = min(tree.counts(public.records).values()) / len(public.records) * people
        assert headroom(30) <= expected < 2 * headroom(30) or len(tree) == 1
    with pytest.raises(InputError, match="a leaf of the tree holds"):
        tree.check(public.records, 60 / 2_000)
    young = public.records[public.records[:, 0] < 10]  # a pool of the young: small leaves elsewhere
    numbers = tree.counts(young)
    assert min(numbers.values()) == 0
    assert min(tree.merged(numbers, 60).counts(young).values()) >= 60
    tree.check(public.records, headroom(30) / 15_000)


def test_a_template_alone_gives_a_tree_along_its_hierarchies() -> None:
    template = parse_template(
        {
            "attribute": [
                {"name": "age", "low": 0, "high": 99},
                {"name": "place", "taxonomy": {"one": ["a"], "many": [f"b{n}" for n in range(9)]}},
            ]
        }
    )
    records = template_records(template)
    share = (records[:, 1] == 0).mean()
    assert 0.45 < share < 0.55  # a topic's parts weigh the same, however many values each has
    tree = grow_tree(records, template, 5, 200)
    assert len(tree.leaves) > 8
    assert all(attribute in (0, 1) for attribute, _ in filter(None, tree.cuts))


@pytest.mark.parametrize(
    "cuts",
    [
        [],
        [[0, 3]],
        [None, None],
        [[0, 3], None, None, None, None],
        [[0, 7], None, None],
        [[0, -1], None, None],
        [[2, 3], None, None],
        [[0, 3], [0, 5], None, None, None],
        [[0, "3"], None, None],
        [[0, 3, 1], None, None],
        [None, [0, 3], None],
        "cuts",
    ],
)
def test_what_is_no_tree_is_refused(cuts: object) -> None:
    template = parse_template({"attribute": [{"name": "age", "low": 0, "high": 7}]})
    with pytest.raises(InputError):
        Tree.parse({"version": 1, "template": template.digest, "cuts": cuts}, template)
    good = {"version": 1, "template": template.digest, "cuts": [[0, 3], None, None]}
    assert Tree.parse(good, template).above(2) == (2, ROOT)
    for change in ({"version": 2}, {"template": "other"}):
        with pytest.raises(InputError):
            Tree.parse(good | change, template)
    with pytest.raises(InputError):
        Tree.parse(good, template).leaf_of((9,))
