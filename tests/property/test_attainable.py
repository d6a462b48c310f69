"""The δ that is charged, held against every history of a small domain, as the release itself counts them.

All histories are counted at once: each is a user, with queries of a name of its own, so that nobody else has
what this user has. What one user's keys tell by appearing then follows from that user's counts.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from tests.claims import click, session
from tests.short_forms import click_parameters, session_parameters

from tacit.engines import Engine, open_engine
from tacit.release.mechanisms.click import ClickMode
from tacit.release.parameters import Choice
from tacit.release.schedule import most_occurrences, occurrences
from tacit.release.thresholds import Spread, appearance, capped_loss, miss_loss, searches_loss
from tacit.searchlog import SCHEMA

START = datetime(2006, 3, 1)
Search = tuple[str, int, tuple[str, ...]]
"""Query, minute, clicked urls."""
UserCounts = dict[str, Counter[tuple[str, ...]]]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with open_engine(threads=1) as opened:
        yield opened


def counted(engine: Engine, mechanism: Any, histories: list[list[Search]]) -> list[UserCounts]:
    """What each user adds to each table, all users counted in one go."""
    rows = []
    for user, history in enumerate(histories):
        for query, minute, urls in history:
            time = START + timedelta(minutes=minute)
            for url in urls or (None,):
                rows.append((f"u{user}", f"{user}:{query}", time, url and 1, url and f"http://{url}"))
    columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
    counting = mechanism.count(engine, engine.load(pa.table(columns, schema=SCHEMA)))
    found: list[UserCounts] = [{part.table: Counter() for part in mechanism.schedule} for _ in histories]
    for part in mechanism.schedule:
        read = engine.table(counting[part.table])
        keys = zip(*(read.column(n).to_pylist() for n in read.schema.names if n != "count"), strict=True)
        for key, count in zip(keys, read.column("count").to_pylist(), strict=True):
            user = int(key[0].partition(":")[0])
            found[user][part.table][tuple(k.partition(":")[2] if k else "" for k in key)] = count
    return found


def worst_of(losses: Iterator[float]) -> float:
    return appearance(max(losses))


def sessions_of(words: int, letters: str, breaks: bool) -> list[list[Search]]:
    """Every word of so many searches, repeated ones too, and every way to cut it into sessions."""
    found = []
    for word in itertools.product(letters, repeat=words):
        for cuts in itertools.product((1, 100), repeat=words - 1) if breaks else [(1,) * (words - 1)]:
            times = [0, *itertools.accumulate(cuts)]
            found.append([(query, minute, ()) for query, minute in zip(word, times, strict=True)])
    return found


SESSIONS = {
    (1, 3): sessions_of(5, "abc", breaks=False),
    (1, 4): sessions_of(5, "abcd", breaks=False),
    (1, 5): [*sessions_of(6, "abc", breaks=False), [(q, n, ()) for n, q in enumerate("abcde")]],
    (2, 2): sessions_of(5, "abcd", breaks=True),
    (2, 3): [
        *sessions_of(6, "abc", breaks=True),
        [(q, n + 90 * (n > 2), ()) for n, q in enumerate("abcdef")],
    ],
}
NOISES = [(1.0, 20), (2.0, 12), (5.0, 20), (0.5, 8), (12.0, 60)]


@pytest.mark.parametrize("bounds", SESSIONS, ids=str)
def test_sequences_cost_what_the_worst_history_attains(engine: Engine, bounds: tuple[int, int]) -> None:
    """Each occurrence counts: all histories, through the counting that runs, against the δ that is stated."""
    for choice in (Choice.FIRST, Choice.FREQUENT):
        made = replace(session_parameters(*bounds, 1.0, 20, 1.0), take=choice).plan()
        users = {
            tuple(sorted(user["sessions"].values()))
            for user in counted(engine, made, SESSIONS[bounds])
            if user["sessions"]
        }
        assert max(max(user) for user in users) == made.given.largest_move
        assert max(sum(user) for user in users) == made.given.sensitivity
        for noise, K in NOISES:
            stated = session.guarantee(session_parameters(*bounds, noise, K, noise)).delta
            worst = worst_of(math.fsum(miss_loss(noise, K + 1 - k) for k in user) for user in users)
            assert worst <= stated * (1 + 1e-9)
            assert worst >= stated * (1 - 1e-9 if bounds[0] == 1 else 0.999)


def test_what_sessions_can_hold() -> None:
    """Against counting over all words, repetitions removed: up to six queries, and the figures of eight."""
    for queries in range(2, 7):
        ways = set()
        for word in itertools.product(range(queries), repeat=queries):
            if all(a != b for a, b in itertools.pairwise(word)):
                found = Counter(c for n in range(2, queries + 1) for c in itertools.combinations(word, n))
                ways.add(tuple(sorted(Counter(found.values()).items())))
        assert set(occurrences(queries)) == ways
    assert [most_occurrences(queries) for queries in range(2, 9)] == [1, 1, 3, 4, 6, 10, 15]


COMMON = "ABC"
"""Queries that others have too, so often that they appear; the small letters are this user's own."""


def histories(searches: int, letters: str, clicks: list[tuple[str, ...]]) -> list[list[Search]]:
    """Every word of so many searches, each with every choice of clicks."""
    choices = [(query, urls) for query in letters for urls in clicks]
    return [
        [(query, minute, urls) for minute, (query, urls) in enumerate(word)]
        for word in itertools.product(choices, repeat=searches)
    ]


def longer_histories(searches: int, letters: str) -> list[list[Search]]:
    """Every word, with two clicks on the first search, or one and the same on each."""
    return [
        [(query, minute, urls if minute else first) for minute, query in enumerate(word)]
        for word in itertools.product(letters, repeat=searches)
        for first, urls in ((("1", "2"), ()), (("1",), ("1",)))
    ]


CLICKS = {
    (1, 2): histories(2, "ABa", [(), ("1",), ("1", "2")]),
    (2, 2): histories(3, "ABab", [(), ("1",), ("1", "2")]),
    (3, 2): histories(3, "ABCabc", [(), ("1",), ("1", "2")]) + longer_histories(4, "ABCabc"),
    (4, 2): longer_histories(4, "ABCabcd") + longer_histories(5, "ABCab"),
    (4, 0): histories(5, "ABCa", [()]) + histories(4, "ABabcd", [()]),
}
SCALES = [
    (2.0, 2.0, 2.0, 14, 14, 14),
    (1.0, 1.0, 1.0, 12, 12, 12),
    (5.0, 5.0, 4.0, 30, 40, 26),
    (3.0, 5.0, 2.0, 18, 45, 18),
    (0.5, 2.0, 0.7, 8, 20, 7),
    (9.0, 3.0, 7.0, 70, 20, 50),
]


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("bounds", CLICKS, ids=str)
def test_clicks_cost_what_the_worst_history_attains(
    engine: Engine, bounds: tuple[int, int], once: bool
) -> None:
    """Queries, clicks and steps of one user together, through the counting that runs.

    Something of a user's own appears unless no own query does and none of the own clicks and steps on queries
    that appear anyway; clicks and steps of own queries are shown with these alone.
    """
    given = {"mode": ClickMode.APPROXIMATE, "domain": "none", "once_per_user": once}
    made = replace(
        click_parameters(*bounds, 1.0, 9, None, 1.0, 1.0, True, 9, 9, **given), take=Choice.FIRST
    ).plan()
    users = set()
    for user in counted(engine, made, CLICKS[bounds]):
        own = [n for key, n in user["queries"].items() if key[0] not in COMMON]
        clicks = [n for key, n in user.get("clicks", Counter()).items() if key[0] in COMMON]
        steps = [n for key, n in user.get("transitions", Counter()).items() if set(key) <= set(COMMON)]
        users.add(tuple(tuple(sorted(part)) for part in (own, clicks, steps)))
    for b, b_c, b_t, K, K_c, K_t in SCALES:
        p = click_parameters(*bounds, b, K, None, b_c, b_t, True, K_c, K_t, **given)
        stated = click.guarantee(p).delta
        scales = ((b, K), (b_c, K_c), (b_t, K_t))
        worst = worst_of(
            math.fsum(
                miss_loss(noise, threshold + 1 - k)
                for (noise, threshold), part in zip(scales, user, strict=True)
                for k in part
            )
            for user in users
        )
        assert worst <= stated * (1 + 1e-9)
        assert worst >= stated * (1 - 1e-9), (stated / worst, p)


@pytest.mark.parametrize("noise", [0.7, 2.0, 9.0])
@pytest.mark.parametrize("room", [1, 4, 20])
def test_the_worst_spread_under_a_cap(noise: float, room: int) -> None:
    """Against all partitions of up to ten records into parts of at most the cap."""

    def partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
        if total == 0:
            yield ()
        for first in range(min(total, largest), 0, -1):
            for rest in partitions(total - first, first):
                yield (first, *rest)

    spread = Spread(10, noise, room)
    for records, cap in itertools.product(range(11), range(1, 11)):
        best = max(math.fsum(map(spread.loss, parts)) for parts in partitions(records, cap))
        assert capped_loss(spread.loss, records, cap) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("once", [False, True])
def test_many_searches_are_charged_no_less(once: bool) -> None:
    """Beyond what is scanned the ends serve as a bound; counted once the ends are all there is."""
    for noise in (2.0, 20.0, 200.0, 2000.0):
        parts = [Spread(n, noise, int(20 * noise)) for n in (60, 40, 59)]
        found = searches_loss(parts[0], parts[1], parts[2], once)
        if once:
            single = [part.loss(1) for part in parts]
            every = max(
                (60 - p) * single[0] + (40 * single[1] + min(59, p * (p - 1)) * single[2] if p else 0)
                for p in range(61)
            )
            assert found == pytest.approx(every, rel=1e-12)
        else:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("tacit.release.thresholds._TRIED", 10)
                assert searches_loss(parts[0], parts[1], parts[2], once) >= found * (1 - 1e-15)
