"""What programs hand to the guard, checked before anything is done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.errors import InputError

__all__ = ["check_query", "check_results"]


def check_query(query: object) -> None:
    """Refuse what is no query."""
    if not isinstance(query, str):
        raise InputError("a query must be text.")


def check_results(query: object, results: object) -> None:
    """Refuse what are no results of a query."""
    check_query(query)
    if isinstance(results, str | bytes | Mapping) or not isinstance(results, Sequence):
        raise InputError("results must be a list of mappings with url, title and snippet.")
