"""The page in a real Chromium: what a person sees and does, with script and without, wide and narrow."""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.local_server import http_answer, local_server
from tests.page_server import ServedPage, served_page
from tests.recorded_upstream import png

from tacit.web.engines.interface import Carriage, EngineDescription
from tacit.web.rules import Action
from tacit.web.state import save_lens, save_rules

playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
OPTIONS = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
)
COFFEE = "Java coffee: roasting arabica beans for espresso, a dark beverage"
DISEASE = "Living with diabetes: insulin, blood sugar and the disease"


playwright.expect.set_options(timeout=90_000)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS.split(), "--no-first-run"])
        yield browser
        browser.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServedPage]:
    with served_page(tmp_path) as served:
        yield served


class Window:
    """A window of the browser; what its site said and what it asked of other hosts are kept."""

    def __init__(self, chromium: Any, server: ServedPage, **options: Any) -> None:
        self.context = chromium.new_context(**options)
        self.context.set_default_timeout(90_000)
        self.page = self.context.new_page()
        self.server = server
        self.said: list[str] = []
        self.outside: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", self._asked)
        self.page.goto(server.opening)
        self.page.wait_for_url(server.inside + "/")

    def _asked(self, request: Any) -> None:
        if (
            not request.url.startswith((self.server.address + "/", "data:"))
            and not request.is_navigation_request()
        ):
            self.outside.append(request.url)

    def go(self, path: str) -> Any:
        self.page.goto(self.server.inside + path)
        return self.page

    def search(self, query: str) -> Any:
        return self.go(f"/search?q={query}")

    def close(self) -> None:
        self.context.close()
        assert self.said == []
        assert self.outside == []


@pytest.fixture
def window(chromium: Any, server: ServedPage) -> Iterator[Window]:
    opened = Window(chromium, server)
    yield opened
    opened.close()


def teach(server: ServedPage, title: str, times: int = 12) -> None:
    from datetime import UTC, datetime, timedelta

    begun = datetime(2026, 1, 1, tzinfo=UTC)
    pages = [
        ("", {"url": f"https://p{n}.example/", "title": title, "snippet": title}, begun + timedelta(hours=n))
        for n in range(times)
    ]
    server.site.guard.learn(pages)
    server.site.changed()


def titles(page: Any) -> list[str]:
    return list(page.locator(".result h2").all_inner_texts())


def test_a_first_visit_a_search_and_a_result(window: Window) -> None:
    page = window.page
    assert page.locator("h1").inner_text() == "tacit"
    assert "Nothing has left this machine" in page.locator(".standing").inner_text()
    assert page.locator(".first li").count() == 3
    page.fill("#q", "golden eagle")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=golden+eagle")
    assert "golden" in titles(page)[0].lower()
    assert "Nothing left this machine" in page.locator("#sent summary").inner_text()
    assert page.title() == "Results · Tacit"
    page.locator(".result h2 a").first.click()
    page.wait_for_url("**/read/**")
    assert "eagle" in page.locator("h1").inner_text().lower()
    for _ in range(100):  # the click is told while the next page loads already
        if window.server.site.guard.history():
            break
        page.wait_for_timeout(50)
    (click,) = window.server.site.guard.history()
    assert click.query == "golden eagle"


def test_results_are_personal_or_not_and_say_why(window: Window) -> None:
    plain = titles(window.search("java"))
    assert "Not personalised" in window.page.locator("#sent summary").inner_text()
    teach(window.server, COFFEE)
    personal = titles(window.search("java"))
    assert personal != plain
    assert personal.index("coffee, java") < plain.index("coffee, java")
    assert "Personalised on this device" in window.page.locator("#sent summary").inner_text()
    window.page.locator(".why summary").first.click()
    assert window.page.locator(".why p").first.inner_text()
    window.page.get_by_role("link", name="Engines’ order").click()
    window.page.wait_for_url("**order=plain*")
    assert titles(window.page) == plain


def test_marking_a_topic_as_sensitive_changes_what_is_sent(chromium: Any, tmp_path: Path) -> None:
    answer = json.dumps({"results": [{"url": "https://a.example/", "title": "A"}]})
    with local_server(lambda *_: http_answer(answer)) as engine:
        described = EngineDescription("told", "tacit", engine.address, Carriage.PROFILE)
        with served_page(tmp_path, [described]) as server:
            teach(server, COFFEE)
            window = Window(chromium, server)
            assert "Until you have looked, engines get" in window.page.locator("main").inner_text()
            window.search("java")
            alone = json.loads(engine.requests[-1].partition(b"\r\n\r\n")[2])
            assert "topics" not in alone
            page = window.go("/never-sent")
            assert page.locator(".concepts tbody tr").count() == 12
            assert "Until you have looked at this list" in page.locator(".notice").inner_text()
            page.get_by_role("button", name="I have looked at it").click()
            playwright.expect(page.locator("main")).to_contain_text("You have looked at this list")
            window.search("java").locator("#sent summary").click()
            shown = window.page.locator("pre.wire").inner_text()
            first = json.loads(engine.requests[-1].partition(b"\r\n\r\n")[2])
            assert first["topics"][-1] == "Top/Food & Drink/Coffee & Tea"
            assert '"topics"' in shown
            assert "Exactly what left this machine" in window.page.locator("#sent .turn").inner_text()
            window.go("/never-sent")
            window.page.select_option("#mark", label="Coffee & Tea")
            window.page.get_by_role("button", name="Mark").click()
            playwright.expect(window.page.locator("main")).to_contain_text("never sent from now on")
            window.search("java")
            second = json.loads(engine.requests[-1].partition(b"\r\n\r\n")[2])
            assert "topics" not in second
            assert second != first
            window.go("/exposure")
            assert "with interests" in window.page.locator("section.engine").inner_text()
            window.close()


def test_import_export_and_erase(window: Window, tmp_path: Path) -> None:
    history = tmp_path / "History"
    connection = sqlite3.connect(history)
    connection.execute("CREATE TABLE urls (url TEXT, title TEXT, last_visit_time INTEGER, hidden INTEGER)")
    rows = [(f"https://p{n}.example/", COFFEE, 13_400_000_000_000_000 + n, 0) for n in range(30)]
    connection.executemany("INSERT INTO urls VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    page = window.go("/data")
    page.set_input_files("#file", history)
    page.locator(".upload button").click()
    playwright.expect(page.locator("main")).to_contain_text("30 pages")
    playwright.expect(page.locator("[data-progress]")).to_have_count(0)
    assert window.server.site.guard.topic().documents == pytest.approx(30)
    window.search("espresso roasting secret")
    with page.expect_download() as download:
        window.go("/data").get_by_role("link", name="Export all").click()
    data = json.loads(Path(download.value.path()).read_text())
    assert len(data["history"]) == 30
    assert data["queries"][0]["query"] == "espresso roasting secret"
    page.fill("#sure", "no")
    page.get_by_role("button", name="Erase all").click()
    page.wait_for_selector(".notice.problem")
    assert window.server.site.guard.topic().documents == pytest.approx(30)
    page.fill("#sure", "erase")
    page.get_by_role("button", name="Erase all").click()
    playwright.expect(page.locator(".notice")).to_contain_text("Everything is erased")
    kept = b"".join(path.read_bytes() for path in window.server.profile.parent.glob("me.profile*"))
    for word in (b"arabica", b"p7.example", b"roasting secret"):
        assert word not in kept
    assert window.server.site.guard.history() == []


def test_by_keyboard_alone(window: Window) -> None:
    page = window.go("/profile")
    page.keyboard.press("/")
    page.keyboard.type("golden eagle")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search*")
    for key in "jjk":
        page.keyboard.press(key)
    assert page.locator(".result.chosen").count() == 1
    assert page.evaluate("document.activeElement.innerText") == titles(page)[0]
    page.keyboard.press("w")
    assert page.locator(".result").first.locator("details[open]").count() == 1
    page.keyboard.press("s")
    assert page.locator("#sent[open]").count() == 1
    page.keyboard.press("?")
    assert page.locator("dialog[open]").count() == 1
    page.keyboard.press("Escape")
    page.locator("select[name=time]").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")  # nothing is asked for until the person is at the right one
    assert "time=" not in page.url
    page.get_by_role("button", name="Apply").press("Enter")
    page.wait_for_url("**time=week**")
    page.go_back()
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/read/**")


def test_a_bang_leads_to_the_site_without_a_referrer(window: Window) -> None:
    seen: list[Any] = []

    def answer(route: Any) -> None:
        seen.append(route.request)
        route.fulfill(body="<title>there</title>", content_type="text/html")

    window.context.route("https://en.wikipedia.org/**", answer)
    window.page.fill("#q", "!w green tea")
    window.page.keyboard.press("Enter")
    window.page.wait_for_url("https://en.wikipedia.org/w/index.php?search=green+tea")
    assert "referer" not in seen[0].all_headers()


def test_suggestions_come_from_here_and_are_chosen_by_arrows(window: Window) -> None:
    page = window.page
    # Typed at once: letter by letter, a slow machine would show suggestions for the first few in between.
    page.fill("#q", "golden eag")
    page.wait_for_selector(".suggestions li")
    page.keyboard.press("ArrowDown")
    playwright.expect(page.locator("#q")).to_have_value("golden eagle")
    page.keyboard.press("Escape")  # closes the list and leaves what was typed, which Chromium would clear
    playwright.expect(page.locator(".suggestions")).to_be_hidden()
    playwright.expect(page.locator("#q")).to_have_value("golden eag")
    page.fill("#q", "golden eagle")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=golden+eagle")


def test_forgetting_an_interest_can_be_undone(window: Window) -> None:
    teach(window.server, COFFEE)
    page = window.go("/profile")
    assert "12" in page.locator(".row").first.inner_text()
    page.get_by_role("button", name="Forget all pages about Coffee & Tea").click()
    page.wait_for_selector(".notice")
    assert window.server.site.guard.history() == []
    page.get_by_role("button", name="Undo").click()
    playwright.expect(page.locator(".notice")).to_contain_text("back")
    assert len(window.server.site.guard.history()) == 12


def test_what_a_click_far_down_did_and_its_undo_are_in_sight(chromium: Any, tmp_path: Path) -> None:
    rows = [{"url": f"https://s{n}.example/", "title": f"S {n}", "content": "word " * 40} for n in range(10)]
    with (
        local_server(lambda *_: http_answer(json.dumps({"results": rows}))) as engine,
        served_page(tmp_path, [EngineDescription("web", "searxng", engine.address)]) as server,
    ):
        window = Window(chromium, server, viewport={"width": 1000, "height": 600})
        page = window.search("word")
        page.get_by_role("button", name="Show less from s8.example").click()
        playwright.expect(page.locator(".said")).to_be_in_viewport(ratio=1)
        playwright.expect(page.locator("h2", has_text="S 8")).to_be_in_viewport(ratio=1)
        covered = page.locator(".said").bounding_box(), page.locator(".top").bounding_box()
        assert covered[0]["y"] >= covered[1]["y"] + covered[1]["height"]
        page.get_by_role("button", name="Undo", exact=True).click()
        playwright.expect(page.locator(".said")).to_contain_text("back as it was")
        assert server.site.rules.rules == {}
        window.close()


def test_without_script_everything_can_still_be_done(chromium: Any, server: ServedPage) -> None:
    teach(server, COFFEE)
    window = Window(chromium, server, java_script_enabled=False)
    page = window.page
    page.fill("#q", "java")
    page.locator(".search.big button").click()
    page.wait_for_url("**/search?q=java")
    page.locator("#sent summary").click()
    assert page.locator("#sent[open]").count() == 1
    window.search("java").locator(".result h2 a").first.click()
    page.wait_for_url("**/read/**")
    assert len(server.site.guard.history()) == 13
    window.go("/profile").get_by_role("button", name="Never send: Coffee & Tea").click()
    page.wait_for_selector(".notice")
    assert server.site.guard.sensitive_topics() == {"Top/Food & Drink/Coffee & Tea": 1.0}
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector(".notice")
    assert server.site.guard.sensitive_topics() == {}
    window.close()


PAGES = ["/", "/search?q=java", "/search?q=java&order=plain&lens=Drinks", "/search?q=java&category=images",
         "/search?q=java&category=videos", "/profile", "/profile?find=disease", "/never-sent", "/exposure",
         "/data", "/settings", "/read/coffee.n.01", "/nowhere"]  # fmt: skip


def everything(request: bytes, _connection: object) -> bytes:
    """What a SearXNG answers that has something of all kinds to say."""
    inside = f"data:image/png;base64,{base64.b64encode(png()).decode()}"
    rows = [
        {
            "url": f"https://{'long' * 12}{n}.example/{'step' * 30}/page",
            "title": f"Java {'title' * 20} {n}",
            "content": f"Coffee from Java. {'word' * 60}",
            "publishedDate": "2026-03-04T05:06:07",
            "engines": ["alpha", "beta"],
            "thumbnail": inside if n % 2 else "https://elsewhere.example/s.png",
            "length": "4:33",
        }
        for n in range(6)
    ]
    box = {
        "infobox": "Java",
        "content": "An island.",
        "attributes": [{"label": "Area", "value": "128,297 km²"}],
    }
    said = {"results": rows, "answers": [{"answer": "156 million."}], "corrections": ["java islands"]}
    said |= {
        "suggestions": ["java coffee"],
        "infoboxes": [box],
        "unresponsive_engines": [["gamma", "timeout"]],
    }
    return http_answer(json.dumps(said if b"q=java" in request else {"results": []}))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility_and_phone_width(chromium: Any, tmp_path: Path, scheme: str) -> None:
    with local_server(everything) as searxng:
        engines = [
            EngineDescription("embedded", "embedded", carriage=Carriage.HERE),
            EngineDescription("searxng", "searxng", searxng.address),
            EngineDescription("dead", "searxng", "http://127.0.0.1:9", timeout=1.0),
        ]
        with served_page(tmp_path, engines) as server:
            save_lens(server.site.state, "Drinks", [f"{'long' * 12}1.example"])
            save_rules(server.site.state, {f"{'long' * 12}2.example": Action.PIN})
            look_at_every_page(chromium, server, scheme)


def look_at_every_page(chromium: Any, server: ServedPage, scheme: str) -> None:
    axe = Axe()
    teach(server, COFFEE)
    teach(server, DISEASE, 3)
    window = Window(
        chromium, server, color_scheme=scheme, viewport={"width": 360, "height": 740}, has_touch=True
    )
    for path in PAGES:
        page = window.go(path)
        for details in page.locator("details:not(.why)").all():
            details.evaluate("one => one.open = true")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path} is wider than a phone by {wide}"
        # axe is injected by the driver, which the page's own policy does not bind
        found = axe.run(page).response["violations"]
        serious = [one for one in found if one["impact"] in {"serious", "critical"}]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in serious] == [], path
    window.said = [one for one in window.said if "404" not in one]  # the page that is not there
    window.close()


def test_a_dead_engine_does_not_take_the_page_down(chromium: Any, tmp_path: Path) -> None:
    engines = [
        EngineDescription("embedded", "embedded", carriage=Carriage.HERE),
        EngineDescription("dead", "searxng", "http://127.0.0.1:9", timeout=1.0),
    ]
    with served_page(tmp_path, engines) as server:
        window = Window(chromium, server)
        page = window.search("golden+eagle")
        assert titles(page)
        assert "dead gave no results" in page.locator(".notice.problem").inner_text()
        assert server.site.sent.count() == {}
        window.close()
