"""The public topics of a release, by the name of their taxonomy, and as ``tacit verify`` checks them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.release.topics.consistency import estimate, stated_deviations
from tacit.release.topics.tree import ListedTopics, PublishedTopics, published_topics
from tacit.release.topics.wordnet_levels import wordnet_levels
from tacit.taxonomy.named import WORDNET, load_taxonomy

__all__ = ["check_table", "check_topics", "take_topics"]

_STATED = {"name", "topics", "sha256", "source"}


def take_topics(taxonomy: str, levels: int) -> PublishedTopics:
    """The topics of ``wordnet``, or of a file, to so many levels."""
    if taxonomy == WORDNET:
        return wordnet_levels(levels)
    tree = load_taxonomy(taxonomy)
    path = Path(taxonomy)
    source = hashlib.sha256(path.read_bytes()).hexdigest()
    every = np.ones(len(tree), np.bool_)
    return published_topics(tree, every, levels, name=path.name, source=source)


def check_topics(stated: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether the taxonomy is stated as it must be; the bundled one is read again and compared."""
    form = stated["taxonomy"]
    named = set(form) == _STATED and isinstance(form["name"], str) and type(form["topics"]) is int
    if not named or form["name"] != WORDNET:
        return named, form["name"] if named else ""
    same = wordnet_levels(stated["levels"]).to_dict() == form
    return same, f"{form['topics']} topics of {WORDNET}" if same else "not those of the bundled taxonomy"


def check_table(table: pa.Table, form: Mapping[str, Any], variance: float) -> tuple[bool, str]:
    """Whether a table lists the topics whose digest is stated, each with the error that its noise has."""
    listed = ListedTopics.of(table.column("topic").to_pylist())
    if (len(listed), listed.digest) != (form["topics"], form["sha256"]):
        return False, f"{len(listed)} topics, not those of the digest"
    due = stated_deviations(estimate(listed, np.zeros(len(listed), np.int64), variance or 1.0), variance)
    stated = dict(zip(table.column("topic").to_pylist(), table.column("deviation").to_pylist(), strict=True))
    same = [stated[label] for label in listed.labels] == due.tolist()
    return same, "as they follow" if same else "other errors are stated than follow from the noise"
