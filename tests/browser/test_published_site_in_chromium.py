"""The published site in Chromium, opened from a disk: it asks nothing of the network and can be explored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.publishing import canary_log, weekly

from tacit import Zealous
from tacit.privacy.ledger.ledger import default_ledger
from tacit.release.publication import publish
from tacit.web.published import approvals
from tacit.web.published.pages import publish_site

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
_CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    zone = tmp_path_factory.mktemp("zone")
    log = canary_log(zone / "log.parquet")
    budget = {"budget_epsilon": 5.0, "budget_delta": 1e-6, "ledger": default_ledger(log)}
    other = publish(log, Zealous(epsilon=0.1, delta=1e-8, per_user=1), to=zone / "other", **budget).folder
    weeks = weekly(log, zone, 5)
    approvals.new_key(zone / "officer.key")
    approvals.approve(weeks[4], zone / "officer.key", "Officer")
    publish_site([other, *weeks[:2], *weeks[3:]], default_ledger(log), zone / "site")
    return zone / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not _CHROMIUM.exists():
        pytest.skip("there is no Chromium here")
    with sync_api.sync_playwright() as playwright:
        args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        opened = playwright.chromium.launch(executable_path=str(_CHROMIUM), args=args)
        yield opened
        opened.close()


def test_every_page_is_sound_and_asks_nothing_of_the_network(browser: Any, site: Path) -> None:
    for width, scheme in ((1200, "light"), (390, "dark")):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        said: list[str] = []
        asked: set[str] = set()
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("request", lambda request, asked=asked: asked.add(request.url))
        for name in ("index", "explore", "week-1", "budget", "check"):
            page.goto((site / f"{name}.html").as_uri())
            if name == "explore":
                page.wait_for_selector("#rows tbody tr")
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (name, width)
            assert said == [], name  # axe itself tries to fetch the style, which the page forbids
            found = axe.Axe().run(page).response["violations"]
            assert [(each["id"], name) for each in found if each["impact"] in ("serious", "critical")] == []
            said.clear()
        assert all(url.startswith(site.as_uri()) for url in asked)
        assert page.context.cookies() == []
        page.close()


def test_rows_are_searched_sorted_and_followed_over_the_releases(browser: Any, site: Path) -> None:
    page = browser.new_page()
    page.goto((site / "explore.html").as_uri())
    page.wait_for_selector("#rows tbody tr")
    first = page.locator("#rows tbody tr").first
    assert "weather" in first.inner_text()
    page.keyboard.press("/")
    page.keyboard.type("NEWS wea")
    assert page.locator("#rows tbody tr").count() == 1
    assert "1 of" in page.locator("#state").inner_text()
    page.fill("#search", "wea")
    chips = page.locator("#suggestions button").all_inner_texts()
    assert chips == ["weather", "weather news"], "the more frequent first"
    page.locator("#rows thead button", has_text="query").click()
    assert page.locator("th[aria-sort=ascending]").count() == 1
    page.locator("#suggestions button").first.click()
    page.wait_for_selector("#detail svg")
    assert page.locator("#detail .dot").count() == page.locator("#detail .error").count() == 4, (
        "not the other's, which means less"
    )
    assert page.locator("#detail .gap").count() == 1, "the week that is missing"
    drawn = page.locator("#detail .line").get_attribute("d")
    assert drawn.count("M") == 2, "no line crosses it"
    places = [float(each.get_attribute("cx")) for each in page.locator("#detail .dot").all()]
    assert places[2] - places[1] == pytest.approx(2 * (places[1] - places[0])), "time runs evenly"
    assert "most frequent 3 different queries" in page.locator("#means").inner_text(), "what a count means"
    assert "weather news" in page.locator("#detail ol").inner_text()
    assert "week-1" in page.locator("#detail table").text_content()
    address = page.url
    page.goto("about:blank")
    page.goto(address)  # the address keeps it all
    page.wait_for_selector("#detail svg")
    assert page.locator("#search").input_value() == "weather"
    assert page.locator("#detail h2").inner_text() == "weather"
    page.fill("#search", "nothing like it")
    assert "rare things are never published" in page.locator("#state").inner_text()
    page.close()
