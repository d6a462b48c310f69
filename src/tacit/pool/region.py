"""Regions of records: the generalised record d' is a rectangle over the attributes (section 5.3).

A record is a point: for each attribute a code from 0 to the size of its domain less one. A region gives each
attribute an interval of codes, both ends included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Region", "group_information_loss", "information_loss", "width_share"]


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of records: ``low[a]`` to ``high[a]`` for each attribute a, both included."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    def __contains__(self, record: Sequence[int]) -> bool:
        return len(record) == len(self.low) and all(
            low <= value <= high for low, value, high in zip(self.low, record, self.high, strict=True)
        )

    @property
    def points(self) -> int:
        """S(d'): how many distinct records it covers."""
        return math.prod(high - low + 1 for low, high in zip(self.low, self.high, strict=True))

    def covers(self, other: Region) -> bool:
        """Is every record of ``other`` one of this region's too?"""
        return other.low in self and other.high in self


def information_loss(region: Region, domain: Region) -> Fraction:
    """IL(d') = (S(d') - 1) / S(D), eq. 1: the share of all records that ``region`` cannot be told from."""
    return Fraction(region.points - 1, domain.points)


def group_information_loss(members: int, region: Region, domain: Region) -> Fraction:
    """IL(G) = \\|G\\| IL(d'), eq. 2."""
    return members * information_loss(region, domain)


def width_share(region: Region, domain: Region) -> float:
    """The mean share of each attribute's width that ``region`` covers (normalised certainty penalty, NCP).

    Information loss is a share of volume: 5 % of it over eight attributes is 69 % of each one's width. An
    attribute with a single value counts as 0.
    """
    shares = [
        (high - low) / (top - bottom) if top > bottom else 0.0
        for low, high, bottom, top in zip(region.low, region.high, domain.low, domain.high, strict=True)
    ]
    return sum(shares) / len(shares)
