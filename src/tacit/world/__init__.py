"""The embedded world: WordNet as a corpus with a search index, to try everything on."""

from tacit.world.corpus import WordNetCorpus, wordnet_corpus
from tacit.world.index import index_folder, wordnet_engine

__all__ = ["WordNetCorpus", "index_folder", "wordnet_corpus", "wordnet_engine"]
