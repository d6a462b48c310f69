"""The public topic repository: a taxonomy, its documents, and an engine that finds them (Assumption 1).

The *topic index* counts how often each word occurs in the documents of each topic, those below included.
The paper keeps an inverted index a topic and files every document under all topics above its own (section
6.1). Here one list a word suffices: topics are numbered depth first, so the documents of a topic and
everything below are a range, and running totals give the count over any range by two binary searches.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.device.profile.user import Floats, Integers
from tacit.errors import InputError
from tacit.files import atomic_directory, cache_directory
from tacit.once import once
from tacit.retrieval import Corpus, Document, EmbeddedEngine, SearchEngine
from tacit.retrieval.topic_vectors import TopicVectors, load_topic_vectors, wordnet_topic_vectors
from tacit.taxonomy import OdpPage, TopicTree, load_wordnet, odp_pages
from tacit.taxonomy.files import WORDNET, is_dump, load_taxonomy
from tacit.text import STOP_WORDS, words


def content_words(text: str) -> Counter[str]:
    return Counter(word for word in words(text) if word not in STOP_WORDS)


class TopicIndex:
    """Word frequencies N(t, w) for any topic t of a tree."""

    def __init__(self, tree: TopicTree, documents: Iterable[Document]) -> None:
        self.tree = tree
        self._word: dict[str, int] = {}
        identifiers: list[int] = []
        topics: list[int] = []
        counts: list[int] = []
        number = self._word.setdefault
        for document in documents:
            found = content_words(f"{document.title} {document.text}")
            identifiers.extend(number(word, len(self._word)) for word in found)
            topics.extend([document.topic] * len(found))
            counts.extend(found.values())
        word_of = np.array(identifiers, np.int64)
        topic_of = np.array(topics, np.int64)
        entry = word_of * len(tree) + topic_of  # one number for a word under a topic, by word first
        order = np.argsort(entry, kind="stable")
        self._entry = entry[order]
        self._running = np.concatenate(([0], np.cumsum(np.array(counts, np.int64)[order])))

    def __len__(self) -> int:
        """The number of distinct words."""
        return len(self._word)

    def bag(self, text: str) -> tuple[Integers, Floats]:
        """Number the known words of ``text`` and count them: N(d, w)."""
        known = {self._word[w]: n for w, n in content_words(text).items() if w in self._word}
        return np.array(list(known), np.int32), np.array(list(known.values()), np.float64)

    def occurrences(self, topics: Integers, words: Integers) -> Floats:
        """N(t, w) of every topic (a row) and word (a column)."""
        begin = words.astype(np.int64) * len(self.tree)
        first = np.searchsorted(self._entry, begin + topics[:, None])
        last = np.searchsorted(self._entry, begin + self.tree.end[topics][:, None])
        return (self._running[last] - self._running[first]).astype(np.float64)

    def telling_words(self, text: str, count: int) -> list[str]:
        """Find the words that say most about what a text is about: frequent in it, rare in the index."""
        known = {word: times for word, times in content_words(text).items() if word in self._word}
        numbers = np.array([self._word[word] for word in known], np.int32)
        overall = self.occurrences(np.zeros(1, np.int32), numbers)[0]
        weight = np.array(list(known.values())) * np.log(self._running[-1] / overall)
        best = sorted(zip(-weight, known, strict=True))
        return [word for _, word in best[:count]]


_NAMES = "topic:"


@dataclass(frozen=True)
class TopicDocuments:
    """Documents in a list, numbered by their place, as a corpus over any taxonomy."""

    tree: TopicTree
    documents: Sequence[Document]

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, number: int) -> Document:
        return self.documents[number]

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)


class Repository:
    """A taxonomy R with the documents D(R) of its topics.

    Args:
        corpus: the documents, each under a topic of ``corpus.tree``.
        engine: a search engine over exactly these documents.
        topic_of: the topic of each document, if known already.
    """

    def __init__(self, corpus: Corpus, engine: SearchEngine, topic_of: Integers | None = None) -> None:
        self.corpus = corpus
        self.engine = engine
        self.tree: TopicTree = corpus.tree
        self.prior: Floats = self.tree.support / self.tree.support[0]
        self.topic_of: Integers = (
            np.fromiter((document.topic for document in corpus), np.int32, len(corpus))
            if topic_of is None
            else topic_of
        )

    @cached_property
    def index(self) -> TopicIndex:
        return TopicIndex(self.tree, self.corpus)

    @cached_property
    def vectors(self) -> TopicVectors:
        """The directions of all topics among word vectors (made on first use, then kept in the cache)."""
        if self.tree is load_wordnet().tree:
            return wordnet_topic_vectors()
        pages = (
            (document.topic, f"{document.title} {document.text}")
            for document in self.corpus
            if not document.url.startswith(_NAMES)  # a topic's own name is known already
        )
        return load_topic_vectors(self.tree, pages)

    def retrieve(self, query: str, documents: int) -> Integers:
        """The topics of the best documents for a query, one entry a document."""
        hits = self.engine.search(query, documents)
        return self.topic_of[np.array([hit.document for hit in hits], np.intp)]

    def text_behind(self, url: str) -> str | None:
        """The text of the repository's document at ``url``; None where it has none."""
        lookup = getattr(self.corpus, "number_of", None)  # the WordNet corpus knows without a table
        number = self._urls.get(url) if lookup is None else lookup(url)
        if number is None:
            return None
        document = self.corpus[number]
        return f"{document.title} {document.text}"

    @cached_property
    def _urls(self) -> dict[str, int]:
        return {document.url: document.number for document in self.corpus}


def taxonomy_repository(tree: TopicTree, pages: Iterable[OdpPage] = ()) -> Repository:
    """Any taxonomy as a repository: each topic's document is its own name and the names above it.

    Its search index is kept in the cache folder, under a name made from the documents.

    Args:
        tree: the taxonomy.
        pages: pages filed under its topics, such as those of the Open Directory, as further documents.
    """
    documents = [
        Document(
            number=topic,
            title=_spaced(tree.names[topic]),
            text=_spaced(" ".join(tree.path(topic)[1:])),
            url=f"{_NAMES}{tree.label(topic)}",
            topic=topic,
        )
        for topic in range(len(tree))
    ]
    for page in pages:
        path = page.topic if page.topic[:1] == (tree.names[0],) else (tree.names[0], *page.topic)
        documents.append(Document(len(documents), page.title, page.description, page.url, tree.find(path)))
    identity = hashlib.sha256()
    for document in documents:
        identity.update(f"{document.url}\n{document.title}\n{document.text}\n".encode())
    folder = cache_directory() / f"taxonomy-index-{identity.hexdigest()[:16]}"
    if not folder.exists():
        try:
            with atomic_directory(folder) as temporary:
                EmbeddedEngine.build(temporary, documents)
        except InputError:  # another process was faster
            if not folder.exists():
                raise
    return Repository(TopicDocuments(tree, documents), EmbeddedEngine(folder))


def _spaced(name: str) -> str:
    return name.replace("_", " ")  # directories write Picture_Ratings


@once
def load_repository(name: str = WORDNET) -> Repository:
    """The repository over the taxonomy of that name (see :func:`load_taxonomy`)."""
    if name == WORDNET:
        return wordnet_repository()
    return taxonomy_repository(load_taxonomy(name), odp_pages(name) if is_dump(name) else ())


@once
def wordnet_repository() -> Repository:
    """WordNet's nouns as the repository: 82,115 topics, each with one document."""
    from tacit.world import wordnet_corpus, wordnet_engine

    corpus = wordnet_corpus()
    return Repository(corpus, wordnet_engine(), np.arange(len(corpus), dtype=np.int32))
