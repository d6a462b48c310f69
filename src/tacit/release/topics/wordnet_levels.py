"""Readable levels of WordNet's nouns.

WordNet's own top is abstract: whatever is searched for is an entity, and nearly all of it a physical entity
or an abstraction. Its lexicographers worked from 25 *unique beginners* instead (Miller, "Nouns in WordNet",
1990), such as animal, artifact, person or location. They are the first level here. Below, a topic is
published if it covers at least a thousandth of what nouns mean in Princeton's sense-tagged corpus, and no
more than four fifths of the topic above it, which would only say the same again.

All of this follows from WordNet alone: nobody's searches have a say in it.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources

import numpy as np

from tacit.release.topics.tree import PublishedTopics, published_topics
from tacit.taxonomy import load_wordnet
from tacit.taxonomy.named import WORDNET

__all__ = ["BEGINNERS", "wordnet_levels"]

BEGINNERS = (
    *("act.n.02", "animal.n.01", "artifact.n.01", "attribute.n.02", "body_part.n.01", "cognition.n.01"),
    *("communication.n.02", "event.n.01", "feeling.n.01", "food.n.01", "food.n.02", "group.n.01"),
    *("location.n.01", "motivation.n.01", "natural_object.n.01", "phenomenon.n.01", "person.n.01"),
    *("plant.n.02", "possession.n.02", "process.n.06", "measure.n.02", "relation.n.01", "shape.n.02"),
    *("state.n.02", "substance.n.01", "time_period.n.01"),
)
"""The unique beginners (food has two meanings that are none of each other's)."""

_LEAST = 0.001
"""The least share of all meant nouns that a published topic covers."""
_MOST_OF_ABOVE = 0.8
"""The largest share of the published topic above it."""


@cache
def wordnet_levels(levels: int) -> PublishedTopics:
    """The published topics of WordNet."""
    wordnet = load_wordnet()
    tree = wordnet.tree
    share = tree.support / tree.support[0]
    first = [wordnet.synset(name) for name in BEGINNERS]
    kept = np.zeros(len(tree), np.bool_)
    nearest = np.zeros(len(tree), np.int64)  # the nearest kept topic at or above each
    kept[first] = True
    for topic in range(1, len(tree)):
        upper = nearest[tree.parent[topic]]
        if not kept[topic] and upper:
            kept[topic] = _LEAST <= share[topic] <= _MOST_OF_ABOVE * share[upper]
        nearest[topic] = topic if kept[topic] else upper
    content = (resources.files("tacit.data") / "wordnet" / "nouns.parquet").read_bytes()
    return published_topics(
        tree,
        kept,
        levels,
        name=WORDNET,
        source=hashlib.sha256(content).hexdigest(),
        first=first,
        called=lambda topic: (*wordnet.lemmas(topic), wordnet.name(topic)),
    )
