"""What k-query anonymity compares: true counts with k. It draws nothing."""

from __future__ import annotations

from tacit.release.item_kinds import ITEM_KEYS, Item
from tacit.release.k_query.parameters import KQueryParameters
from tacit.release.schedule import Contribution, Part, Schedule, text_columns

__all__ = ["k_query_schedule"]

_OF_THEIR_OWN = (Item.KEYWORDS, Item.QUERIES)
"""Items of k users. The queries in a click or a pair have k users each; the click or pair may have one."""


def k_query_schedule(p: KQueryParameters) -> Schedule:
    """Exact histograms. A user adds to as many keys as their history has: no bound, and no ε."""
    assert p.k is not None
    return Schedule(
        tuple(
            Part(
                table=item.value,
                columns=text_columns(*ITEM_KEYS[item]),
                contribution=Contribution((), once=True),
                noise=None,
                least=None,
                minimum=p.k if item in _OF_THEIR_OWN else 1,
            )
            for item in p.items
        )
    )
