"""Numbers of pages as the profile page writes them."""

from __future__ import annotations

import pytest

from tacit.web.site.site import _pages


@pytest.mark.parametrize(
    ("documents", "written"),
    [(12_345.6, "12,346 pages"), (10, "10 pages"), (4.013, "4 pages"), (1.2, "1 page"), (0.01, "1 page")],
)
def test_pages_are_whole_numbers(documents: float, written: str) -> None:
    assert _pages(documents) == written
