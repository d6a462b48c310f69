"""The public domain of A_Click: queries that may be published whether anybody asked them or not.

A pure guarantee holds over a finite set of queries that is public and does not depend on the log (notes on
A_Click; the thesis's pool, section 3.3.2). The bundled one is built from WordNet's nouns: their lemmas, and
the word pairs and triples that occur at least twice in its glosses and end with a noun. Another can be
given as a text file, one query per line. It must be public: a list taken from search logs reveals them.

With p_g < 1 the queries that nobody asked take part by chance, drawn anew for each release from the
operating system's randomness, and who took part is never shown.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import InputError
from tacit.text import STOP_WORDS, normalise, normalise_column, words

__all__ = ["BUNDLED", "PublicDomain", "bundled_domain", "read_domain", "take_domain"]

BUNDLED = "wordnet"
"""The name of the bundled domain."""
_LEAST = 2
_LONGEST_GRAM = 3


@dataclass(frozen=True)
class PublicDomain:
    """A public set of queries, normalised, sorted, each once."""

    name: str
    queries: pa.Array

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def digest(self) -> str:
        """SHA-256 over the queries, one line for each: who has the file can check that it was this one."""
        digest = hashlib.sha256()
        for query in self.queries:
            digest.update(query.as_py().encode() + b"\n")
        return digest.hexdigest()

    def __bool__(self) -> bool:
        return True

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {"name": self.name, "queries": len(self), "sha256": self.digest}

    def table(self) -> pa.Table:
        """One column, ``query``."""
        return pa.table({"query": self.queries})


def _domain(name: str, queries: pa.Array) -> PublicDomain:
    distinct = pc.unique(queries)
    distinct = distinct.filter(pc.not_equal(distinct, ""))
    return PublicDomain(name, distinct.take(pc.sort_indices(distinct)))


def bundled_domain() -> PublicDomain:
    """WordNet's lemmas and the n-grams of its glosses; a few seconds, the same everywhere."""
    from tacit.taxonomy.wordnet import load_wordnet

    wordnet = load_wordnet()
    found: set[str] = set()
    grams: Counter[str] = Counter()
    for synset in range(len(wordnet.tree)):
        found.update(normalise(lemma) for lemma in wordnet.lemmas(synset))
        gloss = words(wordnet.gloss(synset))
        for size in range(2, _LONGEST_GRAM + 1):
            grams.update(
                " ".join(gloss[i : i + size])
                for i in range(len(gloss) - size + 1)
                if gloss[i] not in STOP_WORDS and gloss[i + size - 1] not in STOP_WORDS
            )
    nouns: dict[str, bool] = {}
    for gram, count in grams.items():
        last = gram.rpartition(" ")[2]
        if count >= _LEAST:
            if last not in nouns:
                nouns[last] = wordnet.lemma(last) is not None
            if nouns[last]:
                found.add(gram)
    return _domain(BUNDLED, pa.array(sorted(found), pa.string()))


def read_domain(path: str | Path) -> PublicDomain:
    """A text file in UTF-8, one query per line; blank lines and repetitions do not count."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text.", "Give a text file with one query per line.") from error
    domain = _domain(path.name, normalise_column(pa.array(lines, pa.string())))
    if not len(domain):
        raise InputError(f"{path} holds no query.", "Give a text file with one query per line.")
    return domain


def take_domain(given: str | None) -> PublicDomain | None:
    """``wordnet``, ``none`` or the path of a file."""
    if given is None or given == "none":
        return None
    return bundled_domain() if given == BUNDLED else read_domain(given)
