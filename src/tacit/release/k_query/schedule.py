"""What k-query anonymity compares: true counts with k. It draws nothing."""

from __future__ import annotations

from tacit.release.item_kinds import ITEM_KEYS
from tacit.release.k_query.parameters import KQueryParameters
from tacit.release.schedule import Contribution, Part, Schedule, text_columns

__all__ = ["k_query_schedule"]


def k_query_schedule(p: KQueryParameters) -> Schedule:
    """Exact histograms of what k users have, in every table. A user may add to any number of keys: no ε."""
    assert p.k is not None
    return Schedule(
        tuple(
            Part(
                table=item.value,
                columns=text_columns(*ITEM_KEYS[item]),
                contribution=Contribution((), once=True),
                noise=None,
                least=None,
                minimum=p.k,
            )
            for item in p.items
        )
    )
