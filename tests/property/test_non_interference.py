"""Non-interference: caught pages have no influence on any byte that leaves, nor on the order shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Guard
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
]
QUERIES = ("bread", "league table", "bike chain", "garden", "depression", "coffee", "dough")
TITLES = ("Bicycle chains", "Chain of command", "Bread rolls", "Garden chain saws", "Goal kicks")
RESULTS = [
    {"url": f"http://{place}.example", "title": title, "snippet": ""} for place, title in enumerate(TITLES)
]
START = datetime(2026, 1, 1, tzinfo=UTC)


def left(
    folder: Path, innocent: list[int], secret: list[int], asked: list[int], mark: str | None
) -> list[bytes]:
    """Everything that leaves, or that clicks give away, of a person who reads and asks in turns."""
    with Guard(folder / f"{len(list(folder.iterdir()))}.profile") as guard:
        guard.confirm()
        if mark:
            guard.mark(mark)
        found = []
        for turn, query in enumerate(asked):
            pages = [INNOCENT[page] for page in innocent[turn :: len(asked)]]
            hidden = [SECRET[page] for page in secret[turn :: len(asked)]]
            # Secret pages come before, between and after the others.
            mixed = [page for pair in zip_longest(hidden, pages) for page in pair if page is not None]
            guard.learn(
                ("", {"url": "", "title": title}, START + timedelta(hours=turn, minutes=place))
                for place, title in enumerate(mixed)
            )
            message = guard.protect(QUERIES[query], upstream="engine").message
            order = [result["url"] for result in guard.rerank(QUERIES[query], RESULTS)]
            found.append(json.dumps([message, order], sort_keys=True).encode())
        return found


def test_the_secret_pages_are_caught_and_the_others_pass() -> None:
    judged = recogniser().concepts_of([page_text("", title, "", "") for title in (*SECRET, *INNOCENT)])
    assert (judged[: len(SECRET)] != PASSED).all()
    assert judged[SECRET.index("Rückenschmerzen und was dagegen hilft")] == UNREADABLE
    assert (judged[len(SECRET) :] == PASSED).all()


pages_of = st.permutations(range(len(INNOCENT)))
secrets_of = st.lists(st.integers(0, len(SECRET) - 1), unique=True, max_size=8)
queries_of = st.lists(st.integers(0, len(QUERIES) - 1), unique=True, min_size=2, max_size=4)


@settings(max_examples=12, deadline=None)
@given(pages_of, secrets_of, secrets_of, queries_of, st.sampled_from([None, "Football"]))
def test_whatever_is_caught_could_be_anything_else(
    innocent: list[int], one: list[int], other: list[int], asked: list[int], mark: str | None
) -> None:
    with TemporaryDirectory() as name:
        first, second = (left(Path(name), innocent, secret, asked, mark) for secret in (one, other))
    assert first == second


def test_topics_are_sent_at_all(tmp_path: Path) -> None:
    everything = list(range(len(INNOCENT)))
    (message,) = left(tmp_path, everything, [], [0], None)
    assert json.loads(message)[0]["topics"] == ["Top", "Top/Food & Drink", "Top/Food & Drink/Baking"]


def test_without_the_filter_the_same_comparison_tells_them_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old behaviour, put back: every page counts."""
    monkeypatch.setattr(
        Recogniser, "concepts_of", lambda _, texts, scores=None: np.full(len(texts), PASSED, np.int8)
    )
    asked, everything = [2, 3, 0], list(range(len(INNOCENT)))
    secret = list(range(len(SECRET)))
    assert left(tmp_path, everything, secret, asked, None) != left(tmp_path, everything, [], asked, None)
