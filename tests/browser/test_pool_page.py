"""The operator's page in a real browser: groups are drawn, nothing complains, everybody can use it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from tests.open_envelope import OpenEnvelope
from tests.served_app import served_app

from tacit.pool.protocol.messages import UNGROUPED, FirstMessage, Rules, SecondMessage
from tacit.pool.server.app import pool_app
from tacit.pool.server.machine import PoolMachine
from tacit.pool.server.store import MemoryStore
from tacit.pool.simulation.population import adult

CHROMIUM = Path("/usr/bin/chromium")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
RULES = Rules(k=5, window=10_000.0)


def pool_with_groups() -> tuple[PoolMachine, float]:
    """A pool in which two hundred people have just been grouped, and the time then."""
    population = adult()
    pool = PoolMachine(RULES, population.template, MemoryStore(), sealing=OpenEnvelope())
    standing = pool.tick(1_000.0)
    pool.tick(standing.until)
    people = population.draw(200, np.random.default_rng(3)).tolist()
    for number in range(len(people)):
        pool.first(FirstMessage(standing.epoch, UNGROUPED, f"{number:032x}"))
    pool.tick(standing.until + RULES.count)
    for number, record in enumerate(people):
        sealed = ",".join(map(str, record))
        pool.second(SecondMessage(standing.epoch, UNGROUPED, f"{number:032x}", sealed))
    now = standing.until + RULES.count + RULES.identify
    pool.tick(now)
    return pool, now


def test_the_operator_sees_groups() -> None:
    if not CHROMIUM.exists():
        pytest.skip("no Chromium at /usr/bin/chromium")
    pool, now = pool_with_groups()
    public = pool.publication()
    assert public is not None and len(public.table) > 5
    with (
        served_app(pool_app(pool, clock=lambda: now)) as client,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET) as browser,
    ):
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
            complaints: list[str] = []
            page.on("console", lambda said, into=complaints: into.append(said.text))
            page.on("pageerror", lambda error, into=complaints: into.append(str(error)))
            page.goto(str(client.base_url))
            page.wait_for_selector("#map rect", state="attached")
            assert page.locator("#map rect").count() == len(public.table) == page.locator("#rows tr").count()
            assert page.inner_text("#people") == "200"
            assert page.inner_text("#expired") == "0 of 0"
            assert "must trust you" in page.inner_text("#kept")  # no relay
            before = page.locator("#map").inner_html()
            page.focus("#across")
            page.keyboard.press("ArrowDown")
            page.keyboard.press("ArrowDown")
            assert page.locator("#map").inner_html() != before
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            assert [text for text in complaints if "favicon" not in text] == []
            page.close()
