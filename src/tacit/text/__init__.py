"""Words: how a query is normalised and cut into tokens, and whether it names somebody."""

from tacit.text.sensitive import LONG_RUN, SUSPECT, Sensitive, sensitive_patterns, sensitive_url_patterns
from tacit.text.tokens import INVISIBLE, STOP_WORDS, normalise, normalise_column, words

__all__ = [
    "INVISIBLE", "LONG_RUN", "STOP_WORDS", "SUSPECT", "Sensitive", "normalise", "normalise_column",
    "sensitive_patterns", "sensitive_url_patterns", "words",
]  # fmt: skip
