"""Parameters of A_Session for a requested ε and δ."""

from __future__ import annotations

import math
from dataclasses import replace

from tacit.privacy import Neighbours
from tacit.release.analysis import session
from tacit.release.analysis.accounting import session_event
from tacit.release.analysis.ranges import check_whole
from tacit.release.analysis.session import SessionClicks, SessionParameters
from tacit.release.analysis.threshold import survival
from tacit.release.plan.setting import PaperSetting, Plan, check_request, larger, smallest
from tacit.release.plan.split import Part, split
from tacit.release.plan.words import session_words

__all__ = ["plan_session"]


def plan_session(
    epsilon: float,
    delta: float,
    sessions_per_user: int = 1,
    queries_per_session: int = 3,
    clicks_per_user: int = 4,
    *,
    once_per_user: bool = False,
    same_counts: bool = False,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Plan[SessionParameters]:
    """Split ε and δ among sequences, their counts, clicks and theirs with the least loss.

    Args:
        epsilon: the total of both parts.
        delta: the total of both parts.
        sessions_per_user: l_s.
        queries_per_session: l_q.
        clicks_per_user: l; 0 leaves the click part out.
        once_per_user: count a user once for a sequence; δ falls, and K with it.
        same_counts: publish the very counts that were compared with K instead of fresh ones.
        neighbours: which logs are neighbours.
    """
    check_request(epsilon, delta)
    check_whole("clicks_per_user", clicks_per_user, 0)
    shape = SessionParameters(
        sessions_per_user, queries_per_session, 1.0, 0, None, once_per_user=once_per_user
    )
    one_way = epsilon / 2 if neighbours is Neighbours.REPLACE else epsilon
    one, one_counts, two, two_counts = split(_parts(shape, clicks_per_user, same_counts), one_way, delta)
    clicks = None
    if clicks_per_user:
        clicks = SessionClicks(
            clicks_per_user, two.noise, two.threshold, None if same_counts else two_counts.noise
        )
    parameters = replace(
        shape,
        noise=one.noise,
        threshold=one.threshold,
        noise_counts=None if same_counts else one_counts.noise,
        clicks=clicks,
    )
    parameters = _settle(parameters, epsilon, delta, neighbours)
    figures = _figures(parameters)
    return Plan(
        parameters,
        session.guarantee(parameters, neighbours),
        figures,
        session_words(parameters, figures),
        _paper(parameters, epsilon, delta),
    )


def _parts(shape: SessionParameters, clicks_per_user: int, same_counts: bool) -> list[Part]:
    """Sequences, their counts, clicks, theirs."""

    def sequence_threshold(noise: float, share: float) -> int:
        return smallest(lambda K: session.charges(replace(shape, noise=noise, threshold=K))[0].delta <= share)

    def click_threshold(noise: float, share: float) -> int:
        def holds(K: int) -> bool:
            part = SessionClicks(clicks_per_user, noise, K, None)
            charge = session.charges(replace(shape, threshold=1 << 40, clicks=part))[2]
            return charge.delta <= share

        return smallest(holds)

    fresh = 0 if same_counts else 1
    return [
        Part("sequences", shape.sensitivity, sequence_threshold, pays_delta=True, published=same_counts),
        Part("sequence counts", fresh * shape.sensitivity),
        Part("clicks", clicks_per_user, click_threshold, pays_delta=True, published=same_counts),
        Part("click counts", fresh * clicks_per_user),
    ]


def _settle(
    parameters: SessionParameters, epsilon: float, delta: float, neighbours: Neighbours
) -> SessionParameters:
    """Keep the promise to the last bit, then lower each threshold that what is left of δ still affords."""

    def kept(candidate: SessionParameters) -> bool:
        found = session.guarantee(candidate, neighbours)
        return found.epsilon <= epsilon and found.delta <= delta

    while (
        max(
            session.guarantee(parameters, neighbours).epsilon,
            session_event(parameters, neighbours).guarantee.epsilon,
        )
        > epsilon
    ):
        parameters = replace(parameters, noise=larger(parameters.noise))
    while not kept(parameters):
        parameters = replace(parameters, threshold=parameters.threshold + 1)
    # each as low as the other leaves it; none can then be lowered alone
    parameters = replace(parameters, threshold=smallest(lambda K: kept(replace(parameters, threshold=K))))
    if (clicks := parameters.clicks) is not None:

        def with_threshold(K: int) -> SessionParameters:
            return replace(parameters, clicks=replace(clicks, threshold=K))

        parameters = with_threshold(smallest(lambda K: kept(with_threshold(K))))
    return parameters


def _figures(parameters: SessionParameters) -> dict[str, float]:
    p = parameters
    sure = smallest(lambda x: survival(p.noise, -x) >= 0.95)
    return {
        "counts_per_user": p.sensitivity,
        "even_chance_at": p.threshold + 1,
        "nearly_sure_at": p.threshold + 1 + sure,
        "expected_error": p.noise if p.noise_counts is None else p.noise_counts,
    }


def _paper(parameters: SessionParameters, epsilon: float, delta: float) -> PaperSetting:
    """Eq. 4.7 with one b and one K for both parts, as section 4.2.1.2 asks, solved for b and K."""
    clicks = 0 if parameters.clicks is None else parameters.clicks.clicks_per_user
    moves = [records for records in (parameters.sensitivity, clicks) if records]
    noise = 2 * sum(moves) / epsilon
    largest = max(moves)
    bulk = math.fsum(n / 2 * math.exp((n - largest) / noise) for n in moves)
    return PaperSetting(
        {"noise": noise, "threshold": largest + noise * math.log(bulk / delta), "noise_counts": noise},
        "thesis 002, eq. 4.7 with α = e^(1/b)",
        "the thesis lets one sequence move by all of a user's counts and has one noise scale for everything; "
        "the scales may differ, and a sequence moves by less.",
    )
