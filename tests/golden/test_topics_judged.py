"""How often the people's taxonomy places a real query, and rightly: what docs/guarantees/topics.md states."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.realdata import shared_data

import tacit
from tacit.release.mechanisms.topics_counting import NOWHERE, topics_of_queries
from tacit.taxonomy import people_taxonomy

JUDGED = Path(__file__).with_name("judged_topics.tsv")
DOCS = Path(__file__).parents[2] / "docs" / "guarantees" / "topics.md"


def test_the_share_of_queries_placed_and_right_is_the_one_stated() -> None:
    lines = [line for line in JUDGED.read_text("utf-8").splitlines() if not line.startswith("#")]
    right_of = {
        digest: tuple(filter(None, topics.split(",")))
        for digest, topics in (line.split("\t") for line in lines)
    }
    asked = set(tacit.read_log(shared_data("excite-small.log")).to_arrow().column("query").to_pylist())
    drawn = {hashlib.sha256(query.encode()).hexdigest()[:16]: query for query in asked}
    queries = [drawn[digest] for digest in right_of]
    tree = people_taxonomy()
    topics = topics_of_queries(tree)(queries).tolist()
    found = [
        (tree.label(topic).split("/")[1], beginnings)
        for topic, beginnings in zip(topics, right_of.values(), strict=True)
        if topic != NOWHERE
    ]
    right = sum(name.startswith(beginnings) for name, beginnings in found if beginnings)
    assert len(queries) == 100
    assert (
        f"**{len(found)} ({len(found)}%)**, of which **{right} ({right / len(found):.0%}) were right**"
        in DOCS.read_text()
    )
