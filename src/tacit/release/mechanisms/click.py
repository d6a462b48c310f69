"""A_Click (thesis 002, chapter 3): query counts, click counts and transitions.

``pure``: over sets that are public and do not depend on the log. ``approximate``: what occurs outside them is
published too, if its noisy count passes a threshold, at the price of δ.

With p_g = 1: ε = q_f/b + q_f/b_q + c_f/b_c + (q_f - 1)/b_t for any K, twice as much under replacing. δ is the
most that one user attains in the three tables together, less than what each could alone. Derivation:
docs/guarantees/click.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.errors import ParameterError
from tacit.privacy.guarantee import Neighbours
from tacit.release import parameters
from tacit.release.mechanism import Counting, Mechanism, Plan
from tacit.release.parameters import GIVEN, Choice, StatedSet, declared, declared_noise
from tacit.release.schedule import Contribution, Keys, Noise, Part, Schedule, text_columns
from tacit.release.thresholds import appearance, smallest, survival

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.engines import Engine
    from tacit.release.planning import Portion
    from tacit.release.public_sets import PublicDomain, PublicUrls

BUNDLED_SIZE = 150_913
"""Queries in the bundled public domain (:func:`tacit.release.public_sets.bundled_domain`)."""

URLS_PER_QUERY = 10
"""Public urls of a query: a page of results."""

EXPECTED_QUERIES = 1_000
"""About how many queries are taken to be selected where a plan is made; their urls and pairs are public."""

NO_SET = "none"
"""The name of no public set at all."""

Rule = tuple[float, int]
"""A scale of noise, and a K that noisy counts must exceed."""


class ClickMode(StrEnum):
    """Whether only public keys may be published."""

    PURE = "pure"
    """Queries, urls and transitions come from public sets; thresholds are post-processing. δ = 0."""
    APPROXIMATE = "approximate"
    """What occurs outside the public sets is published too, if its noisy count passes a threshold."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Click(Mechanism):
    """A_Click: counts of queries, of clicks on them, and of steps between them.

    Without a ``delta`` it is pure: only keys of public sets are published, and every key of them gets noise.
    """

    name: ClassVar[str] = "click"
    title: ClassVar[str] = "A_Click"
    example: ClassVar[str] = "--epsilon 1 --queries-per-user 5"
    together: ClassVar[tuple[str, ...]] = ("noise", "threshold")
    given_example: ClassVar[str] = (
        "--noise 10 --threshold 10 --queries-per-user 5 --clicks-per-user 5 --no-transitions"
    )

    epsilon: float | None = parameters.declared_epsilon()
    delta: float = parameters.declared_delta(
        0.0, "δ: what the whole release may cost at most; 0 publishes keys of public sets alone."
    )
    neighbours: Neighbours = parameters.declared_neighbours()
    queries_per_user: int = declared(
        1, "q_f: how many searches of a user count; steps between them need two.", least=1
    )
    clicks_per_user: int | None = declared(
        None, "c_f: how many clicks on them count (as many as queries; 0 without public urls).", least=0
    )
    once_per_user: bool = declared(
        False,
        "Count a user once for a query, a click or a step, or each time.",
        option="--once-per-user/--count-each",
    )
    transitions: bool = declared(
        True, "Whether steps from a query to the next are published.", option="--transitions/--no-transitions"
    )
    mode: ClickMode | None = declared(
        None, "pure: public keys only; approximate: others too, for a delta (by whether a delta is given)."
    )
    domain: Any = declared(
        None,
        "Public queries: wordnet, none or a file with one query per line (wordnet in the pure mode).",
        option_type=str | None,
    )
    surfaced: Any = declared(
        None,
        "Public urls of queries, for the pure mode: wordnet, none or a file of query, tab, url.",
        option_type=str | None,
    )
    spurious: float = declared(
        10.0, "How many keys that nobody used may be expected in each table.", above=0, planning=True
    )
    pool_probability: float = declared(
        1.0,
        "p_g: chance that a public query which nobody asked takes part; below 1 it costs ε.",
        above=0,
        most=1,
    )
    same_counts: bool | None = declared(
        None,
        "Publish the number that was compared, or a fresh one under noise of its own (planned: compared).",
        option="--same-counts/--fresh-counts",
    )
    take: Choice = parameters.declared_take()
    noise: float | None = declared_noise("b: the scale of the selection's noise.")
    threshold: float | None = declared(
        None, "K: a query with a noisy count above it is published.", least=0, panel=GIVEN
    )
    noise_counts: float | None = declared_noise("b_q: fresh noise of the query counts (as `noise`).")
    noise_clicks: float | None = declared_noise("b_c: noise of the clicks (as `noise`).")
    noise_transitions: float | None = declared_noise("b_t: noise of the transitions (as `noise`).")
    threshold_clicks: float | None = declared(
        None, "Click counts above it are published (as `threshold`).", least=0, panel=GIVEN
    )
    threshold_transitions: float | None = declared(
        None, "Counts of transitions above it are published (as `threshold`).", least=0, panel=GIVEN
    )
    minimum_frequency: int = declared(
        1, "Queries with a smaller bounded count take no part in the selection.", least=1, panel=GIVEN
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("domain", "surfaced"):
            object.__setattr__(self, name, parameters.public_set(name, getattr(self, name)))
        self._refuse_two_kinds_of_counts(self.same_counts, self.noise_counts)

    @property
    def pure(self) -> bool:
        """Whether only public keys are published: said so, or no δ is granted."""
        return self.mode is ClickMode.PURE if self.mode is not None else not self.delta

    @property
    def public_queries(self) -> Any:
        """The public queries by name, or as given; in the pure mode WordNet's unless others are named."""
        if self.domain is None:
            return "wordnet" if self.pure else NO_SET
        return self.domain

    @property
    def public_urls(self) -> Any:
        """The public urls by name, or as given."""
        return NO_SET if self.surfaced is None else self.surfaced

    @property
    def counted_clicks(self) -> int:
        """c_f: as many as queries unless given, where their urls may be published."""
        if self.clicks_per_user is not None:
            return self.clicks_per_user
        return self.queries_per_user if not self.pure or self.public_urls != NO_SET else 0

    @property
    def steps_per_user(self) -> int:
        """The most transitions of a user: q_f queries have q_f - 1 steps between them."""
        return self.queries_per_user - 1 if self.transitions else 0

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        sets = {name: StatedSet(form[name]) if form[name] else NO_SET for name in ("domain", "surfaced")}
        return super().from_dict({**form, **sets})

    def plan(self) -> ClickPlan:
        """Split ε among selection, query counts, clicks and transitions with the least loss; or as given."""
        schedule = self._given_schedule() if self.given else _planned(self)
        return ClickPlan(mechanism=self, schedule=schedule)

    def _given_schedule(self) -> Schedule:
        """Lay out the given noise and thresholds; those not given are the selection's."""
        noise, K = self.noise or 0.0, self.threshold or 0.0

        def rule(scale: float | None, above: float | None) -> tuple[float, int]:
            return noise if scale is None else scale, math.floor(K if above is None else above)

        return self.schedule_with(
            queries=rule(None, None),
            fresh=None if self.same_counts else rule(self.noise_counts, None)[0],
            clicks=rule(self.noise_clicks, self.threshold_clicks),
            steps=rule(self.noise_transitions, self.threshold_transitions),
        )

    def schedule_with(self, queries: Rule, fresh: float | None, clicks: Rule, steps: Rule) -> Schedule:
        """Lay out queries, clicks and transitions; strictly greater than K is K + 1 or more."""
        beside = Keys.PUBLIC if self.pure else Keys.OCCURRING
        domain = self.public_queries != NO_SET

        def part(table: str, columns: str, records: int, rule: Rule, **more: Any) -> Part:
            contribution = Contribution((records,), once=self.once_per_user)
            names = text_columns(*columns.split())
            return Part(table, names, contribution, Noise(rule[0]), rule[1] + 1, **{"keys": beside, **more})

        parts = [
            part(
                *("queries", "query", self.queries_per_user, queries),
                fresh=None if fresh is None else Noise(fresh),
                keys=Keys.BOTH if not self.pure and domain else beside,
                minimum=self.minimum_frequency,
                chance=self.pool_probability,
            )
        ]
        if self.counted_clicks:
            within = (("query", "queries"),)
            parts.append(part("clicks", "query url", self.counted_clicks, clicks, within=within))
        if self.steps_per_user:
            both = (("query", "queries"), ("next_query", "queries"))
            parts.append(part("transitions", "query next_query", self.steps_per_user, steps, within=both))
        return Schedule(tuple(parts), self.neighbours)


@dataclass(frozen=True, kw_only=True, repr=False)
class ClickPlan(Plan[Click]):
    """An A_Click release, settled."""

    @property
    def queries(self) -> Part:
        """The selection of queries: b, K, and fresh noise where counts get it."""
        return self.schedule.part("queries")

    @property
    def same_counts(self) -> bool:
        return self.queries.fresh is None

    @property
    def besides(self) -> dict[str, Part]:
        """Clicks and transitions, where they are published."""
        return {part.table: part for part in self.schedule.parts[1:]}

    @property
    def given(self) -> Click:
        asked, queries = self.mechanism, self.queries
        beside: dict[str, Any] = {}
        for table, part in self.besides.items():
            beside |= {f"noise_{table}": part.scale, f"threshold_{table}": part.above}
        return asked.settled(
            clicks_per_user=asked.counted_clicks,
            mode=ClickMode.PURE if asked.pure else ClickMode.APPROXIMATE,
            domain=asked.public_queries,
            surfaced=asked.public_urls,
            same_counts=self.same_counts,
            noise=queries.scale,
            threshold=queries.above,
            noise_counts=None if self.same_counts else queries.error,
            **beside,
        )

    @cached_property
    def sets(self) -> dict[str, Any]:
        """The public queries and urls, read; ``none`` where there are none."""
        from tacit.release.public_sets import take_domain, take_urls

        asked = self.mechanism
        named = {"domain": (asked.public_queries, take_domain), "surfaced": (asked.public_urls, take_urls)}
        return {
            name: read(given) if isinstance(given, str) and given != NO_SET else given
            for name, (given, read) in named.items()
        }

    def to_dict(self) -> dict[str, Any]:
        stated = {name: None if known == NO_SET else known.to_dict() for name, known in self.sets.items()}
        return super().to_dict() | stated

    def _public_sets(self) -> tuple[PublicDomain | None, PublicUrls | None]:
        """The public sets that this release needs; a pure one without them is refused."""
        asked = self.mechanism
        unread = (NO_SET, None)
        domain, urls = (
            None if known in unread or isinstance(known, StatedSet) else known for known in self.sets.values()
        )
        if asked.pure and domain is None:
            raise ParameterError(
                "a pure A_Click release needs a public domain of queries; none was given.",
                "Name one with `domain` (wordnet or a file), or give a `delta` above 0.",
            )
        if asked.pure and asked.counted_clicks and urls is None:
            raise ParameterError(
                "a pure A_Click release with clicks needs public urls; none were given.",
                "Name them with `surfaced` (wordnet or a file), or set `clicks_per_user` to 0.",
            )
        return domain, urls

    def check(self) -> None:
        self._public_sets()

    def admit(self, engine: Engine, log: Any) -> None:
        from tacit.release.public_sets import refuse_domain_of_log

        known, _ = self._public_sets()
        if known is not None and known.from_file:
            refuse_domain_of_log(engine, log, known)

    def count(self, engine: Engine, log: Any) -> Counting:
        """Bounded counts of queries, clicks and transitions; the domain, and what of it nobody asked."""
        from tacit.release.contribution import counts_of

        known, _ = self._public_sets()
        counting: dict[str, Any] = {}
        domain = engine.load(known.table()) if known is not None else None
        if self.mechanism.pure:
            log = log.semi_join(domain, "query")
        searches, clicks, steps = self._bounded(engine, log)
        counting["queries"] = engine.keep(counts_of(searches, ("query",)))
        if domain is not None:
            counting["unasked"] = engine.keep(domain.anti_join(counting["queries"], "query"))
            counting["domain"] = domain
        if "clicks" in self.besides:
            counting["clicks"] = engine.keep(counts_of(clicks, ("query", "url")))
        if "transitions" in self.besides:
            counting["transitions"] = engine.keep(counts_of(steps, ("query", "next_query")))
        return counting

    def _bounded(self, engine: Engine, log: Any) -> tuple[Any, Any, Any]:
        """The searches, clicks and steps of each user that count: each time, or once for a key."""
        from tacit.release import contribution as bound

        asked = self.mechanism
        most, clicks, take = asked.queries_per_user, asked.counted_clicks, asked.take
        if not asked.once_per_user:
            searches = engine.keep(bound.bounded_searches(log, most, take))
            on_them = bound.clicks_of(log.semi_join(searches, ["user", "time", "query"]))
            return searches, bound.bounded_clicks(on_them, clicks, take), bound.steps_of(searches)
        queries = engine.keep(bound.bounded_items(log, ("query",), most, take))
        mine = log.semi_join(queries, ["user", "query"])
        clicked = bound.bounded_items(bound.clicks_of(mine), ("query", "url"), clicks, take)
        steps = bound.steps_of(bound.searches_of(mine))
        pairs = bound.bounded_items(steps, ("query", "next_query"), asked.steps_per_user, take)
        return queries, clicked, pairs

    def rows(
        self, engine: Engine, counting: Counting, part: Part, published: Mapping[str, pa.Table]
    ) -> Iterable[pa.RecordBatch]:
        if part.table == "queries":
            return self._queries(engine, counting)
        read = self._clicks if part.table == "clicks" else self._steps
        return read(engine, counting, published["queries"])

    def _queries(self, engine: Engine, counting: Counting) -> Iterable[pa.RecordBatch]:
        """Asked queries, and those of the domain that nobody asked, with a count of 0."""
        asked = counting["queries"]
        if "domain" in counting and not self.mechanism.pure:
            listed = counting["domain"].mutate(public=True)
            marked = asked.left_join(listed, "query")
            asked = marked.select("query", "count", public=marked.public.fill_null(False))
        elif self.mechanism.pure:
            asked = asked.mutate(public=True)
        if "unasked" in counting:
            import ibis

            nobody = counting["unasked"].select("query", count=ibis.literal(0, "int64"), public=True)
            asked = asked.union(nobody)
        return engine.batches(asked)

    def _clicks(self, engine: Engine, counting: Counting, queries: pa.Table) -> Iterable[pa.RecordBatch]:
        """Urls of published queries: public urls in the pure mode, else those clicked."""
        chosen = engine.load(queries.select(["query"]))
        _, urls = self._public_sets()
        if not self.mechanism.pure or urls is None:
            return engine.batches(counting["clicks"].semi_join(chosen, "query"))
        keys = engine.load(urls.keys(queries))
        counted = keys.left_join(counting["clicks"], ["query", "url"])
        return engine.batches(counted.select("query", "url", count=counted["count"].fill_null(0)))

    def _steps(self, engine: Engine, counting: Counting, queries: pa.Table) -> Iterable[pa.RecordBatch]:
        """Steps between published queries: all pairs in the pure mode, else those taken."""
        from tacit.release.public_sets import pairs_of_selected

        chosen = engine.load(queries.select(["query"]))
        taken = counting["transitions"].semi_join(chosen, "query")
        taken = taken.semi_join(chosen.rename(next_query="query"), "next_query")
        if self.mechanism.pure:
            return pairs_of_selected(queries, engine.table(taken))
        return engine.batches(taken)


def domain_size(domain: Any) -> int:
    """Count how many queries the public domain has; the bundled one need not be made to know it."""
    if domain == NO_SET:
        return 0
    if domain == "wordnet":
        return BUNDLED_SIZE
    if isinstance(domain, str):
        from tacit.release.public_sets import take_domain

        domain = take_domain(domain)
    return len(domain)


def spurious_queries(asked: Click, size: int, noise: float, threshold: int) -> float:
    """Count how many public queries of count 0 are expected above the threshold, at most."""
    return size * asked.pool_probability * survival(noise, threshold + 1)


def _planned(asked: Click) -> Schedule:
    """The split of ε with the least loss, and the least thresholds that hold with it."""
    from tacit.release.analysis import guarantee_of
    from tacit.release.planning import least_thresholds, require_delta, settle_noise, split

    epsilon, delta = (asked.budget()[0], 0.0) if asked.pure else require_delta(asked)
    size = domain_size(asked.public_queries)
    if asked.pure and not size:
        raise ParameterError(
            "a pure release publishes queries of a public domain only; there is none.",
            "Name one with `domain`, or give a `delta` above 0 to publish what lies outside a domain.",
        )
    one_way = epsilon / asked.neighbours.users_changed
    sampling = -asked.queries_per_user * math.log(asked.pool_probability)  # what a pool of p_g < 1 costs
    if sampling >= one_way:
        raise ParameterError(
            f"sampling the public queries with chance {asked.pool_probability} alone costs "
            f"{sampling:.3g}, all of epsilon.",
            "Leave `pool_probability` at 1, which costs nothing.",
        )
    selection, counts, clicks, steps = split(_portions(asked, size), one_way - sampling, delta)
    schedule = asked.schedule_with(
        (selection.noise, selection.threshold),
        counts.noise if asked.same_counts is False else None,
        (clicks.noise, clicks.threshold),
        (steps.noise, steps.threshold),
    )

    def kept(candidate: Schedule) -> bool:
        found, queries = guarantee_of(candidate), candidate.part("queries")
        spurious = spurious_queries(asked, size, queries.scale, queries.above)
        return found.epsilon <= epsilon and found.delta <= delta and spurious <= asked.spurious

    # the promise to the last bit; then each threshold that what is left of δ still affords
    schedule = settle_noise(schedule, "queries", epsilon)
    return schedule if asked.pure else least_thresholds(schedule, kept)


def _portions(asked: Click, size: int) -> list[Portion]:
    from tacit.release.analysis import fresh_keys_loss
    from tacit.release.planning import Portion

    q_f, paying, same = asked.queries_per_user, not asked.pure, asked.same_counts is not False

    def appears(records: int, noise: float, K: int) -> float:
        return appearance(fresh_keys_loss(Contribution((records,), asked.once_per_user), noise, K))

    def query_threshold(noise: float, delta: float) -> int:
        return smallest(
            lambda K: (
                spurious_queries(asked, size, noise, K) <= asked.spurious
                and (not paying or appears(q_f, noise, K) <= delta)
            )
        )

    def key_portion(records: int, public: int) -> Portion:
        def threshold(noise: float, delta: float) -> int:
            if paying:
                return smallest(lambda K: appears(records, noise, K) <= delta)
            return smallest(lambda K: public * survival(noise, K + 1) <= asked.spurious)

        return Portion(records, threshold, pays_delta=paying)

    return [
        Portion(q_f, query_threshold, pays_delta=paying, published=same),
        Portion(0 if same else q_f),
        key_portion(asked.counted_clicks, EXPECTED_QUERIES * URLS_PER_QUERY),
        key_portion(asked.steps_per_user, EXPECTED_QUERIES * (EXPECTED_QUERIES - 1)),
    ]


MECHANISM = Click
