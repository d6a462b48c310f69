"""What several events on one data set promise together, and the account of a budget.

Three rules, each a theorem (docs/guarantees/ledger.md), each for one neighbour relation at a time:

- **basic**: ε and δ add up, also when later events are chosen after seeing earlier results.
- **pld**: privacy loss distributions, convolved (:mod:`tacit.privacy.accounting.loss`). Far tighter for many
  equal releases, and proven for a series of events that was fixed in advance (stopping early is allowed), so
  a ledger takes repetitions of one event by it.
- **renyi**: a privacy filter. Different events, chosen after seeing earlier results, add up by their Rényi
  divergence of one order α, fixed with the budget, and by their chances of a disclosure outright.

Both of the latter need δ > 0. A probabilistic guarantee enters as the (ε, δ)-differential privacy it implies;
k-query anonymity has no ε and does not compose.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache

from tacit.errors import BudgetError, ParameterError
from tacit.privacy.accounting.events import (
    Composed,
    Event,
    GaussianRounds,
    LaplaceCounts,
    RareDisclosure,
    ThresholdedCounts,
)
from tacit.privacy.accounting.loss import LossDistribution, laplace_loss, lattice_delta, root_above, together
from tacit.privacy.arithmetic import round_up, sum_up
from tacit.privacy.guarantee import Guarantee, GuaranteeKind, Neighbours, require

LARGEST_LOSS = 50.0
"""Beyond this ε of a single event a guarantee is meaningless, and the lattices of losses grow large."""


@dataclass(frozen=True)
class Parts:
    """All noise of some events, gathered."""

    counts: tuple[tuple[tuple[Fraction, int], int], ...]  # for each (rate, step) how many counts
    mu_square: Fraction  # Σμ² of Gaussian noise
    disclosure: float  # the sum of chances


def parts_of_events(events: Iterable[Event] | Mapping[Event, int], times: int = 1) -> Parts:
    """List what so many of these events are made of, each once or with how many of it there are."""
    counts: Counter[tuple[Fraction, int]] = Counter()
    gathered = [Fraction(0), Fraction(0)]
    for event, number in Counter(events).items():
        _gather(event, number * times, counts, gathered)
    listed = tuple(sorted((key, number) for key, number in counts.items() if number))
    return Parts(listed, gathered[0], min(1.0, round_up(gathered[1])))


def _gather(
    event: Event, times: int, counts: Counter[tuple[Fraction, int]], gathered: list[Fraction]
) -> None:
    if isinstance(event, Composed):
        for part in event.parts:
            _gather(part, times, counts, gathered)
        return
    promise = event.guarantee
    if promise.kind is GuaranteeKind.K_QUERY:
        raise ParameterError("a k-query release has no epsilon and does not compose.")
    if not promise.epsilon <= LARGEST_LOSS:
        rule = f"at most {LARGEST_LOSS:g} for composition by privacy loss"
        raise ParameterError.outside("epsilon", promise.epsilon, rule)
    if isinstance(event, LaplaceCounts):
        if event.counts:
            counts[1 / Fraction(event.scale), event.step] += times * event.counts
    elif isinstance(event, ThresholdedCounts):
        counts[1 / Fraction(event.scale), 1] += times * event.counts
        gathered[1] += times * event.counts * Fraction(event.chance)
    elif isinstance(event, RareDisclosure):
        gathered[1] += times * Fraction(event.delta)
    elif isinstance(event, GaussianRounds):
        gathered[0] += times * Fraction(event.mu) ** 2
        gathered[1] += times * _beside(event)
    else:
        approximate = promise.as_approximate()
        if approximate.epsilon:
            counts[Fraction(approximate.epsilon), 1] += times
        gathered[1] += times * Fraction(approximate.delta)


def _beside(event: GaussianRounds) -> Fraction:
    """A disclosure that, composed with the Gaussian noise, dominates the rounds.

    They are (ε, d(ε) + δ') at every ε; noise and a disclosure of δ'' are (ε, (1 - δ'')·d(ε) + δ''), which is
    no less if δ'' = δ'/(1 - d(0)), since d falls with ε.
    """
    at_zero = lattice_delta(0.0, event.mu) if math.isfinite(event.mu) else 1.0
    return Fraction(event.disclosure) / (1 - Fraction(at_zero)) if at_zero < 1 else Fraction(1)


_SLACK = 1 + 1e-9
"""Costs are raised by this: logarithms and exponentials of floats are off by far less."""


@dataclass(frozen=True)
class RenyiFilter:
    """The limits of a budget (ε, δ): order α, the sum B of divergences, half of δ for disclosures."""

    order: float
    limit: float
    disclosure: float

    @classmethod
    def of(cls, epsilon: float, delta: float) -> RenyiFilter:
        """Choose the α under which most Gaussian noise fits: it depends on the budget alone."""
        best = max((_limit(epsilon, delta, alpha) / alpha, alpha) for alpha in _ORDERS)[1]
        return cls(best, max(0.0, _limit(epsilon, delta, best)), delta / 2)

    def epsilon(self, divergence: float) -> float:
        """The ε that this sum of divergences comes to, at a δ of half the budget's."""
        gain = _gain(self.disclosure, self.order)
        return 0.0 if divergence == 0 else max(0.0, divergence - gain)


_ORDERS = tuple(1 + 2 ** (k / 8) for k in range(-24, 81))


def _gain(delta: float, alpha: float) -> float:
    return (math.log(delta) + math.log(alpha - 1) - alpha * math.log1p(-1 / alpha)) / (alpha - 1)


def _limit(epsilon: float, delta: float, alpha: float) -> float:
    return epsilon + _gain(delta / 2, alpha)


@lru_cache(maxsize=256)
def _laplace(rate: Fraction, step: int, order: float) -> float:
    """ln E[e^((α-1)·loss)]/(α-1) of one count under discrete Laplace noise, moved by ``step``."""
    r = float(rate)
    terms = []
    for j in range(step + 1):
        weight = 0.0 if j in (0, step) else math.log(-math.expm1(-r))
        terms.append(-r * j + weight + (order - 1) * (step - 2 * j) * r)
    top = max(terms)
    total = top + math.log(sum(math.exp(term - top) for term in terms)) - math.log1p(math.exp(-r))
    return max(0.0, total) / (order - 1)


def renyi_cost(parts: Parts, order: float) -> tuple[float, float]:
    """The divergence of order α of these parts, and the chance of a disclosure; both rounded up."""
    divergence = sum(times * _laplace(rate, step, order) for (rate, step), times in parts.counts)
    divergence += order * float(parts.mu_square) / 2
    return divergence * _SLACK, parts.disclosure * _SLACK


class CompositionRule(StrEnum):
    """How a ledger adds up."""

    BASIC = "basic"
    PLD = "pld"
    RENYI = "renyi"


def decimal(value: float) -> Fraction:
    """A float read as the decimal it prints as, so that ten times 0.1 is exactly 1."""
    return Fraction(repr(float(value)))


def basic_composition(
    guarantees: Iterable[Guarantee] | Mapping[Guarantee, int], neighbours: Neighbours
) -> tuple[Fraction, Fraction]:
    """The sums of ε and of δ, exactly, under ``neighbours``; a mixture of relations is refused."""
    epsilon = delta = Fraction(0)
    for guarantee, times in Counter(guarantees).items():
        if guarantee.neighbours is not neighbours:
            raise ParameterError(
                f"a guarantee for {guarantee.neighbours.words} does not add to one for {neighbours.words}.",
                "Release under the ledger's relation (`neighbours`); a second ledger is a second budget.",
            )
        if guarantee.kind is GuaranteeKind.K_QUERY or not math.isfinite(guarantee.epsilon):
            raise ParameterError("an event without a finite epsilon does not compose.")
        epsilon += times * decimal(guarantee.epsilon)
        delta += times * decimal(guarantee.delta)
    return epsilon, delta


def repeated_epsilon(event: Event, times: int, delta: float) -> float:
    """The ε of ``times`` equal events at a total of δ, by privacy loss distributions."""
    require(delta > 0, "delta", delta, "greater than 0 for composition by privacy loss")
    if times == 0:
        return 0.0
    return loss_of(event, times).epsilon(delta)


@lru_cache(maxsize=32)
def loss_of(event: Event, times: int = 1) -> LossDistribution:
    """A privacy loss distribution that dominates ``times`` such events.

    - Laplace counts: given two neighbouring logs, at most ``counts`` coordinates differ, their noises
      are independent, and a shift by at most ``step`` is dominated by a shift by ``step``: as many
      one-dimensional discrete Laplace mechanisms, composed. With a step of 1 that is a binomial sum.
    - Gaussian rounds: normal, with Σμ², and a disclosure.
    - Composed: the parts' distributions, composed.
    - anything else: the worst pair of distributions that its (ε, δ) admits (randomised response with
      failure δ).
    """
    parts = parts_of_events([event], times)
    lattices = [laplace_loss(rate, step, number) for (rate, step), number in parts.counts]
    mu = round_up(root_above(parts.mu_square)) if parts.mu_square else 0.0
    return together(lattices, mu, parts.disclosure)


_SLACK_ACCOUNT = Fraction(1, 10**12)
"""Totals may exceed the budget by this part of it, since scales and ε are rounded decimals."""

_MOST_REPETITIONS = 10_000


@dataclass(frozen=True)
class Account:
    """A budget, the rule by which spendings add up, and the events charged so far (in order).

    Under the rule ``pld`` all charged events are equal, under ``renyi`` they may differ (see
    :mod:`tacit.privacy.accounting.composition`).
    """

    budget: Guarantee
    rule: CompositionRule
    charged: tuple[Event, ...] = ()

    def __post_init__(self) -> None:
        if self.budget.kind not in (GuaranteeKind.PURE, GuaranteeKind.APPROXIMATE):
            raise ParameterError.outside("the kind of a budget", self.budget.kind, "pure or approximate")
        if not 0 < self.budget.epsilon < math.inf:
            raise ParameterError.outside("the budget's epsilon", self.budget.epsilon, "positive and finite")
        if self.rule is not CompositionRule.BASIC and not self.budget.delta > 0:
            rule = f"greater than 0 for the rule {self.rule.value}"
            raise ParameterError.outside("the budget's delta", self.budget.delta, rule, "Use the rule basic.")
        if self.rule is CompositionRule.PLD and any(event != self.charged[0] for event in self.charged):
            raise ParameterError(
                "a ledger with the rule pld takes repetitions of one event; this one differs from the first.",
                "Release with the parameters of the first release, or open the ledger with the rule basic or "
                "renyi, under which releases may differ.",
            )

    def charge(self, event: Event) -> Account:
        """The account after ``event``, or a BudgetError if it does not fit."""
        promise = event.guarantee
        if promise.neighbours is not self.budget.neighbours:
            raise ParameterError(
                f"this ledger counts {self.budget.neighbours.words}; the event is about "
                f"{promise.neighbours.words}.",
                "State the release's guarantee for the ledger's relation.",
            )
        after = Account(self.budget, self.rule, (*self.charged, event))
        if not (math.isfinite(promise.epsilon) and after.within_budget()):
            raise self._refusal(event)
        return after

    def total(self) -> tuple[float, float]:
        """The ε and δ of all that was charged, by the account's rule."""
        epsilon, delta = self._sums(self._counted)
        if self.rule is CompositionRule.BASIC or not self.charged:
            return float(epsilon), float(delta)
        if self.rule is CompositionRule.RENYI:
            found = self._filter()
            divergence, disclosure = renyi_cost(parts_of_events(self._counted), found.order)
            return found.epsilon(divergence), sum_up([found.disclosure, disclosure])
        tight = repeated_epsilon(self.charged[0], len(self.charged), self.budget.delta)
        if self._sums_fit(self._counted) and float(epsilon) <= tight:
            return float(epsilon), float(delta)
        return tight, self.budget.delta

    def spent(self) -> Guarantee:
        """Return the guarantee of everything released so far, together."""
        epsilon, delta = self.total()
        kind = GuaranteeKind.APPROXIMATE if delta else GuaranteeKind.PURE
        return Guarantee(kind, self.budget.neighbours, epsilon, min(1.0, delta))

    def remaining(self) -> Guarantee:
        """Return the most that one further event may cost.

        Under ``basic`` that is the rest of the budget. Under the others it is what could be added to the
        tight total by basic composition; repetitions of the first event fit more often than that
        (:meth:`repetitions_left`).
        """
        epsilon, delta = self.total()
        rest = max(Fraction(0), decimal(self.budget.epsilon) - decimal(epsilon))
        more = max(Fraction(0), decimal(self.budget.delta) - decimal(delta))
        kind = GuaranteeKind.APPROXIMATE if more else GuaranteeKind.PURE
        return Guarantee(kind, self.budget.neighbours, float(rest), float(more))

    def repetitions_left(self, event: Event) -> int:
        """Count how many more times ``event`` fits (at most 10,000; 0 when it does not fit at all)."""
        try:
            self.charge(event)
        except (BudgetError, ParameterError):
            return 0
        high = 2
        while high < _MOST_REPETITIONS and self._fit(self._counted + Counter({event: high})):
            high *= 2
        tried = range(high // 2 + 1, min(high, _MOST_REPETITIONS + 1))
        return high // 2 + bisect_left(
            tried, True, key=lambda times: not self._fit(self._counted + Counter({event: times}))
        )

    @cached_property
    def _counted(self) -> Counter[Event]:
        """Count each different event charged: a ledger has many, and few that differ."""
        return Counter(self.charged)

    def _filter(self) -> RenyiFilter:
        return RenyiFilter.of(self.budget.epsilon, self.budget.delta)

    def _sums(self, charged: Counter[Event]) -> tuple[Fraction, Fraction]:
        promised = Counter[Guarantee]()
        for event, times in charged.items():
            promised[event.guarantee] += times
        return basic_composition(promised, self.budget.neighbours)

    def _sums_fit(self, charged: Counter[Event]) -> bool:
        epsilon, delta = self._sums(charged)
        grace = 1 + _SLACK_ACCOUNT
        return epsilon <= decimal(self.budget.epsilon) * grace and delta <= decimal(self.budget.delta) * grace

    def within_budget(self) -> bool:
        """Whether all that was charged fits (by the sums, or by the tighter rule if the account has it)."""
        return self._fit(self._counted)

    def _fit(self, charged: Counter[Event]) -> bool:
        if not all(math.isfinite(event.guarantee.epsilon) for event in charged):
            return False
        if self.rule is CompositionRule.RENYI:
            # The filter alone: whichever of two theorems fits best on each course would be neither.
            found = self._filter()
            divergence, disclosure = renyi_cost(parts_of_events(charged), found.order)
            return divergence <= found.limit and disclosure <= found.disclosure
        if self._sums_fit(charged):
            return True
        if self.rule is CompositionRule.BASIC:
            return False
        ((event, times),) = charged.items()
        return repeated_epsilon(event, times, self.budget.delta) <= self.budget.epsilon

    def _refusal(self, event: Event) -> BudgetError:
        asked, left = event.guarantee, self.remaining()
        if self.rule is CompositionRule.BASIC or not math.isfinite(asked.epsilon):
            over_epsilon, over_delta = asked.epsilon - left.epsilon, asked.delta - left.delta
            over = f", too much by epsilon {max(0.0, over_epsilon):.6g} and delta {max(0.0, over_delta):.3g}."
        else:
            total = Account(self.budget, self.rule, (*self.charged, event)).spent()
            over = (
                f"; by the rule {self.rule.value} the total would be {_pair(total)} of {_pair(self.budget)}."
            )
        return BudgetError(
            f"the budget does not allow this release: requested {_pair(asked)}, remaining "
            f"{_pair(left)}{over}",
            "Ask for a smaller epsilon or delta; nothing was spent and no noise was drawn.",
        )


def _pair(guarantee: Guarantee) -> str:
    return f"(epsilon {guarantee.epsilon:.6g}, delta {guarantee.delta:.3g})"
