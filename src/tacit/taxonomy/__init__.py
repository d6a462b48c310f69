"""Topic trees: what a search can be about."""

from tacit.taxonomy.odp import OdpPage, load_odp, odp_pages
from tacit.taxonomy.path_files import load_path_file
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
