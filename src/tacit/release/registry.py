"""The mechanisms there are: one line each, loaded when they are needed.

A mechanism is a module with ``MECHANISM`` (light: the command line reads its declaration for the help), and
beside it a module of words, ``NAME_words`` (:mod:`tacit.release.prose`).
"""

from importlib import import_module

from tacit.errors import ParameterError
from tacit.release.mechanism import Mechanism

MECHANISMS: dict[str, str] = {
    "adaptive": "tacit.release.mechanisms.adaptive",
    "zealous": "tacit.release.mechanisms.zealous",
    "click": "tacit.release.mechanisms.click",
    "session": "tacit.release.mechanisms.session",
    "topics": "tacit.release.mechanisms.topics",
    "k-query": "tacit.release.mechanisms.k_query",
}
"""The module of each mechanism, by its name on the command line."""


SERIES = "series"
"""What is published week by week (:mod:`tacit.release.series`), and is no release of one log."""


def mechanism_class(name: str) -> type[Mechanism]:
    if name not in MECHANISMS and name != SERIES:
        raise ParameterError.outside("the mechanism", name, "one of " + ", ".join(MECHANISMS))
    found: type[Mechanism] = import_module(MECHANISMS.get(name, "tacit.release.mechanisms.series")).MECHANISM
    return found
