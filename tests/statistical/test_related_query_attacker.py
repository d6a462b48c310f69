"""An attacker who has seen other people's messages for the same query: does one tell who has the interest?

Half of a population reads about illnesses. The attacker knows of everybody else who does and what they sent
with the same query, and guesses as those who sent the same. Blind guessing is right half of the time. With
40 people a blind attacker exceeds 0.5 + 2.33 * sqrt(0.25 / 40) = 0.68 with probability 0.01.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from tacit.device import Guard, Sending, load_repository

PEOPLE = 40
QUERIES = ("heart disease", "infection fever")
START = datetime(2026, 1, 1, tzinfo=UTC)
CHANCE = 0.5 + 2.33 * np.sqrt(0.25 / PEOPLE)


def histories() -> list[tuple[bool, list[tuple[str, str]]]]:
    """Everybody reads of random things, some of them near to health; every second person of illnesses."""
    repository = load_repository()
    wordnet, tree = repository.corpus.wordnet, repository.tree  # type: ignore[attr-defined]
    random = np.random.default_rng(3)
    illness = np.arange(wordnet.synset("disease.n.01"), tree.end[wordnet.synset("disease.n.01")])
    near = np.concatenate(
        [np.arange(s, tree.end[s]) for s in map(wordnet.synset, ("body_part.n.01", "food.n.01", "drug.n.01"))]
    )
    people = []
    for person in range(PEOPLE):
        read = [*random.choice(len(tree), 8), *random.choice(near, 6)]
        if person % 2:
            read += [*random.choice(illness, 6)]
        texts = [(repository.corpus[int(n)].title, repository.corpus[int(n)].text) for n in read]
        people.append((bool(person % 2), texts))
    return people


def accuracy(folder: Path, sending: Sending) -> float:
    """How often the attacker is right, over all queries and people."""
    people = histories()
    seen: dict[str, list[str]] = {query: [] for query in QUERIES}
    for number, (_, texts) in enumerate(people):
        with Guard(folder / f"{sending}-{number}.profile", delta=0.05, sending=sending) as guard:
            guard.sensitive("disease.n.01", 1.0)
            guard.learn(
                ("", {"url": f"u{place}", "title": title, "snippet": text}, START + timedelta(minutes=place))
                for place, (title, text) in enumerate(texts)
            )
            for query in QUERIES:
                seen[query].append(json.dumps(guard.protect(query).message["topics"]))
    interested = [person[0] for person in people]
    right = [_right(messages, interested, person) for messages in seen.values() for person in range(PEOPLE)]
    return sum(right) / len(right)


def _right(messages: list[str], interested: list[bool], person: int) -> float:
    """Whether the attacker is right about one person: 1, 0, or a half where the message says nothing.

    The message is held against how often people with and without the interest send it; if nobody else sent
    this very message, against how often they send any profile at all.
    """
    others = [other for other in range(PEOPLE) if other != person]
    sizes = Counter(interested[other] for other in others)
    for alike in (
        [other for other in others if messages[other] == messages[person]],
        [other for other in others if (messages[other] == "[]") == (messages[person] == "[]")],
    ):
        votes = Counter(interested[other] for other in alike)
        difference = votes[True] / sizes[True] - votes[False] / sizes[False]
        if abs(difference) > 1e-9:
            return float((difference > 0) == interested[person])
    return 0.5


@pytest.mark.slow
def test_the_default_leaves_the_attacker_at_chance_and_the_papers_mode_does_not(tmp_path: Path) -> None:
    filtered = accuracy(tmp_path, Sending.FILTERED)
    unfiltered = accuracy(tmp_path, Sending.UNFILTERED)
    paper = accuracy(tmp_path, Sending.PAPER)
    assert abs(filtered - 0.5) <= CHANCE - 0.5, f"filtered {filtered:.2f}"
    assert max(unfiltered, paper) > 0.7, f"unfiltered {unfiltered:.2f}, paper {paper:.2f}"
