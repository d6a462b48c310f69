"""Why a query was submitted."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["RecordKind"]


class RecordKind(IntEnum):
    """What led to a submission."""

    NEED = 0
    """A new need out of an interest, or a curiosity."""
    ERRAND = 1
    """Where everybody goes."""
    AGAIN = 2
    """A query of the user's past, asked again."""
    NEXT_PAGE = 3
    """The same query, for further results."""
    SPECIALISE = 4
    """One more word, or a kind of the thing."""
    GENERALISE = 5
    """One word less, or what the thing is a kind of."""
    DRIFT = 6
    """A neighbouring topic."""
    CORRECT = 7
    """The same without the slip of the keyboard."""
