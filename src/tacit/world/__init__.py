"""The embedded world: WordNet as a corpus with a search index, to try everything on."""

from tacit.world.corpus import WordNetCorpus, index_folder, wordnet_corpus, wordnet_engine

__all__ = ["WordNetCorpus", "index_folder", "wordnet_corpus", "wordnet_engine"]
