"""What people expect of a search page: more results, filters, bangs, lenses, quick rules, fitting reasons."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from tests.local_server import LocalServer, http_answer, local_server
from tests.page_server import ServedPage, served_page

from tacit.web.engines.catalogue import parse_engine, upstream_of
from tacit.web.engines.interface import EngineDescription, Wanted
from tacit.web.search import FoundPage

SUBJECTS = {
    "coffee": "Roasting arabica beans for espresso, a dark beverage with crema",
    "island": "Volcanoes, temples and rice terraces of Indonesia for travellers",
    "language": "Classes, objects and a virtual machine for programmers",
}


def rows(page: int) -> list[dict[str, object]]:
    subjects = list(SUBJECTS.items()) * 3
    return [
        {
            "url": f"https://{subject}{page}-{n}.example/java/part",
            "title": f"Java {subject} {n}",
            "content": text,
            "publishedDate": "2026-03-04T05:06:07",
            "engines": ["alpha", "beta"],
        }
        for n, (subject, text) in enumerate(reversed(subjects))
    ]


@pytest.fixture
def engine() -> Iterator[LocalServer]:
    def answer(request: bytes, _connection: object) -> bytes:
        asked = parse_qs(urlsplit(request.split(b" ")[1].decode()).query)
        page = int(asked.get("pageno", ["1"])[0])
        if asked.get("q") == ["mixed"]:
            bad = [
                {"url": "https://\u0430pple.example/", "title": "A"},
                {"url": "https://\u0430\u0440\u0440\u04cf\u0435.example/", "title": "All Cyrillic"},
                {"url": "https://bücher.example/", "title": "B"},
            ]
            return http_answer(json.dumps({"results": bad}))
        return http_answer(json.dumps({"results": rows(page) if page < 3 else []}))

    with local_server(answer) as server:
        yield server


@pytest.fixture
def page(engine: LocalServer, tmp_path: Path) -> Iterator[ServedPage]:
    with served_page(tmp_path, [EngineDescription("web", "searxng", engine.address)]) as served:
        yield served


@pytest.fixture
def browser(page: ServedPage) -> Iterator[httpx.Client]:
    with page.browser() as client:
        yield client


def titles(text: str) -> list[str]:
    found = re.findall(r"<h2><a [^>]*>(.*?)</a></h2>", text)
    return [html.unescape(re.sub(r"</?b>", "", title)) for title in found]


def test_clicks_reorder_what_is_in_memory_at_once_and_the_reasons_fit_the_order(
    page: ServedPage, browser: httpx.Client, engine: LocalServer
) -> None:
    before = titles(browser.get("/search?q=java").text)
    links = re.findall(r'<h2><a href="([^"]+)"', browser.get("/search?q=java").text)
    coffee = [place for place, title in enumerate(before) if "coffee" in title]
    for place in coffee[:2]:
        assert browser.get(page.address + links[place]).status_code == 303
    after = browser.get("/search?q=java").text
    assert titles(after) != before
    assert "coffee" in titles(after)[0]
    assert len(engine.requests) == 1
    found = page.site.service.known("java")
    assert found is not None and found.risen
    for one in found.personal:
        if one.rank < one.was:
            assert f"Moved up from {one.was}" in one.reason
        elif one.rank > one.was:
            assert f"Moved down from {one.was}" in one.reason
        else:
            assert "Where the engines put it" in one.reason
        assert "says nothing" not in one.reason
    reasons = [one.reason for one in found.personal if one.rank < one.was]
    assert any("since you opened it before" in reason for reason in reasons)
    assert any("since you opened pages about coffee" in reason for reason in reasons)


def test_a_reason_claims_likeness_only_where_words_show_it(page: ServedPage, browser: httpx.Client) -> None:
    def shown(number: int, *subjects: str) -> tuple[FoundPage, str]:
        begun = datetime(2026, 1, number, tzinfo=UTC)
        read = [{"url": f"https://h{n}.example/", "title": subjects[n % len(subjects)]} for n in range(30)]
        page.site.guard.learn(("", one, begun + timedelta(minutes=n)) for n, one in enumerate(read))
        page.site.rearranged()
        text = browser.get("/search?q=java").text
        found = page.site.service.known("java")
        assert found is not None
        return found, text

    found, text = shown(1, "Flights to Vietnam", "Sourdough crust", "Barista grinder and milk")
    assert not found.risen and found.because == 0  # near in meaning, but nobody could see why
    assert "nothing you opened favours" in text and "of what you opened" not in text
    found, text = shown(2, "Grinder for espresso", "Barista grinder and milk")
    assert found.risen and 0 < found.because < len(found.personal)
    for one in found.personal:
        assert ("since you opened" in one.reason) == (one.alike and one.rank < one.was)
    assert any("since you opened pages about espresso" in one.reason for one in found.personal)
    assert any(one.rank < one.was and not one.alike for one in found.personal)
    assert "Nearest to it of what you opened" in text and "You opened:" in text


def test_more_results_follow_those_shown_and_are_asked_for_once(
    page: ServedPage, browser: httpx.Client, engine: LocalServer
) -> None:
    first = browser.get("/search?q=java")
    assert "More results" in first.text and "9+ results" in first.text
    for _ in range(2):
        second = browser.get("/search?q=java&page=2")
    assert len(engine.requests) == 2 and b"pageno=2" in engine.requests[1]
    assert len(titles(second.text)) == 8
    again = titles(browser.get("/search?q=java").text)
    assert again[:9] == titles(first.text)  # nothing jumps back before what was seen
    browser.get("/search?q=java&page=3")
    last = browser.get("/search?q=java&page=4")
    assert "no more results" in last.text
    asked = len(engine.requests)
    browser.get("/search?q=java&page=5")
    assert len(engine.requests) == asked
    assert [one.query for one in page.site.guard.exposures("web")] == ["java"] * asked


def test_filters_are_sent_only_when_chosen_and_can_be_made_a_habit(
    page: ServedPage, browser: httpx.Client, engine: LocalServer
) -> None:
    browser.get("/search?q=java")
    assert engine.requests[-1].startswith(b"GET /search?q=java&format=json HTTP/1.1")
    browser.get("/search?q=java&time=month&language=de-AT&safe=2&category=news")
    assert b"&categories=news&time_range=month&language=de-AT&safesearch=2 " in engine.requests[-1]
    browser.get("/search?q=java&time=never&language=klingon")
    assert len(engine.requests) == 2  # no such choices: the first page again
    page.post(browser, "/settings", language="fr", safe="1")
    browser.get("/search?q=java")
    assert b"&language=fr&safesearch=1 " in engine.requests[-1]
    assert "Nothing was changed" in page.post(browser, "/settings", language="klingon").text


def test_bangs_lead_away_choose_a_kind_or_are_handed_on(
    page: ServedPage, browser: httpx.Client, engine: LocalServer
) -> None:
    away = browser.get("/search", params={"q": "!!w green tea"})
    assert 'content="0; url=https://en.wikipedia.org/w/index.php?search=green+tea"' in away.text
    assert away.headers["referrer-policy"] == "no-referrer" and engine.requests == []
    assert "url=https://en.wikipedia" in browser.get("/search", params={"q": "!w tea"}).text
    assert engine.requests == []  # SearXNG has no engine of that name, and would search for “!w tea”
    browser.get("/search", params={"q": "!osm green tea"})
    assert engine.requests[-1].startswith(b"GET /search?q=%21osm+green+tea&format=json ")
    assert page.site.guard.exposures("web")[-1].query == "green tea"
    browser.get("/search", params={"q": "cats !i"})
    assert b"q=cats&format=json&categories=images " in engine.requests[-1]
    lucky = browser.get("/search", params={"q": "!! java"})
    assert re.search(r'content="0; url=https://[^"]+\.example/java/part"', lucky.text)
    assert page.site.guard.history()[0].query == "java"


def test_without_searxng_known_bangs_lead_to_the_site(tmp_path: Path) -> None:
    with served_page(tmp_path) as page, page.browser() as client:
        assert "url=https://en.wikipedia" in client.get("/search", params={"q": "!w tea"}).text
        assert client.get("/search", params={"q": "!zzz tea"}).status_code == 200
        assert "None of your engines has images" in client.get("/search?q=tea&category=images").text
        old = client.get("/search?q=tea&time=day").text  # a dictionary knows no dates
        assert "None of your engines can leave out what is older" in old and titles(old) == []


def test_rules_are_one_click_on_the_result_and_ask_nobody_again(
    page: ServedPage, browser: httpx.Client, engine: LocalServer
) -> None:
    text = browser.get("/search?q=java").text
    first, last = titles(text)[0], titles(text)[-1]
    assert text.count('value="block"') == text.count('value="pin"') == len(titles(text))
    hosts = re.findall(r'name="pattern" value="([^"]+)"', text)
    answer = page.post(browser, "/settings/rule", action="block", pattern=hosts[0], back="/search?q=java")
    assert first not in titles(answer.text) and "1 blocked" in answer.text
    answer = page.post(browser, "/settings/rule", action="pin", pattern=hosts[-1], back="/search?q=java")
    assert titles(answer.text)[0] == last
    assert "Your rule: pin" in answer.text and "undo my rule" in answer.text
    notice = re.findall(r'name="notice" value="([^"]+)"', answer.text)[0]
    back = html.unescape(re.findall(r'name="back" value="([^"]+)"', answer.text)[0])
    undone = page.post(browser, "/undo", notice=notice, back=back)  # as the button beside the notice does
    assert undone.url.path.endswith("/search") and titles(undone.text)[0] not in {first, last}
    assert "back as it was" in undone.text and "1 blocked" in undone.text
    assert len(engine.requests) == 1


def test_a_rule_made_on_a_result_is_about_the_whole_site(tmp_path: Path) -> None:
    sites = ("www.a.example/one", "a.example/two", "b.example")
    rows = [{"url": f"https://{site}", "title": site} for site in sites]
    with (
        local_server(lambda *_: http_answer(json.dumps({"results": rows}))) as engine,
        served_page(tmp_path, [EngineDescription("web", "searxng", engine.address)]) as page,
        page.browser() as client,
    ):
        (pattern, *_) = re.findall(r'name="pattern" value="([^"]+)"', client.get("/search?q=a").text)
        answer = page.post(client, "/settings/rule", action="block", pattern=pattern, back="/search?q=a")
        assert titles(answer.text) == ["b.example"]


def test_a_lens_narrows_on_the_device_and_tells_the_sites_only_when_asked_to(
    page: ServedPage, browser: httpx.Client, engine: LocalServer
) -> None:
    page.post(browser, "/settings/lens", name="Drinks", sites="coffee1-8.example, coffee1-5.example")
    text = browser.get("/search?q=java&lens=Drinks").text
    assert sorted(titles(text)) == ["Java coffee 5", "Java coffee 8"]
    assert b"coffee1" not in engine.requests[-1]
    browser.get("/search?q=java&lens=Drinks&sites=on")
    assert b"site%3Acoffee1-8.example+OR+site%3Acoffee1-5.example" in engine.requests[-1]
    page.post(browser, "/settings/lens", name="Drinks", sites="")
    assert len(titles(browser.get("/search?q=java&lens=Drinks").text)) == 9
    assert "Nothing was changed" in page.post(browser, "/settings/lens", name="x", sites="not_a_site!").text


def test_addresses_dates_words_and_names_that_could_pass_for_others(browser: httpx.Client) -> None:
    text = browser.get("/search?q=java").text
    assert re.search(r"<b>\w+1-\d\.example</b> › java › part", text)
    assert "4 Mar 2026" in text and "<b>Java</b> coffee" in text and "alpha, beta" in text
    mixed = browser.get("/search?q=mixed").text
    assert "xn--pple-43d.example" in mixed and ">\u0430pple" not in mixed
    # No mixture, yet every letter passes for a Latin one.
    assert "xn--80ak6aa92e.example" in mixed and ">\u0430\u0440\u0440" not in mixed
    assert "<b>bücher.example</b>" in mixed


def test_a_box_is_shown_whichever_engine_has_it(tmp_path: Path) -> None:
    boxes = [{"infobox": name, "content": "An island."} for name in ("Java", "Another")]
    with local_server(lambda *_: http_answer(json.dumps({"results": [], "infoboxes": boxes}))) as told:
        given = [parse_engine("embedded"), EngineDescription("web", "searxng", told.address)]
        with served_page(tmp_path, given) as page, page.browser() as client:
            text = client.get("/search?q=java").text
    assert text.count('<aside class="box"') == 1 and "About Java" in text


def test_two_engines_of_one_host_do_not_replace_each_other(tmp_path: Path) -> None:
    addresses = ["http://127.0.0.1:8888", "http://127.0.0.1:8889"]
    names = [parse_engine(f"searxng={one}").name for one in addresses]
    assert names == ["SearXNG at 127.0.0.1:8888", "SearXNG at 127.0.0.1:8889"]
    with served_page(tmp_path) as page, page.browser() as client:
        for address in (*addresses, addresses[0]):
            page.post(client, "/settings/engine", kind="searxng", address=address, name="mine")
        assert {one.name: one.address for one in page.site.engines if one.address} == {
            "mine": addresses[0],
            "mine 2": addresses[1],
        }
    given = [EngineDescription("mine", "searxng", address) for address in addresses]
    with served_page(tmp_path, given) as page:
        assert [one.name for one in page.site.engines] == ["mine", "mine 2"]


def test_keys_of_engines_are_in_no_export(tmp_path: Path) -> None:
    answer = json.dumps({"items": [{"url": "https://a.example/", "title": "A", "text": "t"}]})
    with local_server(lambda *_: http_answer(answer)) as server:
        description = {
            "results": "items", "title": "title", "link": "url", "snippet": "text",
            "headers": {"X-Subscription-Token": "header-secret-1"},
            "body": {"query": "{query}", "api_key": "body-secret-2"},
        }  # fmt: skip
        address = f"{server.address}/search?key=address-secret-3&n={{count}}"
        with served_page(tmp_path) as page, page.browser() as client:
            page.post(
                client, "/settings/engine", kind="json", address=address, name="keyed",
                description=json.dumps(description),
            )  # fmt: skip
            client.get("/search?q=tea")
            assert all(secret in server.requests[-1] for secret in (b"secret-1", b"secret-2", b"secret-3"))
            for path in ("/data/export", "/exposure/requests.txt"):
                told = client.get(path).text
                assert "keyed" in told and "tea" in told and "secret-" not in told


def test_engines_complete_what_is_typed_only_when_told_to(tmp_path: Path) -> None:
    def answer(request: bytes, _connection: object) -> bytes:
        if request.startswith(b"GET /autocompleter?q=coff "):
            return http_answer(json.dumps(["coff", ["coffee grinder", "<b>coffee</b> maker", 7]]))
        return http_answer(json.dumps({"results": []}))

    with (
        local_server(answer) as engine,
        served_page(tmp_path, [EngineDescription("web", "searxng", engine.address)]) as page,
        page.browser() as client,
    ):
        client.get("/suggest?q=coff")
        assert engine.requests == []
        page.post(client, "/settings", switches="engine_suggestions", engine_suggestions="on")
        assert {"coffee grinder", "coffee maker"} <= set(client.get("/suggest?q=coff").json()[1])
        assert [one.wire for one in page.site.sent.all()] == engine.requests


@pytest.mark.parametrize("kind", ["mediawiki", "json", "tacit"])
def test_which_engines_have_further_pages(kind: str) -> None:
    address = "http://a.example/?q={query}&p={page}" if kind == "json" else "http://a.example"
    described = {"link": "url"} if kind == "json" else {}
    upstream = upstream_of(EngineDescription("a", kind, address, description=described))
    second = Wanted(page=2)
    assert upstream.takes(second) is (kind != "tacit")
    request = upstream.request("tea", (), second)
    written = request.url + request.body.decode()
    assert {"mediawiki": "sroffset=50", "json": "p=2", "tacit": "tea"}[kind] in written
    assert not upstream.takes(Wanted(category="images"))


def test_all_that_was_read_can_be_paged_through(page: ServedPage, browser: httpx.Client) -> None:
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    page.site.guard.learn(
        ("", {"url": f"https://p{n}.example/", "title": f"Read {n}."}, begun + timedelta(hours=n))
        for n in range(45)
    )
    page.site.changed()
    first, last, beyond = (
        browser.get("/profile", params=asked).text for asked in ({}, {"older": "40"}, {"older": "x" * 30})
    )
    assert "Read 44." in first and "Read 24." not in first and "older=20" in first and "Newer" not in first
    assert "Read 4." in last and "Read 5." not in last and "older=20" in last and "Older" not in last
    assert "Read 44." in beyond


def test_where_nothing_was_found_nothing_is_said_of_its_order(tmp_path: Path) -> None:
    with served_page(tmp_path) as page, page.browser() as browser:
        nothing, some = (browser.get("/search", params={"q": query}).text for query in ("zzqxv", "knight"))
    assert "Nothing was found." in nothing and "Not personalised" not in nothing
    assert "Not personalised: nothing you opened favours one of these" in some
