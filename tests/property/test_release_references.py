"""With noise off each mechanism equals a reference of ten lines on small logs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.drawn import SeededRandomness
from tests.short_forms import click_parameters, session_parameters, zealous_parameters

from tacit import KQuery
from tacit.engines import Engine, open_engine
from tacit.release.mechanism import Mechanism, run
from tacit.release.mechanisms.click import ClickMode
from tacit.release.parameters import Choice, Item
from tacit.release.public_sets import PublicDomain, PublicUrls
from tacit.searchlog import SCHEMA
from tacit.text import STOP_WORDS, words

START = datetime(2006, 3, 1)
Record = tuple[str, str, datetime, str | None]

queries = st.sampled_from(["java", "java island", "the java's", "coffee", "weather", "ärger 'n' co"])
record = st.tuples(
    st.sampled_from(["u1", "u2", "u3", "u4"]),
    queries,
    # A few times, close together and far apart, so that ties and session ends are common.
    st.sampled_from([0, 0, 1, 5, 30, 31, 60, 95, 200]).map(lambda n: START + timedelta(minutes=n)),
    st.sampled_from([None, None, "http://a", "http://b"]),
)
logs = st.lists(record, max_size=25)
choices = st.sampled_from(list(Choice))
SETTINGS = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with open_engine(threads=1) as opened:
        yield opened


def released(engine: Engine, mechanism: Mechanism, records: list[Record]) -> dict[str, Counter]:
    """The tables of a noiseless release, as counters by key."""
    columns = list(zip(*records, strict=True)) or [(), (), (), ()]
    user, query, time, url = (list(column) for column in columns)
    rank = [None if u is None else 1 for u in url]
    log = engine.load(pa.table(dict(zip(SCHEMA.names, [user, query, time, rank, url], strict=True)), SCHEMA))
    tables = run(mechanism, engine, log, SeededRandomness(0))
    found = {}
    for name, table in tables.items():
        *keys, counts = (column.to_pylist() for column in table.columns)
        rows = list(zip(*keys, strict=True))
        assert len(set(map(str, rows))) == len(rows)
        assert counts == sorted(counts, reverse=True)
        if name == "sessions":
            rows = [tuple(row[0]) for row in rows]
        found[name] = Counter(dict(zip(rows, counts, strict=True)))
    return found


def by_user(rows):
    """Rows (user, time, *key), each once, grouped by user in order of time and key."""
    ordered = sorted(set(rows))
    return [[row[1:] for row in group] for _, group in itertools.groupby(ordered, lambda row: row[0])]


def sessions(searches):
    """One user's (time, query) cut where more than half an hour passes."""
    cut: list[list] = []
    for time, query in searches:
        if not cut or time - cut[-1][-1][0] > timedelta(minutes=30):
            cut.append([])
        cut[-1].append((time, query))
    return cut


def steps(searches):
    return [
        (time, (query, following))
        for session in sessions(searches)
        for (time, query), (_, following) in itertools.pairwise(session)
        if query != following
    ]


def items(records: list[Record], item: Item):
    """(user, time, key) of every item."""
    if item is Item.KEYWORDS:
        return [(u, t, (w,)) for u, q, t, _ in records for w in words(q) if w not in STOP_WORDS]
    if item is Item.QUERIES:
        return [(u, t, (q,)) for u, q, t, _ in records]
    if item is Item.CLICKS:
        return [(u, t, (q, url)) for u, q, t, url in records if url is not None]
    return [
        (user, *step)
        for user in {r[0] for r in records}
        for step in steps(sorted({(t, q) for u, q, t, _ in records if u == user}))
    ]


def order(choice: Choice, rows=()):
    """Earliest first, latest first, or most of ``rows`` with the same key first; ties by time and key."""
    sign = -1 if choice is Choice.LAST else 1
    had = Counter(row[1:] for row in rows) if choice is Choice.FREQUENT else Counter()
    return lambda row: (-had[row[1:]], sign * (row[0] - START), *row[1:])


def zealous_reference(records, item, m, tau, T, choice):
    count: Counter = Counter()
    listed = items(records, item)
    for user in sorted({user for user, *_ in listed}):
        rows = [row[1:] for row in listed if row[0] == user]  # a record each: two clicks count twice
        pick = max if choice is Choice.LAST else min
        when = {key: pick(t for t, k in rows if k == key) for _, key in rows}
        ranked = sorted(((t, key) for key, t in when.items()), key=order(choice, rows))
        count.update(key for _, key in ranked[:m])
    return Counter({key: n for key, n in count.items() if n >= max(tau, T)})


@SETTINGS
@given(logs, st.integers(1, 4), st.integers(1, 2), st.integers(1, 3), choices)
def test_zealous(engine, records, m, tau, T, choice):
    """All four histograms."""
    parameters = zealous_parameters(m, 0, tau, T, 4)
    found = released(engine, replace(parameters, take=choice).plan(), records)
    for item in Item:
        assert found[item.value] == zealous_reference(records, item, m, tau, T, choice)


def click_reference(records, p, choice, domain, urls):
    pure = p.mode is ClickMode.PURE
    query: Counter = Counter({(q,): 0 for q in domain})
    click, step = Counter(), Counter()
    rows = [(u, t, q) for u, q, t, _ in records if not pure or q in domain]
    for searches in by_user(rows):
        first = sorted(searches, key=order(choice, searches))[: p.queries_per_user]
        query.update((q,) for _, q in first)
        step.update(s for _, s in steps(sorted(first)))
    for user in {u for u, _, _ in rows}:
        asked = {(t, q) for u, t, q in rows if u == user}
        first = sorted(asked, key=order(choice, asked))[: p.queries_per_user]
        clicks = {(t, q, url) for u, q, t, url in records if u == user and url and (t, q) in first}
        ranked = sorted(clicks, key=order(choice, clicks))
        click.update((q, url) for _, q, url in ranked[: p.clicks_per_user])
    eligible = {k: n if n >= p.minimum_frequency else 0 for k, n in query.items()}
    chosen = {k[0] for k, n in eligible.items() if n > p.threshold and (n or k[0] in domain)}
    return {
        "queries": Counter({k: query[k] for k in query if k[0] in chosen}),
        "clicks": Counter(
            {
                k: n
                for k, n in click.items()
                if k[0] in chosen and n > p.threshold_clicks and (not pure or k[1] in urls)
            }
        ),
        "transitions": Counter(
            {k: n for k, n in step.items() if set(k) <= chosen and n > p.threshold_transitions}
        ),
    }


def chosen_items(rows, limit, choice):
    """The first, last or most frequent different keys of a user's (time, key)."""
    pick = max if choice is Choice.LAST else min
    when = {key: pick(t for t, k in rows if k == key) for _, key in rows}
    ranked = sorted(((t, key) for key, t in when.items()), key=order(choice, rows))
    return [key for _, key in ranked[:limit]]


@SETTINGS
@given(logs, st.integers(1, 4), st.integers(1, 3), choices)
def test_click_counts_a_user_once(engine, records, q_f, c_f, choice):
    """Users of each of the different queries taken, of clicks on them and of steps between them.

    How much a user has of a query goes by records (two clicks count twice), of a click by its searches.
    """
    p = click_parameters(q_f, c_f, 0, 0, None, 0, 0, mode=ClickMode.APPROXIMATE, once_per_user=True)
    expected = {"queries": Counter(), "clicks": Counter(), "transitions": Counter()}
    for user in {record[0] for record in records}:
        mine = [record[1:] for record in records if record[0] == user]
        queries = chosen_items([(t, (q,)) for q, t, _ in mine], q_f, choice)
        kept = [record for record in mine if (record[0],) in queries]
        expected["queries"].update(queries)
        clicks = {(t, (q, url)) for q, t, url in kept if url is not None}
        expected["clicks"].update(chosen_items(clicks, c_f, choice))
        taken = steps(sorted({(t, q) for q, t, _ in kept}))
        expected["transitions"].update(chosen_items(taken, p.steps_per_user, choice))
    if not p.steps_per_user:
        del expected["transitions"]
    assert released(engine, replace(p, take=choice).plan(), records) == expected


@SETTINGS
@given(
    logs,
    st.integers(2, 5),
    st.integers(1, 4),
    st.integers(0, 2),
    st.integers(1, 2),
    st.sampled_from(list(ClickMode)),
    choices,
)
def test_click(engine, records, q_f, c_f, K, tau, mode, choice):
    """Both modes; public urls hold one of the two that are clicked."""
    domain = PublicDomain("test", pa.array(["coffee", "java", "nobody asks this"]))
    p = click_parameters(q_f, c_f, 0, K, 0, 0, 0, threshold_clicks=0, minimum_frequency=tau, mode=mode)
    mechanism = replace(
        p, domain=domain, surfaced=PublicUrls("test", lambda query: ("http://a", "http://z")), take=choice
    ).plan()
    expected = click_reference(records, p, choice, set(domain.queries.to_pylist()), {"http://a"})
    assert released(engine, mechanism, records) == expected


def session_reference(records, p, choice):
    count, click = Counter(), Counter()
    for searches in by_user([(u, t, q) for u, q, t, _ in records]):
        cut = [[q for q, _ in itertools.groupby(q for _, q in session)] for session in sessions(searches)]
        cut = [queries for queries in cut if len(queries) > 1]
        chosen = cut[-p.sessions_per_user :] if choice is Choice.LAST else cut[: p.sessions_per_user]
        if choice is Choice.FREQUENT:
            cut = [queries[: p.queries_per_session] for queries in cut]
            chosen = sorted(cut, key=lambda queries: -cut.count(queries))[: p.sessions_per_user]
        found = [
            sub
            for queries in chosen
            for size in range(2, p.queries_per_session + 1)
            for sub in itertools.combinations(queries[: p.queries_per_session], size)
        ]
        count.update(set(found) if p.once_per_user else found)
    for clicks in by_user([(u, t, q, url) for u, q, t, url in records if url]):
        ranked = sorted(clicks, key=order(choice, clicks))
        click.update((q, url) for _, q, url in ranked[: p.clicks_per_user])
    return {
        "sessions": Counter({k: n for k, n in count.items() if n > p.threshold}),
        "clicks": Counter({k: n for k, n in click.items() if n > p.threshold_clicks}),
    }


@SETTINGS
@given(logs, st.integers(1, 3), st.integers(2, 4), st.booleans(), st.integers(0, 1), choices)
def test_session(engine, records, l_s, l_q, once, K, choice):
    """Sequences counted once a user or as often as they occur, and the click part."""
    p = session_parameters(l_s, l_q, 0, K, 0, once, (2, 0, 0, None))
    assert released(engine, replace(p, take=choice).plan(), records) == session_reference(records, p, choice)


def test_a_repeated_subsequence_counts_as_often_as_it_occurs(engine):
    """a b a b holds (a, b) three times; a user is counted three times, or once."""
    records = [
        ("u", query, START + timedelta(minutes=i), None)
        for i, query in enumerate(["java", "coffee", "java", "coffee"])
    ]
    for once, expected in ((False, 3), (True, 1)):
        p = session_parameters(1, 4, 0, 0, None, once)
        assert released(engine, p.plan(), records)["sessions"]["java", "coffee"] == expected


def k_query_reference(records, k, item):
    users: dict[str, set] = {}
    for u, q, *_ in records:
        users.setdefault(q, set()).add(u)
    left = [r for r in records if len(users[r[1]]) >= k]
    count = Counter(key for _, key in {(u, key) for u, _, key in items(left, item)})
    return Counter({key: n for key, n in count.items() if n >= k})


@SETTINGS
@given(logs, st.integers(2, 3))
def test_k_query(engine, records, k):
    """Exact histograms of what at least k users have, in every table."""
    found = released(engine, KQuery(k=k), records)
    for item in Item:
        assert found[item.value] == k_query_reference(records, k, item)
