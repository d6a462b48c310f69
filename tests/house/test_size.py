"""The source stays small: the limits that ``python scripts/size.py`` prints the figures for."""

from __future__ import annotations

from scripts import size

LINES = 54_850
FILES = 300
IMPORT_SHARE = 0.065
PUBLIC_NAMES = 34


def test_the_source_keeps_within_its_limits() -> None:
    """A change that needs more says so here, and why."""
    total = size.measured()["total"]
    assert total.lines <= LINES
    assert total.files <= FILES
    assert total.import_share <= IMPORT_SHARE, "of all lines; in private modules __all__ is not needed"
    assert len(size.public_names()) <= PUBLIC_NAMES


def test_small_modules_are_used_by_more_than_one() -> None:
    """A module of under 60 lines with one importer usually belongs inside it."""
    allowed = {"tacit.entry"}  # before anything is loaded
    assert set(size.measured()["total"].single_use) <= allowed
