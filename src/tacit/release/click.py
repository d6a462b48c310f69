"""A_Click (thesis 002, chapter 3): query counts, click counts and transitions.

Of each user the first q_f searches count, the first c_f clicks on them, and the steps between them. A query
is selected iff its count + X > K; then its count, its clicks and its transitions are published under noise
of their own. Guarantee: :mod:`tacit.release.analysis.click`.

In the **pure** mode every key is public, and every key gets noise whether it occurs or not: queries of the
domain, the urls they surface (:mod:`tacit.release.surfaced`), and the ordered pairs of queries that were
selected, which are public once the selection is. In the **approximate** mode what occurs outside is
published too if its noisy count passes a threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, Neighbours
from tacit.privacy.events import Event
from tacit.privacy.noise import bernoulli
from tacit.privacy.randomness import RandomSource
from tacit.release.analysis import click as analysis
from tacit.release.analysis.accounting import click_event
from tacit.release.analysis.charge import Charge, PaperFigure
from tacit.release.analysis.click import ClickMode, ClickParameters
from tacit.release.click_steps import click_steps
from tacit.release.contribution import Choice, bounded_clicks, bounded_searches, clicks_of, steps_of
from tacit.release.engines import Engine
from tacit.release.mechanism import Counting, Step, Tables
from tacit.release.pool import Domain
from tacit.release.surfaced import Surfaced
from tacit.release.thresholding import Selected, publish, select
from tacit.release.transitions import pairs_of_selected
from tacit.release.zealous import key_schema

__all__ = ["Click"]

_QUERY = key_schema(("query",))
_CLICK = key_schema(("query", "url"))
_STEP = key_schema(("query", "next_query"))


@dataclass(frozen=True)
class Click:
    """An A_Click release.

    Args:
        parameters: q_f, c_f, b, K, b_q, b_c, b_t, p_g and the mode.
        domain: the public queries; needed in the pure mode.
        surfaced: the public urls; needed in the pure mode where clicks are published.
        neighbours: which logs are neighbours.
        choice: which searches and clicks of a user are taken when there are too many.
    """

    parameters: ClickParameters
    domain: Domain | None = None
    surfaced: Surfaced | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    choice: Choice = Choice.FIRST

    name = "click"

    def guarantee(self) -> Guarantee:
        """Pure, or (ε,δ)-indistinguishability in the approximate mode."""
        return analysis.guarantee(self.parameters, self.neighbours)

    def charges(self) -> tuple[Charge, ...]:
        """Selection, query counts, clicks, transitions."""
        return analysis.charges(self.parameters)

    def paper(self) -> PaperFigure:
        """Theorem 1 of the thesis."""
        return analysis.paper_figure(self.parameters)

    def event(self) -> Event:
        """Noisy counts and, beyond public sets, a rare disclosure: less than their sum by ``pld``."""
        return click_event(self.parameters, self.neighbours)

    @property
    def pure(self) -> bool:
        """Whether only public keys are published."""
        return self.parameters.mode is ClickMode.PURE

    def to_dict(self) -> dict[str, Any]:
        """Every parameter; the public sets by name and digest."""
        domain = self.domain and {
            "name": self.domain.name,
            "queries": len(self.domain),
            "sha256": self.domain.digest,
        }
        return {
            **asdict(self.parameters),
            "mode": self.parameters.mode.value,
            "domain": domain,
            "surfaced": self.surfaced and {"name": self.surfaced.name, "sha256": self.surfaced.digest},
            "neighbours": self.neighbours.value,
            "choice": self.choice.value,
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Click:
        """What ``to_dict`` wrote, without domain and urls: for its guarantee, not to run."""
        names = ClickParameters.__dataclass_fields__
        parameters = ClickParameters(**{name: form[name] for name in names})
        return cls(parameters, None, None, Neighbours(form["neighbours"]), Choice(form["choice"]))

    def steps(self) -> Sequence[Step]:
        """As the thesis lists them."""
        return click_steps(self.parameters, self.choice, self.domain)

    def check(self) -> None:
        """Refuse a pure release without the public sets that it needs."""
        if self.pure and self.domain is None:
            raise ParameterError(
                "a pure A_Click release needs a public domain of queries; none was given.",
                "Give --domain wordnet or a file, or a --delta above 0 for the approximate mode.",
            )
        if self.pure and self.parameters.clicks_per_user and self.surfaced is None:
            raise ParameterError(
                "a pure A_Click release with clicks needs public urls; none were given.",
                "Give --surfaced wordnet or a file, or --clicks-per-user 0.",
            )

    def count(self, engine: Engine, log: Any) -> Counting:
        """Bounded counts: ``queries`` (with those of the domain that nobody asked), ``clicks``, ``steps``."""
        self.check()
        p = self.parameters
        counting: dict[str, Any] = {}
        domain = engine.load(self.domain.table()) if self.domain is not None else None
        if self.pure:
            log = log.semi_join(domain, "query")
        searches = engine.keep(bounded_searches(log, p.queries_per_user, self.choice))
        asked = searches.group_by("query").aggregate(count=searches.count())
        counting["queries"] = engine.keep(asked)
        if domain is not None:
            counting["unasked"] = engine.keep(domain.anti_join(counting["queries"], "query"))
            counting["domain"] = domain
        if p.clicks_per_user:
            on_them = clicks_of(log.semi_join(searches, ["user", "time", "query"]))
            clicks = bounded_clicks(on_them, p.clicks_per_user, self.choice)
            counting["clicks"] = engine.keep(
                clicks.group_by(["query", "url"]).aggregate(count=clicks.count())
            )
        if p.steps_per_user:
            taken = steps_of(searches)
            counting["steps"] = engine.keep(
                taken.group_by(["query", "next_query"]).aggregate(count=taken.count())
            )
        return counting

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """Select queries; publish their counts, clicks and transitions."""
        p = self.parameters
        assert p.threshold_clicks is not None and p.threshold_transitions is not None
        selected = self._select_queries(engine, counting, source)
        tables = {"queries": publish(selected, p.noise_queries, source)}
        chosen = engine.load(selected.keys)
        if p.clicks_per_user:
            batches = self._click_counts(engine, counting, chosen, selected)
            passed = select(batches, _CLICK, p.noise_clicks, p.threshold_clicks + 1, source)
            tables["clicks"] = publish(passed, None, source)
        if p.steps_per_user:
            taken = counting["steps"].semi_join(chosen, "query")
            taken = taken.semi_join(chosen.rename(next_query="query"), "next_query")
            least = p.threshold_transitions + 1
            if self.pure:
                rows = pairs_of_selected(tables["queries"], engine.table(taken))
            else:
                rows = engine.batches(taken)
            passed = select(rows, _STEP, p.noise_transitions, least, source)
            tables["transitions"] = publish(passed, None, source)
        return tables

    def _select_queries(self, engine: Engine, counting: Counting, source: RandomSource) -> Selected:
        return select(
            self._candidates(engine, counting, source),
            _QUERY,
            self.parameters.noise,
            self.parameters.threshold + 1,
            source,
        )

    def _candidates(
        self, engine: Engine, counting: Counting, source: RandomSource
    ) -> Iterator[pa.RecordBatch]:
        """All queries that take part, with the count that is compared: asked ones, then unasked ones.

        Below the minimum frequency a query of the domain takes part with count 0, another not at all.
        """
        p = self.parameters
        asked = counting["queries"]
        if p.minimum_frequency > 1:
            enough = asked["count"] >= p.minimum_frequency
            frequent, rare = asked.filter(enough), asked.filter(~enough)
            yield from engine.batches(frequent)
            if self.domain is not None:
                known = rare.semi_join(counting["domain"], "query")
                for batch in engine.batches(known):
                    yield from _by_chance(_with_eligible_zero(batch), p.pool_probability, source)
        else:
            yield from engine.batches(asked)
        if self.domain is not None:
            for batch in engine.batches(counting["unasked"]):
                zeros = pa.array(np.zeros(batch.num_rows, np.int64))
                yield from _by_chance(batch.append_column("count", zeros), p.pool_probability, source)

    def _click_counts(
        self, engine: Engine, counting: Counting, chosen: Any, selected: Selected
    ) -> Iterator[pa.RecordBatch]:
        """Counts of the urls of selected queries: public urls in the pure mode, else those clicked."""
        if not self.pure:
            return engine.batches(counting["clicks"].semi_join(chosen, "query"))
        assert self.surfaced is not None  # checked before counting
        keys = engine.load(self.surfaced.keys(selected.keys))
        counted = keys.left_join(counting["clicks"], ["query", "url"])
        return engine.batches(counted.select("query", "url", count=counted["count"].fill_null(0)))


def _with_eligible_zero(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.append_column("eligible", pa.array(np.zeros(batch.num_rows, np.int64)))


def _by_chance(batch: pa.RecordBatch, chance: float, source: RandomSource) -> Iterator[pa.RecordBatch]:
    """Each row with probability p_g."""
    yield batch if chance == 1 else batch.filter(pa.array(bernoulli(chance, batch.num_rows, source)))
