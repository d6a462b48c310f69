"""Items of a search log: what a histogram counts the users of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tacit.release.contribution import searches_of, steps_of
from tacit.release.item_kinds import Item
from tacit.release.keywords import keywords_of

__all__ = ["items_of"]

_ITEMS: Mapping[Item, Callable[[Any], Any]] = {
    Item.KEYWORDS: keywords_of,
    Item.QUERIES: lambda log: log,
    Item.CLICKS: lambda log: log.filter(log.url.notnull()),
    Item.PAIRS: lambda log: steps_of(searches_of(log)),
}


def items_of(log: Any, item: Item) -> Any:
    """All items of a log, with repetitions: user, time, the key columns, maybe others."""
    return _ITEMS[item](log)
