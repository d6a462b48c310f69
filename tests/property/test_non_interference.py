"""Non-interference: caught pages have no influence on any byte that leaves, nor on the order shown."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Guard
from tacit.device.profile.arrays import Bags
from tacit.device.ranking import attention, density
from tacit.device.ranking.attention import Attended, Attention, PersonalOrder
from tacit.device.ranking.density import Density, Lift
from tacit.device.sending import interests
from tacit.device.sending.interests import FEWEST, SHARE, Flags, InterestChooser, PassedPages, supported
from tacit.retrieval.people_topics import PeopleTopics, unit_rows
from tacit.retrieval.sensitive_pages import PASSED, UNREADABLE, Recogniser, page_text, recogniser

INNOCENT = [
    *("Sourdough bread with rye", "Which flour for bread dough", "Cookies and muffins", "Yeast dough rising"),
    *(
        "Premier League goals",
        "Striker joins the football club",
        "World Cup goalkeeper",
        "Champions League draw",
    ),
    *("Gravel bike frames", "Cleaning a bicycle chain", "Mountain bike trails", "Peloton climbs in the Alps"),
    *("Pruning in the garden", "Compost and mulch", "Seedlings and watering", "Garden weeds"),
    *("Sowing seeds in garden beds", "Mulch for garden beds", "Watering seedlings in the greenhouse"),
    *(
        "Pruning shrubs and hedges",
        "Compost heap in the garden",
        "Planting bulbs in beds",
        "Weeding garden beds",
    ),
]
SECRET = [
    "Bread and antidepressants: baking through depression",
    "Gay football fans of the Premier League",
    "Ramadan recipes: bread after prayer",
    "Chemotherapy and cycling again",
    "Garden work after bankruptcy",
    "Socialist bicycle club elects its party",
    "My toddler eats garden soil",
    "Custody of the dog after divorce",
    "Rückenschmerzen und was dagegen hilft",
    "Striker convicted of murder",
    *("Violin lessons after chemotherapy", "Violin strings and antidepressants", "Violinists in prison"),
    *("Zwartberg bike race after chemotherapy", "Zwartberg bike trails and antidepressants"),
]
TITLES = (
    *("Bicycle chains", "Chain of command", "Bread rolls", "Garden chain saws", "Goal kicks"),
    *("Spring mattress of coil and foam", "Spring steel wire", "Spring break on the beach"),
    *("Spring planting of seeds and beds", "Spring jobs: prune shrubs, sow seedlings, mulch"),
)
RESULTS = [
    {"url": f"http://{place}.example", "title": title, "snippet": ""} for place, title in enumerate(TITLES)
]
QUERIES = (
    "bread",
    "league table",
    "bike chain",
    "garden",
    "depression",
    "coffee",
    "spring",
    "violin",
    "zwartberg",
)
START = datetime(2026, 1, 1, tzinfo=UTC)
opened: list[Guard] = []
"""The guard that is asked, for weakenings that read its whole history."""


def left(
    folder: Path, innocent: Sequence[int], secret: Sequence[int], turns: int, mark: str | None, times: int = 1
) -> list[list[bytes]]:
    """Everything that leaves, or that clicks give away, of a person who in turns reads and asks all queries:
    what went with each query, turn by turn."""
    with Guard(folder / f"{len(list(folder.iterdir()))}.profile") as guard:
        opened[:] = [guard]
        guard.confirm()
        if mark:
            guard.mark(mark)
        found = []
        for turn in range(turns):
            pages = [INNOCENT[page] for page in innocent[turn::turns]]
            hidden = [f"{SECRET[page]} {time or ''}" for page in secret[turn::turns] for time in range(times)]
            # Secret pages come before, between and after the others.
            mixed = [page for pair in zip_longest(hidden, pages) for page in pair if page is not None]
            guard.learn(
                ("", {"url": "", "title": title}, START + timedelta(hours=turn, seconds=place))
                for place, title in enumerate(mixed)
            )
            found.append([asked(guard, query) for query in QUERIES])
        return found


def asked(guard: Guard, query: str) -> bytes:
    message = guard.protect(query, upstream="engine").message
    order = [result["url"] for result in guard.rerank(query, RESULTS)]
    return json.dumps([message, order], sort_keys=True).encode()


def test_the_secret_pages_are_caught_and_the_others_pass() -> None:
    texts = [
        page_text("", title, "", "") for title in (*SECRET, *(f"{title} 39" for title in SECRET), *INNOCENT)
    ]
    judged = recogniser().concepts_of(texts)
    assert (judged[: 2 * len(SECRET)] != PASSED).all()
    assert judged[SECRET.index("Rückenschmerzen und was dagegen hilft")] == UNREADABLE
    assert (judged[2 * len(SECRET) :] == PASSED).all()


pages_of = st.permutations(range(len(INNOCENT)))
secrets_of = st.lists(st.integers(0, len(SECRET) - 1), unique=True, max_size=8)
marks = st.sampled_from([None, "Football"])


@settings(max_examples=10, deadline=None)
@given(pages_of, secrets_of, secrets_of, st.integers(2, 4), marks, st.sampled_from([1, 1, 60]))
def test_whatever_is_caught_could_be_anything_else(
    innocent: list[int], one: list[int], other: list[int], turns: int, mark: str | None, times: int
) -> None:
    with TemporaryDirectory() as name:
        first = left(Path(name), innocent, one, turns, mark, times)
        second = left(Path(name), innocent, other, turns, mark)
    assert len(first) == len(second) == turns
    for turn in range(turns):
        assert first[turn] == second[turn]


def test_topics_are_sent_and_dense_pages_heard_at_all(tmp_path: Path) -> None:
    (found,) = left(tmp_path, range(len(INNOCENT)), [], 1, None)
    message, _ = json.loads(found[QUERIES.index("bread")])
    assert message["topics"] == ["Top", "Top/Food & Drink", "Top/Food & Drink/Baking"]
    with Guard(tmp_path / "0.profile") as guard:
        guard._refresh()
        _, attended = guard._personal.order("spring", RESULTS)
    assert attended.lift is not None and attended.lift.values.any()


def nothing_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old behaviour: every page counts."""
    everything = lambda _, texts, scores=None: np.full(len(texts), PASSED, np.int8)  # noqa: E731
    monkeypatch.setattr(Recogniser, "concepts_of", everything)


def share_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic needs a share of all pages, so that who has more secrets needs more support."""
    real = PassedPages.sendable

    def sendable(pages: PassedPages, people: PeopleTopics) -> Flags:
        least = max(FEWEST, math.ceil(SHARE * len(pages.passed)))
        return real(pages, people) & (pages.supports(len(people.people.tree)) >= least)

    monkeypatch.setattr(PassedPages, "sendable", sendable)


def support_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caught pages support topics."""

    def supports(pages: PassedPages, topics: int) -> npt.NDArray[np.int64]:
        every = pages._index.pages
        return np.bincount(every["topics"][supported(every)[1]], minlength=topics)

    monkeypatch.setattr(PassedPages, "supports", supports)


def nearness_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caught pages that hold the query's words say which topics are near."""
    real = InterestChooser._holding

    def holding(chooser: InterestChooser, query: str, people: PeopleTopics) -> npt.NDArray[np.int64]:
        kept, chooser._pages = chooser._pages, opened[0]._index  # type: ignore[assignment]
        try:
            return real(chooser, query, people)
        finally:
            chooser._pages = kept

    monkeypatch.setattr(InterestChooser, "_holding", holding)
    monkeypatch.setattr(interests, "clear", lambda pages: np.ones(len(pages), np.bool_))


def order_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caught pages are attended to."""
    monkeypatch.setattr(PersonalOrder, "_pages", property(lambda _: opened[0]._index, lambda *_: None), False)


def null_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The null document weighs as much as all pages, not those that passed."""
    real = Attention.attend

    def attend(
        attention: Attention, query: str, results: Bags, history: Bags, density: Any = None
    ) -> Attended:
        attended = real(attention, query, results, history, density)
        if density is None:
            return attended
        part = attended.evidence + (1 - attended.evidence) * len(opened[0]._index.bags) / len(history)
        return replace(attended, attention=attended.attention / part, scores=attended.scores / part)

    monkeypatch.setattr(Attention, "attend", attend)


def density_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dense part is told from the average of all pages, not of those that passed."""
    real = density.lift

    def lift(
        shown: npt.NDArray[np.float32],
        read: npt.NDArray[np.float32],
        dense: Density,
        likeness: npt.NDArray[np.float32],
    ) -> Lift:
        found = real(shown, read, dense, likeness)
        average = unit_rows(opened[0]._index.bags.senses).mean(axis=0) - read.mean(axis=0)
        return replace(
            found, values=found.values - 20 * shown @ average if found.values.any() else found.values
        )

    monkeypatch.setattr(attention, "lift", lift)


@pytest.mark.parametrize(
    "weaken",
    [
        nothing_caught,
        share_of_all,
        support_by_all,
        nearness_by_all,
        order_by_all,
        null_of_all,
        density_of_all,
    ],
)
def test_whatever_reads_caught_pages_is_noticed(
    weaken: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weaken(monkeypatch)
    everything, secret = range(len(INNOCENT)), range(len(SECRET))
    read, unread = (left(tmp_path, everything, one, 2, None, times=60) for one in (secret, ()))
    assert read[-1] != unread[-1]
