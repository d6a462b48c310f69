"""Series: keys found week by week over a period, and counted, all under one charge at its opening.

Theorem, proof, and the variants that break it: docs/guarantees/series.md. What it does each week is
:mod:`tacit.release.series`; here is what is asked, and the plan that follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.errors import ParameterError
from tacit.privacy.guarantee import Neighbours
from tacit.release import parameters
from tacit.release.mechanism import Counting, Mechanism, Plan
from tacit.release.schedule import Contribution, Part, Schedule, SeriesRounds, text_columns

if TYPE_CHECKING:
    from pathlib import Path

    from tacit.engines import Engine
    from tacit.privacy.ledger import Ledger
    from tacit.release.series.folder import OpenSeries


@dataclass(frozen=True, kw_only=True, repr=False)
class Series(Mechanism):
    """Series: keys found week by week over a period, under one charge at its opening.

    ε, δ and the number of weeks determine all rounds and counts; what is published each week costs no more.
    """

    name: ClassVar[str] = "series"
    title: ClassVar[str] = "Series"
    example: ClassVar[str] = "--weeks 52 --epsilon 4 --delta 1e-6"
    together: ClassVar[tuple[str, ...]] = ("at_epsilon", "at_delta")
    given_example: ClassVar[str] = "--weeks 52 --at-epsilon 4 --at-delta 1e-6"

    epsilon: float | None = parameters.declared_epsilon()
    delta: float = parameters.declared_delta()
    neighbours: Neighbours = parameters.declared_neighbours()
    weeks: int = parameters.declared(52, "How many weeks the period has.", least=1, most=104)
    count_every: int = parameters.declared(
        4, "So many weeks are counted together; 1 counts every week.", least=1, most=104
    )
    keys_only: bool = parameters.declared(
        False, "Publish the queries alone, without counts: an eighth more of them.", option="--keys-only"
    )
    per_week: int = parameters.declared(
        20, "k_w: the most queries of a user that join the user's set in a week.", least=1, most=1000
    )
    with_history: bool = parameters.declared(
        False,
        "A tenth of the budget is for one release of a log of the past, at the opening.",
        option="--with-history",
    )
    at_epsilon: float | None = parameters.declared_at_epsilon()
    at_delta: float | None = parameters.declared_at_delta()

    def open(
        self,
        folder: str | Path,
        *,
        ledger: Ledger | str | Path | None = None,
        budget_epsilon: float | None = None,
        budget_delta: float = 0.0,
        key: str | Path | None = None,
        after: str | Path | None = None,
        history: str | Path | None = None,
        scrub: bool = True,
        purpose: str = "",
    ) -> OpenSeries:
        """Open it in a new folder, charged once (:func:`tacit.release.series.folder.open_series`)."""
        options = {name: value for name, value in locals().items() if name not in ("self", "folder")}
        from tacit.release.series.folder import open_series

        return open_series(self, folder, **options)

    @staticmethod
    def at(folder: str | Path) -> OpenSeries:
        """The series that was opened in a folder."""
        from tacit.release.series.folder import find_series

        return find_series(folder)

    def plan(self) -> SeriesPlan:
        """Lay out all rounds and counts of the period for ε and δ, or as given."""
        from tacit.release.mechanisms.series_planner import plan_series
        from tacit.release.planning import laid_out_for

        epsilon, delta = (float(each) for each in laid_out_for(self))
        rounds = plan_series(
            *(epsilon, delta, self.weeks, self.per_week),
            every=self.count_every,
            keys_only=self.keys_only,
            with_history=self.with_history,
            neighbours=self.neighbours,
        )

        def part(table: str, *measures: str) -> Part:
            joined = Contribution((self.weeks * self.per_week,), once=True)
            return Part(table, text_columns("query"), joined, None, None, measures=measures)

        parts = [part("queries", "found")]
        if rounds.tally is not None:
            parts.append(part("counts", "count", "deviation", "fewer_than", "week"))
            parts.append(part("rising", "change", "deviation"))
        schedule = Schedule(tuple(parts), self.neighbours, at_epsilon=epsilon, series=rounds)
        return SeriesPlan(mechanism=self, schedule=schedule, laid_out_for=(epsilon, delta))


@dataclass(frozen=True, kw_only=True, repr=False)
class SeriesPlan(Plan[Series]):
    """A series, settled: all its rounds and counts, before the first week."""

    laid_out_for: tuple[float, float]

    @property
    def rounds(self) -> SeriesRounds:
        """What is drawn and compared."""
        if self.schedule.series is None:
            raise ParameterError("this schedule is not that of a series.")
        return self.schedule.series

    @property
    def given(self) -> Series:
        epsilon, delta = self.laid_out_for
        return self.mechanism.settled(at_epsilon=epsilon, at_delta=delta)

    def count(self, engine: Engine, log: Any) -> Counting:
        """Refused: a series has weeks, not one log."""
        del engine, log
        raise ParameterError(
            "a series is published week by week, not as one release.",
            "Open it with tacit series open, or tacit.Series(...).open(folder), and give it each week's log.",
        )


MECHANISM = Series
