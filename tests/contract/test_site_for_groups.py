"""A site served to groups: who may open what, which sign-ins are refused, and what is written down."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.in_process import tacit
from tests.local_server import running

from tacit import InputError, ParameterError
from tacit.web.published import serving
from tacit.web.published.serving import ROUTES, Role, Sessions, SiteServer, site_application

with warnings.catch_warnings():
    import authlib.deprecate  # noqa: F401 it sets a filter of its own

    warnings.simplefilter("ignore")
    import oidc_provider_mock
    from authlib.jose import JsonWebKey, jwt
    from oidc_provider_mock._app import flask  # what the provider is made of
    from oidc_provider_mock._server import werkzeug

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated.*")
SECRET = "client-secret-canary"
FILES = {
    "index.html": "catalogue", "registry.json": "{}", "assets/site.js": "js", "assets/site.css": "css",
    "assets/icon.svg": "<svg/>", "budget.html": "budget<nav></nav>", "reports.html": "reports",
    "x.html": "a page", "reports/x.html": "report", "approvals/x.html": "approval",
    "week-1/release.html": "statement", "week-1/queries.csv": "0123456789",
}  # fmt: skip
USERS = {"ann": ["analysts", "other"], "ben": ["officers"], "eve": ["analysts-not"], "una": "analysts"}
Tamper = Callable[[dict[str, Any], dict[str, Any], Any], str | None]


@dataclass
class World:
    """A provider whose tokens a test may change, a site, and its server."""

    site: Path
    address: str
    server: SiteServer
    issuer: str
    log: list[str] = field(default_factory=list)
    tamper: dict[str, Tamper] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)

    @contextmanager
    def browser(self, account: str = "") -> Iterator[httpx.Client]:
        """A browser, signed in if an account is given."""
        with httpx.Client(base_url=self.address) as client:
            if account:
                client.get(self.way_back(client, account))
            yield client

    def way_back(self, client: httpx.Client, account: str) -> str:
        """The address at which the provider sends a person back."""
        asked = client.get("/sign-in")
        assert asked.status_code == 302, asked.text
        return str(httpx.post(asked.headers["location"], data={"sub": account}).headers["location"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("zone")
    (folder / "outside.txt").write_text("outside-canary")
    for name, text in FILES.items():
        (folder / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "site" / name).write_text(text)
    (folder / "site/link.html").symlink_to(folder / "outside.txt")
    claims = [oidc_provider_mock.User(sub=sub, claims={"groups": held}) for sub, held in USERS.items()]
    provider = oidc_provider_mock.app(user_claims=claims)
    held: list[World] = []

    @provider.after_request
    def changed(answer: flask.Response) -> flask.Response:
        if flask.request.path == "/oauth2/token" and answer.status_code == 200:
            token, key = answer.get_json(), flask.g.oidc_provider_mock_storage.jwk
            said = dict(jwt.decode(token["id_token"], key))
            for change in held[0].tamper.values():
                header = {"alg": "RS256", "kid": key.as_dict().get("kid")}
                made = change(header, said, key)
                token["id_token"] = made or jwt.encode(header, said, key).decode()
            held[0].tokens += [token["id_token"], token["access_token"]]
            answer.set_data(json.dumps(token))
        if flask.request.path == "/.well-known/openid-configuration":  # a careless provider
            known = answer.get_json()
            known["id_token_signing_alg_values_supported"] += ["none", "HS256"]
            answer.set_data(json.dumps(known))
        return answer

    made = werkzeug.serving.make_server("localhost", 0, provider, threaded=True)
    threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True).start()
    issuer, listening = f"http://localhost:{made.server_port}", socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    lines: list[str] = []
    sessions = Sessions(folder / "sessions")
    server = SiteServer(
        folder / "site", ["analysts"], ["officers"], lines.append, sessions, issuer, "tacit", SECRET, address
    )
    held.append(World(folder / "site", address, server, issuer, lines))
    with running(site_application(server), listening):
        yield held[0]
    made.shutdown()
    made.server_close()
    sessions.close()


HOLDERS = {
    "": Role.ANONYMOUS,
    "eve": Role.ANONYMOUS,
    "ann": Role.READER,
    "ben": Role.AUDITOR,
}


def test_every_route_for_every_role(world: World) -> None:
    for account, role in HOLDERS.items():
        with world.browser(account) as client:
            for route, wanted in ROUTES.items():
                path = route.replace("{path:path}", "x.html")
                for method in ("GET", "HEAD"):
                    answer = client.request(method, path)
                    if route in ("/sign-in", "/signed-in", "/sign-out"):
                        expected = {
                            "/sign-in": 302,
                            "/signed-in": 403,
                            "/sign-out": 404 if role > Role.ANONYMOUS else 303,
                        }[route]
                        if account and (route, method) == ("/signed-in", "HEAD"):  # a failed return signs out
                            client.get(world.way_back(client, account))
                    else:
                        expected = 200 if role >= wanted else 303 if role is Role.ANONYMOUS else 403
                    assert answer.status_code == expected, (account, method, path)
                    if expected in (303, 403, 405):
                        assert FILES.get(path[1:], "catalogue") not in answer.text
                    assert answer.headers["cache-control"] == "no-store"
                    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
                    assert answer.headers["x-content-type-options"] == "nosniff"
                assert client.delete(path).status_code == 405
    assert set(ROUTES.values()) == set(Role)


def test_every_file_of_a_site_asks_for_a_role_above_anonymous_but_style_and_icon(world: World) -> None:
    with world.browser() as anybody, world.browser("ann") as reader, world.browser("ben") as auditor:
        for name in FILES:
            open_to_all = name in ("assets/site.css", "assets/icon.svg")
            assert (anybody.get(f"/{name}").status_code == 200) is open_to_all, name
            closed = name in ("budget.html", "reports.html") or name.startswith(("reports/", "approvals/"))
            assert reader.get(f"/{name}").status_code == (403 if closed else 200), name
            shown = FILES[name].replace("</nav>", '<a href="/account">Account</a></nav>')
            assert auditor.get(f"/{name}").text == shown, "the page where one signs out is a link away"
        assert "sandbox" in reader.get("/week-1/release.html").headers["content-security-policy"]


def test_a_route_without_a_declared_role_does_not_start(world: World) -> None:
    for path in ROUTES:
        with pytest.raises(ParameterError, match="no declared role"):
            site_application(world.server, {each: role for each, role in ROUTES.items() if each != path})
    with pytest.raises(ParameterError, match="/new has no declared role"):
        site_application(world.server, {**ROUTES, "/new": None})  # type: ignore[dict-item]


def test_no_path_leads_out_of_the_site_or_around_a_role(world: World) -> None:
    host = world.address.removeprefix("http://")
    wrong = ["/../outside.txt", "/%2e%2e/outside.txt", "/..%2foutside.txt", "/week-1/../../outside.txt",
             "/x.html%00", "/%00", "/link.html", "/week-1/", "/week-1", "//x.html", "/./x.html", "/x.html/",
             "/..%5coutside.txt", "/%252e%252e/outside.txt", "//etc/passwd", "/x.html%0a",
             "/week-1/..%2fbudget.html", "//budget.html", "/./reports/x.html", "//reports/x.html",
             "/reports%2f..%2fx.html", "/BUDGET.html", "/reports%2fx.html", "/%62udget.html"]  # fmt: skip
    with world.browser("ann") as client:
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        for path in wrong:
            for method in ("GET", "HEAD"):
                asked = http.client.HTTPConnection(host, timeout=10)
                asked.request(method, path, headers={"Cookie": cookie})
                answer = asked.getresponse()
                body = answer.read()
                asked.close()
                assert answer.status in (400, 403, 404), path
                assert b"canary" not in body and b"root:" not in body
                assert body.strip() not in {text.encode() for text in FILES.values()}, path


def test_parts_of_a_file_ask_for_the_same_role(world: World) -> None:
    part = {"Range": "bytes=2-4"}
    with world.browser() as anybody, world.browser("ann") as reader:
        got = reader.get("/week-1/queries.csv", headers=part)
        assert (got.status_code, got.text) == (206, "234")
        assert reader.head("/week-1/queries.csv").headers["content-length"] == "10"
        assert reader.get("/week-1/queries.csv", headers={"Range": "bytes=50-"}).status_code == 416
        assert anybody.get("/week-1/queries.csv", headers=part).status_code == 303
        assert reader.get("/budget.html", headers=part).status_code == 403
        known = {"If-None-Match": got.headers["etag"]}
        assert anybody.get("/week-1/queries.csv", headers=known).status_code == 303


def test_a_session_ends_with_sign_out_revocation_and_time(world: World, monkeypatch: Any) -> None:
    with world.browser("ann") as client, world.browser("ann") as second, world.browser("ben") as other:
        kept = dict(client.cookies)
        assert client.get("/account").text.count("ann") == 1
        out = client.post("/sign-out")
        assert out.headers["clear-site-data"] == '"cache", "storage"'
        assert httpx.get(f"{world.address}/x.html", cookies=kept).status_code == 303
        assert second.get("/x.html").status_code == 200, "the other browser stays"
        said = tacit("site", "serve", world.site, "--sessions", world.site.parent / "sessions", "--revoke",
                     "ann", "--json")  # fmt: skip
        assert json.loads(said.stdout)["revoked"] >= 1
        assert second.get("/x.html").status_code == 303
        assert other.get("/x.html").status_code == 200
        now = time.time()
        with monkeypatch.context() as patch:
            patch.setattr(serving.time, "time", lambda: now + 8 * 3600 + 1)
            assert world.server.sessions.find("") == ("", Role.ANONYMOUS)
            assert httpx.get(f"{world.address}/x.html", cookies=dict(other.cookies)).status_code == 303
        assert world.server.sessions.revoke("*") >= 1
        assert other.get("/x.html").status_code == 303
    assert (world.site.parent / "sessions").stat().st_mode & 0o777 == 0o600


def test_a_group_is_compared_whole(world: World) -> None:
    claims = {"analysts": Role.READER, "analysts,officers": Role.ANONYMOUS, "analyst": Role.ANONYMOUS}
    assert {claim: world.server.role(claim) for claim in claims} == claims
    for odd in (None, 1, {"analysts": 1}, [["analysts"]], [None], "", []):
        assert world.server.role(odd) is Role.ANONYMOUS


def test_a_forged_cookie_opens_nothing(world: World) -> None:
    with world.browser("ann") as client:
        name, value = next(iter(client.cookies.items()))
        for forged in (value[:-2], f"A{value}", "e30=", value.partition(".")[0]):
            assert httpx.get(f"{world.address}/x.html", cookies={name: forged}).status_code == 303


def test_who_was_sent_to_sign_in_comes_back_to_this_server_only(world: World) -> None:
    for path in ("/week-1/queries.csv", "//evil.example/x", "/%0d%0aSet-Cookie:x=y"):
        with world.browser() as client:
            asked = http.client.HTTPConnection(world.address.removeprefix("http://"))
            asked.request("GET", path)
            answer = asked.getresponse()
            name, _, rest = (answer.getheader("set-cookie") or "").partition("=")
            asked.close()
            client.cookies.set(name, rest.partition(";")[0], domain="127.0.0.1", path="/")
            back = client.get(world.way_back(client, "ann"))
            assert back.status_code == 303
            assert back.headers["location"].startswith(f"{world.address}/")
            assert "set-cookie:x" not in {each.lower() for each in back.headers}


def _set(**claims: Any) -> Tamper:
    def change(_header: dict[str, Any], said: dict[str, Any], _key: Any) -> None:
        said.update(claims)
        for name in [name for name, value in claims.items() if value is None]:
            del said[name]

    return change


def _unsigned(_header: dict[str, Any], said: dict[str, Any], key: Any) -> str:
    import base64

    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, said))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."


def _by_client_secret(_header: dict[str, Any], said: dict[str, Any], key: Any) -> str:
    return str(jwt.encode({"alg": "HS256"}, said, SECRET).decode())


def _by_stranger(header: dict[str, Any], said: dict[str, Any], key: Any) -> str:
    return str(jwt.encode(header, said, JsonWebKey.generate_key("RSA", 2048, is_private=True)).decode())


WRONG: dict[str, Tamper] = {
    "issuer": _set(iss="https://evil.example"),
    "no issuer": _set(iss=None),
    "audience": _set(aud="another"),
    "audience, with our name as party": _set(aud=["another"], azp="tacit"),
    "no audience": _set(aud=None),
    "nonce": _set(nonce="another"),
    "no nonce": _set(nonce=None),
    "expired": _set(exp=int(time.time()) - 90),
    "never expires": _set(exp=None),
    "made in future": _set(iat=int(time.time()) + 4000),
    "no subject": _set(sub=None),
    "subject that is no name": _set(sub=["ann"]),
    "unsigned": _unsigned,
    "signed with the client's secret": _by_client_secret,
    "signed by a stranger": _by_stranger,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_token_is_refused_and_not_repeated(world: World, wrong: str) -> None:
    del world.log[:], world.tokens[:]
    with world.browser() as client:
        back = world.way_back(client, "ben")
        world.tamper["now"] = WRONG[wrong]
        try:
            answer = client.get(back)
        finally:
            del world.tamper["now"]
        assert answer.status_code == 403 and "Sign-in failed" in answer.text
        assert client.get("/x.html").status_code == 303
        assert world.tokens, "the provider gave a token"
        for secret in (
            *world.tokens,
            SECRET,
            httpx.URL(back).params["code"],
            httpx.URL(back).params["state"],
        ):
            assert secret not in answer.text + "".join(world.log) + str(answer.headers)


def test_the_right_token_passes_the_same_way(world: World) -> None:
    with world.browser() as client:
        world.tamper["now"] = _set()
        try:
            assert client.get(world.way_back(client, "ben")).status_code == 303
        finally:
            del world.tamper["now"]
        assert client.get("/budget.html").status_code == 200


def test_a_state_works_once_and_in_its_own_browser(world: World) -> None:
    with world.browser() as client, world.browser() as other:
        back = world.way_back(client, "ann")
        assert other.get(back).status_code == 403, "another browser"
        guessed = str(httpx.URL(world.way_back(client, "ann")).copy_set_param("state", "guessed"))
        assert client.get(guessed).status_code == 403
        back = world.way_back(client, "ann")
        before = dict(client.cookies)
        assert client.get(back).status_code == 303
        used = world.way_back(other, "ann").partition("code=")[2].partition("&")[0]
        replayed = httpx.get(str(httpx.URL(back).copy_set_param("code", used)), cookies=before)
        assert replayed.status_code == 403, "with its cookie and a fresh code"
        assert httpx.get(f"{world.address}/x.html", cookies=dict(replayed.cookies)).status_code == 303


def test_a_state_is_used_up_even_where_the_provider_takes_its_code_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc_provider_mock._storage.Storage, "remove_authorization_code", lambda *_: None)
    with world.browser() as client:
        back = world.way_back(client, "ann")
        before = dict(client.cookies)
        assert client.get(back).status_code == 303
        assert httpx.get(back, cookies=before).status_code == 403, "the same cookie, state and code"
        late = world.way_back(client, "ann")
        now = time.time()
        with monkeypatch.context() as patch:
            patch.setattr(serving.time, "time", lambda: now + 901)
            assert client.get(late).status_code == 403, "a sign-in that took too long"


def test_a_provider_that_calls_itself_otherwise_is_not_used(world: World, tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "sessions")
    server = SiteServer(
        world.site, ["analysts"], [], list, sessions, world.issuer + "/", "tacit", SECRET, world.address
    )
    with running(site_application(server)) as address:
        for _ in range(2):
            assert httpx.get(f"{address}/sign-in").status_code == 502
    sessions.close()


FORGED = {"X-Forwarded-User": "ben", "X-Forwarded-Groups": "officers,analysts", "Remote-User": "ben",
          "X-Forwarded-For": "127.0.0.1", "Forwarded": "for=unix"}  # fmt: skip


def test_identity_headers_over_tcp_change_nothing(world: World) -> None:
    with world.browser() as anybody, world.browser("ann") as reader:
        assert anybody.get("/x.html", headers=FORGED).status_code == 303
        assert reader.get("/budget.html", headers=FORGED).status_code == 403
        assert "ann" in reader.get("/account", headers=FORGED).text
    with running(site_application(SiteServer(world.site, ["analysts"], ["officers"], list))) as address:
        for path in ("/x.html", "/budget.html", "/account"):
            assert httpx.get(f"{address}{path}", headers=FORGED).status_code == 403, "not even behind a proxy"


def test_behind_a_proxy_on_a_unix_socket(world: World, tmp_path: Path) -> None:
    place = tmp_path / "s"
    command = [sys.executable, "-m", "tacit", "site", "serve", world.site, "--unix", place, "--reader-group",
               "analysts", "--auditor-group", "officers", "--json"]  # fmt: skip
    serving.unix_socket(place).close()  # left by a server that was killed
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            assert json.loads(process.stdout.read(1) + process.stdout.readline() + _rest(process.stdout))
            assert place.stat().st_mode & 0o777 == 0o660
            with httpx.Client(
                transport=httpx.HTTPTransport(uds=str(place)), base_url="http://site"
            ) as client:

                def status(path: str, *headers: tuple[str, str]) -> int:
                    return client.get(path, headers=list(headers)).status_code

                user, groups = ("X-Forwarded-User", "zoe"), ("X-Forwarded-Groups", "staff, analysts")
                assert status("/x.html", user, groups) == 200
                assert status("/budget.html", user, groups) == 403
                assert status("/budget.html", user, ("X-Forwarded-Groups", "officers")) == 200
                assert status("/x.html") == status("/x.html", user) == status("/x.html", groups) == 403
                assert status("/x.html", user, groups, groups) == 403, "said twice"
                assert status("/x.html", user, user, groups) == 403
                assert status("/sign-in", user, groups) == 404
        finally:
            process.terminate()
        lines = [json.loads(line) for line in process.stderr.read().splitlines() if line.startswith("{")]
    assert lines[0].items() >= {"account": "zoe", "method": "GET", "path": "/x.html", "status": 200}.items()


def _rest(stream: Any) -> str:
    """The lines up to the end of a JSON document."""
    found = ""
    while not found.endswith("}\n"):
        found += stream.readline()
    return found


def test_the_log_holds_accounts_and_pages_and_nothing_else(world: World) -> None:
    del world.log[:]
    agent = {"User-Agent": "agent-canary", "Referer": "http://referer-canary"}
    with world.browser("ann") as client:
        client.get("/x.html?query=canary", headers=agent)
        client.get("/path-canary.html", headers=agent)
        client.request("CANARY", "/x.html")
    lines = [json.loads(line) for line in world.log]
    assert "canary" not in "".join(world.log).lower() and "127.0.0.1" not in "".join(world.log)
    assert all(set(line) == {"time", "account", "method", "path", "status"} for line in lines)
    told = [(line["account"], line["path"], line["status"]) for line in lines[-3:]]
    assert told == [("ann", "/x.html", 200), ("ann", "unknown", 404), ("", "/x.html", 405)]
    assert ("ann", "/signed-in", 303) in [(line["account"], line["path"], line["status"]) for line in lines]


def test_what_cannot_be_served_is_said(world: World, tmp_path: Path, monkeypatch: Any) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        serving.client_secret(secret)
    secret.chmod(0o600)
    assert serving.client_secret(secret) == SECRET
    monkeypatch.delenv("TACIT_OIDC_SECRET", raising=False)
    with pytest.raises(InputError, match="TACIT_OIDC_SECRET"):
        serving.client_secret(None)
    monkeypatch.setenv("TACIT_OIDC_SECRET", SECRET)
    held = Sessions(tmp_path / "held")
    known = (held, "https://login.example", "tacit", serving.client_secret(None))
    who = SiteServer(world.site, ["a"], [], list, *known, "https://a.example")
    assert SECRET not in repr(who)
    for issuer, address in (
        ("http://login.example", "https://a"),
        ("https://a", "a"),
        ("https://a", "https://b/c"),
    ):
        with pytest.raises(ParameterError):
            SiteServer(world.site, ["a"], [], list, held, issuer, "tacit", SECRET, address)
    for groups in ([], [""]):
        with pytest.raises(ParameterError, match="group"):
            SiteServer(world.site, groups, [], list)
    with pytest.raises(InputError, match="no site"):
        SiteServer(tmp_path, ["analysts"], [], list)
    (tmp_path / "sessions").write_text("no database, but long enough to be looked at as one " * 20)
    with pytest.raises(InputError, match="no file of sessions"):
        Sessions(tmp_path / "sessions")
    for words in ([], ["--oidc", "https://a"], ["--oidc", "https://a", "--unix", "s"]):
        assert tacit("site", "serve", world.site, *words, "--reader-group", "a").returncode == 2
    cookie = site_application(who).user_middleware[1]
    assert cookie.kwargs["https_only"] and str(cookie.kwargs["session_cookie"]).startswith("__Host-")
    held.close()


def test_a_session_ends_after_its_hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(tmp_path / "sessions.sqlite", hours=1)
    made, now = sessions.begin("ann", Role.READER), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3590)
    assert sessions.find(made) == ("ann", Role.READER)
    monkeypatch.setattr(time, "time", lambda: now + 3610)
    assert sessions.find(made) == ("", Role.ANONYMOUS)
    sessions.close()
