"""From ε, δ and a number of weeks to the rounds of a series, chosen without a look at the log.

The shape was searched on synthetic logs (docs/guarantees/series.md, "Where the constants come from") and then
held against others.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from tacit.errors import InfeasibleError
from tacit.privacy.accounting.loss import gaussian_mu, lattice_delta
from tacit.privacy.arithmetic import ROUNDING
from tacit.privacy.guarantee import Neighbours
from tacit.release.mechanisms.adaptive import PER_USER
from tacit.release.mechanisms.adaptive_planner import DEFAULT as ADAPTIVE
from tacit.release.mechanisms.adaptive_planner import grain_of, least_sigma, plan_rounds, require_small
from tacit.release.schedule import (
    LARGEST_VALUE,
    ONE,
    SCORES,
    AdaptiveRounds,
    SeriesRounds,
    SeriesTally,
    StepFunction,
    WeighingByStandings,
)
from tacit.release.series_analysis import chance_alone, held_by, norms, series_cost

_CUTS = 24
_LOWEST = -(1 << 56)


@dataclass(frozen=True)
class SeriesLayout:
    """How a series is laid out. τ runs from 0 in the first round to 1 at ``until`` of the rounds."""

    per_week: int = 2
    memory: float = 0.14  # the long one forgets this part a week of 13, and less of more, as 1/√weeks
    short: float = 0.35  # the short one keeps this part a week
    noise_part: float = 0.61  # of δ; the rest is for items found by chance, in equal parts a round
    parts: tuple[float, ...] = (0.8, 0.15, 0.05)  # of a round's part, for each memory's threshold
    lowest: float = -0.67  # an item stays in with a standing of c = lowest + rise·τ^bend deviations
    rise: float = 4.0
    bend: float = 1.16
    until: float = 0.9
    power: float = 0.9  # and weighs ((z+1)/(c+1))^power
    floor: float = 0.15  # what somebody has held for under ``youth`` weeks weighs at least this,
    youth: int = 5
    hope: float = 0.3  # after the first week with a short standing above hope + 0.2 for each week
    part: float = 0.6  # of what a user has saved, spent beyond a round's unit
    tally_part: float = 0.3  # of μ², for the counts
    gain: float = 1.0  # of a user's balance a week of counting, in squared weights
    first: float = 0.7  # the weight in a first count, then (reference·σ/last count)^decline
    reference: float = 5.0
    decline: float = 0.75
    history_part: float = 0.1  # of μ² and of what may be disclosed, for a release of the past at the opening
    scores: tuple[int, ...] = SCORES


DEFAULT = SeriesLayout()


@lru_cache(maxsize=16)
def plan_series(
    epsilon: float,
    delta: float,
    weeks: int,
    joining: int,
    *,
    every: int = 4,
    keys_only: bool = False,
    with_history: bool = False,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    shape: SeriesLayout = DEFAULT,
) -> SeriesRounds:
    """The rounds that cost at most (ε, δ) over all weeks; parameters as those of ``Series``."""
    replacing = neighbours is Neighbours.REPLACE
    noise_delta = shape.noise_part * delta
    mu = gaussian_mu(epsilon, noise_delta) / (math.sqrt(2) if replacing else 1.0)
    rest = (delta - noise_delta) / (2 if replacing else 1)
    past, part = None, shape.history_part
    if with_history:
        past = release_of(mu * math.sqrt(part), part * rest, epsilon, keys_only=True)
        mu, rest = mu * math.sqrt(1 - part), rest * (1 - part)
    counts = 0 if keys_only else weeks // every
    for_tally = shape.tally_part if counts else 0.0
    rounds = weeks * shape.per_week
    sigma = least_sigma(rounds * ONE**2, mu, 1 - for_tally)
    kept = 1 - shape.memory * math.sqrt(13 / weeks)
    memories = tuple(
        math.floor((1 << 16) * max(0.05, each) ** (1 / shape.per_week)) for each in (kept, shape.short)
    )
    blank = WeighingByStandings(StepFunction((0,), (1,)), StepFunction((0,), (1,)), 1, ())
    made = SeriesRounds(
        weeks,
        shape.per_week,
        joining,
        sigma,
        (*memories, 0),
        ((0, 0, 0),) * rounds,
        (blank,) * rounds,
        round(256 * shape.part),
        _tally(mu, counts, every, shape) if counts else None,
        shape.scores,
        past,
    )
    thresholds = tuple(_thresholds(made, q, rest / rounds, shape) for q in range(1, rounds + 1))
    weighing = tuple(_weighing(made, q, thresholds, shape) for q in range(1, rounds + 1))
    made = SeriesRounds(**{**vars(made), "thresholds": thresholds, "weighing": weighing})
    require_small(made, epsilon, delta)
    if series_cost(made, neighbours).delta(epsilon) > delta:
        raise InfeasibleError(
            f"a delta of {delta!r} is too small for a series of {weeks} weeks at epsilon {epsilon!r}.",
            "Give a larger delta.",
        )
    return made


def release_of(mu: float, disclosed: float, most: float, *, keys_only: bool = False) -> AdaptiveRounds:
    """The rounds of one release with this μ, and with what it may disclose, at an ε of at most ``most``."""
    noise_delta, low, high = disclosed * ADAPTIVE.noise_part / (1 - ADAPTIVE.noise_part), 0.0, most
    while high - low > 1e-6 * high:  # the least ε at which the noise costs what it may
        middle = (low + high) / 2
        low, high = (low, middle) if lattice_delta(middle, mu) <= noise_delta else (middle, high)
    return plan_rounds(low, noise_delta + disclosed, PER_USER, keys_only=keys_only)


def _width(made: SeriesRounds, memory: int, q: int) -> float:
    """The standard deviation of a standing's noise after ``q`` rounds."""
    return made.sigma * math.sqrt(norms(made.memories[memory], q)[0])


def _thresholds(made: SeriesRounds, q: int, rest: float, shape: SeriesLayout) -> tuple[int, ...]:
    """The least thresholds, to a millionth of the noise, at which K_q·p is each memory's part of ``rest``."""
    found = []
    for memory, part in enumerate(shape.parts):
        allowed = Fraction(rest) * Fraction(part) / held_by(made, q)
        square, whole = norms(made.memories[memory], q)
        width, grain = _width(made, memory, q), grain_of(_width(made, memory, q))
        z = -NormalDist().inv_cdf(float(allowed))
        low = ONE * math.sqrt(q * square) + 12 * ROUNDING * float(whole)
        threshold = grain * math.ceil((low + width * z) / grain)
        while True:
            line = (0,) * memory + (threshold,) + (0,) * (len(shape.parts) - memory - 1)
            lines = (*made.thresholds[: q - 1], line, *made.thresholds[q:])
            if chance_alone(SeriesRounds(**{**vars(made), "thresholds": lines}), q, memory) <= allowed:
                break
            if threshold > low + 38 * width:
                raise InfeasibleError("delta is too small to find any item.", "Give a larger delta.")
            threshold += grain
        found.append(threshold)
    return tuple(found)


def _weighing(
    made: SeriesRounds, q: int, thresholds: tuple[tuple[int, ...], ...], shape: SeriesLayout
) -> WeighingByStandings:
    """Weights in round ``q`` by the standings after the round before; all alike in the first."""
    before = max(1, q - 1)
    tau = min(1.0, (q - 1) / max(1.0, shape.until * made.rounds - 1))
    low = shape.lowest + shape.rise * tau**shape.bend
    widths = [_width(made, memory, before) for memory in range(2)]
    high = max(low + 0.5, thresholds[before - 1][0] / widths[0])
    levels = [low + (high - low) * j / _CUTS for j in range(_CUTS)]
    raw = [((level + (high - low) / (2 * _CUTS) + 1) / (low + 1)) ** shape.power for level in levels]
    values = tuple(max(1, round(LARGEST_VALUE * each / max(raw))) for each in raw)
    long, short = (
        StepFunction(tuple(grain_of(width) * math.floor(z * width / grain_of(width)) for z in levels), values)
        for width in widths
    )
    grain = grain_of(widths[1])
    young = tuple(
        grain * math.floor((shape.hope + age / 5) * widths[1] / grain) for age in range(1, shape.youth)
    )
    return WeighingByStandings(long, short, max(1, round(LARGEST_VALUE * shape.floor / max(raw))), young)


def _tally(mu: float, counts: int, every: int, shape: SeriesLayout) -> SeriesTally:
    """The first count of an item weighs most; later ones as its last noisy count says."""
    gain = round(shape.gain * every * ONE**2)
    sigma = least_sigma(counts * gain, mu, shape.tally_part)
    line = shape.reference * sigma
    steps = [(_LOWEST, 0.1)]
    steps += [(math.ceil(line * j / 16), max(0.1, j / 16)) for j in range(1, 16)]
    steps += [(math.ceil(line * 1.1**j), (1.1 ** -(j + 0.5)) ** shape.decline) for j in range(64)]
    values = tuple(max(1, round(LARGEST_VALUE * min(1.0, value))) for _, value in steps)
    first = round(LARGEST_VALUE * shape.first)
    return SeriesTally(every, sigma, gain, first, StepFunction(tuple(cut for cut, _ in steps), values))
