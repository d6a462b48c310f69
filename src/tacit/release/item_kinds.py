"""The kinds of items that histograms of a search log count the users of."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

__all__ = ["ITEM_KEYS", "Item"]


class Item(StrEnum):
    """What a histogram counts the users of."""

    KEYWORDS = "keywords"
    QUERIES = "queries"
    CLICKS = "clicks"
    PAIRS = "pairs"


ITEM_KEYS: Mapping[Item, tuple[str, ...]] = {
    Item.KEYWORDS: ("keyword",),
    Item.QUERIES: ("query",),
    Item.CLICKS: ("query", "url"),
    Item.PAIRS: ("query", "next_query"),
}
"""The columns that make an item: a pair is a query and the next different one of the same session."""
