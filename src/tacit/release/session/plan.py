"""Parameters of A_Session for a requested ε and δ."""

from __future__ import annotations

import math
from dataclasses import replace

from tacit.release.analysis.accounting import fresh_loss
from tacit.release.analysis.threshold import appearance, fresh_key_delta, survival
from tacit.release.planning.setting import DEFAULT_DELTA, PaperSetting, asked_budget, larger, smallest
from tacit.release.planning.split import Portion, split
from tacit.release.session import analysis
from tacit.release.session.parameters import SessionParameters
from tacit.release.session.schedule import session_schedule

__all__ = ["figures", "paper_setting", "plan"]


def plan(asked: SessionParameters) -> SessionParameters:
    """Split ε and δ among sequences, their counts, clicks and theirs with the least loss.

    Parameters that were given are completed, not planned.
    """
    shape = asked.completed()
    if asked.given:
        return shape
    epsilon, delta = asked_budget(asked)
    same = asked.same_counts is not False
    one_way = epsilon / asked.neighbours.histories
    one, one_counts, two, two_counts = split(_portions(shape, same), one_way, delta)
    clicks = bool(shape.clicks_per_user)
    parameters = replace(
        shape,
        same_counts=same,
        noise=one.noise,
        threshold=one.threshold,
        noise_counts=None if same else one_counts.noise,
        noise_clicks=two.noise if clicks else None,
        threshold_clicks=two.threshold if clicks else None,
        noise_click_counts=two_counts.noise if clicks and not same else None,
    )
    return _settle(parameters, epsilon, delta)


def _portions(shape: SessionParameters, same_counts: bool) -> list[Portion]:
    """Sequences, their counts, clicks, theirs."""
    clicks = shape.clicks_per_user or 0

    def sequence_threshold(noise: float, share: float) -> int:
        def delta(K: int) -> float:
            alone = replace(shape, clicks_per_user=0, noise=noise, threshold=K)
            return appearance(fresh_loss(session_schedule(alone).part("sessions")))

        return smallest(lambda K: delta(K) <= share)

    def click_threshold(noise: float, share: float) -> int:
        return smallest(lambda K: fresh_key_delta(noise, K + 1, clicks) <= share)

    fresh = 0 if same_counts else 1
    return [
        Portion("sequences", shape.sensitivity, sequence_threshold, pays_delta=True, published=same_counts),
        Portion("sequence counts", fresh * shape.sensitivity),
        Portion("clicks", clicks, click_threshold, pays_delta=True, published=same_counts),
        Portion("click counts", fresh * clicks),
    ]


def _settle(parameters: SessionParameters, epsilon: float, delta: float) -> SessionParameters:
    """Keep the promise to the last bit, then lower each threshold that what is left of δ still affords."""

    def kept(candidate: SessionParameters) -> bool:
        found = analysis.guarantee(candidate)
        return found.epsilon <= epsilon and found.delta <= delta

    def cost(candidate: SessionParameters) -> float:
        stated, charged = analysis.guarantee(candidate), analysis.event(candidate).guarantee
        return max(stated.epsilon, charged.epsilon)

    while cost(parameters) > epsilon:
        assert parameters.noise is not None
        parameters = replace(parameters, noise=larger(parameters.noise))
    while not kept(parameters):
        parameters = replace(parameters, threshold=int(parameters.threshold or 0) + 1)
    # each as low as the other leaves it; none can then be lowered alone
    parameters = replace(parameters, threshold=smallest(lambda K: kept(replace(parameters, threshold=K))))
    if parameters.clicks_per_user:

        def with_threshold(K: int) -> SessionParameters:
            return replace(parameters, threshold_clicks=K)

        parameters = with_threshold(smallest(lambda K: kept(with_threshold(K))))
    return parameters


def figures(p: SessionParameters) -> dict[str, float]:
    """What the parameters cost in utility."""
    assert p.noise is not None and p.threshold is not None
    noise = p.noise
    sure = smallest(lambda x: survival(noise, -x) >= 0.95)
    return {
        "counts_per_user": p.sensitivity,
        "even_chance_at": p.threshold + 1,
        "nearly_sure_at": p.threshold + 1 + sure,
        "expected_error": p.noise if p.noise_counts is None else p.noise_counts,
    }


def paper_setting(asked: SessionParameters) -> PaperSetting | None:
    """Eq. 4.7 with one b and one K for both parts, as section 4.2.1.2 asks, solved for b and K."""
    if asked.epsilon is None or asked.given:
        return None
    delta = asked.delta or DEFAULT_DELTA
    moves = [records for records in (asked.sensitivity, asked.completed().clicks_per_user) if records]
    noise = 2 * sum(moves) / asked.epsilon
    largest = max(moves)
    bulk = math.fsum(n / 2 * math.exp((n - largest) / noise) for n in moves)
    return PaperSetting(
        {"noise": noise, "threshold": largest + noise * math.log(bulk / delta), "noise_counts": noise},
        "thesis 002, eq. 4.7 with α = e^(1/b)",
        "the thesis lets one sequence move by all of a user's counts and has one noise scale for everything; "
        "the scales may differ, and a sequence moves by less.",
    )
