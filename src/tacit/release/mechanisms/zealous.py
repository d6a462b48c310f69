"""ZEALOUS (paper 004): parameters, schedule, guarantee and plan.

Each user gives at most m distinct items; an item counts its users. Items with count >= τ get integer noise
of scale λ, and are published with their noisy count iff it is >= T. Derivation: docs/guarantees/zealous.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

from tacit.errors import ParameterError
from tacit.privacy import Guarantee
from tacit.privacy.accounting.events import Event, ThresholdedCounts
from tacit.privacy.accounting.loss import laplace_loss
from tacit.privacy.arithmetic import sum_up
from tacit.privacy.guarantee import GuaranteeKind, Neighbours
from tacit.release.analysis import (
    Charge,
    PaperFigure,
    appearance,
    charges_of,
    event_of,
    guarantee_of,
    miss_loss,
    survival,
    total_epsilon,
)
from tacit.release.parameters import (
    GIVEN,
    ITEM_KEYS,
    LARGEST_EPSILON,
    Choice,
    Item,
    Parameters,
    check_given_together,
    check_whole,
    declared,
    declared_noise,
    declared_take,
)
from tacit.release.planning import DEFAULT_DELTA, PaperSetting, asked_budget, noise_for, smallest
from tacit.release.schedule import Contribution, Noise, Part, Schedule, text_columns


@dataclass(frozen=True, kw_only=True)
class ZealousParameters(Parameters):
    """m, λ, τ and T; for each of the histograms alike, and each is charged."""

    name: ClassVar[str] = "zealous"
    title: ClassVar[str] = "ZEALOUS"
    summary: ClassVar[str] = "ZEALOUS: how many users have each item, above two thresholds."
    example: ClassVar[str] = "--epsilon 1 --delta 1e-6"
    given_example: ClassVar[str] = "--noise 10 --threshold-1 1 --threshold-2 149 --per-user 5 --users 100000"

    items: tuple[Item, ...] = declared(
        (Item.QUERIES,), "What is counted; repeat it for several histograms.", option="--item"
    )
    per_user: int = declared(1, "m: the most distinct items a user gives to each histogram.", least=1)
    kind: GuaranteeKind = declared(
        GuaranteeKind.INDISTINGUISHABILITY,
        "Which guarantee: indistinguishability or probabilistic.",
        option_type=Literal["indistinguishability", "probabilistic"],
    )
    users: int | None = declared(
        None, "U, for the probabilistic guarantee: a public upper bound on the number of users.", least=1
    )
    take: Choice = declared_take()
    noise: float | None = declared_noise("λ: the scale of the noise.")
    threshold_1: int | None = declared(
        None, "τ: items of fewer users never appear (1 unless given).", least=1, panel=GIVEN
    )
    threshold_2: float | None = declared(
        None, "T (the paper's τ'): the least noisy count that is published.", panel=GIVEN, above=0
    )

    at_epsilon: float | None = declared(
        None,
        "State the guarantee at this ε, with the exact δ of the noise (planned where it helps).",
        above=0,
        most=LARGEST_EPSILON,
        panel=GIVEN,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in (GuaranteeKind.INDISTINGUISHABILITY, GuaranteeKind.PROBABILISTIC):
            raise ParameterError.outside("kind", self.kind.value, "indistinguishability or probabilistic")
        check_given_together(self, "noise", "threshold_2")
        if self.kind is GuaranteeKind.PROBABILISTIC and self.at_epsilon is not None:
            raise ParameterError("`at_epsilon` is for indistinguishability.", "Leave one of the two out.")
        if self.at_epsilon is not None and self.neighbours is not Neighbours.ADD_REMOVE:
            raise ParameterError("`at_epsilon` is for adding or removing a user.", "Leave it out.")
        if self.kind is GuaranteeKind.PROBABILISTIC and self.users is None:
            raise ParameterError(
                "the probabilistic guarantee depends on the number of users; none was given.",
                "Give `users`: the number of users, or under add-remove neighbours a public bound on it.",
            )

    @property
    def given(self) -> bool:
        """Whether noise and thresholds were given."""
        return self.noise is not None

    @property
    def histograms(self) -> int:
        """How many histograms are published."""
        return len(self.items)

    @property
    def scale(self) -> float:
        """λ of complete parameters."""
        assert self.noise is not None
        return self.noise

    @property
    def first(self) -> int:
        """τ."""
        return self.threshold_1 or 1

    @property
    def second(self) -> int:
        """T as a whole number: ``>= 78.66`` is ``>= 79`` for whole counts."""
        assert self.threshold_2 is not None
        return math.ceil(self.threshold_2)


PARAMETERS = ZealousParameters


def zealous_schedule(p: ZealousParameters) -> Schedule:
    """A part for each histogram, all alike: items of at least τ users get noise λ and pass from T on."""
    return Schedule(
        tuple(
            Part(
                table=item.value,
                columns=text_columns(*ITEM_KEYS[item]),
                contribution=Contribution((p.per_user,), once=True),
                noise=Noise(p.scale),
                least=p.second,
                minimum=p.first,
            )
            for item in p.items
        )
    )


def _miss_loss(parameters: ZealousParameters) -> float:
    """-ln(1 - p), p the chance that an item with count exactly τ is published."""
    return miss_loss(parameters.scale, parameters.second - parameters.first)


def charges(parameters: ZealousParameters) -> tuple[Charge, ...]:
    """What each histogram costs, as indistinguishability: m/λ, and the chance that a fresh item appears."""
    return charges_of(zealous_schedule(parameters))


def guarantee(parameters: ZealousParameters, neighbours: Neighbours | None = None) -> Guarantee:
    """(ε,δ)-indistinguishability: ε = m/λ (replacing: 2m/λ), δ = 1 - (1-p)^m, p = P(X >= T - τ); tight.

    With several histograms a user may bring m fresh items to each: ε adds, and δ = 1 - (1-p)^(m h).
    """
    return guarantee_of(zealous_schedule(parameters), neighbours or parameters.neighbours)


def event(parameters: ZealousParameters, neighbours: Neighbours | None = None) -> Event:
    """m items per histogram, each moved by 1, and the chance that an item at the first threshold appears."""
    return event_of(zealous_schedule(parameters), neighbours or parameters.neighbours)


def exact_event(parameters: ZealousParameters, epsilon: float) -> ThresholdedCounts:
    """The release as keys that are moved or shown, its guarantee stated at ``epsilon``."""
    chance = appearance(_miss_loss(parameters))
    return ThresholdedCounts(
        parameters.scale, parameters.per_user * parameters.histograms, chance, epsilon, parameters.neighbours
    )


def _items_at_first_threshold(parameters: ZealousParameters, users: int) -> int:
    """floor(U m/τ), the most items with count exactly τ: each needs τ of the U users, who give m at most.

    As τ <= U, these are at least the m items that one user can bring, so the probabilistic δ is never below
    that of indistinguishability.
    """
    check_whole("users", users, 1)
    if parameters.first > users:
        raise ParameterError(
            f"the first threshold is {parameters.first} with a public bound of {users} users; it must "
            "be at most the number of users.",
            "Give a lower `threshold_1`, or in `users` a bound that no log can exceed.",
        )
    return users * parameters.per_user // parameters.first


def probabilistic_charges(
    parameters: ZealousParameters, users: int, neighbours: Neighbours | None = None
) -> tuple[Charge, ...]:
    """What each histogram costs, as probabilistic differential privacy."""
    neighbours = neighbours or parameters.neighbours
    m, noise = parameters.per_user, parameters.scale
    delta = appearance(_items_at_first_threshold(parameters, users) * _miss_loss(parameters))
    charge = Charge.of_counts("", m, noise, delta)
    if noise:
        # Output by output, an item at τ that fails to appear tells -ln(1-p), where that is more than 1/λ.
        # Of a replaced user one history does so at a time: half of it here, since both are charged.
        excess = m * max(0.0, _miss_loss(parameters) - 1 / noise)
        if excess:
            share = excess / neighbours.users_changed
            charge = Charge(charge.what, sum_up([charge.epsilon, share]), delta)
    return tuple(replace(charge, what=item.value) for item in parameters.items)


def probabilistic_guarantee(
    parameters: ZealousParameters, users: int, neighbours: Neighbours | None = None
) -> Guarantee:
    """(ε,δ)-probabilistic differential privacy: δ = 1 - (1-p)^floor(U m/τ); tight.

    Args:
        parameters: the release's parameters; τ is at most U.
        users: U. Under replacing it is the number of users, which is then public. Under adding or removing
            the number is protected: give a public upper bound on it.
        neighbours: which logs are neighbours.
    """
    neighbours = neighbours or parameters.neighbours
    epsilon = total_epsilon(probabilistic_charges(parameters, users, neighbours), neighbours)
    items = _items_at_first_threshold(parameters, users) * parameters.histograms
    delta = appearance(items * _miss_loss(parameters))
    return Guarantee(GuaranteeKind.PROBABILISTIC, neighbours, epsilon=epsilon, delta=delta)


_WHY_INDISTINGUISHABLE = (
    "the printed threshold m(1 - ln(2δ/m)/ε) belongs to noise m/ε and add-remove neighbours; with the "
    "printed noise 2m/ε it leaks more: δ = 1 - (1-p)^m with p = P(X >= T - τ)."
)
_WHY_PROBABILISTIC = (
    "the paper bounds δ for continuous noise by a union; ours is the exact chance for integer noise that an "
    "item held by exactly τ users is published, over at most floor(U m/τ) of them."
)


def paper_figure(parameters: ZealousParameters, threshold_2: float | None = None) -> PaperFigure:
    """What paper 004 prints as indistinguishability: ε = 2m/λ, δ = (m/2) exp(ε(1 - τ'/m)), solved for δ.

    ``threshold_2`` is the paper's real-valued τ', where it differs from the whole T.
    """
    second = parameters.threshold_2 if threshold_2 is None else threshold_2
    assert second is not None
    m, noise, count = parameters.per_user, parameters.scale, parameters.histograms
    if noise == 0:
        raise ParameterError.outside("noise", 0, "above 0 for the paper's figure")
    epsilon = 2 * m / noise
    delta = m / 2 * math.exp(min(700.0, epsilon * (1 - second / m)))
    return PaperFigure(
        count * epsilon,
        min(1.0, count * delta),
        Neighbours.REPLACE,
        "paper 004, indistinguishability analysis",
        _WHY_INDISTINGUISHABLE,
    )


def paper_probabilistic(parameters: ZealousParameters, users: int) -> PaperFigure:
    """What paper 004 prints as probabilistic DP: ε = 2m/λ, δ = U m/(2τ) exp(-(τ'-τ)/λ).

    The printed theorem also asks τ' - τ >= -λ ln(2 - 2 exp(-1/λ)), and says nothing below that.
    """
    m, noise, count = parameters.per_user, parameters.scale, parameters.histograms
    if noise == 0:
        raise ParameterError.outside("noise", 0, "above 0 for the paper's figure")
    gap = parameters.second - parameters.first
    claimed = gap >= -noise * math.log(-2 * math.expm1(-1 / noise))
    delta = users * m / parameters.first / 2 * math.exp(min(700.0, -gap / noise)) if claimed else 1.0
    return PaperFigure(
        count * 2 * m / noise,
        min(1.0, count * delta),
        Neighbours.REPLACE,
        "paper 004, probabilistic differential privacy analysis",
        _WHY_PROBABILISTIC,
    )


def promise(p: ZealousParameters) -> Guarantee:
    """The guarantee of complete parameters, of the kind asked for."""
    if p.kind is GuaranteeKind.PROBABILISTIC:
        assert p.users is not None  # checked on construction
        return probabilistic_guarantee(p, p.users)
    if p.at_epsilon is not None:
        return exact_event(p, p.at_epsilon).guarantee
    return guarantee(p)


def plan(asked: ZealousParameters) -> ZealousParameters:
    """The noise that ε asks for, and the thresholds that δ asks for with the least T; or those given.

    For indistinguishability τ = 1 is best (T = τ + something that does not depend on τ). For probabilistic
    differential privacy δ is shared by at most U m/τ items, so a larger τ pays until it costs more than it
    saves: the best τ lies near λ, and is found by trying those that can win.
    """
    if asked.given:
        return replace(asked, threshold_1=asked.first, threshold_2=asked.second)
    epsilon, delta = asked_budget(asked)

    def tried(noise: float, first: int, second: int) -> ZealousParameters:
        return replace(asked, noise=noise, threshold_1=first, threshold_2=second)

    def cost(scale: float) -> float:
        """As stated, and as a ledger adds it up: the two may differ in the last bit."""
        far = tried(scale, 1, 1 << 60)
        return max(guarantee(far).epsilon, event(far).guarantee.epsilon)

    noise = noise_for(asked.per_user * asked.histograms * asked.neighbours.users_changed, epsilon, cost)

    def least_second(first: int) -> ZealousParameters:
        def holds(second: int) -> bool:
            found = promise(tried(noise, first, second))
            return found.epsilon <= epsilon and found.delta <= delta

        return tried(noise, first, smallest(holds, first))

    firsts = [1]
    if asked.kind is GuaranteeKind.PROBABILISTIC:
        firsts = list(_first_thresholds(noise, asked.per_user, asked.users or 1))
    best = min(map(least_second, firsts), key=lambda p: (p.second, promise(p).delta))
    if asked.kind is GuaranteeKind.PROBABILISTIC or not delta:
        return best
    exact = _planned_by_loss(best, epsilon, delta)
    return exact if exact.second <= _WORTH_IT * best.second else best


_WORTH_IT = 0.95
"""A guarantee by exact loss is harder to check by hand: it must lower the threshold by a twentieth."""

_FEWEST = 8
"""Of fewer counts the exact loss gains nothing."""


def _planned_by_loss(closed: ZealousParameters, epsilon: float, delta: float) -> ZealousParameters:
    """Less noise, whose ε by adding is larger, but whose exact δ at ε is small enough.

    A key of a user is either moved under noise or shown by chance, so that both may need nearly all of δ:
    the least noise whose own δ is δ, or a little more, and the least threshold that holds with it.
    """
    counts = closed.per_user * closed.histograms
    if counts < _FEWEST or closed.neighbours is not Neighbours.ADD_REMOVE:
        return closed
    low, high = closed.scale / 64, closed.scale
    while high / low > 1.0005:
        middle = math.sqrt(low * high)
        if laplace_loss(1 / Fraction(middle), 1, counts).delta(epsilon) <= 0.999 * delta:
            high = middle
        else:
            low = middle

    def tried(scale: float) -> ZealousParameters:
        made = replace(closed, noise=scale, at_epsilon=epsilon)
        least = 1 + scale * math.log(counts / (2 * delta))

        def holds(second: int) -> bool:
            return promise(replace(made, threshold_2=second)).delta <= delta

        return replace(made, threshold_2=smallest(holds, max(1, math.floor(0.99 * least))))

    return min((tried(high * factor) for factor in (1.0, 1.003, 1.01, 1.03)), key=lambda p: p.second)


def _first_thresholds(noise: float, per_user: int, users: int) -> range:
    """The τ that can give the least T: τ - λ ln τ is flat to within 1 only for |τ - λ| < √(2λ)."""
    if users * per_user <= 50 * noise:  # so few items that floor(U m/τ) moves in large steps
        return range(1, users + 1)
    reach = 2 * math.sqrt(2 * noise) + 5
    least = min(users, max(1, math.floor(noise - reach)))
    return range(least, min(users, math.ceil(noise + reach)) + 1)


def figures(parameters: ZealousParameters) -> dict[str, float]:
    """What the parameters cost in utility."""
    gap = parameters.second - parameters.first
    return {
        "even_chance_at": parameters.second,
        "nearly_sure_at": parameters.second + smallest(lambda x: survival(parameters.scale, -x) >= 0.95),
        "chance_at_first_threshold": survival(parameters.scale, gap),
        "expected_error": parameters.scale,
    }


def paper_setting(asked: ZealousParameters) -> PaperSetting | None:
    """Paper 004's choice, the budget shared evenly by the histograms (the paper has one)."""
    if asked.epsilon is None:
        return None
    per_user, users = asked.per_user, asked.users
    epsilon = asked.epsilon / asked.histograms
    delta = (asked.delta or DEFAULT_DELTA) / asked.histograms
    noise = 2 * per_user / epsilon
    if asked.kind is GuaranteeKind.INDISTINGUISHABILITY:
        values = {
            "noise": noise,
            "threshold_1": 1.0,
            "threshold_2": per_user * (1 - math.log(2 * delta / per_user) / epsilon),
        }
        # what the printed setting gives, at the next whole threshold
        second = max(1, math.ceil(values["threshold_2"]))
        whole = replace(asked, noise=noise, threshold_1=1, threshold_2=second)
        values["provable_delta"] = guarantee(whole, Neighbours.REPLACE).delta
        why = (
            "the paper joins the noise of replacing neighbours (2m/ε) to the threshold of add-remove (noise "
            "m/ε), and its δ is larger than asked; ours is the least threshold at which δ holds."
        )
        return PaperSetting(values, "paper 004, indistinguishability analysis", why)
    assert users is not None
    tau = math.ceil(noise)
    needed = -noise * math.log(2 * delta * tau / (users * per_user))
    values = {
        "noise": noise,
        "threshold_1": float(tau),
        "threshold_2": tau + max(-noise * math.log(-2 * math.expm1(-1 / noise)), needed),
    }
    why = (
        "the paper takes τ = ceil(2m/ε), continuous noise and replacing neighbours; ours tries every τ that "
        "can win, for integer noise and the neighbours asked for."
    )
    return PaperSetting(values, "paper 004, probabilistic differential privacy analysis", why)
