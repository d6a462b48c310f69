"""What a series promises, against what it does: neighbouring streams told apart by all weeks' publications.

Thousands of runs at once, through the real code: copies of a tiny stream that have nothing in common. The
chance to tell is measured on one half for the event that was chosen on the other, at several ε, and must lie
under what the analysis states. Every careless variant (tests/careless_series.py) breaks the same bound by the
same test. α: a real one fails with probability under 1e-6 for each stream (six standard errors).
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from tests.careless_series import CARELESS, CARELESS_NOISE, STREAMS, Stream

from tacit.audit.series import ROUNDS, alone, found_weeks, told_beyond
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.release.schedule import ONE
from tacit.release.series import course as course_module
from tacit.release.series.course import Course, packed
from tacit.release.series_analysis import series_mu

SOURCE = OperatingSystemRandomness()
EPSILONS = (0.0, 0.5, 1.0, 4.0)


@pytest.mark.parametrize("name", STREAMS)
def test_all_weeks_together_tell_no_more_than_is_stated(name: str) -> None:
    assert told_beyond(STREAMS[name], 5_000, SOURCE) < 6


RUNS = {
    "presence goes with erased records": 10_000,
    "standings are drawn again at erasure": 2_000,
    "standings outlive balances": 1_500,
    "an erased place is filled again": 4_000,
    "catching up on rounds left out": 7_000,
}
"""At so many each passes its claim by 12 standard errors and more."""


@pytest.mark.parametrize("name", CARELESS)
def test_a_careless_series_is_caught(name: str) -> None:
    make, stream = CARELESS[name]
    assert told_beyond(STREAMS[stream], RUNS[name], SOURCE, make) > 6


def losses(stream: Stream, runs: int, make: type[Course] = Course) -> np.ndarray:
    """The exact privacy loss of all noisy numbers in each run, for a stream of the user alone.

    Nobody else weighs, so the weights that are drawn upon are the user's.
    """
    found = np.zeros(runs)
    real = course_module.noisy_numbers

    def noting(numbers: np.ndarray, sigma: int, source: RandomSource) -> np.ndarray:
        noisy = real(numbers, sigma, source)
        if numbers.any():  # not when catching up
            told = (numbers * (noisy - numbers) + numbers**2 / 2) / sigma**2
            np.add.at(found, np.arange(numbers.size) // stream.kinds, told)
        return noisy

    def made(rounds: object) -> Course:
        nonlocal course
        course = make(rounds)  # type: ignore[arg-type]
        return course

    course = Course(stream.rounds)
    with mock.patch.object(course_module, "noisy_numbers", noting):
        found_weeks(stream, True, runs, SOURCE, made)
    return found


HIGH = 1 << 55
UNFOUND = ((HIGH, HIGH, HIGH),) * ROUNDS.rounds
"""Nothing is found, so that all that was saved can be spent."""
SPENDING = {
    "every week": Stream([alone(0, 1), alone(2), alone(3, 4), alone(5), alone(6)], 7),
    "saved up": Stream([[], [], [], alone(0, 1), alone(2, 3)], 4),
    "erased": Stream([alone(w) for w in range(5)], 5, erased=tuple((w, (0,)) for w in range(1, 5))),
}


def chance_to_tell(stream: Stream, make: type[Course] = Course) -> tuple[float, float]:
    """δ at ε = 1 from exact losses, and its standard error."""
    from dataclasses import replace

    rounds = replace(stream.rounds, thresholds=UNFOUND)
    told = np.maximum(0.0, 1 - np.exp(1.0 - losses(replace(stream, rounds=rounds), 40_000, make)))
    return float(told.mean()), float(told.std() / 200)


@pytest.mark.parametrize("name", SPENDING)
def test_saving_and_spending_costs_what_the_noise_is_charged(name: str) -> None:
    from tacit.privacy.accounting.loss import lattice_delta

    charged = lattice_delta(1.0, series_mu(ROUNDS))
    told, error = chance_to_tell(SPENDING[name])
    assert told < charged + 6 * error
    if name == "every week":
        assert told > 0.8 * charged  # the bound is attained, but for what is left unspent


@pytest.mark.parametrize("make", CARELESS_NOISE)
def test_weighing_more_than_is_charged_is_caught(make: type[Course]) -> None:
    from tacit.privacy.accounting.loss import lattice_delta

    stream = SPENDING["erased" if make.__name__ == "BalanceErased" else "every week"]
    told, error = chance_to_tell(stream, make)
    assert told > lattice_delta(1.0, series_mu(ROUNDS)) + 6 * error


def test_the_allowance_of_all_rounds_is_never_passed() -> None:
    """Whoever saves what and when: what was spent and what is left are what was gained, to the unit."""
    course, spent = Course(ROUNDS), np.zeros(30, np.int64)
    lots = np.random.default_rng(5)
    for week in range(1, ROUNDS.weeks + 1):
        course.make_room(30, np.ones(200, np.uint8))
        pairs = np.unique(lots.integers((0, 0), (30, 200), (80, 2)), axis=0)
        course.begin_week(packed(*pairs.T), SOURCE)
        before = course.allowances + ONE**2
        course.draw_round(SOURCE)
        spent += before - course.allowances
        course.end_week()
        assert (course.allowances >= 0).all()
        assert (spent + course.allowances == week * ONE**2).all()
        assert np.bincount(course.owners[course.joined == week], minlength=30).max() <= ROUNDS.joining
