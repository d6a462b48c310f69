"""Small releases of every mechanism, with logs in which one user goes to every limit.

A case has a log of other users, and histories that one more user may have: some that move what is popular as
far as it goes (ε is attained there), and some of things that nobody else has (δ is attained there).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tacit import Click, KQuery, Plan, Session, Topics, Zealous
from tacit.audit.neighbours import log_table
from tacit.release.mechanisms.click import ClickMode
from tacit.release.parameters import Item
from tacit.release.public_sets import PublicDomain, PublicUrls

__all__ = ["CASES", "Case", "History", "Log", "log_table"]

URL = "http://a"

History = list[tuple[str, int, str | None]]
"""(query, minutes after the beginning, clicked url)."""
Log = dict[str, History]


def asked(*queries: str, url: str | None = URL) -> History:
    """Queries a minute apart, each with a click."""
    return [(query, minute, url) for minute, query in enumerate(queries)]


@dataclass(frozen=True)
class Case:
    """A mechanism, and the logs on which it is held against its claims.

    Args:
        name: of the case.
        make: the mechanism, under a neighbour relation.
        others: the log without the user.
        greedy: histories that go to the limits, on popular keys.
        alone: histories of keys that nobody else has.
        spared: tables whose keys are not part of the worst that one user can do, so that δ is not theirs.
    """

    name: str
    make: Callable[..., Plan[Any]]
    others: Log
    greedy: tuple[History, ...]
    alone: tuple[History, ...]
    spared: tuple[str, ...] = ()


def crowd(history: History, name: str = "u", users: int = 9) -> Log:
    """Many users with one history."""
    return {f"{name}{number}": history for number in range(users)}


DOMAIN = PublicDomain("small", pa.array(["java", "tea", "unasked"], pa.string()))
URLS = PublicUrls("small", lambda query: (URL, "http://b"), "0" * 64)


def zealous(**relation: Any) -> Plan[Any]:
    """Two histograms, two items a user, a first threshold of 2."""
    items = (Item.QUERIES, Item.CLICKS)
    return Zealous(items=items, per_user=2, noise=2.0, threshold_1=2, threshold_2=16, **relation).plan()


def zealous_words(**relation: Any) -> Plan[Any]:
    """The two other histograms there are: words, and steps from query to query."""
    items = (Item.KEYWORDS, Item.PAIRS)
    return Zealous(items=items, per_user=2, noise=2.0, threshold_1=2, threshold_2=16, **relation).plan()


def click_pure(**relation: Any) -> Plan[Any]:
    """Public sets and fresh counts."""
    return Click(
        mode=ClickMode.PURE,
        domain=DOMAIN,
        surfaced=URLS,
        queries_per_user=4,
        clicks_per_user=2,
        noise=2.0,
        threshold=9,
        noise_counts=3.0,
        noise_clicks=2.5,
        threshold_clicks=7,
        noise_transitions=1.5,
        threshold_transitions=6,
        **relation,
    ).plan()


def click_sampled(**relation: Any) -> Plan[Any]:
    """Public queries that nobody asked take part by chance."""
    return Click(
        mode=ClickMode.PURE,
        domain=DOMAIN,
        queries_per_user=3,
        transitions=False,
        pool_probability=0.7,
        noise=2.0,
        threshold=3,
        noise_counts=3.0,
        **relation,
    ).plan()


def click_minimum(**relation: Any) -> Plan[Any]:
    """Public queries of fewer than two searches take part with a count of 0."""
    return Click(
        mode=ClickMode.PURE,
        domain=DOMAIN,
        queries_per_user=3,
        transitions=False,
        minimum_frequency=2,
        same_counts=True,
        noise=2.0,
        threshold=6,
        **relation,
    ).plan()


def click_approximate(**relation: Any) -> Plan[Any]:
    """What occurs, beside a public domain; the compared counts. Own clicks and steps are the worst."""
    return Click(
        mode=ClickMode.APPROXIMATE,
        domain=DOMAIN,
        queries_per_user=4,
        clicks_per_user=2,
        same_counts=True,
        noise=2.0,
        threshold=14,
        noise_clicks=2.5,
        threshold_clicks=14,
        noise_transitions=1.5,
        threshold_transitions=9,
        **relation,
    ).plan()


def click_own(**relation: Any) -> Plan[Any]:
    """The same with a higher threshold for steps: own queries, and own clicks on one other, are the worst."""
    return replace(click_approximate().mechanism, threshold=13, threshold_transitions=12, **relation).plan()


def click_once(**relation: Any) -> Plan[Any]:
    """A user counts once for a query, a click or a step. An own query, own clicks and steps are the worst."""
    return Click(
        mode=ClickMode.APPROXIMATE,
        queries_per_user=3,
        clicks_per_user=2,
        once_per_user=True,
        same_counts=True,
        noise=2.0,
        threshold=12,
        noise_clicks=2.5,
        threshold_clicks=14,
        noise_transitions=1.5,
        threshold_transitions=9,
        **relation,
    ).plan()


def session_each(**relation: Any) -> Plan[Any]:
    """Each occurrence counts; fresh counts."""
    return Session(
        sessions_per_user=1,
        queries_per_session=3,
        clicks_per_user=2,
        once_per_user=False,
        noise=2.0,
        threshold=40,
        noise_counts=3.0,
        noise_clicks=1.5,
        threshold_clicks=40,
        noise_click_counts=2.5,
        **relation,
    ).plan()


def session_long(**relation: Any) -> Plan[Any]:
    """Four queries, so that a sequence may occur several times in one session."""
    return Session(
        sessions_per_user=1,
        queries_per_session=4,
        once_per_user=False,
        same_counts=True,
        noise=2.0,
        threshold=20,
        **relation,
    ).plan()


def session_once(**relation: Any) -> Plan[Any]:
    """A user counts once; the compared counts."""
    return Session(
        sessions_per_user=2,
        queries_per_session=2,
        clicks_per_user=2,
        once_per_user=True,
        same_counts=True,
        noise=2.0,
        threshold=12,
        noise_clicks=1.5,
        threshold_clicks=10,
        **relation,
    ).plan()


def topics(**relation: Any) -> Plan[Any]:
    """Two topics of the first level, and one right below in each."""
    return Topics(per_user=2, levels=2, noise=2.0, **relation).plan()


def k_query(**relation: Any) -> Plan[Any]:
    """What at least four users asked."""
    return KQuery(k=4, **relation).plan()


def sessions(*pairs: tuple[str, str]) -> History:
    """Sessions of two queries, far apart."""
    return [
        (query, 100 * number + place, URL)
        for number, pair in enumerate(pairs)
        for place, query in enumerate(pair)
    ]


POPULAR = asked("java", "tea", "java", "tea", "news", "java tea")
THREE = asked("java", "tea", "news", "java", "news")
NEWS = asked("news", "java tea")
REPEATED: History = [("java", n, URL) for n in range(5)]
ALONE = asked("mine", "own", "secret", "rare")
ALONE_AGAIN: History = [("mine", n, URL) for n in range(5)]
TO_AND_FRO = asked("mine", "own", "mine", "own", "mine")
CROWD = crowd(POPULAR, users=30) | crowd(NEWS, "w", 30)
OWN_STEPS = asked("tea", "news", "java", "java tea", url="http://mine")
OWN_BUT_ONE = [
    *asked("mine", "own", "secret", url=None),
    ("java", 3, "http://mine"),
    ("java", 3, "http://own"),
]
OWN_BETWEEN = asked("coffee", "bread", "coffee", "mine", url="http://mine")
PUBLIC = asked("java", "tea", "unasked", "tea", url=None)
PAIRS = sessions(("java", "tea"), ("news", "coffee"))
MORE_PAIRS = sessions(("java", "tea"), ("news", "coffee"), ("tea", "news"))
SAME_PAIR = sessions(("java", "tea"), ("java", "tea"))
OWN_PAIRS = sessions(("mine", "own"), ("secret", "rare"))
RARE = {"r1": asked("mine", "own"), "r2": asked("own", "secret")} | crowd(asked("triple", "java"), "t", 3)
KINDS = asked("beagle", "violin", "plumber", "church", "hospital")

CASES = [
    Case(
        "zealous", zealous, crowd(POPULAR, users=18) | crowd(NEWS, "w", 18) | RARE, (POPULAR, NEWS), (ALONE,)
    ),
    Case(
        "zealous, words and steps",
        zealous_words,
        crowd(POPULAR, users=18) | crowd(NEWS, "w", 18) | RARE,
        (POPULAR, NEWS),
        (ALONE,),
    ),
    Case("click, pure", click_pure, crowd(POPULAR, users=3), (POPULAR, REPEATED), (ALONE,)),
    Case("click, sampled", click_sampled, {}, (PUBLIC, REPEATED), (ALONE,)),
    Case("click, minimum", click_minimum, crowd(PUBLIC, users=1), (PUBLIC, REPEATED), (ALONE,)),
    Case(
        "click, approximate",
        click_approximate,
        CROWD,
        (POPULAR, REPEATED),
        (OWN_STEPS, ALONE, ALONE_AGAIN, TO_AND_FRO, OWN_BUT_ONE),
        spared=("queries",),
    ),
    Case(
        "click, own queries",
        click_own,
        CROWD,
        (POPULAR, REPEATED),
        (OWN_BUT_ONE, ALONE, ALONE_AGAIN, OWN_STEPS),
        spared=("transitions",),
    ),
    Case(
        "click, once per user",
        click_once,
        crowd(THREE, users=30) | crowd(asked("coffee"), "c", 30) | crowd(asked("bread"), "d", 30),
        (THREE, REPEATED, POPULAR),
        (OWN_BETWEEN, ALONE, TO_AND_FRO),
    ),
    Case(
        "session",
        session_each,
        crowd(POPULAR, users=38),
        (POPULAR, REPEATED, [*POPULAR[:3], *((q, n + 100, u) for q, n, u in POPULAR[:3])]),
        (ALONE, TO_AND_FRO, ALONE_AGAIN),
    ),
    Case("session, long", session_long, crowd(POPULAR, users=24), (POPULAR,), (ALONE, TO_AND_FRO)),
    Case(
        "session, once per user",
        session_once,
        crowd(PAIRS, users=14),
        (PAIRS, MORE_PAIRS, SAME_PAIR, REPEATED),
        (OWN_PAIRS,),
    ),
    Case(
        "topics",
        topics,
        crowd(KINDS, users=5) | crowd(asked("dog", "cat", "tennis"), "p", 3),
        (KINDS, asked("dog", "dog", "cat", "guitar", "movie", "nun"), asked("nun", "tennis", "dog")),
        (asked("melancholy", "Tuesday", "acre"),),
    ),
    Case("k-query", k_query, crowd(POPULAR) | RARE, (POPULAR,), (ALONE,)),
]
