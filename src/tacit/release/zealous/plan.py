"""Parameters of ZEALOUS for a requested ε and δ, with the lowest second threshold there is."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.loss import laplace_loss
from tacit.release.analysis.threshold import survival
from tacit.release.planning.setting import DEFAULT_DELTA, PaperSetting, asked_budget, noise_for, smallest
from tacit.release.zealous import analysis
from tacit.release.zealous.parameters import ZealousParameters

__all__ = ["figures", "paper_setting", "plan", "promise"]


def promise(p: ZealousParameters) -> Guarantee:
    """The guarantee of complete parameters, of the kind asked for."""
    if p.kind is GuaranteeKind.PROBABILISTIC:
        assert p.users is not None  # checked on construction
        return analysis.probabilistic_guarantee(p, p.users)
    if p.at_epsilon is not None:
        return analysis.exact_event(p, p.at_epsilon).guarantee
    return analysis.guarantee(p)


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
        return max(analysis.guarantee(far).epsilon, analysis.event(far).guarantee.epsilon)

    noise = noise_for(asked.per_user * asked.histograms * asked.neighbours.histories, epsilon, cost)

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
        values["provable_delta"] = analysis.guarantee(whole, Neighbours.REPLACE).delta
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
