"""What a series provably costs, computed from what is drawn and compared.

Theorem (docs/guarantees/series.md): all publications together are (ε, δ)-differentially private for adding or
removing a user's whole stream, at every ε ≥ 0, with

    δ = δ_lattice(ε; μ) + Σ_{q,λ} K_q·p_{q,λ} + δ_h,      μ² = Q/s² + R·κ/s_c² + μ_h²,

Q rounds of noise s in units of a user's allowance, R counts of noise s_c in which balances gain κ, K_q the
most items that a user has held up to round q, and p_{q,λ} a bound of the chance that an item that one user
alone has held reaches the threshold of memory λ in round q, whatever was saved and when it was spent; μ_h and
δ_h are those of the one release of the past at the opening, 0 without one.
"""

from fractions import Fraction
from functools import lru_cache

from tacit.privacy.accounting.loss import root_above, upper_tail
from tacit.privacy.arithmetic import ROUNDING, round_up
from tacit.privacy.guarantee import Neighbours
from tacit.release.rounds_analysis import TAIL, Cost, disclosure, noise_mu
from tacit.release.schedule import ONE, SeriesRounds

_STRAY = Fraction(1, 10**27)
"""An upper bound of all that lies beyond, for up to 208 rounds."""

_BITS = 96


@lru_cache(maxsize=16)  # a week states it several times
def series_cost(schedule: SeriesRounds, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Cost:
    """Compute what carrying out the whole series costs, however far it is carried out."""
    return Cost(series_mu(schedule), series_disclosure(schedule)).under(neighbours)


def series_mu(schedule: SeriesRounds) -> float:
    """μ, rounded up."""
    drawn = [(schedule.rounds * ONE**2, schedule.sigma)]
    if schedule.tally is not None:
        drawn.append((schedule.counts * schedule.tally.gain, schedule.tally.sigma))
    if any(sigma <= ROUNDING for by, sigma in drawn if by):
        return float("inf")
    square = sum((Fraction(by, sigma**2 - ROUNDING**2) for by, sigma in drawn if by), Fraction(0))
    if schedule.history is not None:
        square += Fraction(noise_mu(schedule.history)) ** 2
    return round_up(root_above(square))


def series_disclosure(schedule: SeriesRounds) -> float:
    """Σ_{q,λ} K_q·p_{q,λ}, rounded up."""
    total = Fraction(0) if schedule.history is None else Fraction(disclosure(schedule.history))
    for q in range(1, schedule.rounds + 1):
        for memory in range(len(schedule.memories)):
            total += held_by(schedule, q) * chance_alone(schedule, q, memory)
    return min(1.0, round_up(total))


def held_by(schedule: SeriesRounds, q: int) -> int:
    """K_q: the most items that have joined one user's set up to round ``q``."""
    return schedule.joining * -(-q // schedule.per_week)


@lru_cache(maxsize=4096)
def norms(memory: int, q: int) -> tuple[Fraction, Fraction]:
    """Upper bounds of Σ_j g_j² and Σ_j g_j over ``q`` rounds, g_j = (memory/2^16)^(q-j)."""
    square = whole = 0
    power = one = 1 << _BITS
    for _ in range(q):
        whole += power
        square += -((-power * power) >> _BITS)
        power = -((-power * memory) >> 16)
    return Fraction(square, one), Fraction(whole, one)


def chance_alone(schedule: SeriesRounds, q: int, memory: int) -> Fraction:
    """p_{q,λ}: weights w_j on an item of one user have Σ g_j w_j ≤ ‖g‖·√q·ONE, noise the width σ·‖g‖."""
    square, whole = norms(schedule.memories[memory], q)
    length = root_above(square)
    room = schedule.thresholds[q - 1][memory] - TAIL * ROUNDING * whole
    reach = room / length - ONE * root_above(Fraction(q))
    if not schedule.sigma:
        return Fraction(int(reach <= 0))
    if reach <= 0:
        return Fraction(1)
    # to 40 bits, rounded down: a smaller quotient has a larger tail, and short fractions are fast
    quotient = Fraction(int(reach / schedule.sigma * (1 << 40)), 1 << 40)
    return min(Fraction(1), upper_tail(quotient) + _STRAY)
