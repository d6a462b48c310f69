"""A figure stands on one page of the documentation; where it must stand on several, it is the same on all.

Tables that follow from the code are recomputed by ``tests/golden/test_guarantee_pages.py``. What was measured
has one home: the page with the command that measures it. What remains are a few facts that pages share.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tacit.pool.protocol.population import adult
from tacit.release.mechanisms.click import BUNDLED_SIZE
from tacit.searchlog.sessions import SESSION_GAP
from tacit.text.vectors import load_word_table
from tacit.world.synth import AOL

ROOT = Path(__file__).parent.parent.parent
PAGES = {
    str(page.relative_to(ROOT)): re.sub(r"\s+", " ", page.read_text())
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}


@dataclass(frozen=True)
class Fact:
    """A number that pages may repeat: what it is, and the words beside which it stands."""

    value: Callable[[], float]
    patterns: tuple[str, ...]


FACTS = {
    "users of AOL's log": Fact(
        lambda: AOL.users,
        (
            r"([\d,]+) users of the AOL log",
            r"36 million records of ([\d,]+) users",
            r"by `tacit synth` \(([\d,]+) users",
            r"AOL's published log \([\d,]+ records, ([\d,]+) users",
            r"As large as AOL's\.\*\* `--users (\d+)`",
            r"synthetic logs of 1,000 to ([\d,]+) users",
        ),
    ),
    "records of AOL's log": Fact(
        lambda: AOL.records,
        (r"AOL's published log \(([\d,]+) records", r"[\d,]+ users, ([\d,]+) records\) and written"),
    ),
    "users of Excite's log": Fact(
        lambda: 891,
        (
            r"Excite(?: 1997)?, (\d+) users",
            r"4,501 records of (\d+) users",
        ),
    ),
    "queries of the bundled domain": Fact(
        lambda: BUNDLED_SIZE, (r"([\d,]+) nouns and phrases hold", r"([\d,]+) queries of the bundled domain")
    ),
    "people of Adult": Fact(lambda: len(adult().records), (r"([\d,]+) census records",)),
    "threshold that paper 004 prints for five items": Fact(
        lambda: round(5 * (1 - math.log(2e-6 / 5)), 2),
        (r"it gives τ' = ([\d.]+)\. ", r"so `>= ([\d.]+)` is `>= 79`"),
    ),
    "known words": Fact(lambda: len(load_word_table().vectors), (r"([\d,]+) words of GloVe",)),
    "minutes that end a session": Fact(
        lambda: SESSION_GAP.total_seconds() / 60,
        (r"end a session\]\([^)]*\): (\d+) by default", r"sessions where more than (\d+) minutes pass"),
    ),
}


def number(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_is_the_same_on_every_page(name: str) -> None:
    fact = FACTS[name]
    for pattern in fact.patterns:
        found = [(page, stated) for page, text in PAGES.items() for stated in re.findall(pattern, text)]
        assert found, f"no page says {pattern} any more"
        assert [(page, stated) for page, stated in found if number(stated) != fact.value()] == []


def is_long(figure: str) -> bool:
    digits = figure.replace(",", "").replace(".", "").strip("0")
    return len(digits) >= (4 if "." in figure else 5)


def test_a_long_figure_on_two_pages_is_a_known_fact() -> None:
    """So many digits do not meet by chance: two pages that have them speak of the same thing."""
    pages = defaultdict(set)
    for page, text in PAGES.items():
        for stated in re.findall(r"(?<![\w.,:/])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w,]|\.\d)", text):
            if ("," in stated or "." in stated) and is_long(stated):
                pages[number(stated)].add(page)
    facts = {fact.value() for fact in FACTS.values()}
    unknown = {figure: sorted(on) for figure, on in pages.items() if len(on) > 1 and figure not in facts}
    assert unknown == {}, "leave it on one page and link to it, or list it in FACTS"


def test_what_a_command_measured_stands_on_one_page() -> None:
    pages = defaultdict(set)
    for page, text in PAGES.items():
        for command in re.findall(r"python (benchmarks/\w+\.py[^`;)]*)", text):
            pages[command.strip()].add(page)
    assert len(pages) > 20
    assert {command: sorted(on) for command, on in pages.items() if len(on) > 1} == {}


def test_the_factors_of_the_officers_page() -> None:
    said = re.search(
        r"That is ([\d.]+) for ε = 0.5, ([\d.]+) for 1, ([\d.]+) for 2 and (\d+) for 4",
        " ".join(PAGES.values()),
    )
    assert said is not None
    for stated, epsilon in zip(said.groups(), (0.5, 1, 2, 4), strict=True):
        digits = len(stated.partition(".")[2])
        assert float(stated) == round(math.exp(epsilon), digits)
