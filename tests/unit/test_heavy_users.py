"""What clipped counts say of the users beyond the limit: exact without noise; counts right in the mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.adaptive_checks import drawing

from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release import execution as tallies
from tacit.release.clipping import USUAL, Beyond
from tacit.release.execution import Found, Holdings, take_tally
from tacit.release.mechanisms.adaptive_planner import plan_rounds
from tacit.release.schedule import ONE

SOURCE = OperatingSystemRandomness()
TALLY = plan_rounds(1.0, 1e-6, 100).tally
assert TALLY is not None


def log_of(users: int, seed: int, alike: bool) -> Holdings:
    """Users of lognormal activity over 300 items; ``alike``: active users prefer the same hundred."""
    generator = np.random.default_rng(seed)
    sizes = np.minimum(200, np.ceil(np.exp(1.2 * generator.standard_normal(users) + 1))).astype(int)
    popular = np.arange(1, 301) ** -0.5
    items = []
    for size in sizes.tolist():
        chances = popular * np.where(np.arange(300) < 100, 1 + 0.02 * size * alike, 1)
        items.append(generator.choice(300, size=size, replace=False, p=chances / chances.sum()))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Holdings(starts, np.concatenate(items).astype(np.int32), 300)


def found_in(holdings: Holdings) -> tuple[Found, np.ndarray]:
    truth = np.bincount(holdings.items, minlength=holdings.kinds)
    every = np.arange(holdings.kinds)
    return Found(every, 10 * truth.astype(np.int64) << 12, np.ones_like(every)), truth


def errors(holdings: Holdings, releases: int = 6) -> np.ndarray:
    """Of the sum of all counts, in each release."""
    found, truth = found_in(holdings)
    counts = [take_tally(TALLY, holdings, found, SOURCE).counts for _ in range(releases)]
    return np.array([each.sum() / truth.sum() - 1 for each in counts])


def test_without_noise_the_mean_norm_beyond_the_limit_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the width of a cell, of which the users within the limit are taken to lie in the middle."""
    holdings = log_of(4000, 1, alike=True)
    found, _ = found_in(holdings)
    seen: list[tuple[Beyond | None, int]] = []
    real = tallies.beyond_limit

    def noting(schedule: object, limit: int, *rest: object) -> Beyond | None:
        seen.append((real(schedule, limit, *rest), limit))  # type: ignore[arg-type]
        return seen[-1][0]

    monkeypatch.setattr(tallies, "beyond_limit", noting)
    quiet = replace(TALLY, sigma=0, norm_sigma=0)
    with drawing(lambda sigma, size: np.zeros(size, np.int64)):
        take_tally(quiet, holdings, found, SOURCE)
    beyond, limit = seen[0]
    assert beyond is not None
    values = np.zeros(holdings.kinds, np.uint8)
    values[found.items] = tallies.stepped(TALLY.weighing, found.first)
    squares = np.zeros(holdings.starts.size - 1, np.int64)
    tallies.squared_norms(holdings.starts, holdings.items, values, squares)
    norms = np.sqrt(squares[squares > limit**2])
    assert beyond.users == norms.size
    assert beyond.theta == pytest.approx(norms.mean() / limit - 1, abs=0.02)


@pytest.mark.parametrize("alike", [False, True])
def test_counts_are_right_in_the_mean(alike: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within 4% with what the counts say of heavy users, at least 6% too low without: noise hides these."""
    holdings = log_of(20_000, 2, alike)
    assert abs(errors(holdings).mean()) < 0.04
    monkeypatch.setattr(tallies, "beyond_limit", lambda *_: None)
    assert errors(holdings).mean() < -0.06


def test_too_few_to_be_seen_are_left_as_the_histogram_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Beyond | None] = []
    real = tallies.beyond_limit
    monkeypatch.setattr(tallies, "beyond_limit", lambda *given: said.append(real(*given)) or said[-1])
    errors(log_of(300, 3, alike=False), releases=2)
    assert said == [None, None]


def test_norms_that_are_all_alike_are_left_as_the_histogram_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users of one item each: the middle of a cell says little of them."""
    said: list[Beyond | None] = []
    real = tallies.beyond_limit
    monkeypatch.setattr(tallies, "beyond_limit", lambda *given: said.append(real(*given)) or said[-1])
    items = np.repeat(np.arange(300), 200).astype(np.int32)
    errors(Holdings(np.arange(items.size + 1), items, 300), releases=2)
    assert said == [None, None]


def test_norms_beyond_the_limit_have_the_mean_stated() -> None:
    norms, users = Beyond(120.0, USUAL).spread_over(100)
    assert users.sum() == pytest.approx(120) and norms.min() > 100
    assert np.average(norms, weights=users) == pytest.approx(150, rel=0.01)


@pytest.mark.parametrize(("light", "heavy", "kinds"), [(3_000, 600, 60), (30_000, 3_000, 100)])
def test_no_count_is_larger_than_the_number_of_users_may_be(light: int, heavy: int, kinds: int) -> None:
    """Most hold one item alone, which a few with many hold too: its holders are not like those of others."""
    lists = [[0]] * light + [list(range(kinds))] * heavy
    starts = np.concatenate([[0], np.cumsum([len(each) for each in lists])]).astype(np.int64)
    holdings = Holdings(starts, np.concatenate(lists).astype(np.int32), kinds)
    found, truth = found_in(holdings)
    counts = take_tally(TALLY, holdings, found, SOURCE).counts
    # Within six standard deviations of the noisy histogram of norms.
    room = 8 * TALLY.norm_sigma * np.sqrt(len(TALLY.norm_edges)) / ONE
    assert truth.max() == light + heavy
    assert counts.max() <= light + heavy + room < 3 * (light + heavy)
