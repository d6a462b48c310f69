"""Non-interference: documents that the filter catches have no influence on any byte that is sent."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.device import Guard, Sending, load_repository
from tacit.device.profile.construction import filings
from tacit.device.profile.history import NEAREST
from tacit.device.sending.withholding import Withholding

SENSITIVE = ("disease.n.01", "religion.n.01")
QUERIES = ("diabetes", "church", "insulin sugar", "coffee", "java", "eagle bird", "heart attack", "football")
INNOCENT = [
    ("Espresso", "strong black coffee brewed by forcing hot water through finely ground coffee beans"),
    ("Java", "an island in Indonesia to the south of Borneo, with volcanoes and tea plantations"),
    ("Golden eagle", "large eagle of mountainous regions of the northern hemisphere, a bird of prey"),
    ("Football", "a game in which two teams of players kick a ball to score a goal"),
    ("Sugar", "a white crystalline carbohydrate used as a sweetener and to make candy and cake"),
    ("Guitar", "a stringed instrument with six strings, played by strumming chords"),
    ("Compiler", "a computer program that translates source code into machine language"),
    ("Attack", "an offensive against an enemy in battle by troops and artillery"),
]
START = datetime(2026, 1, 1, tzinfo=UTC)


@cache
def caught_texts() -> list[tuple[str, str]]:
    """Texts about diseases and religions that the default filter catches."""
    repository = load_repository()
    corpus, tree = repository.corpus, repository.tree
    sensitivity = {corpus.wordnet.synset(name): 1.0 for name in SENSITIVE}  # type: ignore[attr-defined]
    chosen = np.random.default_rng(7)
    numbers = [
        int(topic)
        for root in sensitivity
        for topic in chosen.choice(np.arange(root, tree.end[root]), 60, replace=False)
    ]
    texts = [(corpus[number].title, corpus[number].text) for number in numbers]
    topics = np.full((len(texts), NEAREST), -1, np.int32)
    for place, filing in enumerate(filings(repository, [f" {title} {text}" for title, text in texts])):
        topics[place, : len(filing)] = filing["topic"]
    judge = Withholding(repository.vectors, sensitivity, strict=False)
    directions = repository.vectors.table.directions(f"{title} {text}" for title, text in texts)
    caught = judge.caught(topics, directions)
    assert caught.mean() > 0.9
    return [text for text, found in zip(texts, caught, strict=True) if found]


def sent(
    folder: Path, innocent: list[int], secret: list[int], asked: list[int], sending: str, bound: float | None
) -> list[bytes]:
    """Every message of a person who reads and asks in turns."""
    guard = Guard(folder / f"{len(list(folder.iterdir()))}.profile", sending=sending, bound=bound)
    for name in SENSITIVE:
        guard.sensitive(name, 1.0)
    rounds = len(asked)
    messages = []
    for turn, query in enumerate(asked):
        pages = [INNOCENT[page] for page in innocent[turn::rounds]]
        hidden = [caught_texts()[page] for page in secret[turn::rounds]]
        # Secret pages come before, between and after the others.
        mixed = [page for pair in zip_longest(hidden, pages) for page in pair if page is not None]
        guard.learn(
            ("", {"url": "", "title": title, "snippet": text}, START + timedelta(hours=turn, minutes=place))
            for place, (title, text) in enumerate(mixed)
        )
        answer = guard.protect(QUERIES[query], upstream="engine")
        messages.append(json.dumps(answer.message, sort_keys=True).encode())
    guard.close()
    return messages


pages_of = st.lists(st.integers(0, len(INNOCENT) - 1), unique=True, min_size=2, max_size=6)
secrets_of = st.lists(st.integers(0, 99), unique=True, max_size=6)
queries_of = st.lists(st.integers(0, len(QUERIES) - 1), unique=True, min_size=2, max_size=4)


@pytest.mark.parametrize("sending", [Sending.FILTERED, Sending.STRICT])
@settings(max_examples=8, deadline=None)
@given(pages_of, secrets_of, secrets_of, queries_of, st.sampled_from([None, 0.01]))
def test_whatever_is_caught_could_be_anything_else(
    sending: str,
    innocent: list[int],
    one: list[int],
    other: list[int],
    asked: list[int],
    bound: float | None,
) -> None:
    known = len(caught_texts())
    with TemporaryDirectory() as name:
        folder = Path(name)
        first, second = (
            sent(folder, innocent, [number % known for number in secret], asked, sending, bound)
            for secret in (one, other)
        )
    assert first == second


def test_without_the_filter_the_same_comparison_tells_them_apart(tmp_path: Path) -> None:
    known = caught_texts()
    diabetic = [place for place, (title, text) in enumerate(known) if "heart" in f"{title} {text}"][:3]
    diabetic += list(range(3))
    differing = 0
    for sending in (Sending.UNFILTERED, Sending.PAPER):
        with_secret = sent(tmp_path, [0, 1, 4], diabetic, [0, 1, 2, 6], sending, None)
        without = sent(tmp_path, [0, 1, 4], [], [0, 1, 2, 6], sending, None)
        differing += with_secret != without
    assert differing >= 1
    assert sent(tmp_path, [0, 1, 4], diabetic, [0, 1, 2, 6], Sending.FILTERED, None) == sent(
        tmp_path, [0, 1, 4], [], [0, 1, 2, 6], Sending.FILTERED, None
    )
