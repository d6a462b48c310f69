"""From the records of neighbouring logs, through the plans that run on DuckDB, to the exact divergence.

The guarantee is proved for counts that one user moves by so much. Here the counts are those of the real
mechanisms, on logs made to provoke them: ties in time, sessions that end just so, repeated queries, several
clicks on a search, users far over their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.short_forms import click_parameters, session_parameters, zealous_parameters

from tacit.audit import exact
from tacit.audit.checks import Atom, compared_outputs, fresh_outputs, shown_together
from tacit.engines import Engine, open_engine
from tacit.privacy import Neighbours
from tacit.release.mechanisms.click import ClickMode
from tacit.release.parameters import Choice
from tacit.release.public_sets import PublicDomain, PublicUrls
from tacit.searchlog import SCHEMA

START = datetime(2006, 3, 1)
DOMAIN = PublicDomain("small", pa.array(["java", "tea"], pa.string()))
URLS = ("http://a", "http://b")
SURFACED = PublicUrls("small", lambda query: URLS)

Record = tuple[str, datetime, str | None]
Log = list[tuple[str, list[Record]]]
Counts = dict[str, dict[tuple[Any, ...], int]]

records = st.tuples(
    st.sampled_from(["java", "tea", "java tea", "rare", "rare java"]),
    st.sampled_from([0, 0, 1, 5, 29, 31, 62, 95, 200]).map(
        lambda minutes: START + timedelta(minutes=minutes)
    ),
    st.sampled_from([None, "http://a", "http://b", "http://c"]),
)
histories = st.lists(records, max_size=8)
SETTINGS = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with open_engine(threads=1) as opened:
        yield opened


def counted(engine: Engine, mechanism: Any, log: Log) -> Counts:
    """The secret counts of a log, as the release computes them."""
    rows = [
        (user, query, time, None if url is None else 1, url)
        for user, history in log
        for query, time, url in history
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], [], [], []]
    table = engine.load(pa.table(dict(zip(SCHEMA.names, columns, strict=True)), SCHEMA))
    counting = mechanism.count(engine, table)
    found: Counts = {}
    for name, kept in counting.items():
        read = engine.table(kept)
        if "count" in read.schema.names:
            keys = [read.column(column).to_pylist() for column in read.schema.names if column != "count"]
            found[name] = dict(zip(zip(*keys, strict=True), read.column("count").to_pylist(), strict=True))
    return found


KeyOutputs = Callable[[str, tuple[Any, ...], int, int], tuple[Atom, exact.Pair]]
WITHIN = {"clicks": 1, "transitions": 2}
"""How many columns of a click or a step must be published queries, in A_Click."""


def leak(engine: Engine, mechanism: Any, outputs: KeyOutputs, left: Log, right: Log) -> float:
    """The exact divergence of what the mechanism publishes of two logs, at its claimed ε."""
    first, second = counted(engine, mechanism, left), counted(engine, mechanism, right)
    queries, within, free = {}, [], []
    for name in first:
        for key in sorted(first[name].keys() | second[name].keys(), key=repr):
            one, two = first[name].get(key, 0), second[name].get(key, 0)
            if one == two:
                continue
            missing, shown = outputs(name, key, one, two)
            pair = exact.Pair.of([missing, *shown.atoms])
            if mechanism.name != "click":
                free.append(pair)
            elif name in WITHIN:
                within.append((set(key[: WITHIN[name]]), pair))
            else:
                queries[key[0]] = (missing, shown)
    pair = exact.product([*free, shown_together(queries, within)])
    return float(exact.divergence(pair, math.exp(mechanism.guarantee.epsilon)))


def holds(
    engine: Engine,
    make: Callable[[Neighbours], Any],
    outputs: KeyOutputs,
    others: list[list[Record]],
    one: list[Record],
    two: list[Record],
) -> None:
    base = [(f"u{number}", history) for number, history in enumerate(others)]
    for left, right, relation in (
        (base, [*base, ("v", one)], Neighbours.ADD_REMOVE),
        ([*base, ("v", one)], [*base, ("v", two)], Neighbours.REPLACE),
    ):
        mechanism = make(relation)
        found = leak(engine, mechanism, outputs, left, right)
        assert found <= mechanism.guarantee.delta * (1 + 1e-9) + 1e-12


def selected(
    noise: float, counts: float | None, threshold: int, one: int | None, two: int | None
) -> tuple[Atom, exact.Pair]:
    """Selected above a threshold, then published: afresh, or as compared."""
    a = math.exp(-1 / noise)
    if counts is None:
        return compared_outputs(a, one, two, threshold + 1)
    chances = [0.0 if n is None else exact.survival(a, threshold + 1 - n) for n in (one, two)]
    return fresh_outputs(chances[0], chances[1], exact.noisy(math.exp(-1 / counts), one or 0, two or 0))


@SETTINGS
@given(
    st.lists(histories, max_size=3), histories, histories, st.integers(1, 2), st.sampled_from(list(Choice))
)
def test_zealous(engine: Engine, others, one, two, m: int, choice: Choice) -> None:
    p = zealous_parameters(m, 1.5, 1, 3, histograms=4)
    holds(
        engine,
        lambda relation: replace(p, neighbours=relation, take=choice).plan(),
        lambda _, key, a, b: selected(p.noise, None, p.threshold_2 - 1, a or None, b or None),
        others,
        one,
        two,
    )


@SETTINGS
@given(
    st.lists(histories, max_size=3),
    histories,
    histories,
    st.integers(1, 3),
    st.sampled_from(list(ClickMode)),
    st.sampled_from([None, 2.0]),
    st.sampled_from(list(Choice)),
)
def test_click(engine: Engine, others, one, two, bound: int, mode: ClickMode, counts, choice: Choice) -> None:
    p = click_parameters(bound, 2, 1.5, 2, counts, 1.0, 2.5, True, 3, 1, mode=mode)

    def key_pair(name: str, key: tuple[Any, ...], a: int, b: int) -> tuple[Atom, exact.Pair]:
        domain = DOMAIN.queries.to_pylist()
        public = {
            "queries": lambda: key[0] in domain,
            "clicks": lambda: mode is ClickMode.PURE and key[0] in domain and key[1] in URLS,
            "transitions": lambda: mode is ClickMode.PURE and key[0] in domain and key[1] in domain,
        }[name]()
        if mode is ClickMode.PURE and not public:
            return (1.0, 1.0), exact.Pair(())  # counted, and never shown
        shown = [count if count or public else None for count in (a, b)]
        noise, fresh, threshold = {
            "queries": (p.noise, p.noise_counts, p.threshold),
            "clicks": (p.noise_clicks, None, p.threshold_clicks),
            "transitions": (p.noise_transitions, None, p.threshold_transitions),
        }[name]
        return selected(noise, fresh, threshold, shown[0], shown[1])

    holds(
        engine,
        lambda relation: replace(
            p, domain=DOMAIN, surfaced=SURFACED, neighbours=relation, take=choice
        ).plan(),
        key_pair,
        others,
        one,
        two,
    )


@SETTINGS
@given(
    st.lists(histories, max_size=3),
    histories,
    histories,
    st.sampled_from([(1, 2), (1, 3), (2, 2), (2, 3)]),
    st.booleans(),
    st.sampled_from([None, 2.0]),
    st.sampled_from(list(Choice)),
)
def test_session(engine: Engine, others, one, two, bounds, once: bool, counts, choice: Choice) -> None:
    p = session_parameters(*bounds, 2.0, 3, counts, once, (2, 1.0, 2, counts))

    def key_pair(name: str, key: tuple[Any, ...], a: int, b: int) -> tuple[Atom, exact.Pair]:
        noise, threshold, _, fresh = (2.0, 3, None, counts) if name == "sessions" else (1.0, 2, None, counts)
        return selected(noise, fresh, threshold, a or None, b or None)

    holds(
        engine,
        lambda relation: replace(p, neighbours=relation, take=choice).plan(),
        key_pair,
        others,
        one,
        two,
    )


def test_the_check_fails_for_a_bound_that_is_not_kept(engine: Engine) -> None:
    """The counts of two items a user, held against the claim for one: the same check must not pass."""
    one = zealous_parameters(1, 1.5, 1, 6)
    two = zealous_parameters(2, 1.5, 1, 6)
    later = START + timedelta(minutes=1)
    user: list[Record] = [("rare", START, None), ("rare java", later, None)]

    def fresh(_: str, key: tuple[Any, ...], a: int, b: int) -> tuple[Atom, exact.Pair]:
        return selected(1.5, None, 5, a or None, b or None)

    kept, broken = one.plan(), two.plan()
    assert leak(engine, kept, fresh, [], [("v", user)]) <= kept.guarantee.delta * (1 + 1e-9)
    assert leak(engine, broken, fresh, [], [("v", user)]) > kept.guarantee.delta * 1.5
