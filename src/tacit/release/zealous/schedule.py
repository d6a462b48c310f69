"""What ZEALOUS draws: for each histogram one noise, one comparison, and the compared count is published."""

from __future__ import annotations

from tacit.release.item_kinds import ITEM_KEYS
from tacit.release.schedule import Contribution, Noise, Part, Schedule, text_columns
from tacit.release.zealous.parameters import ZealousParameters

__all__ = ["zealous_schedule"]


def zealous_schedule(p: ZealousParameters) -> Schedule:
    """A part for each histogram, all alike: items of at least τ users get noise λ and pass from T on."""
    return Schedule(
        tuple(
            Part(
                table=item.value,
                columns=text_columns(*ITEM_KEYS[item]),
                contribution=Contribution((p.per_user,), once=True),
                noise=Noise(p.scale),
                least=p.second,
                minimum=p.first,
            )
            for item in p.items
        )
    )
