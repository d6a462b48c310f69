"""The page of a release in a real browser: no errors, no requests, good on a phone, in the dark and on
paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import Guarantee, KQuery, Ledger, Zealous
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.release.document.about import About
from tacit.release.document.manifest import read_manifest, release_digest
from tacit.release.preparation import Preparation
from tacit.release.publication import Order, publish_log
from tacit.searchlog import SCHEMA

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
_CHROMIUM = Path("/usr/bin/chromium")
_QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
_QUIET += ["--disable-sync", "--no-first-run"]
_STATED = {
    "0.5": "Strong protection of every user",
    "1.25": "Moderate protection of every user",
    "2": "Weak protection: think twice before publishing this",
    "100": "No protection to speak of",
    "k": "No protection against anybody who knows the method",
    "after k": "No protection: exact counts of this data set were published before",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A release at each of four ε, each of a data set of its own; one of k-query, and one after it."""
    home = tmp_path_factory.mktemp("pages")
    rows = [
        (f"u{n}", query) for n in range(400) for query in ("weather", "a rather long query " * 9, f"rare {n}")
    ]
    log = home / "log.parquet"
    columns = {
        "user": [user for user, _ in rows],
        "query": [query.strip() for _, query in rows],
        "time": [datetime(2006, 3, 1) + timedelta(seconds=n) for n in range(len(rows))],
        "rank": [None] * len(rows),
        "url": [None] * len(rows),
    }
    pq.write_table(pa.table(columns, schema=SCHEMA), log)
    budget = Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 200.0, 1e-2)
    about = About(
        data_set="Weekly log <of> Example",
        controller="Example Search GmbH, Berlin",
        purpose="Research & teaching",
    )
    made: dict[str, Any] = {e: Zealous(epsilon=float(e), delta=1e-6) for e in _STATED if "k" not in e}
    made |= {"k": KQuery(k=20), "after k": Zealous(epsilon=0.5, delta=1e-6)}
    for name, mechanism in made.items():
        place = home / f"{name[-1:] if 'k' in name else name}.ledger"
        ledger = Ledger(place) if place.exists() else Ledger.create(place, budget)
        publish_log(Order(log, home / name, mechanism.plan(), Preparation(), ledger, "page", about=about))
    return {name: home / name / "release.html" for name in made}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not _CHROMIUM.exists():
        pytest.skip("there is no Chromium here")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(_CHROMIUM), args=_QUIET)
        yield opened
        opened.close()


def _opened(browser: Any, path: Path, width: int, scheme: str) -> tuple[Any, list[str], list[str]]:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    return page, said, asked


@pytest.mark.parametrize("name", _STATED)
def test_the_verdict_comes_first_and_nothing_is_asked_of_the_network(
    browser: Any, pages: dict[str, Path], name: str
) -> None:
    for width, scheme in ((1100, "light"), (390, "dark")):
        page, said, asked = _opened(browser, pages[name], width, scheme)
        assert (said, asked) == ([], [pages[name].as_uri()])
        assert page.locator("h2").first.inner_text() == _STATED[name]
        warned = page.locator("section.verdict.warns").count()
        assert warned == (1 if name not in ("0.5", "1.25") else 0)
        assert page.locator("#learn tbody tr").count() == 4, "the table of beliefs never disappears"
        # Nothing but regions that scroll by themselves is wider than the screen.
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        text = page.locator("main").inner_text()
        assert page.locator("#what .red").count() == 7, "what nobody stated is shown as missing"
        assert "user is one user id" in page.locator("#verdict").inner_text()
        for raw in ("None", "none\n", "per_user", "threshold_1", "paper prints", "per user:"):
            assert raw not in text
        assert "Example Search GmbH, Berlin" in text and "Weekly log <of> Example" in text
        found = axe.Axe().run(page).response["violations"]
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
        page.close()


def test_it_is_printed_on_a_few_pages(browser: Any, pages: dict[str, Path]) -> None:
    page, _, _ = _opened(browser, pages["2"], 1100, "dark")
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    digest = release_digest(read_manifest(pages["2"].parent))
    assert page.locator(".signed code").inner_text() == digest
    assert f'@bottom-left {{ content:"Release {digest}"' in page.content()
    assert (
        2
        <= printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") + printed.count(b"/Type/Page ")
        <= 8
    )
    page.emulate_media(media="print")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    page.close()
