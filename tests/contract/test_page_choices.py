"""What the person chooses on the page holds: engines, rules, clicks, tracking, titles, how the box sends."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest
from tests.local_server import LocalServer, http_answer, local_server
from tests.page_server import ServedPage, served_page

ROWS = [
    {
        "url": f"https://{name}.example/page?id={n}&utm_source=x",
        "title": f"Page of {name}",
        "content": "words",
    }
    for n, name in enumerate(["alpha", "beta", "gamma", "delta"])
]


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalServer]:
    with local_server(lambda *_: http_answer(json.dumps({"results": ROWS}))) as server:
        yield server


@pytest.fixture
def page(tmp_path: Path, engine: LocalServer) -> Iterator[ServedPage]:
    with served_page(tmp_path) as served:
        with served.browser() as client:
            served.post(client, "/settings/engine", kind="searxng", address=engine.address, name="local")
            served.post(client, "/settings/engine/change", name="dictionary", action="remove")
        yield served


@pytest.fixture
def browser(page: ServedPage) -> Iterator[httpx.Client]:
    with page.browser() as client:
        yield client


def titles(text: str) -> list[str]:
    return [html.unescape(one) for one in re.findall(r"<h2><a [^>]*>(.*?)</a></h2>", text)]


def switches(**on: bool) -> dict[str, str]:
    return {"switches": " ".join(on)} | {name: "on" for name, value in on.items() if value}


def test_engines_are_added_turned_off_and_one_always_stays(page: ServedPage, browser: httpx.Client) -> None:
    assert [one.name for one in page.site.engines] == ["local"]
    assert "must stay" in page.post(browser, "/settings/engine/change", name="local", action="off").text
    refused = page.post(browser, "/settings/engine", kind="searxng", address="ftp://a.example")
    assert "Nothing was changed" in refused.text
    page.post(browser, "/settings/engine", kind="embedded")
    page.post(browser, "/settings/engine/change", name="local", action="off")
    assert "Tacit’s dictionary" in browser.get("/search?q=java").text
    assert page.site.sent.count() == {}


def test_the_dictionary_steps_back_for_the_first_engine_of_the_web(
    tmp_path: Path, engine: LocalServer
) -> None:
    with served_page(tmp_path) as page, page.browser() as client:
        assert "Choose engines" in client.get("/").text
        said = page.post(client, "/settings/engine", kind="searxng", address=engine.address, name="web")
        assert "Searches go to web from now on" in said.text
        assert {one.name: one.enabled for one in page.site.engines} == {"dictionary": False, "web": True}
        page.post(client, "/settings/engine/change", name="dictionary", action="on")
        page.post(client, "/settings/engine", kind="searxng", address=engine.address + "/b", name="b")
        assert all(one.enabled for one in page.site.engines)  # the person's own choice stays
        page.site.guard.clicked("java", ROWS[0])
        page.site.guard.confirm()
        assert "First steps" not in (front := client.get("/").text) and "Next steps" not in front


def test_rules_arrange_the_results(page: ServedPage, browser: httpx.Client) -> None:
    assert titles(browser.get("/search?q=one").text) == [
        f"Page of {n}" for n in ("alpha", "beta", "gamma", "delta")
    ]
    page.post(browser, "/settings/rule", action="pin", pattern="delta.example")
    page.post(browser, "/settings/rule", action="block", pattern="beta.example")
    text = browser.get("/search?q=one").text
    assert titles(text) == [f"Page of {n}" for n in ("delta", "alpha", "gamma")]
    assert "1 blocked by your rules" in text
    page.post(browser, "/settings/rule/remove", pattern="beta.example")
    assert len(titles(browser.get("/search?q=one").text)) == 4


def test_clicks_are_recorded_and_addresses_stripped_as_chosen(
    page: ServedPage, browser: httpx.Client
) -> None:
    def first_link() -> str:
        found = re.search(r'<h2><a href="([^"]+)"', browser.get("/search?q=one").text)
        assert found is not None
        return urljoin(page.address, html.unescape(found[1]))

    answer = browser.get(first_link())
    assert answer.status_code == 303
    assert answer.headers["location"] == "https://alpha.example/page?id=0"
    assert answer.headers["referrer-policy"] == "no-referrer"
    (click,) = page.site.guard.history()
    assert (click.query, click.title) == ("one", "Page of alpha")
    page.post(browser, "/settings", **switches(remember_clicks=False, strip_tracking=False))
    assert first_link() == "https://alpha.example/page?id=0&utm_source=x"
    assert len(page.site.guard.history()) == 1


def test_going_back_turning_the_page_and_the_other_order_send_nothing_again(
    page: ServedPage, browser: httpx.Client, engine: LocalServer
) -> None:
    before = len(engine.requests)
    for path in (
        "/search?q=two",
        "/search?q=two",
        "/search?q=two&order=plain",
    ):
        assert browser.get(path).status_code == 200
    assert len(engine.requests) == before + 1
    for part in (2, 2, 3, 2):  # beyond the last result more are asked for, once: there are none
        assert browser.get(f"/search?q=two&page={part}").status_code == 200
    assert len(engine.requests) == before + 2


def test_the_query_is_in_the_title_only_by_choice_and_the_box_can_post(
    page: ServedPage, browser: httpx.Client
) -> None:
    assert "<title>Results · Tacit</title>" in browser.get("/search?q=one").text
    page.post(browser, "/settings", **switches(query_in_title=True, post=True))
    assert "<title>one · Tacit</title>" in browser.get("/search?q=one").text
    assert re.search(
        r'<form class="search[^"]*"[^>]*action="[^"]*/search\?form=[0-9a-f]+" method="post"',
        browser.get("/").text,
    )
    assert len(titles(page.post(browser, "/search", q="three").text)) == 4
    key = page.site.admission.suggestion_key
    assert 'method="post"' in browser.get(f"/opensearch/{key}.xml").text


def test_suggestions_are_own_queries_first_and_can_be_turned_off(
    page: ServedPage, browser: httpx.Client, engine: LocalServer
) -> None:
    browser.get("/search?q=coffee+for+sailors")
    before = len(engine.requests)
    assert browser.get("/suggest?q=coffee").json()[1][0] == "coffee for sailors"
    assert browser.get("/suggest?q=%25").json()[1] == []
    page.post(browser, "/settings", **switches(own_suggestions=False))
    suggested = browser.get("/suggest?q=coffee").json()[1]
    assert suggested and "coffee for sailors" not in suggested
    assert len(engine.requests) == before


def test_wrong_numbers_are_refused_and_a_change_is_undone(page: ServedPage, browser: httpx.Client) -> None:
    assert "Nothing was changed" in page.post(browser, "/settings", safe="9").text
    answer = page.post(browser, "/settings", language="de")
    assert page.site.settings.language == "de"
    notice = re.search(r'name="notice" value="([^"]+)"', answer.text)
    assert notice is not None
    page.post(browser, "/undo", notice=notice[1], back="/settings")
    assert page.site.settings.language == ""
    assert "cannot be undone" in page.post(browser, "/undo", notice=notice[1], back="/settings").text


def test_the_pages_show_what_the_site_holds(page: ServedPage, browser: httpx.Client) -> None:
    page.site.guard.sensitive(next(one.label for one in page.site.guard.find("garden")), 1.0)
    shown = {path: html.unescape(browser.get(path).text) for path in PAGES}
    assert (
        "<b>local</b>" in shown["/settings"]
        and f"{page.site.admission.place}/search?q=%s" in shown["/settings"]
    )
    assert str(page.profile) in shown["/data"] and "Nothing has been sent to anyone." in shown["/exposure"]
    assert shown["/never-sent"].count('<option value="') > 200 and "May be sent again" in shown["/never-sent"]
    assert "what you marked: " in shown["/profile"] and "engines get your queries alone" in shown["/profile"]
    assert "Searches go to local." in shown["/"] and "Nothing has left this machine." in shown["/"]


PAGES = ("/", "/settings", "/data", "/exposure", "/never-sent", "/profile")
