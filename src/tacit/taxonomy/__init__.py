"""Topic trees: what a search can be about."""

from tacit.taxonomy.files import OdpPage, load_odp, load_path_file, odp_pages
from tacit.taxonomy.people import PEOPLE, PeopleTaxonomy, load_people, people_taxonomy
from tacit.taxonomy.tree import TopicTree
from tacit.taxonomy.wordnet import WordNet, load_wordnet

__all__ = [
    "PEOPLE", "OdpPage", "PeopleTaxonomy", "TopicTree", "WordNet", "load_odp", "load_path_file",
    "load_people", "load_wordnet", "odp_pages", "people_taxonomy",
]  # fmt: skip
