"""Build a profile: read the user's documents and file each under the topics it is about (Offline-1).

Documents come from a click log or a browsing history. **Topic detection** (section 6.2): the
discriminative naive Bayes classifier scores a topic t among the candidates T by::

    dnb(d, t) = sum over words w of d of  N(d,w) ln( (N(t,w) + eps) / (sum of N(t',w) over t' in T + eps) )

(18), where T are the topics that the user's query retrieves; without a query, the document's own title
or its rarest words retrieve them. Candidates may lie below one another. A word is then counted for the
lowest candidate that covers it, or the upper topic would always win and the sum would count it twice.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tacit.device.profile.arrays import pack
from tacit.device.profile.history import FILING, NEAREST, Filing, History, HistoryDocument
from tacit.device.profile.imports import SourceDocument, browsing_history
from tacit.device.profile.repository import Repository, TopicIndex, load_repository, wordnet_repository
from tacit.device.profile.store import ProfileStore, taxonomy_name
from tacit.device.profile.user import Floats, Integers
from tacit.errors import InputError, LogError, ParameterError
from tacit.retrieval.people_topics import people_topics
from tacit.retrieval.sensitive_pages import PASSED, page_text, recogniser
from tacit.taxonomy import PEOPLE, people_taxonomy
from tacit.text.vectors import load_word_table


def clicked_documents(
    log: str | Path, user: str | None, text_of: Callable[[str], str | None]
) -> Iterator[SourceDocument]:
    """The documents that one user of a search log clicked on, with their queries.

    Args:
        log: a search log.
        user: whose clicks; may be None if the log holds only one user's.
        text_of: the text behind an address; None where it is not known, and the click is left out.

    Raises:
        LogError: the log has no clicks of that user, or it has several users and none was named, or no
            clicked address has a known text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from tacit.searchlog import check_log

    path = check_log(log)
    if user is None:
        users = pc.unique(pq.read_table(path, columns=["user"], partitioning=None)["user"])
        if len(users) != 1:
            raise LogError(
                f"{path} holds {len(users):,} users; a profile is one person's.", "Name one with `user`."
            )
        user = users[0].as_py()
    table = pq.read_table(
        path,
        columns=["query", "time", "url"],
        partitioning=None,
        filters=(pc.field("user") == user) & pc.field("url").is_valid(),
    )
    if table.num_rows == 0:
        raise LogError(f"{path} has no clicks of that user.", "Check the name given with `user`.")
    known = 0
    times = pc.cast(pc.cast(table["time"], pa.timestamp("us", "UTC")), "int64").to_pylist()
    for query, time, url in zip(table["query"].to_pylist(), times, table["url"].to_pylist(), strict=True):
        text = text_of(url)
        if text is not None:
            known += 1
            moment = datetime.fromtimestamp(time / 1_000_000, UTC)
            yield SourceDocument(url, "", moment, text, query)
    if not known:
        raise LogError(
            f"none of the {table.num_rows:,} clicks leads to a document of the corpus, so no text is known.",
            "Give the pages with their text as `history` instead.",
        )


SMOOTHING = 0.01
"""The smoothing factor eps of equations 17 and 18."""


def discriminative_bayes(
    index: TopicIndex, text: str, candidates: Integers, smoothing: float = SMOOTHING
) -> tuple[Floats, float]:
    """dnb(d, t) of every candidate topic (ascending), and the number of words that any of them knows."""
    numbers, frequencies = index.bag(text)
    cells = index.occurrences(candidates, numbers)
    path: list[int] = []  # the candidates above the one at hand, which is taken off the nearest while whole
    for place, topic in enumerate(candidates.tolist()):
        while path and index.tree.end[candidates[path[-1]]] <= topic:
            path.pop()
        if path:
            cells[path[-1]] -= cells[place]
        path.append(place)
    total = cells.sum(axis=0)
    scores = np.log((cells + smoothing) / (total + smoothing)) @ frequencies
    return scores, float(frequencies[total > 0].sum())


def detect_topic(index: TopicIndex, text: str, retrieved: Integers) -> int | None:
    """The topic under which a document is filed, among the topics of the retrieved documents.

    None where no candidate knows any word of the document.
    """
    candidates = np.unique(retrieved)
    if len(candidates) == 0:
        return None
    scores, known = discriminative_bayes(index, text, candidates)
    return int(candidates[int(np.argmax(scores))]) if known > 0 else None


CANDIDATE_DOCUMENTS = 20
"""How many documents a query retrieves to name the candidate topics of equation 18."""

_BATCH = 500
_AT_ONCE = 32
_TELLING_WORDS = 8


@dataclass(frozen=True)
class BuildReport:
    """What became of the documents."""

    filed: int
    """Counted under their topics now."""
    known: int
    unplaced: int
    """About no topic of the taxonomy, as far as their words tell."""
    created: bool = False
    topics: int = 0
    documents: float = 0.0


def add_documents(
    path: str | Path,
    *,
    log: str | Path | None = None,
    user: str | None = None,
    history: str | Path | None = None,
    taxonomy: str | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> BuildReport:
    """Build a profile file, or add to one, from exactly one source of what the user read.

    Args:
        path: the profile file; it is made if there is none.
        log: a search log with the user's clicks (Parquet).
        user: whose clicks in the log; needed if it has several users.
        history: a browsing history: a browser's file, Google Takeout, bookmarks, or CSV with url and title.
        taxonomy: the taxonomy of a new profile: ``people`` (the default), ``wordnet`` or a taxonomy file.
        advance: told how many documents were dealt with, for progress.

    Raises:
        ParameterError: none or several sources are given, or a taxonomy for a profile that exists.
    """
    if (log is None) == (history is None):
        raise ParameterError("give exactly one of `log` and `history`.")
    exists = Path(path).exists()
    if exists and taxonomy is not None:
        raise ParameterError("a profile keeps its taxonomy.", "Leave out `taxonomy`, or make a new profile.")
    name = ProfileStore.taxonomy_of(path) if exists else taxonomy_name(taxonomy)
    repository = load_repository(name)
    if history is not None:
        source = browsing_history(history)
    else:
        # The people's taxonomy has no documents: clicks of a log lead to those of the embedded world.
        world = wordnet_repository() if name == PEOPLE else repository
        source = clicked_documents(str(log), user, world.text_behind)
    first = list(islice(source, 1))  # so that an unusable source leaves no empty profile behind
    if not first:
        raise InputError("the history has no pages.", "Each needs a url that begins with http, and a title.")
    with ProfileStore.opened(path, repository.tree, name) as store:
        report = build_profile(store, repository, chain(first, source), advance)
        built = store.profile()
    return replace(report, created=not exists, topics=len(built.topics), documents=float(built.support[0]))


def build_profile(
    store: ProfileStore,
    repository: Repository,
    documents: Iterable[SourceDocument],
    advance: Callable[[int], None] = lambda _: None,
) -> BuildReport:
    """File ``documents`` into a profile.

    Args:
        store: the profile file.
        repository: the taxonomy with its documents.
        documents: what the user read.
        advance: told how many documents were dealt with, for progress.
    """
    filed = known = unplaced = 0
    history = History(store)
    remaining = iter(documents)
    while batch := list(islice(remaining, _BATCH)):
        new: dict[bytes, SourceDocument] = {}
        for document in batch:
            digest = store.digest(*document.identity)
            if digest not in new and not store.is_counted(digest):
                new[digest] = document
        known += len(batch) - len(new)
        prepared = history_documents(store, repository, list(new.values()))
        history.add(prepared)
        placed = sum(document.filing is not None and len(document.filing) > 0 for document in prepared)
        filed += placed
        unplaced += len(prepared) - placed
        advance(len(batch))
    return BuildReport(filed, known, unplaced)


def history_documents(
    store: ProfileStore, repository: Repository, sources: Sequence[SourceDocument]
) -> list[HistoryDocument]:
    """Prepare what the user read, with its words and topics, to be stored.

    A document is filed by its words and those of the query that led to it: a query may say more plainly than
    a page what it is about.
    """
    table = load_word_table()
    texts = [page_text(one.query, one.title, one.text, one.url) for one in sources]
    if repository.tree is people_taxonomy():
        scores = people_topics().scores(texts)
        filed, concepts = people_filings(scores), recogniser().concepts_of(texts, scores)
    else:
        filed = filings(repository, [f"{one.query} {one.title} {one.text}" for one in sources])
        concepts = np.full(len(sources), PASSED, np.int8)
    return [
        HistoryDocument(
            digest=store.digest(*source.identity),
            time=source.time or datetime.now(UTC),
            query=source.query,
            url=source.url,
            title=source.title,
            text=source.text,
            features=pack(table, f"{source.title} {source.text}"),
            filing=filing,
            concept=concept,
        )
        for source, filing, concept in zip(sources, filed, concepts.tolist(), strict=True)
    ]


_FAINT = 0.4


def people_filings(scores: npt.NDArray[np.float32]) -> list[Filing]:
    """The best topics of each text in the people's taxonomy, as far as they come near the first."""
    topics = people_topics().topics
    found: list[Filing] = []
    for row in scores:
        order = np.argsort(-row, kind="stable")[:NEAREST]
        order = order[(row[order] > 0) & (row[order] >= _FAINT * row[order[0]])]
        filing = np.empty(len(order), FILING)
        filing["topic"], filing["score"] = topics[order], row[order]
        found.append(filing)
    return found


def filings(repository: Repository, texts: Sequence[str]) -> list[Filing]:
    """The nearest topics of each text; none for a text without a known word."""
    vectors = repository.vectors
    found: list[Filing] = []
    for begin in range(0, len(texts), _AT_ONCE):
        rows = vectors.table.directions(texts[begin : begin + _AT_ONCE])
        topics, cosines = vectors.nearest(rows, NEAREST)
        for row, near, cosine in zip(rows, topics, cosines, strict=True):
            filing = np.empty(len(near) if row.any() else 0, FILING)
            filing["topic"], filing["score"] = (near, cosine) if row.any() else ((), ())
            found.append(filing[filing["score"] > 0])
    return found


def file_document(repository: Repository, query: str, text: str) -> int | None:
    """The topic of a document: candidates from the query, or from the document where there is none."""
    index = repository.index
    for words in (query, " ".join(index.telling_words(text, _TELLING_WORDS))):
        topic = detect_topic(index, text, repository.retrieve(words, CANDIDATE_DOCUMENTS))
        if topic is not None:
            return topic
    return None
