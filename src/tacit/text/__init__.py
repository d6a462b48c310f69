"""Words: how a query is normalised and cut into tokens."""

from tacit.text.normalise import normalise, normalise_column
from tacit.text.tokens import STOP_WORDS, words

__all__ = ["STOP_WORDS", "normalise", "normalise_column", "words"]
