"""A_Session (thesis 002, chapter 4): ordered subsequences of sessions, and clicks beside them.

Part 1: of each user the first l_s sessions of two queries and more, cut to their first l_q queries; every
ordered subsequence of two queries and more is counted; it is released iff its noisy count is greater than
K. Part 2: the first l clicks of each user, the same way. The two parts use noise of their own, and their
costs add. Guarantee: :mod:`tacit.release.analysis.session`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from itertools import combinations
from typing import Any

import ibis
import pyarrow as pa

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, Neighbours
from tacit.privacy.events import Event
from tacit.privacy.randomness import RandomSource
from tacit.release.analysis import session as analysis
from tacit.release.analysis.accounting import session_event
from tacit.release.analysis.charge import Charge, PaperFigure
from tacit.release.analysis.session import SessionClicks, SessionParameters
from tacit.release.contribution import Choice, bounded_clicks, bounded_sessions, clicks_of, searches_of
from tacit.release.engines import Engine
from tacit.release.mechanism import Counting, Step, Tables
from tacit.release.thresholding import Selected, publish, select
from tacit.release.zealous import key_schema
from tacit.searchlog.sessions import SESSION_GAP

__all__ = ["LONGEST", "Session"]

LONGEST = 8
"""The largest l_q that is counted: 247 subsequences a session."""

_SEQUENCE = pa.schema([pa.field("queries", pa.list_(pa.string()), nullable=False)])


@dataclass(frozen=True)
class Session:
    """An A_Session release.

    Args:
        parameters: l_s, l_q, b, K, the noise of the counts, and part 2.
        neighbours: which logs are neighbours.
        choice: which sessions and clicks of a user are taken when there are too many.
        gap: the longest pause inside a session.
    """

    parameters: SessionParameters
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    choice: Choice = Choice.FIRST
    gap: timedelta = SESSION_GAP

    name = "session"

    def __post_init__(self) -> None:
        if self.parameters.queries_per_session > LONGEST:
            raise ParameterError.outside(
                "queries_per_session", self.parameters.queries_per_session, f"at most {LONGEST} in a release"
            )

    def guarantee(self) -> Guarantee:
        """Both parts together."""
        return analysis.guarantee(self.parameters, self.neighbours)

    def charges(self) -> tuple[Charge, ...]:
        """Sequences, their counts; clicks, theirs."""
        return analysis.charges(self.parameters)

    def paper(self) -> PaperFigure:
        """Eq. 4.7 of the thesis, or eq. 4.5 without clicks."""
        return analysis.paper_with_clicks(self.parameters) or analysis.paper_figure(self.parameters)

    def event(self) -> Event:
        """Noisy counts and a rare disclosure: less than their sum by ``pld``."""
        return session_event(self.parameters, self.neighbours)

    def to_dict(self) -> dict[str, Any]:
        """Every parameter."""
        return {
            **asdict(self.parameters),
            "neighbours": self.neighbours.value,
            "choice": self.choice.value,
            "session_gap_seconds": self.gap.total_seconds(),
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Session:
        """What ``to_dict`` wrote."""
        names = (
            "sessions_per_user",
            "queries_per_session",
            "noise",
            "threshold",
            "noise_counts",
            "once_per_user",
        )
        clicks = SessionClicks(**form["clicks"]) if form["clicks"] else None
        return cls(
            SessionParameters(**{name: form[name] for name in names}, clicks=clicks),
            Neighbours(form["neighbours"]),
            Choice(form["choice"]),
            timedelta(seconds=form["session_gap_seconds"]),
        )

    def steps(self) -> Sequence[Step]:
        """As the thesis lists them."""
        p = self.parameters
        once = ", each once a user" if p.once_per_user else ""
        listed = [
            Step(
                "Bound",
                f"of each user the {self.choice.value} {p.sessions_per_user} sessions of two queries and "
                f"more, cut to {p.queries_per_session} queries"
                + (f"; the {self.choice.value} {p.clicks.clicks_per_user} clicks" if p.clicks else ""),
            ),
            Step("Count", f"all ordered subsequences of two queries and more{once}"),
            Step("Select", f"noise of scale {p.noise:g}; keep counts greater than {p.threshold}", noisy=True),
        ]
        if p.clicks:
            listed.append(
                Step(
                    "Select clicks",
                    f"noise of scale {p.clicks.noise:g}; keep counts greater than {p.clicks.threshold}",
                    noisy=True,
                )
            )
        fresh = p.noise_counts is not None
        scale = f"with fresh noise of scale {p.noise_counts:g}" if fresh else "as compared"
        listed.append(Step("Publish", f"sequences with their counts {scale}", noisy=fresh))
        return tuple(listed)

    def count(self, engine: Engine, log: Any) -> Counting:
        """Subsequences and clicks of the bounded users."""
        p = self.parameters
        names = _columns(p.queries_per_session)
        sessions = bounded_sessions(
            searches_of(log), p.sessions_per_user, p.queries_per_session, self.choice, self.gap
        )
        found = _subsequences(sessions, p.queries_per_session)
        if p.once_per_user:
            found = found.distinct()
        counting = {"sessions": engine.keep(found.group_by(names).aggregate(count=found.count()))}
        if p.clicks:
            clicks = bounded_clicks(clicks_of(log), p.clicks.clicks_per_user, self.choice)
            keys = ["query", "url"]
            counting["clicks"] = engine.keep(clicks.group_by(keys).aggregate(count=clicks.count()))
        return counting

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """Noise and threshold, part by part."""
        p = self.parameters
        positions = pa.schema([(name, pa.string()) for name in _columns(p.queries_per_session)])
        passed = select(engine.batches(counting["sessions"]), positions, p.noise, p.threshold + 1, source)
        sequences = _as_lists(passed, p.queries_per_session)
        tables = {"sessions": publish(sequences, p.noise_counts, source)}
        if p.clicks:
            batches = engine.batches(counting["clicks"])
            passed = select(
                batches, key_schema(("query", "url")), p.clicks.noise, p.clicks.threshold + 1, source
            )
            tables["clicks"] = publish(passed, p.clicks.noise_counts, source)
        return tables


def _columns(longest: int) -> list[str]:
    return [f"query_{i + 1}" for i in range(longest)]


def _subsequences(sessions: Any, longest: int) -> Any:
    """Every choice of two positions and more of each session, in order: (user, query_1 … query_n)."""
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


def _as_lists(selected: Selected, longest: int) -> Selected:
    """Positions as one list of queries, without the nulls after its end."""
    rows = zip(*(selected.keys.column(name).to_pylist() for name in _columns(longest)), strict=True)
    lists = [[query for query in row if query is not None] for row in rows]
    keys = pa.table([pa.array(lists, pa.list_(pa.string()))], schema=_SEQUENCE)
    return Selected(keys, selected.true, selected.noisy)
