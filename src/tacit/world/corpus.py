"""WordNet's noun synsets as documents (82,115 short texts, each its own topic), and their search index."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata, resources
from pathlib import Path

from tacit.errors import IntegrityError
from tacit.files import atomic_directory, cache_directory
from tacit.once import once
from tacit.retrieval import Document, EmbeddedEngine
from tacit.taxonomy import TopicTree, WordNet, load_wordnet

_SITE = "https://wordnet.example/"  # a name reserved for examples, so that no click leads anywhere


class WordNetCorpus:
    """The noun synsets as documents: the synonyms are the title, the gloss is the text."""

    def __init__(self, wordnet: WordNet) -> None:
        self.wordnet = wordnet
        self.tree: TopicTree = wordnet.tree

    def __len__(self) -> int:
        return len(self.wordnet)

    def __getitem__(self, number: int) -> Document:
        return self._document(number, self.wordnet.lemmas(number), self.wordnet.gloss(number))

    def __iter__(self) -> Iterator[Document]:
        return (self._document(number, *entry) for number, entry in enumerate(self.wordnet.entries()))

    def _document(self, number: int, lemmas: tuple[str, ...], gloss: str) -> Document:
        return Document(number, ", ".join(lemmas), gloss, _SITE + self.wordnet.name(number), number)

    def number_of(self, url: str) -> int | None:
        """The document at ``url``, or None if it is not one of this corpus."""
        if not url.startswith(_SITE):
            return None
        return self.wordnet.find(url.removeprefix(_SITE))


@once
def wordnet_corpus() -> WordNetCorpus:
    """The corpus over the bundled WordNet."""
    return WordNetCorpus(load_wordnet())


_FORMAT = "1"  # change it when what is indexed, or how, changes


def index_folder() -> Path:
    """Name the folder of the index of exactly this corpus and engine version."""
    identity = hashlib.sha256(_FORMAT.encode())
    identity.update(metadata.version("tantivy").encode())
    identity.update((resources.files("tacit.data") / "wordnet" / "nouns.parquet").read_bytes())
    return cache_directory() / f"wordnet-index-{identity.hexdigest()[:16]}"


def build_index() -> EmbeddedEngine:
    """Build the index anew; a reader sees the old one or the new one, never a part."""
    with atomic_directory(index_folder(), replace=True) as temporary:
        EmbeddedEngine.build(temporary, wordnet_corpus())
    return EmbeddedEngine(index_folder())


@once
def wordnet_engine() -> EmbeddedEngine:
    """The search engine over the WordNet corpus; its index is built when missing or unreadable (seconds)."""
    folder = index_folder()
    if folder.exists():
        with suppress(IntegrityError):
            return EmbeddedEngine(folder)
    return build_index()
