"""ZEALOUS (paper 004): histograms of a log's items with two thresholds.

For each histogram: a user gives at most m distinct items; items with fewer than τ users are dropped; the
others get integer noise λ and are published iff their noisy count is at least T. The guarantee is (ε,δ) with
ε = m/λ (replacing: 2m/λ) and δ = 1 - (1-p)^m, p = P(X >= T - τ); tight. With several histograms a user may
bring m items of their own to each: ε adds, and δ = 1 - (1-p)^(m h). Derivation: docs/guarantees/zealous.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tacit.errors import InfeasibleError, ParameterError
from tacit.privacy.guarantee import GuaranteeKind, Neighbours
from tacit.release import parameters
from tacit.release.mechanism import Counting, Mechanism, Plan
from tacit.release.parameters import GIVEN, ITEM_KEYS, Choice, Item, declared
from tacit.release.schedule import Contribution, Noise, Part, Schedule, text_columns
from tacit.release.thresholds import smallest

if TYPE_CHECKING:
    from tacit.engines import Engine
    from tacit.release.preparation import Preparation


@dataclass(frozen=True, kw_only=True, repr=False)
class Zealous(Mechanism):
    """ZEALOUS: how many users have each item, above two thresholds.

    Every histogram has the same bound m, noise λ and thresholds τ and T, and each is charged.
    """

    name: ClassVar[str] = "zealous"
    title: ClassVar[str] = "ZEALOUS"
    example: ClassVar[str] = "--epsilon 1 --delta 1e-6"
    together: ClassVar[tuple[str, ...]] = ("noise", "threshold_2")
    given_example: ClassVar[str] = "--noise 10 --threshold-1 1 --threshold-2 149 --per-user 5 --users 100000"

    epsilon: float | None = parameters.declared_epsilon()
    delta: float = parameters.declared_delta()
    neighbours: Neighbours = parameters.declared_neighbours()
    items: tuple[Item, ...] = declared(
        (Item.QUERIES,), "What is counted; repeat it for several histograms.", option="--item"
    )
    per_user: int = declared(
        1, "m: the most distinct items a user gives to each histogram.", least=1, most=100_000
    )
    kind: GuaranteeKind = declared(
        GuaranteeKind.APPROXIMATE,
        "Which guarantee: approximate, that is (ε,δ)-differential privacy, or probabilistic.",
        option_type=Literal["approximate", "probabilistic"],
    )
    users: int | None = declared(
        None, "U, for the probabilistic guarantee: a public upper bound on the number of users.", least=1
    )
    take: Choice = parameters.declared_take()
    noise: float | None = parameters.declared_noise("λ: the scale of the noise.")
    threshold_1: int | None = declared(
        None, "τ: items of fewer users never appear (1 unless given).", least=1, panel=GIVEN
    )
    threshold_2: float | None = declared(
        None, "T (the paper's τ'): the least noisy count that is published.", panel=GIVEN, above=0
    )
    at_epsilon: float | None = parameters.declared_at_epsilon(
        "State the guarantee at this ε, with the exact δ of the noise (planned where it helps)."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in (GuaranteeKind.APPROXIMATE, GuaranteeKind.PROBABILISTIC):
            raise ParameterError.outside("kind", self.kind.value, "approximate or probabilistic")
        if self.probabilistic and self.at_epsilon is not None:
            raise ParameterError("`at_epsilon` is for the approximate kind.", "Leave one of the two out.")
        if self.at_epsilon is not None and self.neighbours is not Neighbours.ADD_REMOVE:
            raise ParameterError("`at_epsilon` is for adding or removing a user.", "Leave it out.")
        if self.probabilistic and self.users is None:
            raise ParameterError(
                "the probabilistic guarantee depends on the number of users; none was given.",
                "Give `users`: the number of users, or under add-remove neighbours a public bound on it.",
            )

    @property
    def probabilistic(self) -> bool:
        return self.kind is GuaranteeKind.PROBABILISTIC

    def plan(self) -> ZealousPlan:
        """The noise that ε asks for, and the thresholds that δ asks for with the least T; or those given.

        For (ε,δ)-differential privacy τ = 1 is best (T = τ + something that does not depend on τ). For
        probabilistic differential privacy δ is shared by at most U m/τ items, so a larger τ pays until it
        costs more than it saves: the best τ lies near λ, and is found by trying those that can win.
        """
        if self.noise is not None and self.threshold_2 is not None:
            # ">= 78.66" is ">= 79" for whole counts
            schedule = self.schedule_with(self.noise, self.threshold_1 or 1, math.ceil(self.threshold_2))
            return ZealousPlan(mechanism=self, schedule=replace(schedule, at_epsilon=self.at_epsilon))
        return ZealousPlan(mechanism=self, schedule=_planned(self))

    def schedule_with(self, noise: float, first: int, second: int) -> Schedule:
        """A part for each histogram, all alike: items of at least τ users get noise λ and pass from T on."""
        parts = tuple(
            Part(
                table=item.value,
                columns=text_columns(*ITEM_KEYS[item]),
                contribution=Contribution((self.per_user,), once=True),
                noise=Noise(noise),
                least=second,
                minimum=first,
            )
            for item in self.items
        )
        return Schedule(parts, self.neighbours, users=self.users if self.probabilistic else None)


@dataclass(frozen=True, kw_only=True, repr=False)
class ZealousPlan(Plan[Zealous]):
    """A ZEALOUS release, settled."""

    @property
    def noise(self) -> float:
        return self.schedule.parts[0].scale

    @property
    def threshold_1(self) -> int:
        return self.schedule.parts[0].minimum

    @property
    def threshold_2(self) -> int:
        return self.schedule.parts[0].least or 0

    @property
    def given(self) -> Zealous:
        thresholds = {"threshold_1": self.threshold_1, "threshold_2": self.threshold_2}
        return self.mechanism.settled(noise=self.noise, at_epsilon=self.schedule.at_epsilon, **thresholds)

    def take_in(self, engine: Engine, log: Path, preparation: Preparation) -> Counting:
        asked = self.mechanism
        if asked.items != (Item.QUERIES,) or asked.probabilistic or not engine.holds(1, log):
            return super().take_in(engine, log, preparation)
        from tacit.release.mechanisms.zealous_counting import count_queries

        records = preparation.read(log, ("user", "query", "time"), engine.threads)
        return {"queries": count_queries(records, asked.per_user, asked.take, engine.threads)}

    def count(self, engine: Engine, log: Any) -> Counting:
        from tacit.release.contribution import bounded_items, counts_of, items_of

        asked, counting = self.mechanism, {}
        for item in asked.items:
            keys = ITEM_KEYS[item]
            bounded = bounded_items(items_of(log, item), keys, asked.per_user, asked.take)
            counting[item.value] = engine.keep(counts_of(bounded, keys))
        return counting

    def admit(self, engine: Engine, log: Any) -> None:
        """The probabilistic guarantee holds for at most U users, so a log of more is not released.

        How many there are is protected, and not said.
        """
        users = self.schedule.users
        if users is None:
            return
        found = engine.table(log.aggregate(users=log.user.nunique())).column("users")[0].as_py()
        if found > users:
            raise InfeasibleError(
                f"the log has more users than the {users} of `users`, a public bound on their number on "
                "which the probabilistic guarantee rests.",
                "Nothing was charged or published. Give a bound from public knowledge, with room to spare.",
            )


def _planned(asked: Zealous) -> Schedule:
    """The schedule with the least T for the ε and δ asked for."""
    from tacit.release.analysis import guarantee_of
    from tacit.release.planning import charged_epsilon, noise_for, require_delta

    epsilon, delta = require_delta(asked)

    def cost(scale: float) -> float:
        return charged_epsilon(replace(asked.schedule_with(scale, 1, 1 << 60), users=None))

    counts = asked.per_user * len(asked.items)
    noise = noise_for(counts * asked.neighbours.users_changed, epsilon, cost)

    def least_second(first: int) -> Schedule:
        def holds(second: int) -> bool:
            found = guarantee_of(asked.schedule_with(noise, first, second))
            return found.epsilon <= epsilon and found.delta <= delta

        return asked.schedule_with(noise, first, smallest(holds, first))

    if asked.users is not None and asked.probabilistic:
        firsts = _first_thresholds(noise, asked.per_user, asked.users)
        return min(map(least_second, firsts), key=lambda s: (s.parts[0].least, guarantee_of(s).delta))
    best = least_second(1)
    exact = _planned_by_loss(asked, best, epsilon, delta)
    return exact if (exact.parts[0].least or 0) <= _WORTH_IT * (best.parts[0].least or 0) else best


_WORTH_IT = 0.95
"""A guarantee by exact loss is harder to check by hand: it must lower the threshold by a twentieth."""

_FEWEST = 8
"""Of fewer counts the exact loss gains nothing."""


def _planned_by_loss(asked: Zealous, closed: Schedule, epsilon: float, delta: float) -> Schedule:
    """Less noise, whose ε by adding is larger, but whose exact δ at ε is small enough.

    A key of a user is either moved under noise or shown by chance, so that both may need nearly all of δ:
    the least noise whose own δ is δ, or a little more, and the least threshold that holds with it.
    """
    from tacit.privacy.accounting.loss import laplace_loss
    from tacit.release.analysis import guarantee_of

    counts = asked.per_user * len(asked.items)
    if counts < _FEWEST or asked.neighbours is not Neighbours.ADD_REMOVE:
        return closed
    high = closed.parts[0].scale
    low = high / 64
    while high / low > 1.0005:
        middle = math.sqrt(low * high)
        if laplace_loss(1 / Fraction(middle), 1, counts).delta(epsilon) <= 0.999 * delta:
            high = middle
        else:
            low = middle

    def stated(scale: float, second: int) -> Schedule:
        return replace(asked.schedule_with(scale, 1, second), at_epsilon=epsilon)

    def tried(scale: float) -> Schedule:
        least = max(1, math.floor(0.99 * (1 + scale * math.log(counts / (2 * delta)))))
        return stated(scale, smallest(lambda t: guarantee_of(stated(scale, t)).delta <= delta, least))

    return min(
        (tried(high * factor) for factor in (1.0, 1.003, 1.01, 1.03)), key=lambda s: s.parts[0].least or 0
    )


def _first_thresholds(noise: float, per_user: int, users: int) -> range:
    """The τ that can give the least T: τ - λ ln τ is flat to within 1 only for |τ - λ| < √(2λ)."""
    if users * per_user <= 50 * noise:  # so few items that floor(U m/τ) moves in large steps
        return range(1, users + 1)
    reach = 2 * math.sqrt(2 * noise) + 5
    least = min(users, max(1, math.floor(noise - reach)))
    return range(least, min(users, math.ceil(noise + reach)) + 1)


MECHANISM = Zealous
