"""A_Session (thesis 002, chapter 4): ordered subsequences of sessions, and clicks beside them.

Derivation: docs/guarantees/session.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.errors import ParameterError
from tacit.privacy.guarantee import Neighbours
from tacit.release import parameters
from tacit.release.mechanism import Counting, Mechanism, Plan
from tacit.release.parameters import GIVEN, Choice, declared, declared_noise
from tacit.release.schedule import Contribution, KeyColumn, Noise, Part, Schedule, text_columns
from tacit.release.thresholds import appearance, smallest

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.engines import Engine
    from tacit.release.planning import Portion

LONGEST = 8
"""The largest l_q that is counted: 247 subsequences per session."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Session(Mechanism):
    """A_Session: counts of query sequences within sessions, and of clicks.

    Where noise and threshold are given, what is left open is as in the thesis: no click part, each
    occurrence of a sequence counts, counts get fresh noise. Where they are planned it is what publishes
    most.
    """

    name: ClassVar[str] = "session"
    title: ClassVar[str] = "A_Session"
    example: ClassVar[str] = "--epsilon 8 --delta 1e-6"
    together: ClassVar[tuple[str, ...]] = ("noise", "threshold")
    given_example: ClassVar[str] = "--noise 1 --threshold 20 --sessions-per-user 1 --queries-per-session 3"

    epsilon: float | None = parameters.declared_epsilon()
    delta: float = parameters.declared_delta()
    neighbours: Neighbours = parameters.declared_neighbours()
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
    take: Choice = parameters.declared_take()
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
        of_clicks = (self.noise_clicks, self.threshold_clicks, self.noise_click_counts)
        if self.given and not self.clicks_per_user and any(each is not None for each in of_clicks):
            raise ParameterError(
                "the click part's noise or threshold was given, but not how many clicks a user gives.",
                "Add `clicks_per_user`.",
            )
        self._refuse_two_kinds_of_counts(self.same_counts, self.noise_counts, self.noise_click_counts)

    @property
    def counted_clicks(self) -> int:
        """l, settled."""
        if self.clicks_per_user is not None:
            return self.clicks_per_user
        return 0 if self.given else 1

    @property
    def counted_once(self) -> bool:
        """Whether a user counts once for a sequence, settled."""
        return not self.given if self.once_per_user is None else self.once_per_user

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
        """Return what a user adds to the counts of sequences.

        Sessions longer than can be released are analysed as if all counts of a length could fall on one key.
        """
        by_session = not self.counted_once and self.queries_per_session <= LONGEST
        sessions = (self.sessions_per_user, self.queries_per_session) if by_session else None
        return Contribution(self.counts_by_length(), self.counted_once, sessions)

    def click_contribution(self) -> Contribution:
        """Return what a user adds to the counts of clicks."""
        return Contribution((self.counted_clicks,), once=False)

    def plan(self) -> SessionPlan:
        """Split ε and δ among sequences, their counts, clicks and theirs with the least loss; or as given."""
        return SessionPlan(mechanism=self, schedule=self._given_schedule() if self.given else _planned(self))

    def _given_schedule(self) -> Schedule:
        """Lay out the given noise and thresholds; those not given are the sequences'."""
        noise, K = self.noise or 0.0, self.threshold or 0.0
        clicks = noise if self.noise_clicks is None else self.noise_clicks
        above = K if self.threshold_clicks is None else self.threshold_clicks
        fresh = [self.noise_counts, self.noise_click_counts]
        if not self.same_counts:
            fresh = [
                own if scale is None else scale for scale, own in zip(fresh, (noise, clicks), strict=True)
            ]
        return self.schedule_with((noise, math.floor(K)), (clicks, math.floor(above)), *fresh)

    def schedule_with(
        self,
        sequences: tuple[float, int],
        clicks: tuple[float, int],
        fresh: float | None,
        fresh_clicks: float | None,
    ) -> Schedule:
        """Sequences, then clicks, each with a scale of noise and a K."""
        parts = [
            Part(
                table="sessions",
                columns=(KeyColumn("queries", several=True),),
                contribution=self.contribution(),
                noise=Noise(sequences[0]),
                least=sequences[1] + 1,
                fresh=None if fresh is None else Noise(fresh),
            )
        ]
        if self.counted_clicks:
            parts.append(
                Part(
                    table="clicks",
                    columns=text_columns("query", "url"),
                    contribution=self.click_contribution(),
                    noise=Noise(clicks[0]),
                    least=clicks[1] + 1,
                    fresh=None if fresh_clicks is None else Noise(fresh_clicks),
                )
            )
        return Schedule(tuple(parts), self.neighbours)


@dataclass(frozen=True, kw_only=True, repr=False)
class SessionPlan(Plan[Session]):
    """An A_Session release, settled."""

    @property
    def sequences(self) -> Part:
        """The selection of sequences: b, K, and fresh noise where counts get it."""
        return self.schedule.part("sessions")

    @property
    def same_counts(self) -> bool:
        return self.sequences.fresh is None

    @property
    def given(self) -> Session:
        asked, sequences = self.mechanism, self.sequences
        of_clicks: dict[str, Any] = {}
        for part in self.schedule.parts[1:]:
            of_clicks = {"noise_clicks": part.scale, "threshold_clicks": part.above}
            of_clicks["noise_click_counts"] = None if self.same_counts else part.error
        return asked.settled(
            clicks_per_user=asked.counted_clicks,
            once_per_user=asked.counted_once,
            same_counts=self.same_counts,
            noise=sequences.scale,
            threshold=sequences.above,
            noise_counts=None if self.same_counts else sequences.error,
            **of_clicks,
        )

    def check(self) -> None:
        """Long sessions can be analysed, but have too many subsequences to be counted."""
        queries = self.mechanism.queries_per_session
        if queries > LONGEST:
            raise ParameterError.outside("queries_per_session", queries, f"at most {LONGEST} in a release")

    def count(self, engine: Engine, log: Any) -> Counting:
        from tacit.release import contribution as bound

        self.check()
        asked = self.mechanism
        longest, take = asked.queries_per_session, asked.take
        sessions = bound.bounded_sessions(bound.searches_of(log), asked.sessions_per_user, longest, take)
        found = _subsequences(sessions, longest)
        if asked.counted_once:
            found = found.distinct()
        keys = _columns(longest)
        counting = {"sessions": engine.keep(bound.counts_of(found, keys))}
        if asked.counted_clicks:
            clicks = bound.bounded_clicks(bound.clicks_of(log), asked.counted_clicks, take)
            counting["clicks"] = engine.keep(bound.counts_of(clicks, ("query", "url")))
        return counting

    def shown(self, part: Part, keys: pa.Table) -> pa.Table:
        return _as_lists(keys, self.mechanism.queries_per_session) if part.table == "sessions" else keys


def _columns(longest: int) -> list[str]:
    return [f"query_{i + 1}" for i in range(longest)]


def _subsequences(sessions: Any, longest: int) -> Any:
    """List every choice of two positions and more of each session, in order: (user, query_1 … query_n)."""
    import ibis

    names = _columns(longest)
    chosen = [c for size in range(2, longest + 1) for c in combinations(range(longest), size)]
    nothing = ibis.null("string")
    forms = [
        ibis.struct(
            {name: sessions[names[choice[i]]] if i < len(choice) else nothing for i, name in enumerate(names)}
            | {"last": sessions[names[choice[-1]]]}
        )
        for choice in chosen
    ]
    spread = sessions.select("user", form=ibis.array(forms).unnest())
    # A choice that reaches past the end of a session is none: its last query is null.
    there = spread.filter(spread.form["last"].notnull())
    return there.select("user", **{name: there.form[name] for name in names})


def _as_lists(keys: pa.Table, longest: int) -> pa.Table:
    """Positions as one list of queries, without the nulls after its end."""
    import pyarrow as pa

    rows = zip(*(keys.column(name).to_pylist() for name in _columns(longest)), strict=True)
    lists = [[query for query in row if query is not None] for row in rows]
    return pa.table({"queries": pa.array(lists, pa.list_(pa.string()))})


def _planned(asked: Session) -> Schedule:
    """The split of ε and δ with the least loss, and the least thresholds that hold with it."""
    from tacit.release.analysis import guarantee_of
    from tacit.release.planning import least_thresholds, require_delta, settle_noise, split

    epsilon, delta = require_delta(asked)
    one_way, fresh = epsilon / asked.neighbours.users_changed, asked.same_counts is False
    one, one_counts, two, two_counts = split(_portions(asked), one_way, delta)
    schedule = asked.schedule_with(
        (one.noise, one.threshold),
        (two.noise, two.threshold),
        one_counts.noise if fresh else None,
        two_counts.noise if fresh else None,
    )

    def kept(candidate: Schedule) -> bool:
        found = guarantee_of(candidate)
        return found.epsilon <= epsilon and found.delta <= delta

    return least_thresholds(settle_noise(schedule, "sessions", epsilon), kept)


def _portions(asked: Session) -> list[Portion]:
    from tacit.release.analysis import fresh_keys_loss
    from tacit.release.planning import Portion

    same = asked.same_counts is not False

    def portions(bound: Contribution) -> tuple[Portion, Portion]:
        def threshold(noise: float, share: float) -> int:
            return smallest(lambda K: appearance(fresh_keys_loss(bound, noise, K)) <= share)

        selected = Portion(bound.total, threshold, pays_delta=True, published=same)
        return selected, Portion(0 if same else bound.total)

    return [*portions(asked.contribution()), *portions(asked.click_contribution())]


MECHANISM = Session
