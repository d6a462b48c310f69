"""From ε and δ to adaptive rounds or a single noisy count of each item, chosen without a look at the log.

The shape of the rounds was searched on synthetic logs of 20,000 and 100,000 users with Zipf exponents 0.8,
0.95 and 1.1 (docs/guarantees/adaptive.md, "Where the constants come from") and then held against others.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

from tacit.errors import InfeasibleError
from tacit.privacy.accounting.loss import gaussian_mu
from tacit.privacy.arithmetic import ROUNDING
from tacit.privacy.guarantee import Neighbours
from tacit.privacy.noise.samplers import LARGEST_SIGMA
from tacit.release.planning import noise_for
from tacit.release.rounds_analysis import (
    STRAY,
    appearance,
    cost_of,
    even_chance_at,
    single_disclosure,
    single_even_chance_at,
    single_loss,
    tail_allowance,
)
from tacit.release.schedule import (
    LARGEST_VALUE,
    ONE,
    AdaptiveRounds,
    PublicKeys,
    Round,
    SeriesRounds,
    SingleCount,
    StepFunction,
    Tally,
)

_CUTS = 24
_UNIT_COEFFICIENT = 64


@dataclass(frozen=True)
class RoundsLayout:
    """How rounds are laid out. τ runs from 0 (before the second round) to 1 (before the last)."""

    rounds: int = 7
    growth: float = 1.18  # each round has this many times the budget of the one before
    first: float = 1.16  # the first has so many times more, since it alone tells weights for the count
    noise_part: float = 0.61  # of δ, what the noise costs; the rest is for items found by chance
    early_part: float = 0.087  # of that rest, the part of all rounds but the last
    fading: float = 0.9  # an older round counts by this factor less in the standing
    lowest: float = -0.34  # an item stays in with a standing of lowest + rise·τ^bend standard deviations
    rise: float = 4.0
    bend: float = 0.9
    offset: float = 1.6  # one of z weighs (z + offset)^(preference - decline·τ) in the next round, so that
    preference: float = 0.2  # weight goes first to what stands high and later to what needs it,
    decline: float = 0.97
    spared: float = 0.29  # and less by this part for each standard deviation beyond ``near`` times the
    near: float = 0.6  # threshold's: such an item is nearly found
    tally_part: float = 0.28  # of the budget (μ²), what the counts get
    squares_part: float = 0.06  # of that, what the sum of squared norms gets
    users_part: float = 0.005  # of the budget, what the number of users gets, if there are counts
    spurious: float = 0.1  # so many keys of a public list that nobody holds may be expected in a release
    beside: float = 0.3  # with a public list, the scores of others are so many times as large
    reference: float = 1.5  # an item weighs (reference·σ/noisy weight)^power in the count, at most 1
    power: float = 0.75


DEFAULT = RoundsLayout()


_LEAST_DELTA = 1e-20
"""Below it the bound of what rounding costs is a part of δ that a search for thresholds wears out on."""


def plan_rounds(
    epsilon: float,
    delta: float,
    held: int,
    *,
    keys_only: bool = False,
    listed: int = 0,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> AdaptiveRounds:
    """Plan the schedule that costs at most (ε, δ), for k₀ items ``held`` and so many listed keys."""
    too_small = InfeasibleError(
        f"a delta of {delta!r} is too small for rounds of noise at epsilon {epsilon!r}.",
        "Give a larger delta.",
    )
    if delta < _LEAST_DELTA:
        raise too_small
    shape = replace(DEFAULT, rounds=1) if held == 1 else DEFAULT  # a single item: nothing to steer
    noise_delta = shape.noise_part * delta
    replacing = neighbours is Neighbours.REPLACE
    mu = gaussian_mu(epsilon, noise_delta) / (math.sqrt(2) if replacing else 1.0)
    for_tally = 0.0 if keys_only else shape.tally_part
    grown = [shape.growth**r * (shape.first if r == 0 else 1.0) for r in range(shape.rounds)]
    for_users = 0.0 if keys_only else shape.users_part
    shares = [(1 - for_tally - for_users) * each / sum(grown) for each in grown]
    sigmas = [least_sigma(ONE**2, mu, share) for share in shares]
    coefficients = [
        max(1, round(_UNIT_COEFFICIENT * shares[r] / shares[0] * shape.fading**-r))
        for r in range(shape.rounds)
    ]
    steering = [*[StepFunction((0,), (1,))] * (shape.rounds - 1), None]
    schedule = AdaptiveRounds(held, tuple(map(Round, sigmas, coefficients, [0] * shape.rounds, steering)))
    rest = (delta - noise_delta) / (2 if replacing else 1)
    early = shape.early_part * rest / max(1, shape.rounds - 1)
    for r in range(1, shape.rounds + 1):
        last = r == shape.rounds
        allowed = rest - early * (shape.rounds - 1) if last else early
        schedule = _with_threshold(schedule, r, allowed)
        if not last:
            schedule = _with_steering(schedule, r, shape)
    if not keys_only:
        schedule = replace(schedule, tally=_tally(mu, sigmas[0], shape))
    if listed:
        schedule = _with_public_keys(schedule, listed, shape)
    require_small(schedule, epsilon, delta)
    if cost_of(schedule, neighbours).delta(epsilon) > delta:
        raise too_small
    return schedule


def require_small(schedule: AdaptiveRounds | SeriesRounds, epsilon: float, delta: float) -> None:
    """Refuse noise that is larger than can be drawn."""
    if max(noise.scale for noise in schedule.noises()) > LARGEST_SIGMA:
        raise InfeasibleError(
            f"at epsilon {epsilon!r} and delta {delta!r} noise would be larger than can be drawn.",
            "Give a larger epsilon or delta.",
        )


def least_sigma(moved: int, mu: float, share: float) -> int:
    """Find the least whole σ with moved/(σ² - η²) ≤ share·μ², ``moved`` a squared norm."""
    needed = moved / (Fraction(mu) ** 2 * Fraction(share)) + ROUNDING**2
    sigma = math.isqrt(math.ceil(needed))
    return sigma if sigma**2 >= needed else sigma + 1


def _replaced(schedule: AdaptiveRounds, r: int, made: Round) -> AdaptiveRounds:
    return replace(schedule, rounds=(*schedule.rounds[: r - 1], made, *schedule.rounds[r:]))


def _width(schedule: AdaptiveRounds, r: int) -> float:
    """The standard deviation of a standing's noise after ``r`` rounds."""
    return math.sqrt(sum((step.coefficient * step.sigma) ** 2 for step in schedule.rounds[:r]))


def grain_of(width: float) -> int:
    """Thresholds and cuts are multiples of this, a millionth of the noise.

    So the last bits of a logarithm or a quantile, which may differ from one machine to another, do not make
    another schedule of the same parameters, and a release verifies wherever it is read.
    """
    return 1 << max(0, int(width).bit_length() - 20)


def _with_threshold(schedule: AdaptiveRounds, r: int, allowed: float) -> AdaptiveRounds:
    """Plan the least threshold (to one part in 10^6 of the noise) at which k₀·p_r is at most ``allowed``."""
    width = _width(schedule, r)
    weight = ONE * sum(step.coefficient for step in schedule.rounds[:r])
    step = schedule.rounds[r - 1]
    if allowed <= schedule.held * STRAY:  # what rounding alone may cost: no threshold is high enough
        raise InfeasibleError("delta is too small to find any item.", "Give a larger delta.")
    z = -NormalDist().inv_cdf(allowed / schedule.held)
    grain = grain_of(width)
    threshold = grain * math.ceil((weight + tail_allowance(schedule, r) + width * z) / grain)
    while True:
        made = _replaced(schedule, r, replace(step, threshold=threshold))
        if schedule.held * appearance(made, r) <= allowed:
            return made
        threshold += grain


def _with_steering(schedule: AdaptiveRounds, r: int, shape: RoundsLayout) -> AdaptiveRounds:
    """Plan the steps from the standing after round ``r`` to the weight in the next."""
    width = _width(schedule, r)
    step = schedule.rounds[r - 1]
    tau = (r - 1) / (shape.rounds - 2) if shape.rounds > 2 else 1.0
    low = shape.lowest + shape.rise * tau**shape.bend
    high = max(low + 0.5, step.threshold / width)
    levels = [low + (high - low) * j / _CUTS for j in range(_CUTS)]
    middles = [level + (high - low) / (2 * _CUTS) for level in levels]
    weight = ONE * sum(each.coefficient for each in schedule.rounds[:r])
    needed = shape.near * (step.threshold - weight) / width
    raw = [
        max(z + shape.offset, 0.1) ** (shape.preference - shape.decline * tau)
        * max(0.05, 1 - shape.spared * max(0.0, z - needed))
        for z in middles
    ]
    values = [max(1, round(LARGEST_VALUE * each / max(raw))) for each in raw]
    grain = grain_of(width)
    cuts = [grain * math.floor(level * width / grain) for level in levels]
    return _replaced(schedule, r, replace(step, steering=StepFunction(tuple(cuts), tuple(values))))


def _with_public_keys(schedule: AdaptiveRounds, listed: int, shape: RoundsLayout) -> AdaptiveRounds:
    """Plan thresholds that noise alone seldom passes, and less weight for keys that are not on the list."""
    z = -NormalDist().inv_cdf(shape.spurious / (len(schedule.rounds) * listed))
    thresholds = []
    for r in range(1, len(schedule.rounds) + 1):
        width = _width(schedule, r)
        thresholds.append(grain_of(width) * math.ceil(width * z / grain_of(width)))
    beside = tuple(max(1, round(shape.beside * score)) for score in schedule.scores)
    return replace(schedule, scores=beside, public=PublicKeys(schedule.scores, tuple(thresholds)))


def _tally(mu: float, first_sigma: int, shape: RoundsLayout) -> Tally:
    reference = shape.reference * first_sigma
    cuts = [-(1 << 50)] + [math.ceil(reference * 1.1**j) for j in range(1, 64)]
    values = [LARGEST_VALUE] + [
        max(1, round(LARGEST_VALUE * (1.1 ** -(j + 0.5)) ** shape.power)) for j in range(1, 64)
    ]
    return Tally(
        users_sigma=least_sigma(ONE**2, mu, shape.users_part),
        sigma=least_sigma(ONE**2, mu, shape.tally_part * (1 - shape.squares_part)),
        squares_sigma=least_sigma(ONE**2, mu, shape.tally_part * shape.squares_part),
        weighing=StepFunction(tuple(cuts), tuple(values)),
    )


_DIGITS = 10**9
"""The chance of noise above 0 has nine digits, rounded down: the same on every machine."""

_STEPS_DOWN = 4
"""Of the last digit: more than what floating-point numbers may have been off by."""


def plan_single(
    epsilon: float, delta: float, held: int, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> SingleCount:
    """Plan the least threshold, and for it the noise that lies highest, at a cost of (ε, δ)."""
    scale = noise_for(held * neighbours.users_changed, epsilon)
    a, step = math.exp(-1 / scale), -math.expm1(-1 / scale)
    lowest, highest = a / (1 + a), 1 / (1 + a)
    # q = u(1-a)a^h/(1-u·a^(h+1)) ≤ δ/k₀ at the smallest u gives h; then the largest u that holds with it.
    wanted = delta / held
    most = math.floor(scale * (math.log((step + wanted * a) / (1 + a)) - math.log(wanted)) - 1)
    for bound in range(max(0, most - 1), max(0, most - 1) + 5):
        sparse = math.log(wanted) - math.log(step + wanted * a) + bound / scale
        upward = min(highest, math.exp(min(0.0, sparse)))
        made = SingleCount(held, scale, _rounded(upward, lowest), bound, bound + 1)
        for _ in range(_STEPS_DOWN):
            lower = _rounded(made.upward - 1 / _DIGITS, lowest)
            if lower >= made.upward or single_disclosure(made) <= delta:
                break
            made = replace(made, upward=lower)
        if upward >= lowest and single_disclosure(made) <= delta and _sound(made):
            return made
    raise InfeasibleError(
        f"a delta of {delta!r} is too small for a count with noise at epsilon {epsilon!r}.",
        "Give a larger delta.",
    )


def _rounded(upward: float, lowest: float) -> float:
    """Round down to nine digits; never below the least there may be, which is rounded up."""
    down = math.floor(upward * _DIGITS - 1e-3) / _DIGITS
    return max(down, math.ceil(lowest * _DIGITS + 1e-3) / _DIGITS)


def _sound(schedule: SingleCount) -> bool:
    """Tell whether the sides of the noise fit its scale, so that ε is k₀/b."""
    upward, a = Fraction(schedule.upward), Fraction(math.exp(-1 / schedule.scale))
    room = Fraction(1, 10**12)
    return upward * (1 + a) <= 1 - room and a * (1 - upward) <= upward - room and single_loss(schedule) > 0


def finds_more(single: SingleCount, rounds: AdaptiveRounds) -> bool:
    """Tell whether a single count needs fewer users for an even chance than rounds do at their very best."""
    return single_even_chance_at(single) <= even_chance_at(rounds)
