"""What of a history may shape what is sent."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Sending"]


class Sending(StrEnum):
    """Which documents have a say in the profile that goes out, and how a query is mapped to topics."""

    FILTERED = "filtered"
    """The default: documents that are near a sensitive topic, as few topics are near to them, have no say."""
    STRICT = "strict"
    """Nor have those with the least likeness to a sensitive topic."""
    UNFILTERED = "unfiltered"
    """Every document has a say. What is sent then depends on the sensitive ones, within the risk bound."""
    PAPER = "paper"
    """As in the paper: queries are mapped by the documents of the taxonomy that they retrieve, preferences
    are supports, and every document counts. What is sent depends on the sensitive ones."""

    @property
    def withholds(self) -> bool:
        """Whether documents that may be about sensitive topics are left out."""
        return self in (Sending.FILTERED, Sending.STRICT)
