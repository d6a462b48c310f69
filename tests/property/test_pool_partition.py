"""Partitions: every cell holds k, cells are disjoint and cover the domain, and nothing beats the bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.pool.loops.cuts import locate
from tacit.pool.protocol.table import Codes
from tacit.pool.protocol.template import Template, parse_template
from tacit.pool.server.partition import METHODS, Method, headroom, partition
from tacit.pool.simulation.population import adult


def template_of(sizes: list[int]) -> Template:
    return parse_template(
        {"attribute": [{"name": f"a{i}", "low": 0, "high": size - 1} for i, size in enumerate(sizes)]}
    )


@st.composite
def people(draw: st.DrawFn) -> tuple[Template, Codes]:
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    number = draw(st.integers(0, 60))
    rows = draw(
        st.lists(st.tuples(*[st.integers(0, size - 1) for size in sizes]), min_size=number, max_size=number)
    )
    return template_of(sizes), np.array(rows, np.uint16).reshape(number, len(sizes))


@given(people(), st.integers(1, 9), st.sampled_from(METHODS), st.integers(0, 5))
def test_cells_hold_k_are_disjoint_and_cover_the_domain(
    given: tuple[Template, Codes], k: int, method: Method, more: int
) -> None:
    template, records = given
    found = partition(records, template, k, method=method, least=k + more)
    if len(records) < k:
        assert len(found) == 0 and (found.cell_of == -1).all()
        return
    assert (found.sizes >= k).all()
    assert len(found) == 1 or (found.sizes >= k + more).all()
    assert found.sizes.tolist() == np.bincount(found.cell_of, minlength=len(found)).tolist()
    regions = list(found.regions())
    for point in itertools.product(*[range(size) for size in template.sizes]):
        assert sum(point in region for region in regions) == 1
    for record, cell in zip(records.tolist(), found.cell_of.tolist(), strict=True):
        assert tuple(record) in regions[cell]
    assert found.information_loss >= k / len(records) - 1 / template.domain.points - 1e-12


@given(people(), st.integers(1, 5), st.sampled_from(METHODS))
def test_nothing_that_could_be_cut_is_left_whole(
    given: tuple[Template, Codes], k: int, method: Method
) -> None:
    template, records = given
    found = partition(records, template, k, method=method)
    for cell in range(len(found)):
        members = records[found.cell_of == cell]
        for column in members.T:
            for value in np.unique(column):
                left = int((column <= value).sum())
                assert left < k or len(column) - left < k


@given(people(), st.integers(1, 5), st.sampled_from(METHODS), st.randoms())
def test_the_order_of_people_changes_nothing(
    given: tuple[Template, Codes], k: int, method: Method, random: object
) -> None:
    template, records = given
    shuffled = records.tolist()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    again = partition(np.array(shuffled, np.uint16).reshape(records.shape), template, k, method=method)
    found = partition(records, template, k, method=method)
    assert list(found.regions()) == list(again.regions())
    assert found.sizes.tolist() == again.sizes.tolist()


def test_the_cut_below_the_median_is_found_where_the_median_itself_is_no_cut() -> None:
    records = np.array([[1], [1], [2], [2], [2], [2], [2]], np.uint16)
    found = partition(records, template_of([4]), 2, method="split")
    assert found.sizes.tolist() == [2, 5]


def test_split_takes_the_attribute_that_loses_least() -> None:
    """Two attributes, medians 1 of 0..9 and 4 of 0..9: cutting the first leaves a cell of a fifth."""
    records = np.array([[1, 4]] * 6 + [[8, 5]] * 6, np.uint16)
    template = template_of([10, 10])
    found = partition(records, template, 6, method="split")
    corners = [(region.low, region.high) for region in found.regions()]
    assert corners == [((0, 0), (9, 4)), ((0, 5), (9, 9))] or corners == [((0, 0), (1, 9)), ((2, 0), (9, 9))]
    even = 6 * (50 - 1) / 100 * 2 / 12
    uneven = (6 * (20 - 1) + 6 * (80 - 1)) / 100 / 12
    assert found.information_loss == pytest.approx(min(even, uneven))


def test_parameters_are_checked() -> None:
    records = np.zeros((3, 1), np.uint16)
    with pytest.raises(ParameterError, match="k must be at least 1; found 0"):
        partition(records, template_of([2]), 0)
    with pytest.raises(ParameterError, match="one of ahead, split"):
        partition(records, template_of([2]), 1, method="best")  # type: ignore[arg-type]
    assert partition(records, template_of([2]), 3, least=1).sizes.tolist() == [3]
    assert headroom(30) == 43


def test_at_44_000_people_the_default_is_near_the_bound_and_half_as_wide_as_split() -> None:
    population = adult()
    records = population.draw(44_000, np.random.default_rng(20))
    ahead = partition(records, population.template, 30)
    split = partition(records, population.template, 30, method="split")
    assert min(ahead.sizes.min(), split.sizes.min()) >= 30
    assert ahead.information_loss <= 1.25 * 30 / 44_000
    assert ahead.width_share <= 0.6 * split.width_share


def test_locating_agrees_with_the_partition() -> None:
    population = adult()
    records = population.draw(3_000, np.random.default_rng(4))
    found = partition(records, population.template, 30)
    cells = np.empty(len(records), np.int64)
    locate(records, found.lows, found.highs, cells)
    assert (cells == found.cell_of).all()
    locate(records, found.lows[1:], found.highs[1:], cells)
    assert (cells[found.cell_of == 0] == -1).all()
