"""Topic trees: what a search can be about."""

from tacit.taxonomy.tree import TopicTree
from tacit.taxonomy.wordnet import WordNet, load_wordnet

__all__ = ["TopicTree", "WordNet", "load_wordnet"]
