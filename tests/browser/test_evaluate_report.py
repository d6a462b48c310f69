"""The report in a real browser: charts are drawn, nothing is fetched, nothing complains."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from tests.evaluate_report import evaluate, write_popular_log

CHROMIUM = Path("/usr/bin/chromium")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    log = write_popular_log(folder / "log.parquet")
    options = ("--epsilon", "16", "--epsilon", "64", "--k", "5", "--k", "10", "--folds", "2", "--synthetic")
    options += ("--draws", "2", "-m", "adaptive", "-m", "zealous", "-m", "k-query")
    evaluate(log, folder / "report", *options)
    return folder / "report" / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip("no Chromium at /usr/bin/chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.mark.parametrize(
    ("width", "scheme"), [(1100, "light"), (1100, "dark"), (390, "light")], ids=["wide", "dark", "phone"]
)
def test_charts_are_drawn_without_a_network_or_a_complaint(
    browser: Browser, report: Path, width: int, scheme: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri(), timeout=120_000)
    page.wait_for_function("document.documentElement.dataset.drawn", timeout=60_000)
    charts = page.locator("[data-chart]").count()
    assert charts >= 6
    assert page.locator("[data-chart] svg").count() == charts
    drawn = "c => c.querySelectorAll('svg path, svg line').length"
    marks = page.evaluate(f"[...document.querySelectorAll('[data-chart]')].map({drawn})")
    assert min(marks) > 3
    assert page.locator("article table").count() >= charts
    assert said == []
    assert asked == [report.as_uri()]
    fits = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert fits, "the page scrolls sideways"
    page.close()


def test_the_picture_on_top_is_saved(browser: Browser, report: Path, tmp_path: Path) -> None:
    page = browser.new_page(accept_downloads=True)
    page.goto(report.as_uri(), timeout=120_000)
    page.wait_for_function("document.documentElement.dataset.drawn", timeout=60_000)
    assert page.locator("article").first.get_attribute("id") == "figure-gains"
    top = page.locator("#advice").bounding_box()
    picture = page.locator("#figure-gains svg").bounding_box()
    assert top and picture and top["y"] < picture["y"] < 800  # seen without scrolling
    drawn = page.locator("#figure-gains svg").text_content() or ""
    assert "nothing" in drawn and "whole log" in drawn
    for kind, begins in (("svg", "<svg"), ("csv", "task,")):
        with page.expect_download() as download:
            page.locator(f"[data-save={kind}][data-of=gains]").click()
        download.value.save_as(tmp_path / f"saved.{kind}")
        assert (tmp_path / f"saved.{kind}").read_text().startswith(begins)
    page.close()


A4 = 703
"""Pixels that are left of a sheet's width between its margins."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_paper_nothing_is_cut_off_dark_or_to_be_clicked(
    browser: Browser, report: Path, scheme: str
) -> None:
    page = browser.new_page(viewport={"width": 1100, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(report.as_uri(), timeout=120_000)
    page.wait_for_function("document.documentElement.dataset.drawn", timeout=60_000)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": A4, "height": 1000})
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    wide = page.evaluate(
        f"[...document.querySelectorAll('table, svg, p, li')]"
        f".filter(e => e.getBoundingClientRect().right > {A4} + 1).map(e => e.id || e.tagName)"
    )
    assert wide == [], "cut off at the right"
    for control in ("nav", "button", "summary"):
        found = page.locator(control)
        assert found.count() > 0
        assert not any(each.is_visible() for each in found.all()), control
    tables = page.locator("article table").all()
    assert all(table.is_visible() for table in tables), "tables are open on paper"
    style = "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]"
    assert page.locator("body").evaluate(style) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    for together in ("figure", "tr"):
        kept = page.locator(together).first.evaluate("e => getComputedStyle(e).breakInside")
        assert kept == "avoid", together
    assert page.locator("h2").first.evaluate("e => getComputedStyle(e).breakAfter") == "avoid"
    for row in ("tr:nth-child(2)", "tr:last-child"):  # none stands alone under its table's head
        kept = page.locator(f"article tbody {row}").first.evaluate("e => getComputedStyle(e).breakBefore")
        assert kept == "avoid", row
    page.close()


def test_no_sheet_but_the_last_is_half_empty(browser: Browser, report: Path, tmp_path: Path) -> None:
    if shutil.which("pdftotext") is None:
        pytest.skip("poppler is not here to read a PDF")
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    page.goto(report.as_uri(), timeout=120_000)
    page.wait_for_function("document.documentElement.dataset.drawn", timeout=60_000)
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    page.close()
    told = subprocess.run(
        ["pdftotext", "-bbox", tmp_path / "report.pdf", "-"], capture_output=True, text=True, check=True
    )
    sheets = [sheet.split("</page>")[0] for sheet in told.stdout.split("<page ")[1:]]
    assert len(sheets) > 3
    for number, sheet in enumerate(sheets[:-1], start=1):
        height = float(re.findall(r'height="([\d.]+)"', sheet)[0])
        lowest = max(float(place) for place in re.findall(r'yMax="([\d.]+)"', sheet))
        assert lowest > height / 2, f"sheet {number} of {len(sheets)}"
