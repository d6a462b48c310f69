"""The people's taxonomy and the scorer over it."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.retrieval import people_topics
from tacit.taxonomy import load_people, people_taxonomy
from tacit.taxonomy.files import load_taxonomy
from tacit.taxonomy.people import people_lines

CONCEPTS = {
    "Addiction",
    "Children",
    "Crime & Law",
    "Employer & Job Search",
    "Health",
    "Mental Health",
    "Money Troubles",
    "Origin & Ethnicity",
    "Politics",
    "Pregnancy & Family Troubles",
    "Religion",
    "Sexuality",
}


def test_the_taxonomy_has_three_to_five_hundred_topics_and_twelve_sensitive_concepts() -> None:
    people = load_people()
    assert 300 <= len(people.words) <= 500
    assert people.tree.height <= 3
    assert set(people.concepts) == CONCEPTS
    assert people_taxonomy() is people.tree is load_taxonomy("people")
    assert people.sensitive(people.tree.named("Depression & Anxiety")) == "Mental Health"
    assert people.sensitive(people.tree.named("Baking")) is None


def test_every_topic_has_words_and_every_concept_names() -> None:
    people = load_people()
    assert {topic for topic in people.words if len(people.words[topic]) < 4} == set()
    leaves = {t for t in range(len(people.tree)) if not len(people.tree.children(t))}
    assert set(people.words) == leaves
    assert {name for name, names in people_lines("sensitive.txt") if len(names) >= 100} == CONCEPTS


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("sourdough bread with rye flour", "Baking"),
        ("the peloton climbs on gravel past a bakery", "Cycling"),
        ("toddler tantrum", "Babies & Toddlers"),
        ("mortgage rates", "Mortgages & Home Loans"),
        ("side effects", "Treatment & Medicines"),  # a phrase
        ("wallbox", "Electric Cars & Charging"),  # no word of the table
        ("ice cream", "Sweets & Chocolate"),  # neither hockey nor dairy
        ("notice period", "Employment & Dismissal"),
        ("espresso machine descaling", "Coffee & Tea"),
        ("war", "War & Military"),  # among the commonest words, which weigh nothing elsewhere
    ],
)
def test_what_a_text_is_about(text: str, topic: str) -> None:
    topics = people_topics()
    best = topics.topics[topics.scores([text])[0].argmax()]
    assert topics.people.tree.names[int(best)] == topic


def test_a_text_without_words_is_about_nothing() -> None:
    assert not people_topics().scores(["", "the of 12 x", "über die Fußgängerzonenverordnung"])[:2].any()


def test_many_texts_at_once_score_as_each_alone() -> None:
    texts = ["knitting a wool jumper", "", "python numpy arrays", "Premier League goals"]
    together = people_topics().scores(texts)
    for row, text in zip(together, texts, strict=True):
        np.testing.assert_allclose(row, people_topics().scores([text])[0], atol=1e-6)


def test_a_phrase_within_a_longer_one_says_nothing() -> None:
    topics = people_topics()
    named = {topics.people.tree.names[topic] for topic in topics.listed("rugby world cup")}
    assert "Rugby" in named
    assert "Football" not in named
    assert "Football" in {topics.people.tree.names[topic] for topic in topics.listed("world cup")}
