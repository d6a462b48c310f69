"""The guarantee pages say what the code computes: every table, and the figures in the prose."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from tests import exact_pairs
from tests.claims import session, zealous
from tests.guarantee_tables import HOW_TO, TABLES
from tests.short_forms import session_parameters, zealous_parameters

from tacit.audit import exact
from tacit.privacy import Neighbours
from tacit.release.mechanisms.click import BUNDLED_SIZE as POOL_SIZE
from tacit.release.public_sets import bundled_domain

PAGES = Path(__file__).parent.parent.parent / "docs/guarantees"
NAMES = [(page, build) for page, tables in TABLES.items() for build in tables]


def text(page: str) -> str:
    """A page without the figures of its latest audit, which ``make audit`` draws anew."""
    return (PAGES / f"{page}.md").read_text().partition("<!-- audit: begin")[0]


@pytest.mark.parametrize(("page", "build"), NAMES, ids=[f"{page}-{build.__name__}" for page, build in NAMES])
def test_tables_are_current(page: str, build) -> None:
    assert build() in text(page), f"refresh with python -m tests.guarantee_tables:\n{build()}"


@pytest.mark.parametrize("name", HOW_TO)
def test_the_how_to_is_current(name: str) -> None:
    page = (PAGES.parent / f"how-to/{name}.md").read_text()
    for build in HOW_TO[name]:
        assert build() in page, f"refresh with python -m tests.guarantee_tables:\n{build()}"


@pytest.mark.parametrize("page", TABLES)
def test_no_table_is_unchecked(page: str) -> None:
    found = re.findall(r"^\|(?:-+:?\|)+$", text(page), re.MULTILINE)
    assert len(found) == len(TABLES[page])


@pytest.mark.parametrize("page", TABLES)
def test_every_page_has_its_parts(page: str) -> None:
    headings = re.findall(r"^## (.+)$", text(page), re.MULTILINE)
    for part in ("The mechanism", "Claim", "Derivation", "Where the", "Limits", "How it is tested"):
        assert any(heading.startswith(part) for heading in headings), part
    for named in re.findall(r"`(tests/[\w/]+\.py)`", text(page)):
        assert (PAGES.parent.parent / named).is_file(), named


def test_figures_in_the_prose() -> None:
    leak = zealous.guarantee(zealous_parameters(5, 10.0, 1, 79), Neighbours.REPLACE).delta
    assert f"{leak:.3e}" in text("zealous")
    assert f"{2 / (1 + math.exp(-1)):.2f} times the continuous tail" in text("zealous")
    one, two = (session.guarantee(session_parameters(n, 3, 1.0, 20, 1.0)).delta for n in (1, 2))
    assert f"a factor of {two / one:.1f}" in text("session")
    assert f"{math.exp(4):.0f}" == "55"
    assert 8.8e6 < math.exp(16) < 9e6
    pair = exact.product(exact_pairs.selected(math.exp(-0.1), 4, 0, 4) for _ in range(30))
    assert exact.divergence(pair, math.exp(0.1)) > 0.5  # the filter before the limit, on the page of A_Click


def test_plans_take_the_bundled_domain_for_granted() -> None:
    """``tacit plan click`` and a release with the bundled domain choose the same K."""
    assert len(bundled_domain()) == POOL_SIZE
    assert f"{POOL_SIZE:,}" in text("click")
