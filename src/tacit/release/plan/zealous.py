"""Parameters of ZEALOUS for a requested ε and δ, with the lowest second threshold there is."""

from __future__ import annotations

import math

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, Kind, Neighbours
from tacit.release.analysis import zealous
from tacit.release.analysis.accounting import zealous_event
from tacit.release.analysis.ranges import check_whole
from tacit.release.analysis.threshold import survival
from tacit.release.analysis.zealous import ZealousParameters
from tacit.release.plan.setting import PaperSetting, Plan, check_request, noise_for, smallest
from tacit.release.plan.words import zealous_words

__all__ = ["plan_zealous"]


def plan_zealous(
    epsilon: float,
    delta: float,
    per_user: int,
    *,
    histograms: int = 1,
    kind: Kind = Kind.INDISTINGUISHABILITY,
    users: int | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Plan[ZealousParameters]:
    """The noise that ε asks for, and the thresholds that δ asks for with the least T.

    For indistinguishability τ = 1 is best (T = τ + something that does not depend on τ). For probabilistic
    differential privacy δ is shared by at most U m/τ items, so a larger τ pays until it costs more than it
    saves: the best τ lies near λ, and is found by trying those that can win.
    """
    check_request(epsilon, delta)
    check_whole("per_user", per_user, 1)
    check_whole("histograms", histograms, 1)
    if kind not in (Kind.INDISTINGUISHABILITY, Kind.PROBABILISTIC):
        raise ParameterError.outside("kind", kind.value, "indistinguishability or probabilistic")
    if kind is Kind.PROBABILISTIC and users is None:
        raise ParameterError(
            "probabilistic differential privacy depends on the number of users; none was given.",
            "Give --users: the number of users, or under add-remove neighbours a public upper bound on it.",
        )
    moved = per_user * histograms * (2 if neighbours is Neighbours.REPLACE else 1)

    def cost(scale: float) -> float:
        """As stated, and as a ledger adds it up: the two may differ in the last bit."""
        tried = ZealousParameters(per_user, scale, 1, 1 << 60, histograms)
        stated = zealous.guarantee(tried, neighbours).epsilon
        return max(stated, zealous_event(tried, neighbours).guarantee.epsilon)

    noise = noise_for(moved, epsilon, cost)

    def promise(parameters: ZealousParameters) -> Guarantee:
        if kind is Kind.PROBABILISTIC:
            assert users is not None
            return zealous.probabilistic_guarantee(parameters, users, neighbours)
        return zealous.guarantee(parameters, neighbours)

    def least_second(tau: int) -> ZealousParameters:
        def build(t: int) -> ZealousParameters:
            return ZealousParameters(per_user, noise, tau, t, histograms)

        def holds(t: int) -> bool:
            found = promise(build(t))
            return found.epsilon <= epsilon and found.delta <= delta

        return build(smallest(holds, tau))

    firsts = [1] if kind is Kind.INDISTINGUISHABILITY else _first_thresholds(noise, per_user, users or 1)
    parameters = min(map(least_second, firsts), key=lambda p: (p.threshold_2, promise(p).delta))
    figures = _figures(parameters)
    return Plan(
        parameters,
        promise(parameters),
        figures,
        zealous_words(parameters, figures),
        _paper(epsilon, delta, per_user, histograms, kind, users),
    )


def _first_thresholds(noise: float, per_user: int, users: int) -> range:
    """The τ that can give the least T: τ - λ ln τ is flat to within 1 only for |τ - λ| < √(2λ)."""
    if users * per_user <= 50 * noise:  # so few items that floor(U m/τ) moves in large steps
        return range(1, users + 1)
    reach = 2 * math.sqrt(2 * noise) + 5
    least = min(users, max(1, math.floor(noise - reach)))
    return range(least, min(users, math.ceil(noise + reach)) + 1)


def _figures(parameters: ZealousParameters) -> dict[str, float]:
    gap = parameters.threshold_2 - parameters.threshold_1
    return {
        "even_chance_at": parameters.threshold_2,
        "nearly_sure_at": parameters.threshold_2 + smallest(lambda x: survival(parameters.noise, -x) >= 0.95),
        "chance_at_first_threshold": survival(parameters.noise, gap),
        "expected_error": parameters.noise,
    }


def _paper(
    epsilon: float, delta: float, per_user: int, histograms: int, kind: Kind, users: int | None
) -> PaperSetting:
    """Paper 004's choice, the budget shared evenly by the histograms (the paper has one)."""
    epsilon, delta = epsilon / histograms, delta / histograms
    noise = 2 * per_user / epsilon
    if kind is Kind.INDISTINGUISHABILITY:
        values = {
            "noise": noise,
            "threshold_1": 1.0,
            "threshold_2": per_user * (1 - math.log(2 * delta / per_user) / epsilon),
        }
        # what the printed setting gives, at the next whole threshold
        whole = ZealousParameters(per_user, noise, 1, max(1, math.ceil(values["threshold_2"])), histograms)
        values["provable_delta"] = zealous.guarantee(whole, Neighbours.REPLACE).delta
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
