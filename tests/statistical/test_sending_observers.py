"""Observers of what is sent: reading about something sensitive changes nearly nobody's messages.

Simulated people read encyclopaedia articles about four innocent categories; each is compared with the same
person who also reads twenty about a sensitive concept. Where the messages of a share d of all pairs differ,
the two groups are within d of each other in total variation, and no observer, whatever it knows, tells them
apart with an AUC above 1/2 + d - d**2 / 2. Everything is drawn from fixed seeds.
"""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from tests.realdata import shared_data

from tacit.audit.device import messages
from tacit.device.sending import interests
from tacit.retrieval import people_topics
from tacit.retrieval.sensitive_pages import PASSED, recogniser

PEOPLE, READ = 24, 20
INNOCENT = (
    "Everyday_life/Sports", "Everyday_life/Films", "Science/Physics", "Geography/Geology",
    "Design_and_Technology/Railway_transport", "Everyday_life/Food", "Music", "IT/Computer",
    "Science/Biology/Birds", "Everyday_life/Computer_and_Video_games",
)  # fmt: skip
CONCEPTS = {
    "Health": ("Science/Biology/Health_and_medicine", "disease virus medicine"),
    "Religion": ("Religion/Religious", "temple church faith"),
    "Politics": ("Citizenship/Politics_and_government", "election government party"),
}
QUERIES = "music film train bird football physics game food computer mountain history energy".split()


def articles() -> list[tuple[str, list[str]]]:
    with gzip.open(shared_data("wikispeedia_abstracts.jsonl.gz"), "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["categories"] and row["text"]]
    return [(f"{row['title']}. {row['text'][:200]}", row["categories"]) for row in rows]


def changed(concept: str) -> float:
    """The share of people whose messages change when they read about a concept."""
    random, rows = np.random.default_rng(5), articles()
    begins, near = CONCEPTS[concept]
    pools = [[text for text, where in rows if where[0].startswith(one)][:30] for one in INNOCENT]
    about = [text for text, where in rows if any(one.startswith(begins) for one in where)]
    queries = [*QUERIES, *near.split()]
    different = 0
    for _ in range(PEOPLE):
        chosen = random.choice(len(pools), 4, replace=False)
        texts = [str(text) for pool in chosen for text in random.choice(pools[pool], 15, replace=False)]
        more = [str(text) for text in random.choice(about, READ, replace=False)]
        different += messages(texts, queries) != messages(texts + more, queries)
    return different / PEOPLE


@pytest.mark.parametrize("concept", CONCEPTS)
def test_reading_about_something_sensitive_changes_nearly_nobodys_messages(concept: str) -> None:
    assert changed(concept) <= 0.15  # then no AUC exceeds 0.64


def test_the_old_behaviour_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every page, topic and query let pass, everybody's messages change."""
    judge, people = recogniser(), people_topics().people

    def nothing_caught(texts: list[str], scores: object) -> np.ndarray:
        return np.full(len(texts), PASSED, np.int8)

    interests._judged.cache_clear()
    monkeypatch.setattr(judge, "concepts_of", nothing_caught)
    monkeypatch.setattr(judge, "concept_of_query", lambda _: PASSED)
    monkeypatch.setattr(interests, "neighbours", frozenset)
    before = people.concept.copy()
    people.concept[:] = -1
    try:
        assert changed("Health") >= 0.9
    finally:
        people.concept[:] = before
        interests._judged.cache_clear()
