"""Topic trees: what a search can be about."""

from tacit.taxonomy.files import OdpPage, load_odp, load_path_file, odp_pages
from tacit.taxonomy.tree import TopicTree
from tacit.taxonomy.wordnet import WordNet, load_wordnet

__all__ = [
    "OdpPage",
    "TopicTree",
    "WordNet",
    "load_odp",
    "load_path_file",
    "load_wordnet",
    "odp_pages",
]
