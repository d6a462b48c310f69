"""A_Session (thesis 002, chapter 4), carried out on a log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import ibis
import pyarrow as pa

from tacit.errors import ParameterError
from tacit.release.analysis import PaperFigure
from tacit.release.contribution import bounded_clicks, bounded_sessions, clicks_of, searches_of
from tacit.release.engines import Engine
from tacit.release.mechanism import Counting, DescribedStep, FurtherStatement, ScheduledMechanism
from tacit.release.mechanisms import session as analysis
from tacit.release.mechanisms import session as planner
from tacit.release.mechanisms import session_words as words
from tacit.release.mechanisms.session import LONGEST, SessionParameters, session_schedule
from tacit.release.planning import PaperSetting
from tacit.release.schedule import Part, Schedule


class Session(ScheduledMechanism[SessionParameters]):
    """An A_Session release."""

    Parameters = SessionParameters

    def plan(self, asked: SessionParameters) -> SessionParameters:
        """Noise and thresholds for ε and δ, unless given."""
        return planner.plan(asked)

    def schedule(self) -> Schedule:
        """Sequences, clicks."""
        return session_schedule(self.parameters)

    def paper(self) -> PaperFigure:
        """Eq. 4.7 of the thesis, or eq. 4.5 without clicks."""
        both = analysis.paper_with_clicks(self.parameters)
        return both or analysis.paper_figure(self.parameters, self.asked.threshold)

    def paper_setting(self) -> PaperSetting | None:
        """What the thesis would choose."""
        return planner.paper_setting(self.asked)

    def figures(self) -> dict[str, float]:
        """How often a sequence must occur, and how far off its count is."""
        return planner.figures(self.parameters)

    def words(self) -> Sequence[str]:
        """What the parameters mean and cost."""
        return words.words(self.parameters, self.figures())

    def steps(self) -> Sequence[DescribedStep]:
        """As the thesis lists them."""
        return words.steps(self.parameters)

    def further(self) -> FurtherStatement:
        """Sessions alone, and with clicks."""
        return words.further(self.parameters, self.asked.threshold)

    def check(self) -> None:
        """Long sessions can be analysed, but have too many subsequences to be counted."""
        if self.parameters.queries_per_session > LONGEST:
            raise ParameterError.outside(
                "queries_per_session", self.parameters.queries_per_session, f"at most {LONGEST} in a release"
            )

    def count(self, engine: Engine, log: Any) -> Counting:
        """Subsequences and clicks of the bounded users."""
        self.check()
        p = self.parameters
        names = _columns(p.queries_per_session)
        sessions = bounded_sessions(
            searches_of(log),
            p.sessions_per_user,
            p.queries_per_session,
            p.take,
        )
        found = _subsequences(sessions, p.queries_per_session)
        if p.once_per_user:
            found = found.distinct()
        counting = {"sessions": engine.keep(found.group_by(names).aggregate(count=found.count()))}
        if p.clicks_per_user:
            clicks = bounded_clicks(clicks_of(log), p.clicks_per_user, p.take)
            keys = ["query", "url"]
            counting["clicks"] = engine.keep(clicks.group_by(keys).aggregate(count=clicks.count()))
        return counting

    def shown(self, part: Part, keys: pa.Table) -> pa.Table:
        """A sequence as a list of its queries."""
        return _as_lists(keys, self.parameters.queries_per_session) if part.table == "sessions" else keys


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


def _as_lists(keys: pa.Table, longest: int) -> pa.Table:
    """Positions as one list of queries, without the nulls after its end."""
    rows = zip(*(keys.column(name).to_pylist() for name in _columns(longest)), strict=True)
    lists = [[query for query in row if query is not None] for row in rows]
    return pa.table({"queries": pa.array(lists, pa.list_(pa.string()))})


MECHANISM = Session
