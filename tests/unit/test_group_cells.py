"""Large populations: cells of similar users, bundled apart, held to the same criterion."""

import numpy as np
import pytest

from tacit.errors import InfeasibleError
from tacit.evaluate.loops import interest_profiles
from tacit.groups import Bundler, Profiles, Semantics
from tacit.groups.bundling import bundle_cells, cells_of_similar_users
from tacit.groups.report import similarity_within
from tacit.groups.semantics import plain_vectors
from tacit.groups.similarity import pairwise_similarity

USERS, TERMS = 3000, 40


@pytest.fixture(scope="module")
def profiles() -> Profiles:
    return interest_profiles(USERS, TERMS, seed=5)


def test_cells_hold_everybody_once_in_canonical_order(profiles: Profiles) -> None:
    cells = cells_of_similar_users(plain_vectors(profiles), profiles.canonical_order(0), 500, seed=0)
    assert np.array_equal(np.sort(np.concatenate(cells)), np.arange(USERS))
    assert all(125 <= cell.size <= 500 for cell in cells)
    ranks = np.argsort(profiles.canonical_order(0))
    assert all((np.diff(ranks[cell]) > 0).all() for cell in cells)


def test_the_most_similar_users_tend_to_share_a_cell(profiles: Profiles) -> None:
    vectors, order = Semantics(1).augment(profiles), profiles.canonical_order(0)
    cells = cells_of_similar_users(vectors, order, 500, seed=0)
    cell_of = np.empty(USERS, int)
    for number, cell in enumerate(cells):
        cell_of[cell] = number
    similar = pairwise_similarity(vectors, np.arange(USERS))
    np.fill_diagonal(similar, 0)
    nearest = np.argsort(-similar, axis=1)[:, :3]
    together = float((cell_of[nearest] == cell_of[:, None]).mean())
    by_chance = sum((cell.size / USERS) ** 2 for cell in cells)
    assert together > 3 * by_chance


def test_groups_from_cells_meet_the_criterion_and_are_nearly_as_alike_as_the_greedy_ones(
    profiles: Profiles,
) -> None:
    greedy = Bundler(p=0.4, fewest_holders=1, method="greedy").fit(profiles)
    cells = Bundler(p=0.4, fewest_holders=1, method="cells", cell_size=500).fit(profiles)
    held = profiles.terms.reshape(USERS, TERMS)
    for group, members in enumerate(cells.members):
        terms, holders = np.unique(held[members], return_counts=True)
        shown = cells.released.terms[cells.released.offsets[group] : cells.released.offsets[group + 1]]
        assert np.array_equal(shown, terms[holders / members.size <= 0.4])
        assert np.isin(held[members], shown).sum(axis=1).max() <= 0.4 * shown.size
    assert sorted(np.concatenate(cells.members)) == list(range(USERS))
    assert similarity_within(cells) > 0.8 * similarity_within(greedy)


def test_the_order_of_users_does_not_matter_at_this_size_either(profiles: Profiles) -> None:
    turned = profiles.select(np.random.default_rng(1).permutation(USERS))
    bundler = Bundler(p=0.3, augment=None, fewest_holders=1, method="cells", cell_size=500)
    first, second = bundler.fit(profiles), bundler.fit(turned)
    group_of = dict(zip(second.profiles.users, second.labels.tolist(), strict=True))
    assert [group_of[user] for user in profiles.users] == first.labels.tolist()
    assert first.representatives[7] == second.representatives[7]


def alike_and_others(alike: int, others: int) -> Profiles:
    """Users with one and the same profile, and users with nothing in common."""
    population = {f"same {n}": {"a": 1.0, "b": 1.0} for n in range(alike)}
    population |= {f"other {n}": {f"x{n}": 1.0, f"y{n}": 1.0} for n in range(others)}
    return Profiles.from_mappings(population)


@pytest.mark.parametrize("alike_first", [True, False])
def test_a_cell_that_cannot_be_grouped_joins_its_neighbour(alike_first: bool) -> None:
    profiles = alike_and_others(10, 40)
    cells = [np.arange(10), np.arange(10, 30), np.arange(30, 50)]
    rule = Bundler(p=0.4, fewest_holders=1).rule_of_release.rule(profiles)
    done: list[int] = []
    labels = bundle_cells(
        cells if alike_first else cells[::-1], profiles, plain_vectors(profiles), rule, done.append
    )
    assert labels is not None
    assert sum(done) == 50
    same = set(labels[:10].tolist())
    assert same & set(labels[10:].tolist())  # the ten are not among themselves
    for group in set(labels.tolist()):
        members = np.flatnonzero(labels == group)
        assert members.size >= 3


def test_what_no_cell_can_do_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="no grouping of these 60 users"):
        Bundler(p=0.4, augment=None, fewest_holders=1, method="cells", cell_size=10).fit(
            Profiles.from_mappings({str(n): {"a": 1.0, "b": 1.0, "c": 1.0} for n in range(60)})
        )


def test_greedy_refuses_what_does_not_fit_in_memory() -> None:
    many = Profiles.from_mappings({str(n): {f"t{n % 50}": 1.0} for n in range(20_001)})
    with pytest.raises(InfeasibleError, match="at most 20,000 users; found 20,001"):
        Bundler(method="greedy", augment=None).fit(many)
