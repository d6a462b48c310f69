"""The identities every topic tree obeys, on random trees."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import TaxonomyError
from tacit.taxonomy import TopicTree


@st.composite
def trees(draw: st.DrawFn) -> TopicTree:
    size = draw(st.integers(1, 40))
    parent = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, size)]
    counts = [draw(st.floats(0.01, 1000)) for _ in range(size)]
    order = draw(st.permutations(range(size)))
    shuffled = [-1] * size
    for old, above in enumerate(parent):
        shuffled[order[old]] = order[above] if above >= 0 else -1
    return TopicTree.from_parents(shuffled, [f"t{i}" for i in range(size)], counts)


@given(trees())
def test_support_of_a_node_is_the_sum_over_its_children(tree: TopicTree) -> None:
    for topic in range(len(tree)):
        if len(tree.children(topic)):
            assert tree.support[topic] == pytest.approx(tree.support[tree.children(topic)].sum(), rel=1e-12)


@given(trees())
def test_probabilities_multiply_along_a_path_and_children_sum_to_one(tree: TopicTree) -> None:
    for topic in range(len(tree)):
        steps = [*tree.ancestors(topic), topic]
        product = math.prod(tree.probability(b, given=a) for a, b in itertools.pairwise(steps))
        assert product == pytest.approx(tree.probability(topic), rel=1e-9)
        if len(tree.children(topic)):
            assert sum(tree.probability(c, given=topic) for c in tree.children(topic)) == pytest.approx(1)


@given(trees())
def test_subtrees_are_ranges_and_paths_lead_back(tree: TopicTree) -> None:
    for topic in range(len(tree)):
        inside = {t for t in range(len(tree)) if topic in [*tree.ancestors(t), t]}
        assert inside == set(range(topic, tree.end[topic]))
        assert tree.find(tree.label(topic)) == topic == tree.find(tree.path(topic))
        assert tree.depth[topic] == len(tree.ancestors(topic))


@given(trees())
def test_no_count_is_lost(tree: TopicTree) -> None:
    assert tree.support[0] == pytest.approx(tree.support[np.diff(tree.child_offsets) == 0].sum(), rel=1e-9)


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abc/%"), min_size=1, max_size=4), st.integers(1, 9)), min_size=1
    ),
    st.randoms(use_true_random=False),
)
def test_order_of_paths_does_not_matter(paths: list[tuple[list[str], int]], random: object) -> None:
    shuffled = list(paths)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = TopicTree.from_paths(paths), TopicTree.from_paths(shuffled)
    assert [one.label(t) for t in range(len(one))] == [other.label(t) for t in range(len(other))]
    np.testing.assert_allclose(one.support, other.support)
    assert one.support[0] == pytest.approx(sum(count for _, count in paths))


@pytest.mark.parametrize(
    ("parent", "counts"),
    [([-1, -1], [1, 1]), ([-1, 2, 1], [1, 1, 1]), ([-1, 5], [1, 1]), ([-1, 0], [1, 0]), ([-1, 0], [1, -1])],
    ids=["two roots", "a cycle", "no such parent", "an empty leaf", "a negative count"],
)
def test_what_is_not_a_tree_is_refused(parent: list[int], counts: list[float]) -> None:
    with pytest.raises(TaxonomyError):
        TopicTree.from_parents(parent, ["x"] * len(parent), counts)
