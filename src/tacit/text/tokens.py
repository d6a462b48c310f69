"""Tokens: the words of a text, as every part of Tacit counts them."""

from __future__ import annotations

import re

__all__ = ["STOP_WORDS", "words"]

_WORD = re.compile(r"\w+(?:['’]\w+)*", re.UNICODE)

STOP_WORDS = frozenset(
    """
    a about above after again against all am an and any are aren't as at be because been before being
    below between both but by can cannot can't could couldn't did didn't do does doesn't doing don't down
    during each few for from further had hadn't has hasn't have haven't having he her here hers herself
    him himself his how i if in into is isn't it its itself just let's me more most mustn't my myself no
    nor not now of off on once only or other ought our ours ourselves out over own same shan't she should
    shouldn't so some such than that the their theirs them themselves then there these they this those
    through to too under until up very was wasn't we were weren't what when where which while who whom
    why will with won't would wouldn't you your yours yourself yourselves www http https com org net
    """.split()
)
"""English function words, and what is left of addresses when they are cut into words."""


def words(text: str) -> list[str]:
    """The words of ``text`` in lower case, in order.

    >>> words("Hypernyms: WordNet's java (coffee)")
    ['hypernyms', "wordnet's", 'java', 'coffee']
    """
    return _WORD.findall(text.lower().replace("’", "'"))
