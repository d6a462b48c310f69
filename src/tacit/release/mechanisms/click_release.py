"""A_Click (thesis 002, chapter 3), carried out on a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import ParameterError
from tacit.release.analysis import PaperFigure
from tacit.release.contribution import (
    bounded_clicks,
    bounded_items,
    bounded_searches,
    clicks_of,
    searches_of,
    steps_of,
)
from tacit.release.document.manifest import is_hash
from tacit.release.engines import Engine
from tacit.release.mechanism import Counting, DescribedStep, FurtherStatement, ScheduledMechanism
from tacit.release.mechanisms import click as analysis
from tacit.release.mechanisms import click as planner
from tacit.release.mechanisms import click_words as words
from tacit.release.mechanisms.click import ClickParameters, StatedSet, click_schedule
from tacit.release.planning import PaperSetting
from tacit.release.public_sets import (
    BUNDLED,
    PublicDomain,
    PublicUrls,
    bundled_domain,
    refuse_domain_of_log,
    take_domain,
    take_urls,
)
from tacit.release.schedule import Part, Schedule

MOST_QUERIES = 4000
"""Queries whose pairs are considered: 16 million pairs at most."""
_ROWS = 256


def pairs_of_selected(queries: pa.Table, taken: pa.Table) -> Iterator[pa.RecordBatch]:
    """Every ordered pair of different published queries with the true count of its steps.

    Args:
        queries: what is published, largest count first.
        taken: (query, next_query, count) of steps between selected queries. Secret.
    """
    names = queries.column("query").slice(0, MOST_QUERIES).combine_chunks()
    if isinstance(names, pa.ChunkedArray):
        names = pa.concat_arrays(names.chunks) if names.num_chunks else pa.array([], pa.string())
    size = len(names)
    start = np.asarray(pc.fill_null(pc.index_in(taken.column("query"), names), -1))
    end = np.asarray(pc.fill_null(pc.index_in(taken.column("next_query"), names), -1))
    counts = np.asarray(taken.column("count").cast(pa.int64()))
    inside = (start >= 0) & (end >= 0)
    start, end, counts = start[inside], end[inside], counts[inside]
    for first in range(0, size, _ROWS):
        rows = np.arange(first, min(first + _ROWS, size))
        here = (start >= first) & (start < first + _ROWS)
        block = np.zeros((len(rows), size), np.int64)
        block[start[here] - first, end[here]] = counts[here]
        source, target = np.divmod(np.arange(block.size), size)
        different = source + first != target
        yield pa.record_batch(
            [
                pa.DictionaryArray.from_arrays(pa.array(source[different] + first, pa.int32()), names),
                pa.DictionaryArray.from_arrays(pa.array(target[different], pa.int32()), names),
                pa.array(block.ravel()[different]),
            ],
            names=["query", "next_query", "count"],
        )


def check_public_sets(stated: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether they are named with their digests, and the bundled one is what it claims to be."""
    domain, surfaced, pure = stated["domain"], stated["surfaced"], stated["mode"] == "pure"
    if pure and (domain is None or (stated["clicks_per_user"] and surfaced is None)):
        return False, "a pure release without them"
    for listed, fields in ((domain, {"name", "queries", "sha256"}), (surfaced, {"name", "sha256"})):
        if listed is not None and not (set(listed) - {"origin"} == fields and is_hash(listed["sha256"])):
            return False, "no digest"
    if domain is not None and domain["name"] == BUNDLED:
        made = bundled_domain()
        return (len(made), made.digest) == (domain["queries"], domain["sha256"]), "made again"
    return True, ""


class Click(ScheduledMechanism[ClickParameters]):
    """An A_Click release."""

    Parameters = ClickParameters

    def plan(self, asked: ClickParameters) -> ClickParameters:
        """Noise and thresholds for ε and δ, unless given."""
        return planner.plan(asked)

    def schedule(self) -> Schedule:
        """Queries, clicks, transitions."""
        return click_schedule(self.parameters)

    @cached_property
    def domain(self) -> PublicDomain | StatedSet | None:
        """The public queries."""
        given = self.parameters.domain
        return take_domain(given) if isinstance(given, str) else given

    @cached_property
    def surfaced(self) -> PublicUrls | StatedSet | None:
        """The public urls."""
        given = self.parameters.surfaced
        return take_urls(given) if isinstance(given, str) else given

    def paper(self) -> PaperFigure:
        """Theorem 1 of the thesis."""
        return analysis.paper_figure(self.parameters, self.asked.threshold)

    def paper_setting(self) -> PaperSetting | None:
        """What the thesis would choose."""
        return planner.paper_setting(self.asked)

    def figures(self) -> dict[str, float]:
        """How often a query must be asked, and how far off its count is."""
        return planner.figures(self.parameters)

    def words(self) -> Sequence[str]:
        """What the parameters mean and cost."""
        return words.words(self.parameters, self.figures(), planner.domain_size(self.parameters.domain))

    def steps(self) -> Sequence[DescribedStep]:
        """As the thesis lists them."""
        given = self.parameters.domain
        name = given if isinstance(given, str) else getattr(given, "name", "")
        return words.steps(self.parameters, name, planner.domain_size(given))

    def further(self) -> FurtherStatement:
        """On what the guarantee rests."""
        return words.further(self.parameters)

    def still_learns(self) -> Sequence[str]:
        """Rows without users, in the pure mode."""
        return words.still_learns(self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """Every parameter; the public sets by name and digest."""
        sets = {"domain": self.domain, "surfaced": self.surfaced}
        return super().to_dict() | {name: known and known.to_dict() for name, known in sets.items()}

    def _public_sets(self) -> tuple[PublicDomain | None, PublicUrls | None]:
        """The public sets that this release needs; a pure one without them is refused."""
        p = self.parameters
        domain, urls = self.domain, self.surfaced
        if p.pure and not isinstance(domain, PublicDomain):
            raise ParameterError(
                "a pure A_Click release needs a public domain of queries; none was given.",
                "Name one with `domain` (wordnet or a file), or give a `delta` above 0.",
            )
        if p.pure and p.clicks_per_user and not isinstance(urls, PublicUrls):
            raise ParameterError(
                "a pure A_Click release with clicks needs public urls; none were given.",
                "Name them with `surfaced` (wordnet or a file), or set `clicks_per_user` to 0.",
            )
        return (
            domain if isinstance(domain, PublicDomain) else None,
            urls if isinstance(urls, PublicUrls) else None,
        )

    def check(self) -> None:
        """Refuse a pure release without the public sets that it needs."""
        self._public_sets()

    def admit(self, engine: Engine, log: Any) -> None:
        """A domain from a file must not be the log's own list of queries."""
        known, _ = self._public_sets()
        if known is not None and known.from_file:
            refuse_domain_of_log(engine, log, known)

    def count(self, engine: Engine, log: Any) -> Counting:
        """Bounded counts of queries, clicks and transitions; the domain, and what of it nobody asked."""
        p = self.parameters
        known, _ = self._public_sets()
        counting: dict[str, Any] = {}
        domain = engine.load(known.table()) if known is not None else None
        if p.pure:
            log = log.semi_join(domain, "query")
        searches, clicks, steps = self._bounded(engine, log)
        asked = searches.group_by("query").aggregate(count=searches.count())
        counting["queries"] = engine.keep(asked)
        if domain is not None:
            counting["unasked"] = engine.keep(domain.anti_join(counting["queries"], "query"))
            counting["domain"] = domain
        if p.clicks_per_user:
            counting["clicks"] = engine.keep(
                clicks.group_by(["query", "url"]).aggregate(count=clicks.count())
            )
        if p.steps_per_user:
            counting["transitions"] = engine.keep(
                steps.group_by(["query", "next_query"]).aggregate(count=steps.count())
            )
        return counting

    def _bounded(self, engine: Engine, log: Any) -> tuple[Any, Any, Any]:
        """The searches, clicks and steps of each user that count: each time, or once for a key."""
        p = self.parameters
        most, clicks = p.queries_per_user, p.clicks_per_user or 0
        if not p.once_per_user:
            searches = engine.keep(bounded_searches(log, most, p.take))
            on_them = clicks_of(log.semi_join(searches, ["user", "time", "query"]))
            return searches, bounded_clicks(on_them, clicks, p.take), steps_of(searches)
        queries = engine.keep(bounded_items(log, ("query",), most, p.take))
        mine = log.semi_join(queries, ["user", "query"])
        clicked = bounded_items(clicks_of(mine), ("query", "url"), clicks, p.take)
        steps = steps_of(searches_of(mine))
        return queries, clicked, bounded_items(steps, ("query", "next_query"), p.steps_per_user, p.take)

    def rows(
        self, engine: Engine, counting: Counting, part: Part, published: Mapping[str, pa.Table]
    ) -> Iterable[pa.RecordBatch]:
        """Queries; then urls, and steps, of the queries that were published."""
        if part.table == "queries":
            return self._queries(engine, counting)
        queries = published["queries"]
        if part.table == "clicks":
            return self._clicks(engine, counting, queries)
        return self._steps(engine, counting, queries)

    def _queries(self, engine: Engine, counting: Counting) -> Iterator[pa.RecordBatch]:
        """Asked queries, then those of the domain that nobody asked, with a count of 0."""
        asked = counting["queries"]
        if "domain" in counting and not self.parameters.pure:
            listed = counting["domain"].mutate(public=True)
            marked = asked.left_join(listed, "query")
            asked = marked.select("query", "count", public=marked.public.fill_null(False))
        elif self.parameters.pure:
            asked = asked.mutate(public=True)
        yield from engine.batches(asked)
        if "unasked" in counting:
            for batch in engine.batches(counting["unasked"]):
                zeros = pa.array(np.zeros(batch.num_rows, np.int64))
                all_public = pa.array(np.ones(batch.num_rows, np.bool_))
                yield batch.append_column("count", zeros).append_column("public", all_public)

    def _clicks(self, engine: Engine, counting: Counting, queries: pa.Table) -> Iterator[pa.RecordBatch]:
        """Urls of published queries: public urls in the pure mode, else those clicked."""
        chosen = engine.load(queries.select(["query"]))
        if not self.parameters.pure:
            return engine.batches(counting["clicks"].semi_join(chosen, "query"))
        _, urls = self._public_sets()
        assert urls is not None  # checked before counting
        keys = engine.load(urls.keys(queries))
        counted = keys.left_join(counting["clicks"], ["query", "url"])
        return engine.batches(counted.select("query", "url", count=counted["count"].fill_null(0)))

    def _steps(self, engine: Engine, counting: Counting, queries: pa.Table) -> Iterator[pa.RecordBatch]:
        """Steps between published queries: all pairs in the pure mode, else those taken."""
        chosen = engine.load(queries.select(["query"]))
        taken = counting["transitions"].semi_join(chosen, "query")
        taken = taken.semi_join(chosen.rename(next_query="query"), "next_query")
        if self.parameters.pure:
            return pairs_of_selected(queries, engine.table(taken))
        return engine.batches(taken)

    def checks(self, stated: Mapping[str, Any]) -> Iterable[tuple[str, Callable[[], tuple[bool, str]]]]:
        """A pure guarantee holds over public sets; the bundled one can be made again and compared."""
        yield "the public sets are named, with their digests", lambda: check_public_sets(stated)


MECHANISM = Click
