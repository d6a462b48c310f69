"""Attacks on the page: rebinding, cross-site forms and fetches, forged tokens, script in what engines say."""

from __future__ import annotations

import json
import re
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.local_server import http_answer, local_server
from tests.page_server import ServedPage, served_page

from tacit.web.engines.interface import EngineDescription
from tacit.web.server import opening_page

PRIVATE = """/ /search?q=java /profile /never-sent /exposure /data
/exposure/requests.txt /data/export /data/progress
/settings /suggest?q=j /read/coffee.n.01 /go/x/1 /picture/x/1""".split()
CHANGES = """/profile/sensitive /never-sent/seen /profile/forget /profile/forget-page /undo /exposure/forget
/data/import /data/browser /data/erase /data/sign-out /settings /settings/engine /settings/engine/change
/settings/rule /settings/rule/remove /settings/lens /clicked/x/1 /search""".split()
HOSTS = """evil.example evil.example:{port} 127.0.0.1 127.0.0.1.evil.example:{port}
localhost.evil.example:{port} [::1]:{port} 0.0.0.0:{port}""".split()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    with served_page(tmp_path_factory.mktemp("page")) as served:
        yield served


@pytest.fixture
def browser(page: ServedPage) -> Iterator[httpx.Client]:
    with page.browser() as client:
        yield client


def test_the_routes_are_all_examined_here(page: ServedPage) -> None:
    from tacit.web.site.application import page_application

    known = {re.sub(r"/x(/1)?$", "", path.partition("?")[0]) for path in PRIVATE + CHANGES}
    open_to_all = {"/open", "/opensearch", "/suggest", "/static"}
    for route in page_application(page.site).routes:
        path = re.sub(r"/\{.*", "", getattr(route, "path", ""))
        assert path in known | open_to_all or path in {"/read", "/go", "/picture", "/clicked", ""}, path


@pytest.mark.parametrize("path", PRIVATE)
def test_nothing_private_is_answered_without_the_cookie(page: ServedPage, path: str) -> None:
    wrong = {page.site.admission.cookie: "x" * 43}
    for address in (page.address, page.inside):
        for cookies in ({}, wrong):
            answer = httpx.get(address + path, cookies=cookies, trust_env=False)
            assert answer.status_code == 403
            assert "not known here" in answer.text


@pytest.mark.parametrize("site", [None, "none", "same-origin", "same-site", "cross-site"])
def test_who_has_no_cookie_is_not_told_where_the_private_place_is(page: ServedPage, site: str | None) -> None:
    """Who knew it could send the browser to the same path on another port, and be sent the cookie."""
    headers = {} if site is None else {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    for path in [*PRIVATE, *CHANGES, "/open?key=x", "/opensearch/x.xml", "/static/tacit.js", "/nowhere"]:
        for method in ("GET", "POST"):
            answer = httpx.request(method, page.address + path, headers=headers, trust_env=False)
            told = answer.text + str(answer.headers)
            assert page.site.admission.place not in told and page.site.admission.place[4:] not in told


@pytest.mark.parametrize("path", PRIVATE)
def test_the_cookie_is_of_no_use_outside_the_private_place(
    browser: httpx.Client, page: ServedPage, path: str
) -> None:
    cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
    assert httpx.get(page.inside + path, headers=cookie, trust_env=False).status_code in {200, 400}
    for site, status in (("", 403), ("none", 200), ("same-origin", 200)):  # 200: our script knows the way
        said = {"Sec-Fetch-Site": site} if site else {}
        outside = httpx.get(page.address + path, headers=cookie | said, trust_env=False)
        assert outside.status_code == status and "not known here" in outside.text


def test_a_cookie_that_a_neighbour_set_does_not_hide_our_own(browser: httpx.Client, page: ServedPage) -> None:
    (name, own), *_ = browser.cookies.items()
    for cookies in (f"{name}={own}; {name}=tossed", f"{name}=tossed; {name}={own}"):
        answer = httpx.get(page.inside + "/profile", headers={"Cookie": cookies}, trust_env=False)
        assert answer.status_code == 200


@pytest.mark.parametrize("host", ["", *HOSTS])
def test_a_name_made_to_point_here_is_refused(browser: httpx.Client, page: ServedPage, host: str) -> None:
    """DNS rebinding: the browser believes it talks to evil.example, and sends that as the Host."""
    host = host.format(port=page.site.admission.port)
    for path in ("/", "/profile", "/static/tacit.css", "/open?key=" + page.site.admission.opening):
        assert browser.get(path, headers={"Host": host}).status_code in {400, 421}


def test_two_hosts_or_none_are_refused(page: ServedPage) -> None:
    own = f"127.0.0.1:{page.site.admission.port}"
    for lines in ([], [f"Host: {own}", "Host: evil.example"]):
        with socket.create_connection(("127.0.0.1", page.site.admission.port)) as opened:
            opened.sendall(
                ("\r\n".join(["GET / HTTP/1.1", *lines, "Connection: close"]) + "\r\n\r\n").encode()
            )
            assert opened.recv(100).split()[1] in {b"400", b"421"}


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=["cross-site", "lying", "opaque", "other port", "no origin", "same site"],
)
def test_a_form_or_fetch_of_another_site_changes_nothing_even_with_the_cookie_and_the_token(
    browser: httpx.Client, page: ServedPage, path: str, headers: dict[str, str]
) -> None:
    before = page.site.sent.count(), page.site.guard.sensitive_topics()
    fields = {"topic": "Top", "weight": "1", "sure": "erase", "q": "java"}
    answer = browser.post(f"{path}?form={page.token(browser)}", data=fields, headers=headers)
    assert answer.status_code == 403
    assert (page.site.sent.count(), page.site.guard.sensitive_topics()) == before


@pytest.mark.parametrize("path", [path for path in CHANGES if path != "/search"])
def test_our_own_origin_without_the_right_token_changes_nothing(
    browser: httpx.Client, page: ServedPage, path: str
) -> None:
    for token in ("", "0" * 64):
        answer = browser.post(
            f"{path}?form={token}", data={"sure": "erase"}, headers={"Origin": page.address}
        )
        assert answer.status_code == 403
    unsaid = httpx.post(page.inside + path, cookies=dict(browser.cookies), trust_env=False)
    assert unsaid.status_code == 403


def test_a_token_of_another_browser_is_none(page: ServedPage, browser: httpx.Client) -> None:
    with page.browser() as other:
        token = page.token(other)
    answer = browser.post(
        f"/data/erase?form={token}", data={"sure": "erase"}, headers={"Origin": page.address}
    )
    assert answer.status_code == 403


@pytest.mark.parametrize("path", PRIVATE)
def test_a_link_or_fetch_of_another_site_searches_and_shows_nothing(
    browser: httpx.Client, page: ServedPage, path: str
) -> None:
    for site in ("cross-site", "same-site"):
        answer = browser.get(path, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"})
        assert answer.status_code == 403
        assert "Another site sent you here" in answer.text


def test_nothing_is_fetched_ahead(browser: httpx.Client) -> None:
    assert browser.get("/search?q=java", headers={"Sec-Purpose": "prefetch;prerender"}).status_code == 503


def test_every_answer_carries_the_policy(browser: httpx.Client, page: ServedPage) -> None:
    for path in [*PRIVATE, "/static/tacit.js", "/nowhere"]:
        headers = browser.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
        if not path.startswith("/static"):
            assert headers["cache-control"] == "no-store"
        assert headers["x-dns-prefetch-control"] == "off"
        assert headers["referrer-policy"] == "same-origin"  # or a neighbour would learn the private place
    assert httpx.get(page.address + "/nowhere", trust_env=False).headers["x-frame-options"] == "DENY"


def test_the_cookie_is_strict_and_hidden_from_script(page: ServedPage) -> None:
    said = httpx.get(page.opening, trust_env=False).headers["set-cookie"].lower()
    assert "samesite=strict" in said and "httponly" in said and "domain" not in said
    assert f"path={page.site.admission.place}/;".lower() in said + ";"
    wrong = httpx.get(page.address + "/open?key=wrong", trust_env=False)
    assert wrong.status_code == 403 and "set-cookie" not in wrong.headers


def test_known_browsers_can_be_forgotten(page: ServedPage) -> None:
    with page.browser() as client:
        assert client.get("/").status_code == 200
        headers, token = {"Origin": page.address}, page.token(client)
        assert client.post(f"/data/sign-out?form={token}", headers=headers).status_code == 303
        assert client.get("/").status_code == 403


def test_a_cookie_survives_a_restart_but_its_text_is_not_in_the_file(tmp_path: Path) -> None:
    with served_page(tmp_path) as first:
        with first.browser() as client:
            cookie = next(iter(client.cookies.values()))
        old = first.site.admission.opening
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert cookie.encode() not in kept and old.encode() not in kept
    with served_page(tmp_path) as second:
        assert second.site.admission.knows(cookie)
        assert second.site.admission.admit(old) is None


def test_the_state_is_readable_by_its_owner_only(page: ServedPage) -> None:
    for path in page.profile.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_secret_is_given_to_the_browser_in_a_private_file_not_in_an_argument(tmp_path: Path) -> None:
    written = opening_page("http://127.0.0.1:1/open?key=a&b", tmp_path)
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert "open?key=a&amp;b" in written.read_text()


def test_suggestions_need_their_own_secret_and_open_nothing_else(page: ServedPage) -> None:
    key = page.site.admission.suggestion_key
    assert httpx.get(f"{page.address}/suggest/{key}?q=coff", trust_env=False).json()[0] == "coff"
    assert httpx.get(f"{page.address}/suggest/wrong?q=coff", trust_env=False).status_code == 404
    described = httpx.get(f"{page.address}/opensearch/{key}.xml", trust_env=False)
    assert f"/suggest/{key}?q={{searchTerms}}" in described.text
    assert httpx.get(f"{page.address}/opensearch/wrong.xml", trust_env=False).status_code == 404
    assert httpx.get(f"{page.inside}/profile?key={key}", trust_env=False).status_code == 403


def test_script_in_what_an_engine_says_is_text(tmp_path: Path) -> None:
    hostile = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'
    rows = [{"url": 'https://a.example/"><script>alert(3)</script>', "title": hostile, "content": hostile},
            {"url": "javascript:alert(4)", "title": "x"}]  # fmt: skip
    body = json.dumps({"results": rows})
    with local_server(lambda *_: http_answer(body)) as engine:
        description = EngineDescription('a"><b', "searxng", engine.address)
        with served_page(tmp_path, [description]) as page, page.browser() as client:
            text = client.get("/search", params={"q": '"><script>alert(5)</script>'}).text
    assert (
        "<script>alert" not in text
        and "<img" not in text
        and "javascript:" not in text
        and 'a"><b' not in text
    )
    assert text.count("<script") == 1


def test_links_go_only_where_the_results_went(page: ServedPage, browser: httpx.Client) -> None:
    assert browser.get("/go/https://evil.example/1").status_code == 404
    assert browser.get("/go/unknown/1").status_code == 400
    answer = page.post(browser, "/profile/sensitive", topic="Top", weight="0", back="//evil.example/")
    assert answer.url.host == "127.0.0.1"
