"""A budget and what has been spent of it: the ledger's arithmetic, apart from its file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import BudgetError, ParameterError
from tacit.privacy.composition import CompositionRule, basic_composition, decimal, repeated_epsilon
from tacit.privacy.events import Event
from tacit.privacy.guarantee import Guarantee, GuaranteeKind
from tacit.privacy.parts import parts_of_events
from tacit.privacy.renyi import RenyiFilter, renyi_cost
from tacit.privacy.rounding import sum_up

__all__ = ["Account"]

_SLACK = Fraction(1, 10**12)
"""Totals may exceed the budget by this part of it, since scales and ε are rounded decimals."""

_MOST_REPETITIONS = 10_000


@dataclass(frozen=True)
class Account:
    """A budget, the rule by which spendings add up, and the events charged so far (in order).

    Under the rule ``pld`` all charged events are equal, under ``renyi`` they may differ (see
    :mod:`tacit.privacy.composition`).
    """

    budget: Guarantee
    rule: CompositionRule
    charged: tuple[Event, ...] = ()

    def __post_init__(self) -> None:
        if self.budget.kind not in (GuaranteeKind.PURE, GuaranteeKind.INDISTINGUISHABILITY):
            raise ParameterError.outside(
                "the kind of a budget", self.budget.kind, "pure or indistinguishability"
            )
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
        epsilon, delta = self._sums()
        if self.rule is CompositionRule.BASIC or not self.charged:
            return float(epsilon), float(delta)
        if self.rule is CompositionRule.RENYI:
            divergence, disclosure = self._divergence()
            found = self._filter()
            return found.epsilon(divergence), sum_up([found.disclosure, disclosure])
        tight = repeated_epsilon(self.charged[0], len(self.charged), self.budget.delta)
        if self._sums_fit() and float(epsilon) <= tight:
            return float(epsilon), float(delta)
        return tight, self.budget.delta

    def spent(self) -> Guarantee:
        """What holds for everything released so far, together."""
        epsilon, delta = self.total()
        kind = GuaranteeKind.INDISTINGUISHABILITY if delta else GuaranteeKind.PURE
        return Guarantee(kind, self.budget.neighbours, epsilon, min(1.0, delta))

    def remaining(self) -> Guarantee:
        """What one further event may cost at most.

        Under ``basic`` that is the rest of the budget. Under the others it is what could be added to the
        tight total by basic composition; repetitions of the first event fit more often than that
        (:meth:`repetitions_left`).
        """
        epsilon, delta = self.total()
        rest = max(Fraction(0), decimal(self.budget.epsilon) - decimal(epsilon))
        more = max(Fraction(0), decimal(self.budget.delta) - decimal(delta))
        kind = GuaranteeKind.INDISTINGUISHABILITY if more else GuaranteeKind.PURE
        return Guarantee(kind, self.budget.neighbours, float(rest), float(more))

    def repetitions_left(self, event: Event) -> int:
        """How many more times ``event`` fits (at most 10,000; 0 when it does not fit at all)."""
        try:
            self.charge(event)
        except (BudgetError, ParameterError):
            return 0
        low, high = 1, 2
        while high < _MOST_REPETITIONS and self._fits_times(event, high):
            low, high = high, 2 * high
        high = min(high, _MOST_REPETITIONS + 1)
        while high - low > 1:
            middle = (low + high) // 2
            if self._fits_times(event, middle):
                low = middle
            else:
                high = middle
        return low

    def _fits_times(self, event: Event, times: int) -> bool:
        return Account(self.budget, self.rule, self.charged + (event,) * times).within_budget()

    def _filter(self) -> RenyiFilter:
        return RenyiFilter.of(self.budget.epsilon, self.budget.delta)

    def _divergence(self) -> tuple[float, float]:
        """The sum of divergences of the filter's order, and of the chances of a disclosure."""
        return renyi_cost(parts_of_events(self.charged), self._filter().order)

    def _sums(self) -> tuple[Fraction, Fraction]:
        return basic_composition([event.guarantee for event in self.charged], self.budget.neighbours)

    def _sums_fit(self) -> bool:
        epsilon, delta = self._sums()
        grace = 1 + _SLACK
        return epsilon <= decimal(self.budget.epsilon) * grace and delta <= decimal(self.budget.delta) * grace

    def within_budget(self) -> bool:
        """Whether all that was charged fits (by the sums, or by the tighter rule if the account has it)."""
        if not all(math.isfinite(event.guarantee.epsilon) for event in self.charged):
            return False
        if self.rule is CompositionRule.RENYI:
            # The filter alone: whichever of two theorems fits best on each course would be neither.
            divergence, disclosure = self._divergence()
            found = self._filter()
            return divergence <= found.limit and disclosure <= found.disclosure
        if self._sums_fit():
            return True
        if self.rule is CompositionRule.BASIC:
            return False
        first = self.charged[0]
        return repeated_epsilon(first, len(self.charged), self.budget.delta) <= self.budget.epsilon

    def _refusal(self, event: Event) -> BudgetError:
        asked, left = event.guarantee, self.remaining()
        if self.rule is CompositionRule.PLD and math.isfinite(asked.epsilon):
            total = repeated_epsilon(event, len(self.charged) + 1, self.budget.delta)
            over = total - self.budget.epsilon
            return BudgetError(
                f"the budget does not allow this release: requested {_pair(asked)}, remaining {_pair(left)}; "
                f"the total at delta {self.budget.delta:g} would be epsilon {total:.6g}, over the budget of "
                f"{self.budget.epsilon:g} by {over:.3g}.",
                _REMEDY,
            )
        if self.rule is CompositionRule.RENYI and math.isfinite(asked.epsilon):
            epsilon, delta = Account(self.budget, self.rule, (*self.charged, event)).total()
            return BudgetError(
                f"the budget does not allow this release: requested {_pair(asked)}, remaining {_pair(left)}; "
                f"by the privacy filter the total would be (epsilon {epsilon:.6g}, delta {delta:.3g}) of "
                f"{_pair(self.budget)}.",
                _REMEDY,
            )
        over_epsilon = max(0.0, asked.epsilon - left.epsilon)
        over_delta = max(0.0, asked.delta - left.delta)
        return BudgetError(
            f"the budget does not allow this release: requested {_pair(asked)}, remaining {_pair(left)}, "
            f"too much by epsilon {over_epsilon:.6g} and delta {over_delta:.3g}.",
            _REMEDY,
        )


_REMEDY = "Ask for a smaller epsilon or delta; nothing was spent and no noise was drawn."


def _pair(guarantee: Guarantee) -> str:
    return f"(epsilon {guarantee.epsilon:.6g}, delta {guarantee.delta:.3g})"
