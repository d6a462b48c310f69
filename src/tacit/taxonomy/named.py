"""A taxonomy by its name: the bundled one, or a file of any shape that can be read."""

from __future__ import annotations

from pathlib import Path

from tacit.errors import InputError
from tacit.taxonomy.odp import load_odp
from tacit.taxonomy.path_files import load_path_file
from tacit.taxonomy.tree import TopicTree
from tacit.taxonomy.wordnet import load_wordnet

__all__ = ["WORDNET", "is_dump", "load_taxonomy"]

WORDNET = "wordnet"
"""The name of the bundled taxonomy."""


def load_taxonomy(name: str) -> TopicTree:
    """The taxonomy of that name: ``wordnet``, or a file (paths, tiers, Topics table, Open Directory dump)."""
    if name == WORDNET:
        return load_wordnet().tree
    if not Path(name).is_file():
        raise InputError(f"there is no taxonomy at {name}.", f"Give a file, or {WORDNET}.")
    return load_odp(name) if is_dump(name) else load_path_file(name)


def is_dump(name: str) -> bool:
    """Whether a file is a dump of the Open Directory, by its name."""
    return bool({".rdf", ".u8"} & set(Path(name).suffixes))
