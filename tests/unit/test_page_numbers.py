"""Numbers of pages as the profile page writes them."""

from __future__ import annotations

import pytest

from tacit.web.site.site import _pages


@pytest.mark.parametrize(
    ("documents", "written"),
    [(12_345.6, "12,346"), (1_000, "1,000"), (10, "10"), (4.013, "4"), (0.607, "0.6"), (0.01, "0.1")],
)
def test_pages_are_whole_numbers_or_tenths(documents: float, written: str) -> None:
    assert _pages(documents) == written
