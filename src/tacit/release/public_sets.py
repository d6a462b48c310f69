"""Public sets for A_Click, which do not depend on the log: queries, the urls they surface, and pairs of
queries.

**Queries** may be published whether anybody asked them or not. A pure guarantee holds over a finite set of
queries that is public and does not depend on the log (notes on A_Click; the thesis's pool, section 3.3.2).
The bundled one is built from WordNet's nouns: their lemmas, and the word pairs and triples that occur at
least twice in its glosses and end with a noun. Another can be given as a text file that names its origin in
its first line, then one query per line. It must be public: a list taken from search logs reveals them, and
what looks like a log, or holds most of what single users of the log to be released asked
(:func:`refuse_domain_of_log`), is refused.

**Urls.** Listing the urls that were clicked reveals a single click with certainty. Listing public ones does
not: the results of an engine that anybody may ask, or a file. They are looked up for the selected queries
alone, which are published anyway.

**Pairs.** Which queries were selected is published, so the pairs of them are public from then on and may all
get noise, whether the step occurred or not. There are many: pairs are made of the queries with the largest
published counts, up to a fixed number of them, which again uses nothing but what is published.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.engines import Engine
from tacit.errors import InputError
from tacit.text import STOP_WORDS, normalise, normalise_column, words

BUNDLED = "wordnet"
"""The name of the bundled domain."""
BUNDLED_WORDS = "words"
"""The name of the bundled list of words."""
LARGEST_DOMAIN = 64 << 20
"""Bytes of the largest domain file that is read."""
_ORIGIN = "# origin:"
_LONGEST_QUERY = 200
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{4}")
_REMEDY = "Give a text file that is public: its origin in the first line, then one query per line."
_LEAST = 2
_LONGEST_GRAM = 3


@dataclass(frozen=True)
class PublicDomain:
    """A public set of queries, normalised, sorted, each once."""

    name: str
    queries: pa.Array
    origin: str = "stated by the program"
    """Where the list comes from, so that a reader can judge that it is public."""
    from_file: bool = False  # whether somebody named a file, who may have named a list taken from the log

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def digest(self) -> str:
        """SHA-256 over the queries, one line for each: who has the file can check that it was this one."""
        return hashlib.sha256(
            "".join(f"{query}\n" for query in self.queries.to_pylist()).encode()
        ).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "origin": self.origin, "queries": len(self), "sha256": self.digest}

    def table(self) -> pa.Table:
        return pa.table({"query": self.queries})


def _domain(name: str, queries: pa.Array, origin: str, *, from_file: bool = False) -> PublicDomain:
    distinct = pc.unique(queries)
    distinct = distinct.filter(pc.not_equal(distinct, ""))
    return PublicDomain(name, distinct.take(pc.sort_indices(distinct)), origin, from_file)


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
    is_noun = cache(lambda word: wordnet.lemma(word) is not None)
    found.update(gram for gram, n in grams.items() if n >= _LEAST and is_noun(gram.rpartition(" ")[2]))
    return _domain(BUNDLED, pa.array(sorted(found), pa.string()), "the nouns and glosses of WordNet 3.0")


def read_domain(path: str | Path) -> PublicDomain:
    """A text file in UTF-8: its origin in the first line, then one query per line.

    Blank lines and repetitions do not count. What is no list of queries, or looks like a log, is refused.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}.", f"Name a domain file, or {BUNDLED}.")
    if path.stat().st_size > LARGEST_DOMAIN:
        raise InputError(
            f"{path} is larger than the {LARGEST_DOMAIN >> 20} MB of the largest domain.",
            "Give a shorter list.",
        )
    content = path.read_bytes()
    if content.startswith(b"PAR1"):
        raise InputError(f"{path} is a Parquet file, as a search log is.", _REMEDY)
    try:
        first, *lines = content.decode("utf-8").splitlines() or [""]
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text.", _REMEDY) from error
    if not first.lower().startswith(_ORIGIN) or not first[len(_ORIGIN) :].strip():
        raise InputError(
            f"{path} does not name its origin.", f"Begin it with a line such as `{_ORIGIN} titles of …`."
        )
    _refuse_log(path, lines)
    origin = " ".join(first[len(_ORIGIN) :].split())[:_LONGEST_QUERY]
    queries = normalise_column(pa.array(lines, pa.string()))
    domain = _domain(path.name, queries, origin, from_file=True)
    if not len(domain):
        raise InputError(f"{path} holds no query.", _REMEDY)
    return domain


def _refuse_log(path: Path, lines: list[str]) -> None:
    """Refuse what has the columns, the times or the long lines of something else than a list of queries."""
    columns = next((number for number, line in enumerate(lines, start=2) if "\t" in line), None)
    if columns is not None:
        raise InputError(
            f"{path} has several columns (a tab in line {columns}), as a search log has.", _REMEDY
        )
    sample = [line for line in lines[:1000] if line.strip()]
    if sum(bool(_TIME.search(line)) for line in sample) * 2 > len(sample):
        raise InputError(f"most lines of {path} hold a time, as those of a search log do.", _REMEDY)
    long = next((n for n, line in enumerate(lines, start=2) if len(line) > _LONGEST_QUERY), None)
    if long is not None:
        raise InputError(f"line {long} of {path} is longer than {_LONGEST_QUERY} characters.", _REMEDY)


@cache
def take_list(given: str) -> PublicDomain:
    """``words``, ``wordnet`` or the path of a file."""
    if given != BUNDLED_WORDS:
        return take_domain(given)
    content = (resources.files("tacit.data") / "glove" / "words.txt").read_text(encoding="utf-8")
    listed = normalise_column(pa.array(content.split(), pa.string()))
    return _domain(BUNDLED_WORDS, listed, "the 50,000 commonest words of GloVe")


def take_domain(given: str) -> PublicDomain:
    """``wordnet`` or the path of a file."""
    return bundled_domain() if given == BUNDLED else read_domain(given)


_RESULTS = 10


@dataclass(frozen=True)
class PublicUrls:
    """A public map from a query to the urls it surfaces."""

    name: str
    urls: Callable[[str], tuple[str, ...]]
    digest: str = ""  # SHA-256 of what the map is made from: who has the file, or the engine, can check it

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "sha256": self.digest}

    def keys(self, queries: pa.Table) -> pa.Table:
        """(query, url) for each of the given queries."""
        listed = queries.column("query").to_pylist()
        found = [(query, url) for query in listed for url in dict.fromkeys(self.urls(query))]
        names = pa.array([query for query, _ in found], pa.string())
        return pa.table({"query": names, "url": pa.array([url for _, url in found], pa.string())})


def urls_from_wordnet() -> PublicUrls:
    """The ten best documents of the bundled WordNet engine."""
    from tacit.world import wordnet_corpus, wordnet_engine

    engine, corpus = wordnet_engine(), wordnet_corpus()

    def urls(query: str) -> tuple[str, ...]:
        return tuple(corpus[hit.document].url for hit in engine.search(query, _RESULTS))

    content = (resources.files("tacit.data") / "wordnet" / "nouns.parquet").read_bytes()
    made_by = f"{_RESULTS} results of tantivy {metadata.version('tantivy')}\n".encode()
    return PublicUrls("wordnet", urls, hashlib.sha256(made_by + content).hexdigest())


def urls_from_file(path: str | Path) -> PublicUrls:
    """A text file in UTF-8: one line for each query, tab, url."""
    path = Path(path)
    listed: dict[str, list[str]] = {}
    content = path.read_bytes()
    for number, line in enumerate(content.decode("utf-8").splitlines(), start=1):
        query, tab, url = line.partition("\t")
        if not (query and tab and url.strip()):
            raise InputError(
                f"line {number} of {path} is not a query, a tab and a url.",
                "Give a text file with one pair per line.",
            )
        listed.setdefault(normalise(query), []).append(url.strip())
    digest = hashlib.sha256(content).hexdigest()
    return PublicUrls(path.name, lambda query: tuple(listed.get(query, ())), digest)


def take_urls(given: str) -> PublicUrls:
    """``wordnet`` or the path of a file."""
    return urls_from_wordnet() if given == "wordnet" else urls_from_file(given)


LARGEST_SHARE = 0.5
"""Of the queries that one user alone asked, a domain may hold this share at most."""

FEWEST = 100
"""With fewer such queries nothing is judged."""


def refuse_domain_of_log(engine: Engine, log: Any, domain: PublicDomain) -> None:
    """Refuse a domain file that holds most of the queries that one user alone asked.

    Its queries may be published whether anybody asked them or not, so a list taken from the very log would
    publish what single people asked, whatever the noise. It is known by the queries that one user alone
    asked: a public list holds few of them (WordNet's nouns and phrases 9%, of the Excite log as of the
    synthetic one), the log's own list holds all.

    The refusal depends on the log, and no guarantee covers it (docs/guarantees/click.md, "A domain that is
    public"): it is said to the log's owner alone, before anything is charged, and without a figure. A small
    log, where it could hang on one person, is not judged.
    """
    asked = log.group_by("query").aggregate(users=log.user.nunique())
    alone = engine.keep(asked.filter(asked.users == 1).select("query"))
    listed = engine.load(domain.table())
    held = alone.semi_join(listed, "query")
    total = engine.table(alone.aggregate(rows=alone.count())).column("rows")[0].as_py()
    found = engine.table(held.aggregate(rows=held.count())).column("rows")[0].as_py()
    engine.drop(alone)
    if total >= FEWEST and found > LARGEST_SHARE * total:
        raise InputError(
            f"the domain {domain.name} holds most of the queries that single users of this log asked: it was "
            "taken from the log, or from one like it, and is not public.",
            "Nothing was charged or published. Give a list that was public before the log, or wordnet.",
        )


MOST_QUERIES = 4000
"""Queries whose pairs are considered: 16 million pairs at most."""
_ROWS = 256


def pairs_of_selected(queries: pa.Table, taken: pa.Table) -> Iterator[pa.RecordBatch]:
    """List every ordered pair of different published queries with the true count of its steps.

    Args:
        queries: what is published, largest count first.
        taken: (query, next_query, count) of steps between selected queries. Secret.
    """
    names = queries.column("query").slice(0, MOST_QUERIES).combine_chunks()
    size = len(names)
    start = np.asarray(pc.fill_null(pc.index_in(taken.column("query"), names), -1))
    end = np.asarray(pc.fill_null(pc.index_in(taken.column("next_query"), names), -1))
    counts = np.asarray(taken.column("count").cast(pa.int64()))
    inside = (start >= 0) & (end >= 0)
    start, end, counts = start[inside], end[inside], counts[inside]
    for first in range(0, size, _ROWS):
        rows = np.arange(first, min(first + _ROWS, size))
        here = (start >= first) & (start < first + _ROWS)
        block = np.zeros((len(rows), size), np.int64)
        block[start[here] - first, end[here]] = counts[here]
        source, target = np.divmod(np.arange(block.size), size)
        different = source + first != target
        yield pa.record_batch(
            [
                pa.DictionaryArray.from_arrays(pa.array(source[different] + first, pa.int32()), names),
                pa.DictionaryArray.from_arrays(pa.array(target[different], pa.int32()), names),
                pa.array(block.ravel()[different]),
            ],
            names=["query", "next_query", "count"],
        )
