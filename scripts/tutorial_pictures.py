"""Make the pictures of the private search tutorial: python scripts/tutorial_pictures.py FOLDER [--all]

A person who does not exist reads about coffee, sailing, jazz and diabetes; Debian's Chromium draws the pages.
With --all, also every page in the dark and on a phone, to look at.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.sync_api import sync_playwright
from tests.local_server import running
from tests.page_server import ServedPage, served_page

from tacit.web.engine_service import EngineService, engine_application
from tacit.web.engines.interface import Carriage, EngineDescription

READ = {
    "coffee": [
        "Java coffee: roasting arabica beans for espresso, a dark beverage",
        "How espresso is made: pressure, grind and crema",
        "The best water temperature for filter coffee",
        "Coffee plants of Ethiopia and Yemen",
        "Cold brew or iced coffee: the beverage compared",
        "A history of the coffeehouse",
    ],
    "sailing": [
        "Reefing the mainsail in strong wind",
        "Buying a used sailing boat",
        "Knots every sailor needs",
    ],
    "jazz": ["Miles Davis and modal jazz", "How to listen to a bebop saxophone solo", "Learning jazz piano"],
    "diabetes": ["Type 2 diabetes: symptoms and treatment", "Insulin explained", "Living with diabetes"],
}
PAGES = {
    "profile": "/profile",
    "never-sent": "/never-sent",
    "exposure": "/exposure",
    "data": "/data",
    "settings": "/settings",
}
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def teach(page: ServedPage) -> None:
    """Give the profile its history, and say that the list of what is never sent was looked at."""
    moment = datetime.now(UTC) - timedelta(days=40)
    pages = []
    for round_number in range(3):
        for subject, titles in READ.items():
            for place, title in enumerate(titles):
                moment += timedelta(hours=7)
                address = f"https://{subject}.example/{round_number}/{place}"
                pages.append(
                    (
                        subject,
                        {"url": address, "title": title, "snippet": f"{title}. All about {subject}."},
                        moment,
                    )
                )
    page.site.guard.learn(pages)
    page.site.guard.confirm()
    page.site.changed()


def shoot(window: Any, name: str, folder: Path, **options: Any) -> None:
    """One picture."""
    window.screenshot(path=folder / f"{name}.png", **options)


def main() -> None:
    """Draw all pages."""
    folder = Path(sys.argv[1])
    with (
        tempfile.TemporaryDirectory() as home,
        running(engine_application(EngineService())) as engine,
        served_page(
            Path(home), [EngineDescription("dictionary server", "tacit", engine, Carriage.PROFILE)]
        ) as page,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=OPTIONS)
        looks = [("light", (1000, 640), ""), ("dark", (1100, 780), "-dark"), ("light", (390, 780), "-phone")]
        for scheme, size, ending in looks if "--all" in sys.argv else looks[:1]:
            context = browser.new_context(
                color_scheme=scheme, viewport={"width": size[0], "height": size[1]}, has_touch=size[0] < 500
            )
            window = context.new_page()
            window.goto(page.opening)
            window.wait_for_url(page.inside + "/")
            shoot(window, f"front{ending}", folder)
            if not page.site.guard.history(limit=1):
                teach(page)
            for query in ("java", "cup", "port", "bass", "java"):
                window.goto(f"{page.inside}/search?q={query}")
            shoot(window, f"results{ending}", folder)
            window.locator(".why summary").first.click()
            window.locator("#sent summary").click()
            window.wait_for_timeout(300)
            shoot(window.locator("#sent"), f"sent{ending}", folder)
            for name, path in PAGES.items():
                if "--all" in sys.argv or name in {"profile", "never-sent"}:
                    window.goto(page.inside + path)
                    shoot(window, f"{name}{ending}", folder, full_page=bool(ending))
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
