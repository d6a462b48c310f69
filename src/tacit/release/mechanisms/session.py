"""A_Session (thesis 002, chapter 4): parameters, schedule, guarantee and plan.

Part 1 counts, for each user's first l_s sessions cut to l_q queries, all ordered subsequences of two
queries and more. A sequence is released iff its count + X > K (noise b), with the count that was compared
or a fresh one. Part 2, optional, does the same with the first l clicks (query, url) of a user. The two
parts add. Derivation: docs/guarantees/session.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, Neighbours
from tacit.privacy.accounting.events import Event
from tacit.release.analysis import (
    Charge,
    PaperFigure,
    appearance,
    charges_of,
    event_of,
    fresh_key_delta,
    fresh_loss,
    guarantee_of,
    log_alpha,
    survival,
)
from tacit.release.parameters import (
    GIVEN,
    Choice,
    Parameters,
    check_given_together,
    declared,
    declared_noise,
    declared_take,
    refuse_given_alone,
    refuse_two_kinds_of_counts,
)
from tacit.release.planning import DEFAULT_DELTA, PaperSetting, Portion, asked_budget, larger, smallest, split
from tacit.release.schedule import Column, Contribution, Noise, Part, Schedule, text_columns

LONGEST = 8
"""The largest l_q that is counted: 247 subsequences per session."""

PLANNED_CLICKS = 1
"""l where a plan is asked for and nothing is said."""
THESIS_CLICKS = 4
"""The clicks per user in the thesis's runs (section 4.4.2)."""

_PLANNED_WITH_THE_REST = ("noise_counts", "noise_clicks", "threshold_clicks", "noise_click_counts")


@dataclass(frozen=True, kw_only=True)
class SessionParameters(Parameters):
    """l_s, l_q, b, K, the noise of the counts, and the click part.

    Where noise and threshold are given, what is left open is as in the thesis: no click part, each
    occurrence of a sequence counts, counts get fresh noise. Where they are planned it is what publishes
    most.
    """

    name: ClassVar[str] = "session"
    title: ClassVar[str] = "A_Session"
    summary: ClassVar[str] = "A_Session: counts of query sequences within sessions, and of clicks."
    example: ClassVar[str] = "--epsilon 8 --delta 1e-6"
    given_example: ClassVar[str] = "--noise 1 --threshold 20 --sessions-per-user 1 --queries-per-session 3"

    sessions_per_user: int = declared(1, "l_s: how many sessions of a user count.", least=1)
    queries_per_session: int = declared(
        2, "l_q: the first queries of a session that count.", least=2, most=20
    )
    clicks_per_user: int | None = declared(
        None, "l: clicks a user gives to the click part; 0 leaves it out (planned: 1; given: 0).", least=0
    )
    once_per_user: bool | None = declared(
        None,
        "Count a user once for a sequence, or each time it occurs (planned: once; given: each).",
        option="--once-per-user/--count-each",
    )
    same_counts: bool | None = declared(
        None,
        "Publish the numbers that were compared, or fresh ones under noise of their own (planned: compared).",
        option="--same-counts/--fresh-counts",
    )
    take: Choice = declared_take()
    noise: float | None = declared_noise("b: the scale of the selection's noise.")
    threshold: float | None = declared(
        None, "K: a sequence with a noisy count above it is published.", least=0, panel=GIVEN
    )
    noise_counts: float | None = declared_noise("Fresh noise of the sequence counts (as `noise`).")
    noise_clicks: float | None = declared_noise("Noise of the clicks' selection (as `noise`).")
    threshold_clicks: float | None = declared(
        None, "Clicks with a noisy count above it are published (as `threshold`).", least=0, panel=GIVEN
    )
    noise_click_counts: float | None = declared_noise("Fresh noise of the click counts (as `noise_clicks`).")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_given_together(self, "noise", "threshold")
        given = [name for name in _PLANNED_WITH_THE_REST if getattr(self, name) is not None]
        if not self.given:
            refuse_given_alone(given, "noise", "threshold")
        if self.given and not self.clicks_per_user and any("click" in name for name in given):
            raise ParameterError(
                "the click part's noise or threshold was given, but not how many clicks a user gives.",
                "Add `clicks_per_user`.",
            )
        refuse_two_kinds_of_counts(self.same_counts, self.noise_counts, self.noise_click_counts)

    @property
    def given(self) -> bool:
        """Whether noise and threshold were given."""
        return self.noise is not None

    @property
    def sensitivity(self) -> int:
        """Δf = l_s (2^l_q - 1 - l_q), the most counts a user adds (eq. 4.4)."""
        return self.sessions_per_user * ((1 << self.queries_per_session) - 1 - self.queries_per_session)

    @property
    def largest_move(self) -> int:
        """M, the most that a user moves one count."""
        return self.contribution().largest

    def counts_by_length(self) -> tuple[int, ...]:
        """l_s C(l_q, j) for j = 2 … l_q: how many counts of sequences of each length a user adds.

        Sequences of different length are different keys. A session of different queries spreads the counts of
        a length over as many keys; how many fall on one key is counted over all sessions that can be.
        """
        l_s, l_q = self.sessions_per_user, self.queries_per_session
        return tuple(l_s * math.comb(l_q, j) for j in range(2, l_q + 1))

    def contribution(self) -> Contribution:
        """What a user adds to the counts of sequences.

        Sessions longer than can be released are analysed as if all counts of a length could fall on one key.
        """
        counted = not self.once_per_user and self.queries_per_session <= LONGEST
        sessions = (self.sessions_per_user, self.queries_per_session) if counted else None
        return Contribution(self.counts_by_length(), bool(self.once_per_user), sessions)

    def completed(self) -> SessionParameters:
        """With everything settled that does not depend on a plan."""
        clicks, once = self.clicks_per_user, self.once_per_user
        if self.noise is None or self.threshold is None:
            return replace(
                self,
                clicks_per_user=PLANNED_CLICKS if clicks is None else clicks,
                once_per_user=True if once is None else once,
            )
        K, same, of_clicks = math.floor(self.threshold), bool(self.same_counts), self.threshold_clicks
        noise_clicks = (self.noise if self.noise_clicks is None else self.noise_clicks) if clicks else None
        counts = self.noise if self.noise_counts is None else self.noise_counts
        fresh = noise_clicks if self.noise_click_counts is None else self.noise_click_counts
        return replace(
            self,
            clicks_per_user=clicks or 0,
            once_per_user=bool(once),
            same_counts=same,
            threshold=K,
            noise_counts=None if same else counts,
            noise_clicks=noise_clicks,
            threshold_clicks=(K if of_clicks is None else math.floor(of_clicks)) if clicks else None,
            noise_click_counts=None if same else fresh,
        )


PARAMETERS = SessionParameters


def session_schedule(p: SessionParameters) -> Schedule:
    """Sequences, then clicks. Sequences of different length are different keys."""
    assert p.noise is not None and p.threshold is not None
    parts = [
        Part(
            table="sessions",
            columns=(Column("queries", several=True),),
            contribution=p.contribution(),
            noise=Noise(p.noise),
            least=int(p.threshold) + 1,
            fresh=None if p.noise_counts is None else Noise(p.noise_counts),
        )
    ]
    if p.clicks_per_user:
        assert p.noise_clicks is not None and p.threshold_clicks is not None
        parts.append(
            Part(
                table="clicks",
                columns=text_columns("query", "url"),
                contribution=Contribution((p.clicks_per_user,), once=False),
                noise=Noise(p.noise_clicks),
                least=int(p.threshold_clicks) + 1,
                fresh=None if p.noise_click_counts is None else Noise(p.noise_click_counts),
            )
        )
    return Schedule(tuple(parts))


def charges(parameters: SessionParameters) -> tuple[Charge, ...]:
    """What each published thing costs: sequences and, with part 2, clicks; fresh counts apart."""
    return charges_of(session_schedule(parameters))


def guarantee(parameters: SessionParameters, neighbours: Neighbours | None = None) -> Guarantee:
    """(ε,δ)-indistinguishability of what these parameters publish: part 1, and part 2 if it is there.

    ε = Δf/b + Δf/b_q (+ l/b + l/b_q); δ is the largest chance that a sequence (or a click) of one user alone
    appears, over all sessions that are ever counted.
    """
    return guarantee_of(session_schedule(parameters), neighbours or parameters.neighbours)


def event(parameters: SessionParameters, neighbours: Neighbours | None = None) -> Event:
    """Sequences by length (different lengths are different keys), their counts, clicks, and a disclosure."""
    return event_of(session_schedule(parameters), neighbours or parameters.neighbours)


def _printed(records: int, noise: float, threshold: float) -> tuple[float, float]:
    """Eq. 4.5 and 4.6: ε = d (ln α + 1/b), δ = d/2 exp((d-K)/b)."""
    epsilon = records * (log_alpha(noise, threshold) + 1 / noise)
    return epsilon, records / 2 * math.exp(min(700.0, (records - threshold) / noise))


def paper_figure(parameters: SessionParameters, threshold: float | None = None) -> PaperFigure:
    """What the thesis prints for part 1 alone: eq. 4.5, the figures of Table 4.4."""
    K = parameters.threshold if threshold is None else threshold
    assert parameters.noise is not None and K is not None
    epsilon, delta = _printed(parameters.sensitivity, parameters.noise, K)
    return PaperFigure(
        epsilon,
        min(1.0, delta),
        Neighbours.ADD_REMOVE,
        "thesis 002, eq. 4.5 (Table 4.4), sessions alone",
        "eq. 4.5 lets one sequence move by all Δf counts of a user; it moves by at most "
        f"{parameters.largest_move}, and δ is then the exact chance that a user's own sequence appears.",
    )


def paper_with_clicks(parameters: SessionParameters) -> PaperFigure | None:
    """What the thesis's eq. 4.7 gives for both parts together; its runs state the session part alone."""
    p = parameters
    if not p.clicks_per_user:
        return None
    assert p.noise is not None and p.threshold is not None
    assert p.noise_clicks is not None and p.threshold_clicks is not None
    epsilon, delta = _printed(p.sensitivity, p.noise, p.threshold)
    more_epsilon, more_delta = _printed(p.clicks_per_user, p.noise_clicks, p.threshold_clicks)
    return PaperFigure(
        epsilon + more_epsilon,
        min(1.0, delta + more_delta),
        Neighbours.ADD_REMOVE,
        "thesis 002, eq. 4.7",
        "section 4.4 states the weaker of the two parts for its runs; independent noises add.",
    )


def plan(asked: SessionParameters) -> SessionParameters:
    """Split ε and δ among sequences, their counts, clicks and theirs with the least loss.

    Parameters that were given are completed, not planned.
    """
    shape = asked.completed()
    if asked.given:
        return shape
    epsilon, delta = asked_budget(asked)
    same = asked.same_counts is not False
    one_way = epsilon / asked.neighbours.users_changed
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
        found = guarantee(candidate)
        return found.epsilon <= epsilon and found.delta <= delta

    def cost(candidate: SessionParameters) -> float:
        stated, charged = guarantee(candidate), event(candidate).guarantee
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
